"""Compiles a model in a 16-bit type for several meshes and compares logits with float64's.

    check_dtype.py --compiler LLM_COMPILE --model MODEL --expected DIR --dtype bf16|f16 --out OUT [--mesh M | --mpi M]... [--prompts N]

Errors are taken at every position of the prompts of dtype_prompts.json, relative to the prompt's largest logit. Over all of them, the largest
and the median are at most 1.5 times those of torch in the same type (dtype_bounds.json, measured by bench/dtypes); meshes differ from each
other by no more. float64's logits come from the float32 executable of one rank, which differs from those of DIR by less than 1e-5, a
hundredth of what is measured. Weights and states take two bytes a number, half of the float32 executable's, but for what `info` calls
packing, which is counted here from the shapes. Needs numpy."""
import argparse
import json
import os
import shlex
import sys

import numpy as np
from check_generate import read_safetensors, run

SLACK = 1.5
HERE = os.path.dirname(os.path.abspath(__file__))


def prompts(name):
    lists = json.load(open(os.path.join(HERE, "dtype_prompts.json")))
    return lists[name] if name in lists else lists["tiny"]


def bounds_of(name, dtype):
    """What the errors of a model in `dtype` may be at most: the largest, and the median."""
    bounds = json.load(open(os.path.join(HERE, "dtype_bounds.json")))[name][dtype]
    return SLACK * bounds["largest"], SLACK * bounds["median"]


def parser_of(*required):
    """Flags that name what is compiled, and for which meshes."""
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--model", "--out", "--dtype", *required):
        parser.add_argument(flag, required=True)
    parser.add_argument("--mesh", action="append", default=[], help="none, or as llm-compile takes it")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for the compiler")
    return parser


def errors(got, want):
    """Largest and median error of a position; a list of [position, vocabulary] for each prompt."""
    each = np.concatenate([np.abs(g - w).max(axis=1) / np.abs(w).max() for g, w in zip(got, want)])
    return float(each.max()), float(np.median(each))


def expected_cases(folder):
    """Tokens, with float64's logits of their last positions."""
    tensors = read_safetensors(os.path.join(folder, "expected.safetensors"))
    if "logits" in tensors:
        return list(zip(tensors["tokens"].tolist(), tensors["logits"]))
    prompts = json.load(open(os.path.join(folder, "expected.json")))
    prompts = prompts["generate"] if isinstance(prompts, dict) else prompts
    return [(p["prompt_tokens"], tensors[f"logits_{i}"]) for i, p in enumerate(prompts) if f"logits_{i}" in tensors]


def logits(out, tokens, start=()):
    path = out + ".logits.safetensors"
    run([*start, out, "generate", "--tokens=" + ",".join(map(str, tokens)), "--max-new-tokens=1", f"--logits={path}"])
    got = read_safetensors(path)["logits"]
    os.unlink(path)
    return got


def packed_bytes(shape, group):
    """What a matrix of two-byte elements may take packed (docs/Types.md): one size for each way to split its dimensions into rows and columns."""
    sizes = set()
    for split in range(1, len(shape)):
        rows, columns = int(np.prod(shape[:split])), int(np.prod(shape[split:]))
        block = max(16, min(64, -(-rows // 16) * 16))
        sizes.add(2 * (-(-rows // block) * block) * (-(-columns // (16 * group)) * 16 * group))
    return sizes


def check_info(out, dtype, mesh, wide):
    """Two bytes a number, half of what the float32 executable's `info` says, and the padding that the packed form needs."""
    info = json.loads(run([out, "info", "--json"]))
    if info["dtype"] != dtype:
        sys.exit(f"{mesh}: info says dtype {info['dtype']}")
    for kind in ("weights", "states"):
        theirs = {held["name"]: held for held in wide[kind]}
        if not info[kind] or len(info[kind]) != len(theirs):
            sys.exit(f"{mesh}: {len(info[kind])} {kind}, {len(theirs)} in f32")
        for held in info[kind]:
            if held["stored"] in ("i32", "i64", "f64") or held["name"].startswith("draw_"):  # tokens, positions and how tokens are drawn: no numbers of the model
                continue
            if "held" in held:  # blocks of the file, whatever is computed in
                if "held" in theirs[held["name"]] and held["bytes"] != theirs[held["name"]]["bytes"]:
                    sys.exit(f"{mesh}: {held['name']} takes {held['bytes']} bytes, in f32 {theirs[held['name']]['bytes']}")
                continue
            layers = max(held.get("layers", 0), 1)
            numbers, padding = int(np.prod(held["shape"])) * layers, held.get("packing_bytes", 0)
            told = f"{mesh}: {held['name']} {held['shape']} is held as {held['stored']} in {held['bytes']} bytes, {padding} of them packing"
            if held["stored"] != dtype or held["bytes"] != 2 * numbers + padding:
                sys.exit(f"{told}; expected {2 * numbers} of {dtype}")
            plain = 2 * numbers // layers  # on GPUs layers may lie 16 bytes apart, or a multiple of it
            sizes = packed_bytes(held["shape"], 2 if dtype == "bf16" else 1) if held.get("packed") else {plain, -(-plain // 16) * 16}
            if held["bytes"] // layers not in sizes:
                sys.exit(f"{told}; its layout takes {sizes} a layer")
            other = theirs[held["name"]]
            if 2 * (held["bytes"] - padding) != other["bytes"] - other.get("packing_bytes", 0):
                sys.exit(f"{told}; f32 takes {other['bytes']}: not half")
    for product in info["products"]:
        if product["accumulated"] != "f32" or product["weight"] != dtype:
            sys.exit(f"{mesh}: a product {product}")


def main():
    parser = parser_of("--expected")
    parser.add_argument("--mpi", action="append", default=[], help="a mesh whose ranks mpirun starts")
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--prompts", type=int, help="take the first N only")
    args = parser.parse_args()

    name = os.path.basename(args.expected.rstrip("/"))
    largest, median = bounds_of(name, args.dtype)

    def compile_for(dtype, mesh):
        command = [args.compiler, args.model, f"--dtype={dtype}", f"--max-seq-len={args.max_seq_len}", "-o", args.out] + args.flag
        run(command + ([] if mesh == "none" else [f"--mesh={mesh}"]))

    def check(what, got, want):
        found = errors(got, want)
        print(f"{what}: largest {found[0]:.3g}, median {found[1]:.3g}")
        if not (found[0] <= largest and found[1] <= median):
            sys.exit(f"{what}: logits differ by {found[0]:.3g} of the largest, {found[1]:.3g} in the median; at most {largest:.3g} and {median:.3g}")

    compile_for("f32", "none")
    for tokens, want in expected_cases(args.expected):
        error = np.abs(logits(args.out, tokens)[-len(want):] - want).max() / np.abs(want).max()
        if not error <= 1e-5:
            sys.exit(f"logits of float32 differ from float64's by {error:.3g} of the largest")
    taken = prompts(name)[:args.prompts]
    reference = [logits(args.out, tokens) for tokens in taken]
    done = {}
    for mesh, mpi in [(m, False) for m in args.mesh] + [(m, True) for m in args.mpi]:
        compile_for("f32", mesh)
        wide = json.loads(run([args.out, "info", "--json"]))
        compile_for(args.dtype, mesh)
        check_info(args.out, args.dtype, mesh, wide)
        ranks = int(np.prod([int(axis.split("=")[1]) for axis in mesh.split(",")])) if mesh != "none" else 1
        start = shlex.split(f"mpirun --allow-run-as-root --oversubscribe -np {ranks}") if mpi else []
        title = mesh + (" by mpirun" if mpi else "")
        got = [logits(args.out, tokens, start) for tokens in taken]
        check(title, got, reference)
        for other, theirs in done.items():
            check(f"{title} and {other}", got, theirs)
        done[title] = got
    print(f"ok: {len(done)} meshes within {largest:.3g}, {median:.3g} in the median")


if __name__ == "__main__":
    main()
