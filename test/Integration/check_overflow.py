"""An overflow in float16 that one rank alone has: all skip, on a mesh that splits the batch.

    check_overflow.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh M

Only the last row of a step has targets, so only the rank with that row has gradients. With a scale at which they overflow the first steps
change nothing: weights keep their bytes, the scale halves and the data moves on. A run that is resumed goes on to the bytes of one that never stopped.
Needs numpy."""
import argparse
import json
import os
import shutil
import sys

import numpy as np

from compiled_programs import fresh, read_bytes, read_log, read_safetensors, run, write_safetensors

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out", "--mesh"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
path = fresh(args.out)
STEPS, ROWS = 8, 4


def write_tokens(name):
    tokens = read_safetensors(os.path.join(args.model, "train_tokens.safetensors"))["tokens"][:STEPS * ROWS].astype(np.int32)
    short = np.full_like(tokens, -1)
    short[:, 0] = tokens[:, 0]
    last = np.arange(len(tokens)) % ROWS == ROWS - 1
    short[last] = tokens[last]
    write_safetensors(name, {"tokens": short})


def bytes_of(save, kind):
    return read_bytes(path(f"{save}/{kind}.safetensors"))


write_tokens(path("tokens.safetensors"))
out = path("out")
run([args.compiler, args.model, "--task=train", "--dtype=f16", f"--loss-scale={2.0**40}", f"--batch={ROWS}", "--max-seq-len=16",
     f"--mesh={args.mesh}", "-o", out])
train = [out, "train", f"--data={path('tokens.safetensors')}", "--lr=1e-3", "--warmup=4"]
NOTHING = "nothing was updated: all gradients overflowed"
if NOTHING not in run(train + ["--steps=2", f"--log={path('log')}", f"--save={path('start')}", "--save-every=1"]).stderr:
    sys.exit("a run that has changed nothing does not say so")
log = read_log(path("log"))
if [line["grad_norm"] for line in log] != [None, None] or [line["loss_scale"] for line in log] != [2.0**40, 2.0**39]:
    sys.exit(f"an overflow was not skipped: {log}")
if log[0]["lr"] != log[1]["lr"]:
    sys.exit(f"a skipped step moved the schedule: {log}")
before, after = read_safetensors(path("start/step-1/model.safetensors")), read_safetensors(path("start/step-2/model.safetensors"))
if any(not np.array_equal(before[name], after[name]) for name in before) or any(
        np.any(tensor) for tensor in read_safetensors(path("start/step-2/exp_avg.safetensors")).values()):
    sys.exit("a skipped step changed weights or moments")
mark = json.load(open(path("start/step-2/checkpoint.json")))
if (mark["step"], mark["updates"], mark["rows"], mark["loss_scale"]) != (2, 0, 2 * ROWS, 2.0**38):
    sys.exit(f"the save's mark is {mark}")
# Enough steps for the scale to come to where nothing overflows, in one piece and in two.
shutil.rmtree(path("start"))
small = path("small")
run([args.compiler, args.model, "--task=train", "--dtype=f16", f"--loss-scale={2.0**float(18)}", f"--batch={ROWS}", "--max-seq-len=16",
     f"--mesh={args.mesh}", "-o", small])
train[0] = small
whole = train + [f"--steps={STEPS}", f"--log={path('log')}"]
if NOTHING in run(whole + [f"--save={path('whole')}", "--save-every=1", "--keep=99"]).stderr:
    sys.exit("a run that has updated says that it has not")
log = read_log(path("log"))
skipped = [line["step"] for line in log if line["grad_norm"] is None]
if not 0 < len(skipped) < STEPS:
    sys.exit(f"steps {skipped} of {STEPS} were skipped; expected some and not all: {log}")
run(train + [f"--steps={STEPS}", f"--resume={path('whole/step-' + str(skipped[0]))}", f"--save={path('again')}"])
for kind in ("model", "exp_avg", "exp_avg_sq"):
    if bytes_of(f"whole/step-{STEPS}", kind) != bytes_of(f"again/step-{STEPS}", kind):
        sys.exit(f"{kind}: a resumed run has other bytes")
# From a save behind good steps their number goes on, too: the scale doubles when it would have.
run(train + [f"--steps={STEPS}", f"--resume={path(f'whole/step-{STEPS - 1}')}", f"--save={path('late')}"])
good = [json.load(open(path(f"{save}/step-{STEPS}/checkpoint.json")))["good_steps"] for save in ("whole", "again", "late")]
if good != [STEPS - skipped[-1]] * 3 or good[0] < 2:
    sys.exit(f"{good} steps since the last skipped one, {skipped[-1]} of {STEPS}")
print(f"{args.mesh}: {len(skipped)} of {STEPS} steps skipped, and resumed")
