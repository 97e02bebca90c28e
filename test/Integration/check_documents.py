"""Rows that hold several documents train as rows of one each: the same loss, and the same weights after a step of plain gradient descent.

    check_documents.py --compiler LLM_COMPILE --model MODEL --out DIR [--mesh M ...] [--micro-batches K]

Without --documents the loss is another. A document ends with the model's end token (0), and its last target is the next document's first id. Needs numpy."""
import argparse
import os
import sys

import numpy as np

from compiled_programs import flags_of, fresh, read_log, read_safetensors, run, write_safetensors

SEQ = 16
parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", default=[])
parser.add_argument("--micro-batches", type=int, default=1)
args = parser.parse_args()
path = fresh(args.out)
random = np.random.default_rng(1)


def write(name, rows):
    data = np.full((len(rows), SEQ + 1), -1, np.int32)
    for row, ids in zip(data, rows):
        row[:len(ids)] = ids
    return write_safetensors(path(name), {"tokens": data})


def train(name, data, batch, micro_batches, mesh, *flags):
    out, folder = path(name), path(f"{name}-save")
    run([args.compiler, args.model, "--task=train", "--optimizer=sgd", f"--batch={batch}", f"--max-seq-len={SEQ}",
         f"--micro-batches={micro_batches}", "-o", out] + flags_of(mesh))
    run([out, "train", f"--data={data}", "--steps=1", "--lr=1", "--min-lr=1", "--clip=0", "--momentum=0", "--weight-decay=0",
         f"--save={folder}", f"--log={out}.jsonl", *flags])
    line = read_log(f"{out}.jsonl")[0]
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
    run([path(f"packed-{mesh}"), "train", f"--data={data}", "--steps=1", "--lr=1", "--clip=0", f"--log={path('whole.jsonl')}"])
    if abs(read_log(path("whole.jsonl"))[0]["loss"] - loss) < 1e-3 * loss:
        sys.exit(f"{mesh}: without --documents rows are not one document")
