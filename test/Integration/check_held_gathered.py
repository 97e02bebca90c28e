"""A model whose weights stay in blocks where ranks hold pieces of them and gather those.

    check_held_gathered.py --compiler LLM_COMPILE --model MODEL --expected DIR --out OUT --mesh M...

On each mesh (which has an axis fsdp): tokens and logits as check_generate.py has them (1e-4 of float64 on expanded weights). What is packed on one rank is held in blocks on this
mesh, too, in little more than its share (a cut adds a sub-block a row). Prompts gather layers as words of those blocks (on one mesh at least), and a rank sends no more of them in a step to any
other than it holds. `--memory` counts what `info` does. Made-up weights give the tokens that they give on one rank."""
import argparse
import json
import os
import re
import subprocess
import sys

import numpy as np


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def compiled(args, *flags):
    run(args.compiler, args.model, "--max-seq-len=64", *flags, "-o", args.out)
    tokens = run(args.out, "generate", "--tokens=5,6,7", "--max-new-tokens=4", "--print-tokens", "--init=random:1")
    return json.loads(run(args.out, "info", "--json")), tokens


def elements(weight):
    count = max(weight["layers"], 1)
    for size in weight["shape"]:
        count *= size
    return count


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--model", "--expected", "--out"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--may-stay", action="store_true", help="placement may send activations in place of weights")
    args = parser.parse_args()
    generate = os.path.join(os.path.dirname(__file__), "check_generate.py")
    info, told = compiled(args)
    alone = {weight["name"]: weight for weight in info["weights"] if weight.get("held")}
    gathered = 0
    for mesh in args.mesh:
        line = run(sys.executable, generate, "--compiler", args.compiler, "--model", args.model, "--expected", args.expected, "--out", args.out, f"--mesh={mesh}")
        print(f"{mesh}: {line.strip()}")
        info, here = compiled(args, f"--mesh={mesh}")
        if here != told:
            sys.exit(f"made-up weights on {mesh}: {here}expected {told}")
        done = subprocess.run([args.compiler, args.model, "--max-seq-len=64", f"--mesh={mesh}", "--memory=1", "-o", args.out], capture_output=True, text=True, timeout=500)
        taken = [max(info[f"{what}_bytes"]) for what in ("weight", "arena", "workspace")]
        least = re.search(r"needs at least (\d+) bytes", done.stderr)
        if not least or int(least[1]) > sum(taken):
            sys.exit(f"on {mesh} a rank takes {taken} bytes: weights, arena, workspace; --memory=1 says {done.stderr.strip()}")
        small, _ = compiled(args, f"--mesh={mesh}", "--memory=" + least[1])
        if sum(max(small[f"{what}_bytes"]) for what in ("weight", "arena", "workspace")) != int(least[1]):
            sys.exit(f"on {mesh} with --memory={least[1]} info adds up to other bytes")
        held = 0
        for weight in info["weights"]:
            if weight["name"] not in alone:
                continue
            if weight.get("held") != alone[weight["name"]]["held"]:
                sys.exit(f"on {mesh} {weight['name']} is held as {weight.get('held') or weight['stored']}, on one rank as {alone[weight['name']]['held']}")
            # Rows end in units of 16, columns within sub-blocks, layers in lines; types of layers may differ.
            whole, share = alone[weight["name"]], elements(weight) / elements(alone[weight["name"]])
            cut = elements(weight) / weight["shape"][-1] * 32 / elements(whole) * whole["bytes"]  # a sub-block of each row
            most = cut + (1.05 if len(whole["held"]) == 1 else 1.5) * share * whole["bytes"] * 1.5 + 64 * (3 * max(weight["layers"], 1))
            if weight["bytes"] > most:
                sys.exit(f"on {mesh} {weight['name']} takes {weight['bytes']} bytes, {share} of {whole['bytes']} on one rank")
            held += weight["bytes"]
        words = [one for one in info["steps"]["prefill"]["collectives"] if one["kind"] == "all_gather" and one["dtype"] == "i32" and "whole" in one["why"]]
        sent = sum(one["bytes_per_rank"] for one in words)
        gathered += sent
        others = int(np.prod([int(axis.split('=')[1]) for axis in mesh.split(',') if axis.startswith('fsdp=')])) - 1
        if sent > held * others:
            sys.exit(f"on {mesh} a prompt sends {sent} bytes of weights in blocks; a rank holds {held}: {info['steps']['prefill']['collectives']}")
        print(f"{mesh}: {held} bytes in blocks, {sent} sent of them for a prompt")
    if not args.may_stay and not gathered:
        sys.exit("no prompt on any mesh gathers weights in blocks")


if __name__ == "__main__":
    main()
