"""Pipelines under limits of memory (--memory).

    check_pipeline_memory.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh MESH [--train]

What the compiler says of a plan's bytes is what `info` says of the executable. A limit between what gpipe and 1f1b take has 1f1b, one that only full
recomputation meets has that; the least that the error names fits, and a byte less does not; a larger limit never gives a longer step. --train: the
program of a limit trains to the expected losses, in that memory (check_train.py)."""
import argparse
import json
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out", "--mesh"):
    parser.add_argument(flag, required=True)
parser.add_argument("--train", action="store_true")
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
PROGRAM = os.path.join(args.out, "program")
FLAGS = ["--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", f"--mesh={args.mesh}"]
SAID = re.compile(
    r"remark: pipeline: (?P<schedule>\S+), (?P<micro>\d+) micro-batches, cut (?P<cut>[\d,]+): (?P<us>[\d.]+) us planned"
    r"(?:, --recompute=(?P<recompute>\w+))?; (?P<bytes>\d+) of (?P<limit>\d+) bytes of a rank"
)


def compiled(*flags, status=0):
    done = subprocess.run([args.compiler, args.model, *FLAGS, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(flags)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stderr


def plan(limit, *flags):
    """What the compiler says that it chose. It stops where the choice is made."""
    found = SAID.search(compiled(f"--memory={limit}", "--explain", "--compile-to=step", "-o", os.devnull, *flags))
    if not found or int(found["bytes"]) > limit or int(found["limit"]) != limit:
        sys.exit(f"--memory={limit} {flags}: {found and found[0]}")
    return found


def expect(ok, why):
    if not ok:
        sys.exit(why)


def check_info(limit, *flags):
    """The executable's own figures."""
    said = SAID.search(compiled(f"--memory={limit}", "--explain", "-o", PROGRAM, *flags))
    pipeline = json.loads(subprocess.run([PROGRAM, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=60).stdout)["pipeline"]
    most = max(rank["device_bytes"] for rank in pipeline["ranks"])
    cut = ",".join(str(stage["layers"]) for stage in pipeline["stages"])
    expect(
        (most, cut, pipeline["schedule"]) == (int(said["bytes"]), said["cut"], said["schedule"]),
        f"info says {most} bytes, {cut}, {pipeline['schedule']}; the compiler {said[0]}",
    )


HUGE = 10**12
for flags in ((), ("--pipeline=zb1p:1",), ("--pipeline=interleaved:2", "--recompute=full")):
    check_info(HUGE, *flags)

gpipe, one = (int(plan(HUGE, f"--pipeline={name}")["bytes"]) for name in ("gpipe", "1f1b"))
expect(one < gpipe, f"1f1b takes {one} bytes, gpipe {gpipe}")
cut = plan(HUGE, "--pipeline=1f1b")["cut"]
between = plan(int(plan(HUGE, "--pipeline=1f1b", f"--stages={cut}")["bytes"]), f"--stages={cut}", "--recompute=none")
expect(between["schedule"] == "1f1b", f"a limit that 1f1b meets has {between[0]}")

error = compiled("--memory=1", "--pipeline=1f1b", "--recompute=none", "--compile-to=step", "-o", os.devnull, status=1)
least_none = int(re.search(r"error: does not fit \(--memory=1\): needs at least (\d+) bytes a rank", error)[1])
full = plan(least_none - 1, "--pipeline=1f1b")
expect(full["recompute"] == "full", f"less than no recomputation needs has {full[0]}")

error = compiled("--memory=1", "--compile-to=step", "-o", os.devnull, status=1)
least = int(re.search(r"error: does not fit \(--memory=1\): needs at least (\d+) bytes a rank", error)[1])
tight = plan(least)
check_info(least)
error = compiled(f"--memory={least - 1}", "--compile-to=step", "-o", os.devnull, status=1)
expect(f"needs at least {least} bytes" in error, f"one byte below the least: {error}")
times = [float(plan(limit)["us"]) for limit in (least, 2 * gpipe)]
expect(all(after <= before * 1.0101 for before, after in zip(times, times[1:])), f"more memory, longer steps: {times}")
if args.train:
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "check_train.py"), "--compiler", args.compiler, "--model", args.model]
    command += ["--out", os.path.join(args.out, "train"), "--mesh", args.mesh, "--micro-batches", "4", "--memory", str(least), "--peak"]
    subprocess.run(command, check=True)
print(f"{args.mesh}: gpipe {gpipe}, 1f1b {one}, at least {least} with {tight['schedule']}, {tight['cut']}; {times} us")
