"""Stages that generate, under the least limit of memory, take what the compiler says; a byte less is refused. So do stages that train.

    check_plan_memory.py LLM_COMPILE MODEL TIED OUT"""
import json
import re
import subprocess
import sys

compiler, model, tied, out = sys.argv[1:]


def compiled(limit):
    return subprocess.run([compiler, model, *flags, f"--memory={limit}", "--explain", "-o", out], capture_output=True, text=True, timeout=120)


for more in (["--batch=4"], ["--batch=5", "--micro-batches=4"], ["--batch=4", "--stages=1,3"]):
    flags = ["--mesh=pp=2", "--max-seq-len=64", *more]
    least = int(re.search(r"needs at least (\d+) bytes", compiled(1).stderr)[1])
    below = compiled(least - 1)
    if below.returncode != 1 or f"needs at least {least} bytes" not in below.stderr:
        sys.exit(f"one byte below {least}: {below.stderr[-500:]}")
    if f"remark: pipeline: {least} of {least} bytes of a rank" not in compiled(least).stderr:
        sys.exit(f"at {least}: {compiled(least).stderr[:500]}")
    info = json.loads(subprocess.run([out, "info", "--json"], capture_output=True, check=True, timeout=60).stdout)
    taken = max(stage["device_bytes"] for stage in info["pipeline"]["stages"])
    if taken != least:
        sys.exit(f"info says {taken} bytes, the compiler {least}")
    stages = info["pipeline"]["stages"]
    sends, buffers = [stage["sends_bytes_of_chunk"] for stage in stages], info["pipeline"]["send_buffers"]
    if [stage["value_bytes"] for stage in stages] != [buffers * sends[0], sends[0]]:
        sys.exit(f"a stage holds what it sends in each of {buffers} buffers, and what it receives: {stages}")

# The second model has a table that two stages have.
for model, stages in ((model, "2,2"), (tied, "2,3")):
    flags = ["--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", "--mesh=pp=2", f"--stages={stages}", "--pipeline=gpipe", "--recompute=none"]
    said = int(re.search(r"us predicted; (\d+) of 1000000000 bytes", compiled(10**9).stderr)[1])
    info = json.loads(subprocess.run([out, "info", "--json"], capture_output=True, check=True, timeout=60).stdout)
    taken = max(rank["device_bytes"] for rank in info["pipeline"]["ranks"])
    if taken != said:
        sys.exit(f"training {model}, info says {taken} bytes, the compiler {said}")
