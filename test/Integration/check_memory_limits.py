"""Programs under limits of memory (--memory) on several meshes, from the least that fits to what the fastest program takes.

    check_memory_limits.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh MESH [--mesh MESH ...] [--limits N] [--step] [FLAG ...]

Of N limits each program takes no more than the limit, by `info`; with --step by what the compiler says before it makes one. The least that the error
names fits, and 1 % less does not. FLAGs are the compiler's."""
import argparse
import json
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", required=True)
parser.add_argument("--limits", type=int, default=5)
parser.add_argument("--step", action="store_true")
args, flags = parser.parse_known_args()
os.makedirs(args.out, exist_ok=True)
PROGRAM = os.path.join(args.out, "program")
SAID = re.compile(r"remark: memory: (\d+) of (\d+) bytes of a rank: (.*)")


def compiled(mesh, limit, *more, status=0):
    command = [args.compiler, args.model, f"--mesh={mesh}", f"--memory={limit}", *flags, *more]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=1000, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stderr


def said(mesh, limit):
    found = SAID.search(compiled(mesh, limit, "--explain", "--compile-to=step", "-o", os.devnull))
    if not found or int(found[2]) != limit:
        sys.exit(f"{mesh}, --memory={limit}: {found and found[0]}")
    return int(found[1]), found[3]


def taken(mesh, limit):
    """Bytes of the rank that takes most, as `info` of the program says."""
    compiled(mesh, limit, "-o", PROGRAM)
    info = json.loads(subprocess.run([PROGRAM, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    return max(weights + arena for weights, arena in zip(info["weight_bytes"], info["arena_bytes"]))


for mesh in args.mesh:
    free, _ = said(mesh, 10**18)
    error = compiled(mesh, 1, "--compile-to=step", "-o", os.devnull, status=1)
    least = int(re.search(r"error: does not fit \(--memory=1\): needs at least (\d+) bytes a rank", error)[1])
    if least > free:
        sys.exit(f"{mesh}: the least is said to be {least}, the fastest program takes {free}")
    plans = []
    for limit in (least + (free - least) * i // (args.limits - 1) for i in range(args.limits)):
        plans.append(said(mesh, limit))
        if plans[-1][0] > limit or (not args.step and taken(mesh, limit) != plans[-1][0]):
            sys.exit(f"{mesh}, --memory={limit}: said are {plans[-1][0]} bytes{'' if args.step else f', info says {taken(mesh, limit)}'}")
    error = compiled(mesh, least * 99 // 100, "--compile-to=step", "-o", os.devnull, status=1)
    if f"needs at least {least} bytes" not in error:
        sys.exit(f"{mesh}: 1 % below the least: {error}")
    print(f"{mesh}: {least} to {free} bytes, {len(set(plans))} programs; for the least {plans[0][1]}")
