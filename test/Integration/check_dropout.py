"""Trains a model with dropout and compares losses and norms: whatever the mesh, the micro-batches and what is computed again, the same elements are dropped.
The first --run is what the others are compared with. Nothing dropped is what there is without the flag, bit by bit."""
import argparse
import json
import os
import sys

from compiled_programs import flags_of, fresh, launcher, read_log, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--run", action="append", required=True, help="MESH MICRO-BATCHES RECOMPUTE, as 'tp=2 2 full'; none: one rank")
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--mpi", action="store_true", help="all but the first under mpirun")
args = parser.parse_args()
path = fresh(args.out)
expected = json.load(open(os.path.join(args.model, "expected.json")))["train"]["hyper"]


def compiled(setting, mpi):
    mesh, micro_batches, recompute = setting.split()
    out = path(setting.replace(" ", "-"))
    run([args.compiler, args.model, "--task=train", f"--batch={expected['batch']}", f"--max-seq-len={expected['seq_len']}",
         f"--micro-batches={micro_batches}", f"--recompute={recompute}", "-o", out] + flags_of(mesh))
    return (launcher(mesh) if mpi else []) + [out]


def losses(program, *flags):
    run(program + ["train", f"--data={os.path.join(args.model, 'train_tokens.safetensors')}", f"--steps={args.steps}", "--lr=1e-2",
                   f"--log={path('log')}", *flags])
    return [(line["loss"], line["grad_norm"]) for line in read_log(path("log"))]


def worst_of(one, other):
    return max(abs(a - b) / abs(b) for x, y in zip(one, other) for a, b in zip(x, y))


first = compiled(args.run[0], False)
plain, dropped = losses(first), losses(first, "--dropout=0.1")
if losses(first, "--dropout=0") != plain:
    sys.exit("--dropout=0 is not what there is without it")
if losses(first, "--dropout=0.1", "--seed=0") != dropped:
    sys.exit("the seed is not 0 where none is given, or draws differ from run to run")
for what, other in (("without dropout", plain), ("with another seed", losses(first, "--dropout=0.1", "--seed=5")),
                    ("with another share", losses(first, "--dropout=0.2"))):
    if worst_of(dropped, other) < 1e-3:
        sys.exit(f"{what} there are the same numbers: {dropped}")
for setting in args.run[1:]:
    program = compiled(setting, args.mpi)
    for flags, wanted in ((("--dropout=0.1",), dropped), ((), plain)):
        worst = worst_of(losses(program, *flags), wanted)
        if not worst < 1e-4:
            sys.exit(f"{setting} {' '.join(flags)}: off by {worst:.2g}")
        print(f"{setting} {' '.join(flags)}: within {worst:.1e}")
for value, why in (("1", "out of range"), ("-0.1", "out of range"), ("nan", "no number"), ("0.99999999", "1 in float32"), ("x", "no number")):
    error = run(first + ["train", "--data=x", "--steps=1", f"--dropout={value}"], status=1).stderr
    if "error: " not in error or f"--dropout={value}" not in error or why not in error or error.count("\n") != 1:
        sys.exit(f"--dropout={value}: {error}")
error = run(first + ["train", "--data=x", "--steps=1", "--seed=3"], status=1).stderr
if "nothing is drawn without --dropout" not in error:
    sys.exit(f"--seed alone: {error}")
