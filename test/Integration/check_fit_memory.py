"""Training programs under limits of memory (--memory), from what full recomputation takes to what none takes.

    check_fit_memory.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh MESH [--limits N] [--train I,...] [--micro-batches K]

Of N limits each program takes no more than the limit, by the compiler's own count, less time is predicted the more there is (of what lies alike), and more than a few
different programs come of it. The least that the error names fits, and a byte less does not. Those numbered I are trained: `info` says what the
compiler said, memory at its peak is at most that and 64 MiB a rank, and losses, norms and weights are the expected ones (check_train.py)."""
import argparse
import json
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
    done = subprocess.run([args.compiler, args.model, *FLAGS, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(flags)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stderr


def taken(*flags):
    """Bytes of a rank, as `info` says, and those of weights that it gathers."""
    compiled(*flags, "-o", PROGRAM)
    info = json.loads(subprocess.run([PROGRAM, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=300).stdout)
    return max(weights + arena for weights, arena in zip(info["weight_bytes"], info["arena_bytes"])), sum(info["memory"].get("gathered", {}).values())


def predicted(limit):
    """Bytes and microseconds of the program for a limit. It stops where the choice is made."""
    said = compiled(f"--memory={limit}", "--explain", "--compile-to=step", "-o", os.devnull)
    found = re.search(r"remark: memory: (\d+) of (\d+) bytes of a rank.*?a step takes ([\d.]+) us", said)
    if not found or int(found[2]) != limit:
        sys.exit(f"--memory={limit} says {said}")
    return int(found[1]), float(found[3]), "".join(re.findall(r"; --shard=\S+", said))


(none, _), (full, gathered) = taken("--recompute=none"), taken("--recompute=full")
limits = [full + (none - full) * i // (args.limits - 1) for i in range(args.limits)]
programs = [predicted(limit) for limit in limits]
for limit, (took, time, lies), (before, slower, lay) in zip(limits, programs, programs[:1] + programs):
    if took > limit or (time > slower and lies == lay):
        sys.exit(f"--memory={limit}: {took} bytes, {time} us; with less memory {before} bytes, {slower} us")
if len(set(programs)) <= max(3, args.limits // 2):
    sys.exit(f"{len(set(programs))} different programs for {args.limits} limits: {programs}")
error = compiled("--memory=1", "--compile-to=step", "-o", os.devnull, status=1)
least = int(re.search(r"error: does not fit \(--memory=1\): needs at least (\d+) bytes a rank", error)[1])
# Bytes do not fall evenly with what is saved: the program for the least may take less than it. It may gather weights again in each layer, which full recomputation alone
# holds for all of them. With several micro-batches gradients that are summed up may lie in shards besides, which full recomputation alone leaves whole, and along
# dp weights and states, too. On a mesh blocks may be placed within fewer bytes (tiny-gpt2 on tp=2: 1,922,432 for 2,005,184).
beneath = 0.4 if "dp=" in args.mesh.replace("fsdp=", "") else 0.8 if args.micro_batches > 1 else 0.9 if args.mesh != "none" else 0.99
if least > full or not (full - gathered) * beneath <= predicted(least)[0] <= least:
    sys.exit(f"the least is said to be {least}, full recomputation takes {full}, the program for it {predicted(least)[0]}")
error = compiled(f"--memory={least - 1}", "--compile-to=step", "-o", os.devnull, status=1)
if f"needs at least {least} bytes" not in error:
    sys.exit(f"one byte below the least: {error}")
for i in map(int, filter(None, args.train.split(","))):
    if (said := taken(f"--memory={limits[i]}")[0]) != programs[i][0]:
        sys.exit(f"--memory={limits[i]}: info says {said} bytes, the compiler {programs[i][0]}")
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "check_train.py"), "--compiler", args.compiler, "--model", args.model,
                    "--out", os.path.join(args.out, "train"), "--mesh", args.mesh, "--micro-batches", str(args.micro_batches),
                    "--memory", str(limits[i]), "--peak"], check=True)
print(f"{args.mesh}: {len(set(programs))} programs of {programs[0][0]} to {programs[-1][0]} bytes, {programs[0][1]} to {programs[-1][1]} us; at least {least}")
