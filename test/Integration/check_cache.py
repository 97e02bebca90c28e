"""Compiles a Llama whose caches have another type than what is computed (--cache), and compares logits with float64's on caches rounded so.

    check_cache.py --compiler LLM_COMPILE --model DIR --out OUT --dtype f32|bf16 --cache f32|bf16|f16|q8_0 [--mesh M]... [--batch N] [--head-dim N] [--flag F]...

The reference is written here, in numpy: every key and value is rounded to the type, to nearest even, before any position sees it. Without that it gives the logits of
expected.safetensors. A program in f32 is near it: its errors are a small part of what rounding caches does, at most 1/2 of the largest difference and 1/8 of the median one (a key that lies
between two numbers of the type may be rounded to the other one). In bf16 errors are those of the type (dtype_bounds.json). Prompts go through in one piece or in several,
with tokens behind them that come one by one: all the same. With --head-dim the model is a copy with heads of so many elements, whose projections are made up. `info` says the types, and that caches of half the size shrink the arena. Needs numpy."""
import glob
import json
import os
import shutil
import sys

import numpy as np
from check_dtype import bounds_of, errors, parser_of, prompts
from check_generate import read_safetensors, run

NEW = 6
LARGEST, MEDIAN = 1 / 2, 1 / 8
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "q8_0": 34 / 32}
NAMES = {"q8_0": "Q8_0"}  # of which `info` says another
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs"))
import modelio


def rounded(x, kind):
    narrow = x.astype(np.float32)
    if kind == "f32":
        return x
    if kind == "f16":
        return narrow.astype(np.float16).astype(np.float64)
    if kind == "q8_0":
        blocks = x.reshape(-1, 32)
        scale = (np.abs(blocks).max(axis=1, keepdims=True) / 127).astype(np.float16).astype(np.float64)
        codes = np.rint(np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale != 0))
        return (np.clip(codes, -127, 127) * scale).reshape(x.shape)
    bits = narrow.view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


class Llama:
    """In float64; keys and values as `kind` has them."""

    def __init__(self, folder):
        self.config = json.load(open(os.path.join(folder, "config.json")))
        self.weights = {}
        for path in glob.glob(os.path.join(folder, "model-*.safetensors")):
            self.weights.update({name: value.astype(np.float64) for name, value in read_safetensors(path).items()})

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.config["rms_norm_eps"]) * self.weights[name]

    def turned(self, x):
        """x [position, head, d], its halves turned by the position."""
        half = x.shape[-1] // 2
        theta = self.config["rope_parameters"]["rope_theta"]
        angle = np.arange(len(x))[:, None, None] * theta ** (-np.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1)

    def logits(self, tokens, kind):
        c, w = self.config, self.weights
        heads, groups, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        x, n = w["model.embed_tokens.weight"][tokens], len(tokens)
        hidden = np.triu(np.full((n, n), -np.inf), 1)
        for layer in range(c["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            h = self.norm(x, at + "input_layernorm.weight")
            q, k, v = ((h @ w[f"{at}self_attn.{what}_proj.weight"].T).reshape(n, -1, d) for what in "qkv")
            q, k, v = self.turned(q), rounded(self.turned(k), kind), rounded(v, kind)
            k, v = (np.repeat(kept, heads // groups, axis=1) for kept in (k, v))
            scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(d) + hidden
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed = np.einsum("hij,jhd->ihd", scores / scores.sum(axis=-1, keepdims=True), v)
            x = x + mixed.reshape(n, -1) @ w[at + "self_attn.o_proj.weight"].T
            h = self.norm(x, at + "post_attention_layernorm.weight")
            gate, up = (h @ w[f"{at}mlp.{what}_proj.weight"].T for what in ("gate", "up"))
            x = x + (gate / (1 + np.exp(-gate)) * up) @ w[at + "mlp.down_proj.weight"].T
        return self.norm(x, "model.norm.weight") @ w["lm_head.weight"].T


def with_heads_of(size, folder, out):
    """A copy of the model in `folder` whose heads have `size` elements: the folder."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns("*.safetensors", "*.index.json", "expected.json"))
    config = json.load(open(os.path.join(out, "config.json")))
    config["head_dim"] = size
    json.dump(config, open(os.path.join(out, "config.json"), "w"))
    rows = {"q": config["num_attention_heads"] * size, "k": config["num_key_value_heads"] * size, "v": config["num_key_value_heads"] * size}
    draw, entries, name = np.random.default_rng(7), [], "model-00001-of-00001.safetensors"
    for path in sorted(glob.glob(os.path.join(folder, "model-*.safetensors"))):
        for weight, value in read_safetensors(path).items():
            what = weight.split(".")[-2]
            if what in ("q_proj", "k_proj", "v_proj", "o_proj"):
                shape = (value.shape[0], rows["q"]) if what == "o_proj" else (rows[what[0]], value.shape[1])
                value = draw.normal(0, 0.3, shape)
            entries.append((weight, "F32", value.shape, value.astype(np.float32).tobytes()))
    modelio.write_safetensors(os.path.join(out, name), entries)
    json.dump({"metadata": {}, "weight_map": {entry[0]: name for entry in entries}}, open(os.path.join(out, "model.safetensors.index.json"), "w"))
    return out


def generated(out, tokens):
    """Tokens with those that follow, and logits of all but the last."""
    path = out + ".logits.safetensors"
    text = run([out, "generate", "--tokens=" + ",".join(map(str, tokens)), f"--max-new-tokens={NEW}", "--print-tokens", f"--logits={path}"]).decode()
    line, = (line for line in text.splitlines() if line.startswith("tokens: "))
    got = read_safetensors(path)["logits"]
    os.unlink(path)
    return tokens + [int(token) for token in line[len("tokens: "):].split(",")], got


def arenas(info):
    return info["arena_bytes"] if "arena_bytes" in info else [rank["arena_bytes"] + rank["more_slots_bytes"] for rank in info["pipeline"]["ranks"]]


def check_info(out, args, other, mesh):
    """`other`: of the program whose caches are as --dtype says."""
    info = json.loads(run([out, "info", "--json"]))
    numbers = info["numbers"]
    cached = NAMES.get(args.cache, args.cache)
    if [kept["type"] for kept in numbers["cached"]] != [cached] or numbers["computed"] != [args.dtype] or numbers["accumulated"] != ["f32"]:
        sys.exit(f"{mesh}: info says {numbers}")
    if [held["type"] for held in numbers["held"]] != [args.dtype] or not numbers["held"][0]["bytes"] > 0:
        sys.exit(f"{mesh}: weights are held as {numbers['held']}")
    kept, theirs = numbers["cached"][0]["bytes"], other["numbers"]["cached"][0]["bytes"]
    if kept * BYTES[args.dtype] != theirs * BYTES[args.cache]:
        sys.exit(f"{mesh}: caches take {kept} bytes, as {args.dtype} {theirs}")
    if "pipeline" in info and kept != sum(stage["cache_bytes"] for stage in info["pipeline"]["stages"]):
        sys.exit(f"{mesh}: caches take {kept} bytes, by stage {info['pipeline']['stages']}")
    line, = (line for line in run([out, "info"]).decode().splitlines() if line.startswith("numbers "))
    if not line.startswith(f"numbers      held {args.dtype} ") or f", computed {args.dtype}, accumulated f32, cached {cached} " not in line:
        sys.exit(f"{mesh}: info says: {line}")
    mine, others = sum(arenas(info)), sum(arenas(other))
    if args.cache != "f32" and not others - mine >= 3 / 4 * (theirs - kept):
        sys.exit(f"{mesh}: arenas of {mine} bytes, {others} with caches of {theirs - kept} more")


def main():
    parser = parser_of("--cache")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--head-dim", type=int)
    args = parser.parse_args()
    model = Llama(args.model)
    given = read_safetensors(os.path.join(args.model, "expected.safetensors"))
    for tokens, want in zip(given["tokens"], given["logits"]):
        error = np.abs(model.logits(tokens, "f32") - want).max() / np.abs(want).max()
        if not error <= 1e-5:
            sys.exit(f"the reference differs from expected logits by {error:.3g}")
    name = os.path.basename(args.model.rstrip("/"))
    if args.head_dim:
        args.model = with_heads_of(args.head_dim, args.model, args.out + ".model")
        model = Llama(args.model)
    texts = prompts(name)[:4]
    texts.append(sum(texts, [])[:40])  # more than a short piece takes

    def compile_for(mesh, length, *flags):
        run([args.compiler, args.model, f"--dtype={args.dtype}", f"--max-seq-len={length}", f"--batch={args.batch}", "-o", args.out, *flags, *args.flag] + ([] if mesh == "none" else [f"--mesh={mesh}"]))

    for mesh in args.mesh or ["none"]:
        compile_for(mesh, 128)
        other = json.loads(run([args.out, "info", "--json"]))
        pieces = {}
        for length in (128, 64):  # prompts in pieces of 128 and 16 positions, and of 64
            compile_for(mesh, length, f"--cache={args.cache}")
            if length == 128:
                check_info(args.out, args, other, mesh)
            pieces[length] = [generated(args.out, tokens) for tokens in texts]
        for (tokens, _), (others, _) in zip(*pieces.values()):
            if tokens != others and args.dtype == "f32":
                sys.exit(f"{mesh}: in one piece {others}, in several {tokens}")
        for length, all_ in pieces.items():
            got = [logits for _, logits in all_]
            want = [model.logits(tokens[:-1], args.cache) for tokens, _ in all_]
            found = errors(got, want)
            if args.dtype == "f32":
                exact = errors([model.logits(tokens[:-1], "f32") for tokens, _ in all_], want)
                allowed = LARGEST * exact[0], MEDIAN * exact[1]
            else:
                allowed = bounds_of(name, args.dtype)
            print(f"{mesh}, context {length}: largest {found[0]:.3g} of {allowed[0]:.3g}, median {found[1]:.3g} of {allowed[1]:.3g}")
            if not (found[0] <= allowed[0] and found[1] <= allowed[1]):
                sys.exit(f"{mesh}: logits differ from the reference's on caches in {args.cache}")
            for (tokens, _), logits in zip(all_, want):
                for at in range(len(tokens) - NEW, len(tokens)):
                    row = logits[at - 1]
                    if row[tokens[at]] < row.max() - 2 * allowed[0] * np.abs(logits).max():
                        sys.exit(f"{mesh}: token {tokens[at]} at {at} is not the likeliest")
    print(f"ok: {len(args.mesh)} meshes")


if __name__ == "__main__":
    main()
