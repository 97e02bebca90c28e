"""What `info` says that a pipeline takes: bytes of a rank, and FLOPs.

    check_pipeline_info.py --compiler LLM_COMPILE --tied GPT2 --out DIR

Of a table that two stages have each holds the own gradient and the other's. All stages together take the FLOPs of one device."""
import argparse
import json
import os
import sys

from compiled_programs import fresh, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--tied", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
path = fresh(args.out)
run([args.compiler, args.tied, "--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", "--mesh=pp=3", "--pipeline=1f1b", "--stages=2,2,1", "-o", path("program")])
with open(os.path.join(args.tied, "config.json")) as file:
    config = json.load(file)
table = 4 * config["vocab_size"] * config["n_embd"]
info = json.loads(run([path("program"), "info", "--json"]).stdout)
ranks = info["pipeline"]["ranks"]
if [rank["shared_bytes"] for rank in ranks] != [2 * table, 0, 2 * table]:
    sys.exit(f"a table of {table} bytes: {ranks}")
for rank in ranks:
    if rank["device_bytes"] != sum(rank[f"{what}_bytes"] for what in ("weight", "arena", "more_slots", "kept_message", "value", "shared")):
        sys.exit(f"bytes do not add up: {rank}")
run([args.compiler, args.tied, "--task=train", "--batch=8", "--max-seq-len=16", "-o", path("alone")])
one, all_ = json.loads(run([path("alone"), "info", "--json"]).stdout)["train"]["flops_per_token"], info["train"]["flops_per_token"]
of_stages = sum(stage["flops"] for stage in info["pipeline"]["stages"])
if all_ != one or of_stages != one * 8 * 16:
    sys.exit(f"FLOPs of a token: {all_}, of one device {one}; of the stages in a step {of_stages}")
