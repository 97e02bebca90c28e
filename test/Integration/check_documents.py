"""Rows that hold several documents train as rows of one each: the same loss, and the same weights after a step of plain gradient descent.

    check_documents.py --compiler LLM_COMPILE --model MODEL --out DIR [--mesh M ...] [--micro-batches K]

Without --documents the loss is another. A document ends with the model's end token (0), and its last target is the next document's first id. Needs numpy."""
import argparse
import json
import os
import shutil
import subprocess
import sys

import numpy as np

from check_generate import read_safetensors

SEQ = 16
parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", default=[])
parser.add_argument("--micro-batches", type=int, default=1)
args = parser.parse_args()
shutil.rmtree(args.out, ignore_errors=True)
os.makedirs(args.out)
random = np.random.default_rng(1)


def write(name, rows):
    data = np.full((len(rows), SEQ + 1), -1, np.int32)
    for row, ids in zip(data, rows):
        row[:len(ids)] = ids
    header = json.dumps({"tokens": {"dtype": "I32", "shape": list(data.shape), "data_offsets": [0, data.nbytes]}}).encode()
    with open(os.path.join(args.out, name), "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + data.tobytes())
    return os.path.join(args.out, name)


def train(name, data, batch, micro_batches, mesh, *flags):
    out, folder = os.path.join(args.out, name), os.path.join(args.out, f"{name}-save")
    mesh = [] if mesh == "none" else [f"--mesh={mesh}"]
    for command in ([args.compiler, args.model, "--task=train", "--optimizer=sgd", f"--batch={batch}", f"--max-seq-len={SEQ}",
                     f"--micro-batches={micro_batches}", "-o", out] + mesh,
                    [out, "train", f"--data={data}", "--steps=1", "--lr=1", "--min-lr=1", "--clip=0", "--momentum=0", "--weight-decay=0",
                     f"--save={folder}", f"--log={out}.jsonl", *flags]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        if done.returncode:
            sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    with open(f"{out}.jsonl") as file:
        line = json.loads(file.readline())
    return line["loss"], line["grad_norm"], read_safetensors(os.path.join(folder, "step-1", "model.safetensors"))


# Documents of these lengths; the last one of a row is cut off by the row's end, or ends before it.
packed, apart = [], []
for lengths in ((5, 11), (1, 7, 3, 5), (16,), (4, 6), (2, 14), (15, 1)):
    row, begin = random.integers(1, 389, sum(lengths) + 1, dtype=np.int32), 0
    for length in lengths:
        if begin + length < SEQ:
            row[begin + length - 1] = 0
        begin += length
    packed.append(row)
    begin = 0
    for length in lengths:
        apart.append(row[begin:begin + length + 1])
        begin += length
wanted = train("apart", write("apart.safetensors", apart), len(apart), 1, "none")
data = write("packed.safetensors", packed)
for mesh in ["none"] + args.mesh:
    loss, norm, weights = train(f"packed-{mesh}", data, len(packed), args.micro_batches, mesh, "--documents")
    if abs(loss - wanted[0]) > 1e-6 * wanted[0] or abs(norm - wanted[1]) > 1e-5 * wanted[1]:
        sys.exit(f"{mesh}: loss {loss}, norm {norm}; of the documents apart {wanted[0]}, {wanted[1]}")
    for name, tensor in weights.items():
        difference = np.abs(tensor - wanted[2][name]).max() / max(np.abs(wanted[2][name]).max(), 1e-3)
        if difference > 1e-5:
            sys.exit(f"{mesh}: {name} differs by {difference:.2g} of its largest entry")
    print(f"{mesh}: as apart")
    other = subprocess.run([os.path.join(args.out, f"packed-{mesh}"), "train", f"--data={data}", "--steps=1", "--lr=1", "--clip=0",
                            f"--log={args.out}/whole.jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    with open(os.path.join(args.out, "whole.jsonl")) as file:
        if other.returncode or abs(json.loads(file.readline())["loss"] - loss) < 1e-3 * loss:
            sys.exit(f"{mesh}: without --documents rows are not one document: {other.stderr.decode()[-500:]}")
