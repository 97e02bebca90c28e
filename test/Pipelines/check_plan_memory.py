"""Stages that generate, under the least limit of memory, take what the compiler says; a byte less is refused. So do stages that train.

    check_plan_memory.py LLM_COMPILE MODEL TIED OUT"""
import json
import re
import subprocess
import sys

compiler, model, tied, out = sys.argv[1:]


def compiled(limit):
    return subprocess.run([compiler, model, *flags, f"--memory={limit}", "--explain", "-o", out], capture_output=True, text=True, timeout=120)


def at_least_limit():
    """What `info` says of the pipeline that is made under the least limit."""
    least = int(re.search(r"needs at least (\d+) bytes", compiled(1).stderr)[1])
    below = compiled(least - 1)
    if below.returncode != 1 or f"needs at least {least} bytes" not in below.stderr:
        sys.exit(f"one byte below {least}: {below.stderr[-500:]}")
    if not re.search(rf"remark: pipeline: .*; {least} of {least} bytes of a rank", compiled(least).stderr):
        sys.exit(f"at {least}: {compiled(least).stderr[:500]}")
    info = json.loads(subprocess.run([out, "info", "--json"], capture_output=True, check=True, timeout=60).stdout)
    taken = max(rank["device_bytes"] for rank in info["pipeline"]["ranks"])
    if taken != least:
        sys.exit(f"info says {taken} bytes, the compiler {least}")
    return info["pipeline"]


for more in (["--batch=4"], ["--batch=5", "--micro-batches=4"], ["--batch=4", "--stages=1,3"]):
    flags = ["--mesh=pp=2", "--max-seq-len=64", *more]
    at_least_limit()
flags = ["--mesh=dp=2,pp=2", "--batch=5", "--micro-batches=3", "--max-seq-len=64"]
pipeline = at_least_limit()
# A rank has what comes for a call, buffers of what it sends, and the tokens of all rows (two a group, of one call more than it has rows).
(first, last), buffers = pipeline["ranks"], pipeline["send_buffers"]
message = pipeline["stages"][0]["sends_bytes_of_chunk"]
tokens = 3 * 3 * 2 * 4
if [first["value_bytes"], last["value_bytes"]] != [buffers * message, message] or [first["token_bytes"], last["token_bytes"]] != [tokens, tokens]:
    sys.exit(f"{buffers} buffers of {message} bytes, {tokens} bytes of tokens: {pipeline['ranks']}")
for rank, stage in zip(pipeline["ranks"], pipeline["stages"]):
    if rank["device_bytes"] != sum(rank[f"{what}_bytes"] for what in ("weight", "arena", "more_slots", "value", "token", "output")) or rank["more_slots_bytes"] != 2 * stage["slot_bytes"]:
        sys.exit(f"bytes do not add up: {rank}, {stage}")
if not last["output_bytes"] or first["output_bytes"]:
    sys.exit(f"the head's hidden values, which the last stage alone keeps: {pipeline['ranks']}")

# The second model has a table that two stages have.
for model, stages in ((model, "2,2"), (tied, "2,3")):
    flags = ["--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", "--mesh=pp=2", f"--stages={stages}", "--pipeline=gpipe", "--recompute=none"]
    said = int(re.search(r"us planned; (\d+) of 1000000000 bytes", compiled(10**9).stderr)[1])
    info = json.loads(subprocess.run([out, "info", "--json"], capture_output=True, check=True, timeout=60).stdout)
    taken = max(rank["device_bytes"] for rank in info["pipeline"]["ranks"])
    if taken != said:
        sys.exit(f"training {model}, info says {taken} bytes, the compiler {said}")
