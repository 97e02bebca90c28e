"""Compiles a model in a 16-bit type for several meshes and compares logits with float64's.

    check_dtype.py --compiler LLM_COMPILE --model MODEL --expected DIR --dtype bf16|f16 --out OUT [--mesh M | --mpi M]...

The largest difference from the float64 logits of DIR, over the largest logit, is at most 1.5 times that of torch in the same type
(dtype_bounds.json, measured by bench/dtypes); meshes differ from each other by no more. Weights and states take two bytes a number, but for
what `info` calls packing. Needs numpy."""
import argparse
import json
import os
import shlex
import sys

import numpy as np
from check_generate import read_safetensors, run

SLACK = 1.5


def cases(folder):
    tensors = read_safetensors(os.path.join(folder, "expected.safetensors"))
    if "logits" in tensors:
        return list(zip(tensors["tokens"].tolist(), tensors["logits"]))
    prompts = json.load(open(os.path.join(folder, "expected.json")))
    prompts = prompts["generate"] if isinstance(prompts, dict) else prompts
    return [(p["prompt_tokens"], tensors[f"logits_{i}"]) for i, p in enumerate(prompts) if f"logits_{i}" in tensors]


def check_info(out, dtype, mesh):
    info = json.loads(run([out, "info", "--json"]))
    if info["dtype"] != dtype:
        sys.exit(f"{mesh}: info says dtype {info['dtype']}")
    for held in info["weights"] + info["states"]:
        bytes_ = held["bytes"] - held.get("packing_bytes", 0)
        want = 2 * int(np.prod(held["shape"])) * max(held.get("layers", 0), 1)
        if held["stored"] != dtype or bytes_ != want:
            sys.exit(f"{mesh}: {held['name']} is held as {held['stored']} in {bytes_} bytes, expected {want} of {dtype}")
    for product in info["products"]:
        if product["accumulated"] != "f32" or product["weight"] != dtype:
            sys.exit(f"{mesh}: a product {product}")


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--model", "--expected", "--out", "--dtype"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--mesh", action="append", default=[], help="none, or as llm-compile takes it")
    parser.add_argument("--mpi", action="append", default=[], help="a mesh whose ranks mpirun starts")
    parser.add_argument("--max-seq-len", type=int, default=128)
    args = parser.parse_args()

    name = os.path.basename(args.expected.rstrip("/"))
    bounds = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dtype_bounds.json")))
    bound = SLACK * bounds[name][args.dtype]
    found = {}
    for mesh, mpi in [(m, False) for m in args.mesh] + [(m, True) for m in args.mpi]:
        command = [args.compiler, args.model, f"--dtype={args.dtype}", f"--max-seq-len={args.max_seq_len}", "-o", args.out]
        run(command + ([] if mesh == "none" else [f"--mesh={mesh}"]))
        check_info(args.out, args.dtype, mesh)
        ranks = int(np.prod([int(axis.split("=")[1]) for axis in mesh.split(",")])) if mesh != "none" else 1
        start = shlex.split(f"mpirun --allow-run-as-root --oversubscribe -np {ranks}") if mpi else []
        logits = []
        for number, (tokens, want) in enumerate(cases(args.expected)):
            path = args.out + ".logits.safetensors"
            run(start + [args.out, "generate", "--tokens=" + ",".join(map(str, tokens)), "--max-new-tokens=1", f"--logits={path}"])
            got = read_safetensors(path)["logits"][-len(want):]
            os.unlink(path)
            largest = np.abs(want).max()
            error = float(np.abs(got - want).max() / largest)
            if not error <= bound:
                sys.exit(f"{mesh}, case {number}: logits differ from float64's by {error:.3g} of the largest; at most {bound:.3g}")
            for other, theirs in found.items():
                between = float(np.abs(got - theirs[number]).max() / largest)
                if not between <= bound:
                    sys.exit(f"{mesh} and {other}, case {number}: logits differ by {between:.3g} of the largest; at most {bound:.3g}")
            logits.append(got)
            print(f"{mesh}, case {number}: {error:.3g}")
        found[mesh + (" by mpirun" if mpi else "")] = logits
    print(f"ok: {len(found)} meshes within {bound:.3g}")


if __name__ == "__main__":
    main()
