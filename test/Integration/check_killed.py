"""Kills a training run at every thing that a save does to files (test/faults/KillAt.c counts them): the folder holds the last whole save, which resumes to the bytes of a run that
never stopped. Of writes, which are many where a rank's piece has many runs, --writes of them are taken, evenly; with --kills=N in all N, evenly from a place that --seed chooses, and
the last."""
import argparse
import json
import os
import shutil
import signal
import sys

from compiled_programs import fresh, read_bytes, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out", "--kill-at"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", required=True)
parser.add_argument("--flag", action="append", default=[], help="one more of the run")
parser.add_argument("--writes", type=int, default=40)
parser.add_argument("--kills", type=int, default=0)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
path = fresh(os.path.abspath(args.out))
hyper = json.load(open(os.path.join(args.model, "expected.json")))["train"]["hyper"]


def contents(name):
    return {file: read_bytes(path(f"{name}/{file}.safetensors")) for file in ("model", "exp_avg", "exp_avg_sq")}


out = path("out")
run([args.compiler, args.model, "--task=train", f"--mesh={args.mesh}", f"--batch={hyper['batch']}", f"--max-seq-len={hyper['seq_len']}", "-o", out])
train = [out, "train", f"--data={os.path.join(args.model, 'train_tokens.safetensors')}", "--shuffle=3", "--lr=1e-3", "--schedule=constant", *args.flag]
run(train + ["--steps=4", f"--save={path('whole')}"])
wanted = contents("whole/step-4")
# Two saves are there; the third takes the place of the first.
run(train + ["--steps=2", f"--save={path('base')}", "--save-every=1"])
last = train + ["--steps=3", f"--resume={path('run')}", f"--save={path('run')}"]


def begin():
    shutil.rmtree(path("run"), ignore_errors=True)
    shutil.copytree(path("base"), path("run"))
    return {"LD_PRELOAD": args.kill_at, "KILL_BELOW": path("run")}


run(last, **begin(), KILL_LIST=path("list"))
with open(path("list")) as file:
    kinds = file.read()
if any(kinds.count(kind) < least for kind, least in (("w", 5), ("s", 5), ("r", 2), ("c", 4), ("m", 1))):
    sys.exit(f"a save does '{kinds.replace('w', '')}' and {kinds.count('w')} writes: not all is counted")
writes = [at for at, kind in enumerate(kinds, 1) if kind == "w"]
choices = sorted({at for at, kind in enumerate(kinds, 1) if kind != "w"} | {writes[i * len(writes) // args.writes] for i in range(args.writes)} | {writes[-1]})
if args.kills:
    choices = sorted({choices[(args.seed + i * len(choices) // args.kills) % len(choices)] for i in range(args.kills)} | {choices[-1]})
kept = {"old": 0, "new": 0}
for at in choices:
    run(last, status=-signal.SIGKILL, **begin(), KILL_AT=str(at))
    # What the index names is whole, and the newest.
    with open(path("run/model.safetensors.index.json")) as file:
        names = set(json.load(file)["weight_map"].values())
    if len(names) != 1:
        sys.exit(f"killed at {at}: the index names {sorted(names)}")
    step = int(names.pop().split("/")[0].removeprefix("step-"))
    if step not in (2, 3):
        sys.exit(f"killed at {at}: the index names step {step}")
    kept["old" if step == 2 else "new"] += 1
    run(train + ["--steps=4", f"--resume={path('run')}", f"--save={path('run')}"])
    if contents("run/step-4") != wanted:
        sys.exit(f"killed at {at} ({kinds[at - 1]}) of {len(kinds)}: the run that goes on from step {step} ends with other bytes")
    left = sorted(name for name in os.listdir(path("run")) if name.endswith(".part"))
    if left:
        sys.exit(f"killed at {at}: {left} are left")
if not kept["old"] or not kept["new"]:
    sys.exit(f"kept {kept}: not both sides of the moment that a save appears were tried")
print(f"{args.mesh}: killed at {sum(kept.values())} of {len(kinds)} operations; {kept['old']} times the save before was there, {kept['new']} times the new one")
