"""Runs the parts of stages as data (llm-judge --rung=parts): model, cut, schedule, mesh, type, micro-batches, what is computed again, dropout, chunks of the loss, optimizer.

    check_pipeline_parts.py --judge LLM_JUDGE --tests DIR --out DIR --seed S --rows N [--pairs]

N runs, drawn by the seed; --pairs: of those in which every two choices meet (pairwise.py), at most N. `drawn` is a list that the seed draws: all stages on one rank, in any order
that can run."""
import argparse
import os
import random
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--judge", "--tests", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--rows", type=int, required=True)
parser.add_argument("--pairs", action="store_true")
args = parser.parse_args()
sys.path.insert(0, os.path.join(args.tests, "Integration"))
from pairwise import covering_rows  # noqa: E402

MODELS = {"tiny-llama": (4, "Inputs/models/tiny-llama"), "tiny-gpt2": (5, "Inputs/models/tiny-gpt2"), "period": (5, "Semantics/Inputs/period-of-layers.mlir")}
CHOICES = {
    "model": list(MODELS),
    "cut": ["2,2", "0,4", "2,0,2", "0,1,3", "1,1,1,1", "1,0,3,0"],
    "schedule": ["gpipe", "1f1b", "looped-bfs:2", "interleaved:2", "zb1p", "zb1p:2", "zbv", "dualpipev", "drawn"],
    "mesh": ["", "dp=2", "tp=2", "fsdp=2", "dp=2,tp=2"],
    "dtype": ["f32", "bf16"],
    "micro-batches": ["2", "3", "4"],
    "recompute": ["none", "full"],
    "dropout": ["0", "0.1"],
    "loss-chunks": ["0", "2"],
    "optimizer": ["adamw", "sgd"],
}
draw = random.Random(args.seed)


def can_be(row):
    stages, micro_batches, schedule = row["cut"].count(",") + 1, int(row["micro-batches"]), row["schedule"]
    each = 2 if schedule.endswith(":2") or schedule in ("zbv", "dualpipev") else 1
    if stages % each:
        return False
    # The gradient of a value without a batch is whole in each stage, and the loop over micro-batches gives pieces of it.
    if row["model"] == "period" and row["mesh"] == "fsdp=2":
        return False
    ranks = stages // each
    return schedule != "dualpipev" or micro_batches >= 2 * ranks


def drawn(stages, micro_batches):
    """Actions one by one, any of those whose inputs are there."""
    done, actions = {}, []  # of stage and micro-batch: F, I or B
    while True:
        ready = []
        for s in range(stages):
            for m in range(micro_batches):
                state = done.get((s, m), "")
                if not state and (s == 0 or (s - 1, m) in done):
                    ready.append((s, "F", m))
                if state == "F" and (s + 1 == stages or done.get((s + 1, m)) in ("I", "B")):
                    ready.append((s, draw.choice("IB"), m))
                if state == "I":
                    ready.append((s, "W", m))
        if not ready:
            return "r0 " + " ".join(actions) + "\n"
        s, kind, m = draw.choice(ready)
        done[s, m] = "B" if kind == "W" else kind
        actions.append(f"{s}{kind}{m}")


rows = []
if args.pairs:
    rows, possible = covering_rows(CHOICES, can_be, draw)
    print(f"{len(rows)} rows hold every pair of {possible}")
    rows = draw.sample(rows, min(args.rows, len(rows)))
while not args.pairs and len(rows) < args.rows:
    row = {name: draw.choice(values) for name, values in CHOICES.items()}
    if can_be(row):
        rows.append(row)
os.makedirs(args.out, exist_ok=True)
for row in rows:
    layers, path = MODELS[row["model"]]
    cut = [int(n) for n in row["cut"].split(",")]
    cut[-2] += layers - sum(cut)
    schedule = row["schedule"]
    if schedule == "drawn":
        schedule = os.path.join(args.out, "drawn.schedule")
        with open(schedule, "w") as file:
            file.write(drawn(len(cut), int(row["micro-batches"])))
    command = [args.judge, os.path.join(args.tests, path), "--rung=parts", "--stages=" + ",".join(map(str, cut)), f"--pipeline={schedule}"]
    command += [f"--seed={args.seed}"] + [f"--{name}={row[name]}" for name in list(CHOICES)[3:] if row[name]]
    if row["loss-chunks"] == "0":
        command.remove("--loss-chunks=0")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    print(" ".join(command[1:]), ":", done.stdout.strip(), flush=True)
    if done.returncode != 0:
        sys.exit(1)
