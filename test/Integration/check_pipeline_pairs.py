"""Trains models as pipelines so that every two choices meet in a run: model, mesh, schedule, micro-batches, what is computed again, dropout, types, threads or processes.

    check_pipeline_pairs.py --compiler LLM_COMPILE --models DIR --out DIR --seed S [--part I/N] [--rows N]

--part takes a part of the rows, --rows as many of those as it says, drawn by the seed (pairwise.py). Each is a run of check_train.py, which compares losses, norms and weights. Processes take meshes of four ranks."""
import math
import os
import random
import re
import subprocess
import sys

from pairwise import covering_rows, pair_arguments, taken_rows

args = pair_arguments()
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pipeline-pp2-m4.schedule")
CHOICES = {
    "model": ["tiny-llama", "tiny-gpt2"],
    "mesh": ["pp=2", "pp=3", "pp=4", "pp=7", "dp=2,pp=2", "fsdp=2,pp=2", "tp=2,pp=2", "tp=2,pp=3", "dp=2,tp=2,pp=2", "sp=2,pp=2", "cp=2,pp=2", "megatron:tp=2,pp=2"],
    "schedule": ["auto", "gpipe", "1f1b", "looped-bfs:2", "interleaved:2", "zb1p", "zb1p:2", "zbv", "dualpipev", "file"],
    "micro-batches": ["4", "8", "3"],
    "recompute": ["none", "full"],
    "dropout": ["0", "0.1"],
    "types": ["f32", "bf16:bf16"],
    "ranks": ["threads", "processes"],
}
draw = random.Random(args.seed)


def can_be(row):
    sizes = dict(re.findall(r"(\w+)=(\d+)", row["mesh"]))
    stages, micro_batches = int(sizes["pp"]), int(row["micro-batches"])
    # The authors of llama train without dropout.
    if row["dropout"] != "0" and row["model"] == "tiny-llama":
        return False
    if row["schedule"] == "dualpipev" and micro_batches < 2 * stages:
        return False
    if row["schedule"] == "file" and (stages, micro_batches) != (2, 4):
        return False
    return row["ranks"] == "threads" or math.prod(map(int, sizes.values())) == 4


rows, possible = covering_rows(CHOICES, can_be, draw)
print(f"{len(rows)} rows hold every pair of {possible}")
for row in taken_rows(rows, args, draw):
    schedule = FILE if row["schedule"] == "file" else row["schedule"]
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_train.py"), "--compiler", args.compiler,
               "--model", os.path.join(args.models, row["model"]), "--out", args.out, "--mesh", row["mesh"], f"--pipeline={schedule}",
               f"--micro-batches={row['micro-batches']}", f"--recompute={row['recompute']}", f"--dropout={row['dropout']}"] + (["--mpi"] if row["ranks"] == "processes" else [])
    computed, _, gradients = row["types"].partition(":")
    command += [f"--dtype={computed}"] + ([f"--grad-dtype={gradients}"] if gradients else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(" ".join(row.values()), done.stdout.strip(), flush=True)
    if done.returncode != 0:
        sys.exit(1)
