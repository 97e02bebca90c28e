"""Compile time and size must not grow with depth or with the mesh (CPU seconds, least of N runs, --compile-to or a whole binary).

    check_scaling.py --compiler LLM_COMPILE --config DIR --out PREFIX [--runs 10]

400 layers against 4: at most 1.1 x + 50 ms, size at most 1.1 x. dp=64,tp=8 against tp=2 to rung spmd: the same time bound."""
import argparse
import json
import os
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--config", required=True, help="folder with a config.json")
parser.add_argument("--out", required=True)
parser.add_argument("--runs", type=int, default=10)
args = parser.parse_args()


def with_layers(layers):
    folder = f"{args.out}-{layers}"
    os.makedirs(folder, exist_ok=True)
    config = json.load(open(os.path.join(args.config, "config.json")))
    config["num_hidden_layers"] = layers
    json.dump(config, open(os.path.join(folder, "config.json"), "w"))
    return folder


def cpu_seconds(command):
    before = os.times()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=300)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr.decode()[-1000:]}")
    return after.children_user - before.children_user + after.children_system - before.children_system


def least(commands):
    """Interleaved, so that a noisy minute hits both."""
    best = [float("inf")] * len(commands)
    for _ in range(args.runs):
        for i, command in enumerate(commands):
            best[i] = min(best[i], cpu_seconds(command))
    return best


failed = False


def judge(what, large, small, bound):
    global failed
    verdict = "ok" if large <= bound else "TOO MUCH"
    failed |= large > bound
    print(f"{what}: {large:.3f} against {small:.3f}, bound {bound:.3f}: {verdict}")


few, many = with_layers(4), with_layers(400)
outs = [args.out + "-4.bin", args.out + "-400.bin"]
small, large = least([[args.compiler, few, "-o", outs[0]], [args.compiler, many, "-o", outs[1]]])
judge("CPU s to a binary, 400 layers against 4", large, small, 1.1 * small + 0.05)
sizes = [os.path.getsize(path) for path in outs]
judge("bytes of binary, 400 layers against 4", sizes[1], sizes[0], 1.1 * sizes[0])
spmd = [args.compiler, few, "--batch=64", "--compile-to=spmd", "-o", args.out + ".mlir"]
small, large = least([spmd + ["--mesh=tp=2"], spmd + ["--mesh=dp=64,tp=8"]])
judge("CPU s to spmd, dp=64,tp=8 against tp=2", large, small, 1.1 * small + 0.05)
sys.exit(1 if failed else 0)
