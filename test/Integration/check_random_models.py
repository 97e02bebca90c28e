"""Compiles random tiny models for random meshes, and compares logits and tokens with float64's.

    check_random_models.py --compiler LLM_COMPILE --out FOLDER --seed S --count N [--only NUMBER]

Drawn are the family (Qwen2 with biases and windows, Qwen3, and with experts in all layers or some), sizes that mostly do not divide, how weights are held (floats in safetensors; types of
GGUF, one for each kind of weight; GPTQ, AWQ or FP8 in parts), what keys and values are kept in, what is computed in, the mesh with standard axes or others and what lies over
these, rows and prompts. Each program runs every prompt by itself, whose logits are float64's on weights and caches that are rounded as the program's, and all at once, which
gives the same tokens. What the compiler refuses in one line counts as refused. Says of each case what was drawn; --only runs one again. Needs numpy."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys

import numpy as np

from check_cache import rounded
from compiled_programs import read_safetensors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs"))
import modelio
import quantized_parts

NEW, LONGEST = 5, 48
OF_32, OF_256 = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "MXFP4"], ["Q4_K", "Q5_K", "Q6_K"]
# Of the largest logit: in float32, and in bf16, whose error grows with the depth.
BOUNDS = {"f32": 1e-4, "bf16": 0.08}


def draw_case(draw):
    """A case as one may write it down."""
    family = draw.choice(["qwen2", "qwen3", "qwen3", "qwen3_moe", "qwen3_moe"])
    held = draw.choice(["floats", "floats", "gguf", "gguf", "gptq", "awq", "fp8"])
    if held in ("gptq", "awq", "fp8") and family != "qwen3":
        held = draw.choice(["floats", "gguf"])
    step = {"floats": draw.choice([2, 4, 32]), "gguf": 32, "gptq": 32, "awq": 32, "fp8": 128}[held]
    if held == "gguf" and draw.random() < 0.3:
        step = 256
    size = lambda most: step * draw.randint(1, max(1, most // step))
    kv_heads, group = draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    dim = 32 * draw.choice([1, 1, 2]) if held != "floats" or draw.random() < 0.5 else draw.choice([6, 10, 16])
    if held == "fp8":
        kv_heads, group, dim = draw.choice([(2, 1, 64), (4, 1, 32), (2, 2, 64), (1, 4, 128)])
    if step == 256:
        kv_heads, group, dim = draw.choice([(2, 2, 64), (2, 4, 32), (1, 4, 64), (4, 2, 32)])
    layers = draw.randint(1, 5)
    c = dict(family=family, held=held, layers=layers, kv_heads=kv_heads, group=group, dim=dim, hidden=size(160), ffn=size(200), vocab=draw.randint(30, 90),
             window=draw.choice([0, 0, 3, 9]), tied=draw.random() < 0.3, theta=draw.choice([1e4, 1e6]))
    if family == "qwen2":
        c["hidden"] = kv_heads * group * dim
    c["slides"] = [bool(c["window"]) and draw.random() < 0.6 for _ in range(layers)]
    if family == "qwen3_moe" and held != "gguf":  # a window of some layers is refused: releases of transformers do not agree on which
        c["slides"] = [any(c["slides"])] * layers
    if family == "qwen3_moe":
        experts = draw.randint(2, 7)
        c.update(experts=experts, chosen=draw.randint(1, min(experts, 3)), expert_ffn=size(100), norm=True if held == "gguf" else draw.random() < 0.5)
        c["dense"] = [held != "gguf" and draw.random() < draw.choice([0, 0.3, 0.6]) for _ in range(layers)]
    if held == "gguf":
        types = OF_32 + ["F32", "BF16"] + 3 * (OF_256 if step == 256 else [])
        c["types"] = {kind: draw.choice(types) for kind in ("q", "k", "v", "o", "gate", "up", "down", "embedding", "head", "experts")}
        if draw.random() < 0.3:  # of another type in the second layer
            c["other"] = draw.choice(types)
    c["dtype"] = draw.choice(["f32", "f32", "f32", "bf16"])
    c["cache"] = draw.choice(["", "", "bf16", "f16"] + 4 * ["q8_0"] * (dim % 32 == 0))
    axes, ranks = [], 1
    for _ in range(draw.randint(0, 2)):
        size = draw.choice([2, 2, 3])
        left = [axis for axis in ("dp", "tp", "tp", "sp", "cp", "fsdp", "fsdp", "pp", "a", "b", *(["ep", "ep"] if family == "qwen3_moe" else [])) if axis not in dict(axes)]
        if ranks * size <= 6:
            axes.append((draw.choice(left), size))
            ranks *= size
    c["mesh"] = ",".join(f"{axis}={size}" for axis, size in axes)
    dims = ["batch", "seq", "hidden", "ffn", "kv_heads", "group", "vocab", "context", "residual:hidden", "residual:seq", "mlp:ffn", "logits:vocab", "expert", "largest", "head_dim"]
    c["shard"] = [f"{draw.choice(dims)}={axis}" for axis, _ in axes if axis in "ab" and draw.random() < 0.9]
    c["shard"] += [f"{draw.choice(dims[:12])}={draw.choice([axis for axis, _ in axes] + ['-'])}" for _ in range(1) if axes and draw.random() < 0.25]
    c["batch"] = draw.choice([1, 1, 2, 3, 4])
    c["prompts"] = [[draw.randrange(c["vocab"]) for _ in range(draw.choice([1, 2, 5, 11, 20, 33]))] for _ in range(draw.choice([1, 2, 3]))]
    return c


class Model:
    """The weights of a case, made up: of each the matrix that the program computes with, in float64."""

    def __init__(self, c, draw, out):
        self.c, self.w, self.draw = c, {}, draw
        self.entries, self.metadata = [], {}
        heads, h, d = c["kv_heads"] * c["group"], c["hidden"], c["dim"]
        self.add("embedding", "embedding", (c["vocab"], h), 1)
        self.add("norm", None, (h,))
        if not c["tied"]:
            self.add("head", "head", (c["vocab"], h))
        for l in range(c["layers"]):
            for name, shape in (("q", (heads * d, h)), ("k", (c["kv_heads"] * d, h)), ("v", (c["kv_heads"] * d, h)), ("o", (h, heads * d))):
                self.add(f"{l}.{name}", name, shape)
                if c["family"] == "qwen2" and name != "o":
                    self.add(f"{l}.{name}_bias", None, shape[:1])
            for name in ("attn_norm", "ffn_norm"):
                self.add(f"{l}.{name}", None, (h,))
            if c["family"] != "qwen2":
                self.add(f"{l}.q_norm", None, (d,))
                self.add(f"{l}.k_norm", None, (d,))
            if c.get("experts") and not c["dense"][l]:
                e, f = c["experts"], c["expert_ffn"]
                self.add(f"{l}.router", None, (e, h))
                for name, shape in (("gate", (e, f, h)), ("up", (e, f, h)), ("down", (e, h, f))):
                    self.add(f"{l}.{name}", "experts", shape)
            else:
                for name, shape in (("gate", (c["ffn"], h)), ("up", (c["ffn"], h)), ("down", (h, c["ffn"]))):
                    self.add(f"{l}.{name}", name, shape)
        self.write(out)

    def add(self, name, kind, shape, deviation=None):
        rng = np.random.default_rng(self.draw.randrange(1 << 30))
        if kind is None:
            value = rng.normal(1 if "norm" in name else 0, 0.3, shape)
        else:
            value = rng.normal(0, deviation or 1.5 / np.sqrt(shape[-1]), shape)
        self.w[name] = self.held(name, kind, value.astype(np.float32))

    def held(self, name, kind, value):
        """What is read of `value` when it is in the file, where it is put."""
        c, plain = self.c, modelio.Tensor(list(value.shape), [float(x) for x in value.ravel()])
        floats = lambda values: np.array(values, np.float64).reshape(value.shape)
        if c["held"] == "gguf":
            dtype = c["types"][kind] if kind else "F32"
            if kind and "other" in c and name.startswith("1."):
                dtype = c["other"]
            if dtype in OF_256 + OF_32 and value.shape[-1] % (256 if dtype in OF_256 else 32):
                dtype = "Q8_0" if value.shape[-1] % 32 == 0 else "F32"
            data = modelio.encode(dtype, plain.values)
            self.entries.append((self.gguf_name(name), dtype, value.shape, data))
            return floats(modelio.decode(dtype, data))
        if c["held"] != "floats" and kind not in (None, "embedding", "head"):
            awq = c["held"] == "awq"
            parts, read = quantized_parts.fp8(plain, (128, 128)) if c["held"] == "fp8" else quantized_parts.int4(plain, 32, awq, 0 if awq else 1)
            stem = self.hf_name(name)[:-len("weight")]
            self.entries += [(stem + part, *entry) for part, entry in parts.items()]
            return floats(read.values)
        names = [self.hf_name(name)] if value.ndim < 3 else [self.hf_name(name, e) for e in range(len(value))]
        for one, part in zip(names, [value] if value.ndim < 3 else value):
            self.entries.append((one, "F32", part.shape, part.tobytes()))
        return value.astype(np.float64)

    def hf_name(self, name, expert=None):
        layer, _, what = name.rpartition(".")
        if not layer:
            return {"embedding": "model.embed_tokens.weight", "norm": "model.norm.weight", "head": "lm_head.weight"}[name]
        what, bias = (what[:-5], "bias") if what.endswith("_bias") else (what, "weight")
        inside = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "router": "mlp.gate", "q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}.get(what)
        if not inside:
            inside = f"self_attn.{what}_proj" if what in "qkvo" else f"mlp.experts.{expert}.{what}_proj" if expert is not None else f"mlp.{what}_proj"
        return f"model.layers.{layer}.{inside}.{bias}"

    def gguf_name(self, name):
        layer, _, what = name.rpartition(".")
        if not layer:
            return {"embedding": "token_embd.weight", "norm": "output_norm.weight", "head": "output.weight"}[name]
        what, bias = (what[:-5], "bias") if what.endswith("_bias") else (what, "weight")
        sparse = "_exps" if self.c.get("experts") else ""
        inside = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "attn_norm": "attn_norm", "ffn_norm": "ffn_norm", "q_norm": "attn_q_norm", "k_norm": "attn_k_norm",
                  "router": "ffn_gate_inp", "gate": "ffn_gate" + sparse, "up": "ffn_up" + sparse, "down": "ffn_down" + sparse}[what]
        return f"blk.{layer}.{inside}.{bias}"

    def write(self, out):
        c = self.c
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        heads = c["kv_heads"] * c["group"]
        if c["held"] == "gguf":
            name = c["family"].replace("_", "")
            of = {"block_count": c["layers"], "context_length": 128, "embedding_length": c["hidden"], "feed_forward_length": c["ffn"], "attention.head_count": heads,
                  "attention.head_count_kv": c["kv_heads"], "attention.key_length": c["dim"], "attention.value_length": c["dim"], "attention.layer_norm_rms_epsilon": 1e-6,
                  "rope.freq_base": c["theta"]}
            if c.get("experts"):
                of.update({"expert_count": c["experts"], "expert_used_count": c["chosen"], "expert_feed_forward_length": c["expert_ffn"]})
            if any(c["slides"]):
                of.update({"attention.sliding_window": c["window"], "attention.sliding_window_pattern": [int(one) for one in c["slides"]]})
            self.path = os.path.join(out, "model.gguf")
            return modelio.write_gguf(self.path, {"general.architecture": name, **{f"{name}.{key}": value for key, value in of.items()}}, self.entries)
        kinds = {"qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM", "qwen3_moe": "Qwen3MoeForCausalLM"}
        config = dict(architectures=[kinds[c["family"]]], model_type=c["family"], hidden_size=c["hidden"], num_attention_heads=heads, num_key_value_heads=c["kv_heads"],
                      head_dim=c["dim"], intermediate_size=c["ffn"], num_hidden_layers=c["layers"], vocab_size=c["vocab"], max_position_embeddings=128, rms_norm_eps=1e-6,
                      rope_theta=c["theta"], hidden_act="silu", tie_word_embeddings=c["tied"], bos_token_id=0, eos_token_id=1)
        if c["family"] == "qwen2":
            del config["head_dim"]
        if any(c["slides"]):
            config.update(use_sliding_window=True, sliding_window=c["window"], layer_types=["sliding_attention" if one else "full_attention" for one in c["slides"]])
        if c.get("experts"):
            config.update(num_experts=c["experts"], num_experts_per_tok=c["chosen"], moe_intermediate_size=c["expert_ffn"], norm_topk_prob=c["norm"],
                          mlp_only_layers=[l for l, dense in enumerate(c["dense"]) if dense], decoder_sparse_step=1)
        if c["held"] in ("gptq", "awq"):
            config["quantization_config"] = {"quant_method": c["held"], "bits": 4, "group_size": 32, **({"version": "gemm", "zero_point": True} if c["held"] == "awq" else {"desc_act": False})}
        elif c["held"] == "fp8":
            config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
        self.path = out
        json.dump(config, open(os.path.join(out, "config.json"), "w"))
        modelio.write_safetensors(os.path.join(out, "model.safetensors"), self.entries)

    def logits(self, tokens, kept, computed):
        """Of all positions. Keys and values are rounded to `kept`, weights and what is kept, too, to `computed`."""
        c, n = self.c, len(tokens)
        w = {name: rounded(value, computed) for name, value in self.w.items()}
        heads, groups, d = c["kv_heads"] * c["group"], c["kv_heads"], c["dim"]
        norm = lambda x, name: x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * w[name]
        silu = lambda x: x / (1 + np.exp(-x))
        angle = np.arange(n)[:, None, None] * c["theta"] ** (-np.arange(d // 2) / (d // 2))
        turned = lambda x: np.concatenate([x[..., :d // 2] * np.cos(angle) - x[..., d // 2:] * np.sin(angle), x[..., d // 2:] * np.cos(angle) + x[..., :d // 2] * np.sin(angle)], axis=-1)
        x = w["embedding"][tokens]
        for l in range(c["layers"]):
            h = norm(x, f"{l}.attn_norm")
            q, k, v = ((h @ w[f"{l}.{name}"].T + w.get(f"{l}.{name}_bias", 0)).reshape(n, -1, d) for name in "qkv")
            if c["family"] != "qwen2":
                q, k = norm(q, f"{l}.q_norm"), norm(k, f"{l}.k_norm")
            q, k, v = turned(q), rounded(turned(k), kept), rounded(v, kept)
            k, v = (np.repeat(one, heads // groups, axis=1) for one in (k, v))
            behind = np.arange(n)[:, None] - np.arange(n)
            scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(d) + np.where((behind < 0) | (behind >= (c["window"] if c["slides"][l] else n)), -np.inf, 0)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            x = x + np.einsum("hij,jhd->ihd", scores / scores.sum(axis=-1, keepdims=True), v).reshape(n, -1) @ w[f"{l}.o"].T
            h = norm(x, f"{l}.ffn_norm")
            gate, up, down = (w[f"{l}.{name}"] for name in ("gate", "up", "down"))
            if gate.ndim == 2:
                x = x + (silu(h @ gate.T) * (h @ up.T)) @ down.T
                continue
            shares = np.exp(h @ w[f"{l}.router"].T)
            shares /= shares.sum(axis=-1, keepdims=True)
            order = np.argsort(-shares, axis=-1, kind="stable")[:, :c["chosen"]]
            more = np.zeros_like(x)
            for i in range(n):
                taken = shares[i, order[i]] / (shares[i, order[i]].sum() if c["norm"] else 1)
                for share, e in zip(taken, order[i]):
                    more[i] += share * (silu(h[i] @ gate[e].T) * (h[i] @ up[e].T)) @ down[e].T
            x = x + more
        return norm(x, "norm") @ w["embedding" if c["tied"] else "head"].T


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
    return done.returncode, done.stdout, done.stderr


def problem_of(c, model, compiler, out):
    """What is wrong; '' if nothing; what the compiler says if it refuses in one line."""
    program = out + ".program"
    flags = [f"--max-seq-len={LONGEST}", f"--batch={c['batch']}", f"--dtype={c['dtype']}"] + [f"--cache={c['cache']}"] * bool(c["cache"]) + [f"--mesh={c['mesh']}"] * bool(c["mesh"])
    flags += [f"--shard={','.join(dict.fromkeys(c['shard']))}"] * bool(c["shard"])
    status, _, errors = run([compiler, model.path, *flags, "-o", program])
    if status:
        lines = [line for line in errors.splitlines() if line.startswith("error: ")]
        return f"refused: {lines[0]}" if status == 1 and len(lines) == 1 and ": cannot" in ": " + lines[0][7:] else f"llm-compile {' '.join(flags)}: status {status}, {errors[-1500:]}"
    kept, computed = c["cache"] or c["dtype"], c["dtype"]
    generate = [program, "generate", f"--max-new-tokens={NEW}", "--print-tokens"]
    alone = []
    for tokens in c["prompts"]:
        path = out + ".logits.safetensors"
        status, text, errors = run(generate + ["--tokens=" + ",".join(map(str, tokens)), f"--logits={path}"])
        if status:
            return f"generate: status {status}, {errors[-1500:]}"
        line, = (line for line in text.splitlines() if line.startswith("tokens: "))
        alone.append(line)
        new = [int(token) for token in line[len("tokens: "):].split(",") if token.strip()]
        got, whole = read_safetensors(path)["logits"], tokens + new
        os.unlink(path)
        want = model.logits(whole, kept, computed)[:len(got)]
        if len(got) < len(whole) - 1:
            return f"{len(got)} logits of {len(whole)} tokens"
        largest = np.abs(want).max()
        allowed = BOUNDS[computed] * largest
        if kept != "f32" and computed == "f32":  # what lies between two numbers of the type may go to either
            allowed += 0.5 * np.abs(model.logits(whole, "f32", computed)[:len(got)] - want).max()
        errors = np.abs(got - want).max(axis=1)
        # In bf16 a token may choose another expert, and has other numbers then.
        if not errors.max() <= allowed and not (c.get("experts") and computed == "bf16"):
            return f"logits of {tokens} differ by {errors.max() / largest:.3g} of the largest at position {np.argmax(errors)} of {len(tokens)}+{len(new)}, allowed {allowed / largest:.3g}"
        for i, token in enumerate(new):
            if got[len(tokens) - 1 + i].max() - got[len(tokens) - 1 + i][token] > 0:
                return f"token {i} behind {tokens} is {token}, the largest logit is another's"
    status, text, errors = run(generate + ["--tokens=" + ",".join(map(str, tokens)) for tokens in c["prompts"]])
    if status:
        return f"generate of all: status {status}, {errors[-1500:]}"
    together = [line for line in text.splitlines() if line.startswith("tokens: ")]
    return "" if together == alone else f"all at once give {together}, each by itself {alone}"


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--out"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case")
    args = parser.parse_args()
    failed = refused = 0
    for number in range(args.count) if args.only is None else [args.only]:
        draw = random.Random(f"{args.seed} {number}")
        c = draw_case(draw)
        problem = problem_of(c, Model(c, draw, args.out), args.compiler, args.out)
        refused += problem.startswith("refused: ")
        bad = bool(problem) and not problem.startswith("refused: ")
        failed += bad
        print(f"case {number}{' FAILED' if bad else ''}: {json.dumps({key: value for key, value in c.items() if key != 'prompts'})} {problem}", flush=True)
    print(f"{failed} of {args.count} failed, {refused} were refused")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
