"""Programs under limits of memory (--memory) on several meshes, from the least that fits to what the fastest program takes.

    check_memory_limits.py --compiler LLM_COMPILE --model MODEL [--model MODEL] --out DIR --mesh MESH [--mesh MESH ...] [--limits N] [--step] [--allocate MODEL]
                           [--draw N --seed S] [FLAG ...]

Of N limits each program takes no more than the limit, by `info`, or with --step by what the compiler says before it makes one. The least that the error
names fits: the program for it takes just so many bytes, by both. 1 % less does not, and is said to need the same. The program for
the least of the model that --allocate names runs, too: its memory at its peak is at most what `info` says, and 64 MiB a rank (check_memory.py). --draw: of all
pairs of a model and a mesh so many, by the seed. FLAGs are the compiler's."""
import argparse
import json
import os
import random
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--out"):
    parser.add_argument(flag, required=True)
for flag in ("--model", "--mesh"):
    parser.add_argument(flag, action="append", required=True)
parser.add_argument("--limits", type=int, default=5)
parser.add_argument("--step", action="store_true")
parser.add_argument("--allocate", default="")
parser.add_argument("--draw", type=int, default=0)
parser.add_argument("--seed", default="1")
args, flags = parser.parse_known_args()
os.makedirs(args.out, exist_ok=True)
PROGRAM = os.path.join(args.out, "program")
SAID = re.compile(r"remark: (?:memory: |pipeline: [^\n]*?; )(\d+) of (\d+) bytes of a rank: (.*)")
NOWHERE = ["--compile-to=step", "-o", os.devnull]


def run(command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done


def info_bytes():
    """Of the rank that takes most, as `info` of the program says."""
    info = json.loads(run([PROGRAM, "info", "--json"]).stdout)
    if "pipeline" in info:
        return max(rank["device_bytes"] for rank in info["pipeline"]["ranks"])
    return max(weights + arena for weights, arena in zip(info["weight_bytes"], info["arena_bytes"]))


def check(model, mesh):
    def compiled(limit, *more, status=0):
        return run([args.compiler, model, f"--mesh={mesh}", f"--memory={limit}", *flags, *more], status).stderr

    def refused(limit):
        error = compiled(limit, *NOWHERE, status=1)
        found = re.search(r"error: does not fit \(--memory=\d+\): needs at least (\d+) bytes a rank", error)
        if not found:
            sys.exit(f"{what}, --memory={limit}: {error}")
        return int(found[1])

    def said(limit, *more):
        found = SAID.search(compiled(limit, "--explain", *more))
        if not found or int(found[2]) != limit or int(found[1]) > limit:
            sys.exit(f"{what}, --memory={limit}: {found and found[0]}")
        return int(found[1]), found[3]

    what = f"{os.path.basename(model)} {mesh}"
    free, least = said(10**18, *NOWHERE)[0], refused(1)
    if least > free:
        sys.exit(f"{what}: the least is said to be {least}, the fastest program takes {free}")
    taken = []
    for limit in (least + (free - least) * i // (args.limits - 1) for i in range(args.limits)):
        if args.step or limit == least:
            taken.append(said(limit, *(NOWHERE if args.step else ["-o", PROGRAM])))
        if not args.step:
            if limit > least:
                compiled(limit, "-o", PROGRAM)
                taken.append((info_bytes(), ""))
            elif info_bytes() != taken[0][0]:
                sys.exit(f"{what}, --memory={limit}: said are {taken[0][0]} bytes, info says {info_bytes()}")
            if limit == least and model == args.allocate:
                run([sys.executable, os.path.join(os.path.dirname(__file__), "check_memory.py"), PROGRAM, "generate", "--init=random:1", "--tokens=1,2,3",
                     "--max-new-tokens=2", "--threads=2"])  # fmt: skip
        if taken[-1][0] > limit:
            sys.exit(f"{what}, --memory={limit}: the program takes {taken[-1][0]} bytes")
    if taken[0][0] != least:
        sys.exit(f"{what}: the least is said to be {least}, the program for it takes {taken[0][0]}")
    if (again := refused(least * 99 // 100)) != least:
        sys.exit(f"{what}: the least is said to be {least}, and {again} where there is 1 % less")
    print(f"{what}: {least} to {free} bytes, {len({bytes for bytes, _ in taken})} programs; for the least {taken[0][1]}", flush=True)


pairs = [(model, mesh) for model in args.model for mesh in args.mesh]
for model, mesh in random.Random(args.seed).sample(pairs, args.draw) if args.draw else pairs:
    check(model, mesh)
