"""A model whose weights stay in its blocks: numbers, and how many bytes they take.

    check_held.py --compiler LLM_COMPILE --model MODEL --expected DIR --out OUT [--mesh M]... [--floats NAME]...

On one rank and on each mesh (pp=4@0,1,1,0: with these stages): tokens and logits as check_generate.py has them (1e-4 of float64 on expanded weights). On one rank the weights that are
packed take at most 1.05 x what the file has for them, and no more than 64 bytes a layer beside; those NAMEd are floats in the file. Made-up weights are held in blocks too: the same on each mesh."""
import argparse
import json
import os
import struct
import subprocess
import sys

# Elements and bytes of a block, by ggml's number of a type.
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 12: (256, 144), 13: (256, 176), 14: (256, 210),
          30: (1, 2), 39: (32, 17)}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def tensors(path):
    """[(name, elements of a row, rows, type)] of a GGUF file."""
    with open(path, "rb") as file:
        data = file.read()
    at = 8

    def take(code):
        nonlocal at
        value, = struct.unpack_from("<" + code, data, at)
        at += struct.calcsize(code)
        return value

    def text():
        nonlocal at
        length = take("Q")
        at += length
        return data[at - length:at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(count)]
        return take("BbHhIif?__QqdX"[kind])

    count, keys = take("Q"), take("Q")
    for _ in range(keys):
        text()
        value(take("I"))
    found = []
    for _ in range(count):
        name, dims = text(), [take("Q") for _ in range(take("I"))]
        kind, _ = take("I"), take("Q")
        rows = 1
        for size in dims[1:]:
            rows *= size
        found.append((name, dims[0], rows, kind))
    return found


def parts(path):
    """(rows, bytes of a row) of each quantized weight of a Hugging Face directory."""
    with open(os.path.join(path, "model.safetensors"), "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    for name, tensor in header.items():
        stem = name.rpartition(".")[0]
        if tensor["dtype"] == "F8_E4M3":
            yield tensor["shape"]
        elif name.endswith(".qweight"):
            groups, rows = header[stem + ".scales"]["shape"]
            begin, end = tensor["data_offsets"]
            yield rows, (end - begin) / rows + groups * 2.5


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--model", "--expected", "--out"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--mesh", action="append", default=[])
    parser.add_argument("--floats", action="append", default=[])
    args = parser.parse_args()
    generate = os.path.join(os.path.dirname(__file__), "check_generate.py")
    made_up = lambda seed: run(args.out, "generate", "--tokens=5,6,7", "--max-new-tokens=4", "--print-tokens", f"--init=random:{seed}")
    told = []
    for mesh in [None] + args.mesh:
        line = run(sys.executable, generate, "--compiler", args.compiler, "--model", args.model, "--expected", args.expected, "--out", args.out,
                   *([f"--mesh={mesh.partition('@')[0]}"] if mesh else []), *([f"--flag=--stages={mesh.partition('@')[2]}"] if mesh and "@" in mesh else []))
        print(f"{mesh or 'none'}: {line.strip()}")
        told.append(made_up(1))
        if told[-1] != told[0]:
            sys.exit(f"made-up weights on {mesh}: {told[-1]}expected {told[0]}")
    run(args.compiler, args.model, "--max-seq-len=32", "-o", args.out)
    info = json.loads(run(args.out, "info", "--json"))
    # Rows are laid out by 16: padding apart, as rows of the file would be.
    beside = 0
    if os.path.isdir(args.model):
        file = sum(row * (-(-rows // 16) * 16) for rows, row in parts(args.model))
        beside = sum(63 * -(-rows // 16) for rows, _ in parts(args.model))  # 16 rows end at whole lines: much of rows as short as these
    else:
        file = sum(columns // BLOCKS[kind][0] * BLOCKS[kind][1] * (-(-rows // 16) * 16) for _, columns, rows, kind in tensors(args.model)
                   if BLOCKS[kind][0] > 1)
    # Of a directory those that stand in parts: embeddings do not.
    in_blocks = [w for w in info["weights"] if w["packed"] and w["name"] not in args.floats and (w.get("held") or not os.path.isdir(args.model))]
    held = sum(w["bytes"] for w in in_blocks)
    layers = sum(max(w["layers"], 1) for w in in_blocks)
    if not file <= held <= 1.05 * file + beside + 64 * layers:
        sys.exit(f"weights in blocks take {held} bytes, {file} in the file (rows padded)")
    # What a rank says that it holds has them in it, and no expanded ones beside.
    if not held <= info["weight_bytes"][0] <= sum(w["bytes"] + 64 for w in info["weights"]):
        sys.exit(f"a rank holds {info['weight_bytes']} bytes, {held} of them in blocks")
    if any(not w.get("held") for w in in_blocks):
        sys.exit(f"not all packed weights are held in blocks: {info['weights']}")
    print(f"held: {held} bytes for {file}")
    # Tokens of weights that nobody trained may be alike: the largest logit is that of the last token.
    path, made = args.out + ".logits.safetensors", []
    for seed in (1, 2):
        run(args.out, "generate", "--tokens=5,6,7", "--max-new-tokens=1", f"--init=random:{seed}", f"--logits={path}")
        with open(path, "rb") as file:
            made.append(file.read())
    os.unlink(path)
    if made[0] == made[1]:
        sys.exit(f"made-up weights do not count: {told[0]}")


if __name__ == "__main__":
    main()
