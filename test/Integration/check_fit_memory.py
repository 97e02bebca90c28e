"""Training programs under limits of memory (--memory), from the least that fits to what no recomputation takes.

    check_fit_memory.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh MESH [--limits N] [--train I,...] [--micro-batches K]

Of N limits each program takes no more than the limit, by the compiler's own count, less time is predicted the more there is (of what lies alike), and more than a few
different programs come of it. The least that the error names is what the program for it takes, and a byte less does not fit. Those numbered I are trained: `info` says what the
compiler said, memory at its peak is at most that and 64 MiB a rank, and losses, norms and weights are the expected ones (check_train.py)."""
import argparse
import json
import math
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out", "--mesh"):
    parser.add_argument(flag, required=True)
parser.add_argument("--limits", type=int, default=8)
parser.add_argument("--train", default="")
parser.add_argument("--micro-batches", type=int, default=1)
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
PROGRAM = os.path.join(args.out, "program")
FLAGS = ["--task=train", "--batch=8", "--max-seq-len=16", f"--micro-batches={args.micro_batches}"]
FLAGS += [] if args.mesh == "none" else [f"--mesh={args.mesh}"]


def compiled(*flags, status=0):
    done = subprocess.run([args.compiler, args.model, *FLAGS, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(flags)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stderr


def taken(*flags):
    """Bytes of a rank, as `info` says."""
    compiled(*flags, "-o", PROGRAM)
    info = json.loads(subprocess.run([PROGRAM, "info", "--json"], stdout=subprocess.PIPE, check=True).stdout)
    return max(weights + arena for weights, arena in zip(info["weight_bytes"], info["arena_bytes"]))


def predicted(limit):
    """Bytes and microseconds of the program for a limit. It stops where the choice is made."""
    said = compiled(f"--memory={limit}", "--explain", "--compile-to=step", "-o", os.devnull)
    found = re.search(r"remark: memory: (\d+) of (\d+) bytes of a rank.*?a step takes ([\d.]+) us", said)
    if not found or int(found[2]) != limit:
        sys.exit(f"--memory={limit} says {said}")
    return int(found[1]), float(found[3]), "".join(re.findall(r"; (?:--shard=\S+|what a block makes is placed .*)", said))


none, full = taken("--recompute=none"), taken("--recompute=full")
error = compiled("--memory=1", "--compile-to=step", "-o", os.devnull, status=1)
least = int(re.search(r"error: does not fit \(--memory=1\): needs at least (\d+) bytes a rank", error)[1])
ranks = math.prod(map(int, re.findall(r"=(\d+)", args.mesh)))
apart = compiled("--memory=1", "--overlap=off", "--compile-to=step", "-o", os.devnull, status=1)
saves = int(re.search(r"needs at least (\d+) bytes a rank", apart)[1]) < least
# More micro-batches help as long as a rank has several rows of one.
rows = math.prod(int(size) for axis, size in re.findall(r"(\w+)=(\d+)", args.mesh) if axis in ("dp", "fsdp"))
smaller = "or more --micro-batches" if 8 > args.micro_batches * ranks else "or a smaller --batch or --max-seq-len" if 8 > rows else "or a smaller --max-seq-len"
hints = ["--overlap=off"] * (ranks > 1 and saves) + ["a larger mesh", smaller]
if not error.strip().endswith(f"; give --memory={least}, " + ", ".join(hints)):
    sys.exit(f"no such hints: {error}")
limits = [least + (none - least) * i // (args.limits - 1) for i in range(args.limits)]
programs = [predicted(limit) for limit in limits]
for limit, (took, time, lies), (before, slower, lay) in zip(limits, programs, programs[:1] + programs):
    if took > limit or (time > slower and lies == lay):
        sys.exit(f"--memory={limit}: {took} bytes, {time} us; with less memory {before} bytes, {slower} us")
if len(set(programs)) <= max(3, args.limits // 2):
    sys.exit(f"{len(set(programs))} different programs for {args.limits} limits: {programs}")
# Full recomputation alone is among what is tried. The program for the least takes neither more nor less, by its own count: less would be the least.
said, info = predicted(least)[0], taken(f"--memory={least}")
if least > full or not said == info == least:
    sys.exit(f"the least is said to be {least}, full recomputation takes {full}, the program for it {said}, {info} by info")
error = compiled(f"--memory={least - 1}", "--compile-to=step", "-o", os.devnull, status=1)
if f"needs at least {least} bytes" not in error:
    sys.exit(f"one byte below the least: {error}")
for i in map(int, filter(None, args.train.split(","))):
    if (said := taken(f"--memory={limits[i]}")) != programs[i][0]:
        sys.exit(f"--memory={limits[i]}: info says {said} bytes, the compiler {programs[i][0]}")
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "check_train.py"), "--compiler", args.compiler, "--model", args.model,
                    "--out", os.path.join(args.out, "train"), "--mesh", args.mesh, "--micro-batches", str(args.micro_batches),
                    "--memory", str(limits[i]), "--peak"], check=True)
print(f"{args.mesh}: {len(set(programs))} programs of {programs[0][0]} to {programs[-1][0]} bytes, {programs[0][1]} to {programs[-1][1]} us; at least {least}")
