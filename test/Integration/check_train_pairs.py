"""Trains models on meshes so that every two choices meet in a run: model, mesh, micro-batches, what is computed again, threads or processes.

    check_train_pairs.py --compiler LLM_COMPILE --models DIR --out DIR --seed S [--part I/N] [--rows N]

--part takes a part of the rows, --rows as many of those as it says, drawn by the seed (pairwise.py). Each is a run of check_train.py, which compares losses, norms and weights. Processes take meshes of four ranks."""
import math
import os
import random
import subprocess
import sys

from pairwise import covering_rows, pair_arguments, taken_rows

args = pair_arguments()
CHOICES = {
    "model": ["tiny-llama", "tiny-gpt2"],
    "mesh": ["none", "dp=2", "dp=3", "fsdp=2", "fsdp=4", "tp=2", "tp=3", "cp=2", "sp=2,tp=2", "fsdp=2,tp=2", "dp=2,fsdp=2", "dp=2,fsdp=2,tp=2", "zero1:dp=4", "zero2:dp=4"],
    "micro-batches": ["1", "2", "4"],
    "recompute": ["none", "attention,mlp", "full"],
    "ranks": ["threads", "processes"],
}
draw = random.Random(args.seed)


def can_be(row):
    sizes = [int(axis.split("=")[1]) for axis in row["mesh"].rpartition(":")[2].split(",") if "=" in axis]
    return row["ranks"] == "threads" or math.prod(sizes) == 4


rows, possible = covering_rows(CHOICES, can_be, draw)
print(f"{len(rows)} rows hold every pair of {possible}")
for row in taken_rows(rows, args, draw):
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_train.py"), "--compiler", args.compiler,
               "--model", os.path.join(args.models, row["model"]), "--out", args.out, "--mesh", row["mesh"],
               f"--micro-batches={row['micro-batches']}", f"--recompute={row['recompute']}"] + (["--mpi"] if row["ranks"] == "processes" else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(" ".join(row.values()), done.stdout.strip(), flush=True)
    if done.returncode != 0:
        sys.exit(1)
