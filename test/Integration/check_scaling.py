"""Compile time and size must not grow with depth or with the mesh (CPU seconds, least of N runs, --compile-to or a whole binary).

    check_scaling.py --compiler LLM_COMPILE --config DIR --out PREFIX [--runs 10]

400 layers against 4: at most 1.1 x + 50 ms, size at most 1.1 x. dp=64,tp=8 against tp=2 to rung spmd: the same time bound."""
import json
import os

import compile_cost

args = compile_cost.arguments(__doc__, runs=10)


def with_layers(layers):
    folder = f"{args.out}-{layers}"
    os.makedirs(folder, exist_ok=True)
    config = json.load(open(os.path.join(args.config, "config.json")))
    config["num_hidden_layers"] = layers
    json.dump(config, open(os.path.join(folder, "config.json"), "w"))
    return folder


def judge(what, large, small, slack=0.0):
    compile_cost.judge(f"{what} ({small:.3f})", large, 1.1 * small + slack)


few, many = with_layers(4), with_layers(400)
outs = [args.out + "-4.bin", args.out + "-400.bin"]
(small, large), _ = compile_cost.least([[args.compiler, few, "-o", outs[0]], [args.compiler, many, "-o", outs[1]]], args.runs)
judge("CPU s to a binary, 400 layers against 4", large, small, 0.05)
small, large = (os.path.getsize(path) for path in outs)
judge("bytes of binary, 400 layers against 4", large, small)
spmd = [args.compiler, few, "--batch=64", "--compile-to=spmd", "-o", args.out + ".mlir"]
(small, large), _ = compile_cost.least([spmd + ["--mesh=tp=2"], spmd + ["--mesh=dp=64,tp=8"]], args.runs)
judge("CPU s to spmd, dp=64,tp=8 against tp=2", large, small, 0.05)
compile_cost.finish()
