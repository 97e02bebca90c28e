"""What --recompute of llm-compile does to a training program: memory, products, attentions and collectives.

    check_recompute.py --compiler LLM_COMPILE --model MODEL --out DIR

The arena falls by what layers no longer save, and no forward product, attention or collective runs twice unless asked for."""
import argparse
import json
import os
import re
import sys

from compiled_programs import run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
FLAGS = ["--task=train", "--batch=8", "--max-seq-len=16"]


class Program:
    """The program of one choice: `saved` bytes a layer, products and attentions of its kernels, what `info` says."""

    def __init__(self, recompute, mesh):
        out = os.path.join(args.out, "program")
        flags = FLAGS + [f"--recompute={recompute}"] + ([f"--mesh={mesh}"] if mesh else [])
        said = run([args.compiler, args.model, *flags, "--explain", f"--dump-rungs={args.out}", "-o", out]).stderr
        self.layers, self.saved = map(int, re.search(r"loop over (\d+) layers reads (\d+) bytes a layer", said).groups())
        with open(os.path.join(args.out, "step.mlir")) as file:
            step = file.read().split("@evaluate")[0]
        with open(os.path.join(args.out, "kernels.mlir")) as file:
            kernels = re.split(r"func.func @", re.split(r"func.func @train\b", file.read())[1])[0]  # no other entry: @train_dropout has as many
        self.products = len(re.findall(r"exec\.matmul", kernels))
        self.forward = len(re.findall(r"graph\.linear", step))
        self.attentions = len(re.findall(r"graph\.attention ", step))
        info = json.loads(run([out, "info", "--json"]).stdout)
        self.arena = max(info["arena_bytes"])
        self.sent = sum(one["bytes_per_rank"] for one in info["steps"]["train"]["collectives"])
        self.collectives = sum(one["executions"] for one in info["steps"]["train"]["collectives"])


none, named, full = (Program(what, "") for what in ("none", "attention,mlp_input", "full"))
# A layer computes its product again unless nothing reads it: what an MLP gives goes into a sum.
in_layer = none.forward - 1
if none.attentions != 1 or named.attentions != 2 or full.attentions != 2:
    sys.exit(f"attentions: {none.attentions}, {named.attentions}, {full.attentions}")
if (none.products, full.products) != (named.products, none.products + in_layer - 1) or full.forward != 2 * none.forward - 2:
    sys.exit(f"products: {none.products}, {named.products}, {full.products}; in a layer of forward {in_layer}")
# Saved values of one layer live while backward of it runs, and about as much that nobody saves.
for less in (named, full):
    least = (none.layers - 2) * (none.saved - less.saved)
    if not none.arena - less.arena >= least > 0:
        sys.exit(f"arena: {none.arena} and {less.arena}; expected {least} less")
print(f"saved {none.saved}, {named.saved}, {full.saved} bytes a layer; arena {none.arena}, {named.arena}, {full.arena}")
none, full = (Program(what, "tp=2") for what in ("none", "full"))
# Two sums of activations in forward of a layer and two in backward; the loss and the norm of the gradients take the others.
if none.collectives > 4 * none.layers + 5 or full.collectives <= none.collectives:
    sys.exit(f"collectives: {none.collectives}, {full.collectives}; {none.layers} layers")
print(f"tp=2: {none.collectives} and {full.collectives} collectives, {none.sent} and {full.sent} bytes")
