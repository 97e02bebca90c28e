"""Trains by SGD without clipping, which feel every constant factor, on rows of 1 to 16 tokens, and compares the weights.

    check_sgd.py --compiler LLM_COMPILE --judge LLM_JUDGE --model MODEL --out DIR --mesh M [--mesh M ...] [--micro-batches K ...]

MODEL (test/Inputs/models) takes 3 steps of 8 rows on each mesh with each number of micro-batches. In every step some pairs of rows have one token
each, and so no target: with 4 ranks or micro-batches one of them has nothing to learn from. What one rank leaves is held to the interpreter by
LLM_JUDGE, in float64, and what meshes leave to that: weights within 1e-5 of each tensor's largest entry, losses and norms, too. Needs numpy."""
import argparse
import json
import os
import shutil
import sys

import numpy as np

from compiled_programs import flags_of, fresh, read_log, read_safetensors, run, write_safetensors

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--judge", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", default=[], help="none, or with a template: zero1:dp=4")
parser.add_argument("--micro-batches", type=int, action="append", default=[])
args = parser.parse_args()
BATCH, SEQ, STEPS, RATE, BOUND = 8, 16, 3, 0.5, 1e-5
HYPER = {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.1, "clip_grad_norm": 0, "batch": BATCH, "seq_len": SEQ}
path = fresh(args.out)


def write_tokens(file_name):
    """Step s has pairs of rows without a target: pair s, and in step 1 the pair in front of it."""
    random = np.random.default_rng(7)
    vocabulary = json.load(open(os.path.join(args.model, "config.json")))["vocab_size"]
    tokens = random.integers(0, vocabulary, (BATCH * STEPS, SEQ + 1)).astype(np.int32)
    for row in range(len(tokens)):
        step, pair = row // BATCH, row % BATCH // 2
        empty = pair == step or (step == 1 and pair == 0)
        tokens[row, 1 if empty else int(random.integers(2, SEQ + 1)):] = -1
    write_safetensors(file_name, {"tokens": tokens})


def trained(mesh, micro_batches):
    run([args.compiler, args.model, "--task=train", "--optimizer=sgd", f"--batch={BATCH}", f"--max-seq-len={SEQ}",
         f"--micro-batches={micro_batches}", "-o", path("out"), *flags_of(mesh)])
    save = path(f"save-{mesh}-{micro_batches}")
    run([path("out"), "train", f"--data={path('judged/train_tokens.safetensors')}", f"--steps={STEPS}", f"--lr={RATE}", "--schedule=constant",
         f"--weight-decay={HYPER['weight_decay']}", f"--momentum={HYPER['momentum']}", "--clip=0", f"--log={path('log')}", f"--save={save}", "--overwrite"])
    return read_safetensors(f"{save}/step-{STEPS}/model.safetensors"), read_log(path("log"))


# A model's directory in which what one rank leaves is what is expected.
shutil.copytree(args.model, path("judged"))
write_tokens(path("judged/train_tokens.safetensors"))
wanted, wanted_log = trained("none", 1)
shutil.copy(path(f"save-none-1/step-{STEPS}/model.safetensors"), path("judged/trained.safetensors"))
json.dump({"train": {"hyper": HYPER, "log": wanted_log}}, open(path("judged/expected.json"), "w"))
print("none:", run([args.judge, path("judged"), "--training", f"--tolerance={BOUND / 2}"]).stdout.strip())

# The interpreter runs the program's own update, so here is the formula: gradients that stay as they are, of weights that do not move.
rows = read_safetensors(path("judged/train_tokens.safetensors"))["tokens"][:BATCH]
write_safetensors(path("alike.safetensors"), {"tokens": np.concatenate([rows, rows])})
run([path("out"), "train", f"--data={path('alike.safetensors')}", "--steps=2", "--lr=0", "--schedule=constant", f"--grads={path('grads.safetensors')}",
     f"--weight-decay={HYPER['weight_decay']}", f"--momentum={HYPER['momentum']}", "--clip=0", f"--save={path('alike')}", "--save-every=1"])
once, twice = (read_safetensors(path(f"alike/step-{step}/momentum_buffer.safetensors")) for step in (1, 2))
still = read_safetensors(path("alike/step-2/model.safetensors"))
for name, gradient in read_safetensors(path("grads.safetensors")).items():
    moved = gradient + (HYPER["weight_decay"] * still[name] if still[name].ndim > 1 else 0)
    for step, found, times in ((1, once, 1), (2, twice, 1 + HYPER["momentum"])):
        worst = float(np.abs(found[name] - times * moved).max() / np.abs(times * moved).max())
        if not worst <= BOUND:
            sys.exit(f"{name}: after step {step} its momentum differs from that of torch.optim.SGD by {worst:.2g}")
# And what moves weights is that momentum.
run([path("out"), "train", f"--data={path('alike.safetensors')}", "--steps=2", f"--lr={RATE}", "--schedule=constant", "--clip=0", f"--save={path('moving')}",
     "--save-every=1"])
first, second, momentum = (read_safetensors(path(f"moving/{file}.safetensors")) for file in ("step-1/model", "step-2/model", "step-2/momentum_buffer"))
for name, tensor in momentum.items():
    worst = float(np.abs(first[name] - RATE * tensor - second[name]).max() / np.abs(second[name]).max())
    if not worst <= BOUND:
        sys.exit(f"{name}: step 2 moves it by other than its momentum, {worst:.2g}")

before = read_safetensors(path(f"save-none-1/step-{STEPS}/momentum_buffer.safetensors"))
if max(np.abs(buffer).max() for buffer in before.values()) == 0:
    sys.exit("no weight has a gradient")
for mesh in args.mesh:
    for micro_batches in args.micro_batches or [1]:
        weights, log = trained(mesh, micro_batches)
        what = f"{mesh}, {micro_batches} micro-batches"
        worst = max(float(np.abs(weights[name] - tensor).max() / np.abs(tensor).max()) for name, tensor in wanted.items())
        for line, of in zip(log, wanted_log, strict=True):
            worst = max([worst] + [abs(line[field] - of[field]) / of[field] for field in ("loss", "grad_norm")])
        print(f"{what}: within {worst:.1e}")
        if not worst <= BOUND:
            sys.exit(f"{what}: differs from one rank by {worst:.2g}")
