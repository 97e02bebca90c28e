"""Generates in stages so that every two choices meet in a run: model, mesh, layers of the stages, groups of rows, threads or processes.

    check_generate_pairs.py --compiler LLM_COMPILE --models DIR --out DIR --seed S [--part I/N] [--rows N]

--part takes a part of the rows, --rows as many of those as it says, drawn by the seed (pairwise.py). Each is a run of check_generate.py, which compares tokens and logits. Processes take meshes of at most four ranks."""
import math
import os
import random
import re
import subprocess
import sys

from compiled_programs import launcher
from pairwise import covering_rows, pair_arguments, taken_rows

args = pair_arguments()
LAYERS = {"tiny-llama": 4, "tiny-gpt2": 5}
CHOICES = {
    "model": list(LAYERS),
    "mesh": ["pp=2", "pp=3", "pp=5", "pp=11", "dp=2,pp=2", "fsdp=2,pp=2", "tp=2,pp=2", "sp=2,pp=2", "cp=2,pp=2", "cp=2,pp=3", "pp=2,dp=2,tp=2", "fsdp=2,tp=2,pp=2"],
    "layers": ["chosen", "none in front"],
    "groups": ["chosen", "1", "2", "3"],
    "ranks": ["threads", "processes"],
}
draw = random.Random(args.seed)


def sizes_of(mesh):
    return {axis: int(size) for axis, size in re.findall(r"(\w+)=(\d+)", mesh)}


def can_be(row):
    return row["ranks"] == "threads" or math.prod(sizes_of(row["mesh"]).values()) <= 4


rows, possible = covering_rows(CHOICES, can_be, draw)
print(f"{len(rows)} rows hold every pair of {possible}")
for row in taken_rows(rows, args, draw):
    model, stages = os.path.join(args.models, row["model"]), sizes_of(row["mesh"])["pp"]
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_generate.py"), "--compiler", args.compiler,
               "--model", model, "--expected", model, "--out", args.out, "--mesh", row["mesh"]]
    if row["groups"] != "chosen":
        command.append(f"--flag=--micro-batches={row['groups']}")
    if row["layers"] != "chosen":
        command.append("--flag=--stages=" + ",".join(["0"] * (stages - 1) + [str(LAYERS[row["model"]])]))
    if row["ranks"] == "processes":
        command += ["--launcher", " ".join(launcher(row["mesh"]))]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(" ".join(row.values()), done.stdout.strip(), flush=True)
    if done.returncode != 0:
        sys.exit(1)
