#!/usr/bin/env python3
"""Makes the inputs that the compiler's fuzzers start from, out of the tests' own models and programs.

    make_seeds.py TESTS FOLDER
"""
import json
import pathlib
import re
import struct
import sys

tests, out = map(pathlib.Path, sys.argv[1:])
models = tests / "Inputs" / "models"


def seed(target, name, data):
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def header(path):
    """Of a safetensors file, without what separates its words."""
    data = path.read_bytes()
    length, = struct.unpack_from("<Q", data)
    return json.dumps(json.loads(data[8:8 + length]), separators=(",", ":")).encode()


def gguf_without_data(path):
    """A GGUF file behind magic and version: metadata without the tokenizer, and the table of tensors."""
    data, at = path.read_bytes(), 8

    def take(fmt):
        nonlocal at
        value, = struct.unpack_from("<" + fmt, data, at)
        at += struct.calcsize("<" + fmt)
        return value

    def skip(kind):
        nonlocal at
        if kind == 8:
            length = take("Q")
            at += length
        elif kind == 9:
            element, count = take("I"), take("Q")
            for _ in range(count):
                skip(element)
        else:
            at += {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}[kind]

    tensors, values = take("Q"), take("Q")
    kept = []
    for _ in range(values):
        begin = at
        skip(8)
        name = data[begin + 8:at]
        skip(take("I"))
        if not name.startswith(b"tokenizer."):
            kept.append(data[begin:at])
    begin = at
    for _ in range(tensors):
        skip(8)
        rank = take("I")
        at += 8 * rank + 12
    return struct.pack("<QQ", tensors, len(kept)) + b"".join(kept) + data[begin:at]


for folder in sorted(path.parent for path in models.glob("**/config.json")):
    name = "-".join(folder.relative_to(models).parts)
    settings = json.dumps(json.loads((folder / "config.json").read_text()), separators=(",", ":")).encode()
    seed("import", name, settings)
    if (folder / "model.safetensors").exists():
        seed("import", name + "-tensors", settings + b"\0" + header(folder / "model.safetensors"))
for path in sorted(models.glob("**/model.gguf")):
    seed("import-gguf", "-".join(path.parent.relative_to(models).parts), gguf_without_data(path))

# Programs: those that are judged, without what the tests say of them; the flags of one that is sharded.
for path in sorted((tests / "Semantics").glob("*.mlir")):
    text = path.read_text()
    flags = re.search(r"tessera-shard\{(mesh=\S+?)(?: (shard=\S+?))?\}", text)
    text = re.sub(r"^ *//.*\n", "", text, flags=re.M)
    first = "// " + " ".join("--" + flag for flag in flags.groups() if flag) + "\n" if flags else ""
    if len(text) < 2000:
        seed("program", path.stem, (first + text).encode())
seed("program", "forward", b"""// --mesh=dp=2,tp=2
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]})
    -> (tensor<1x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
  %logits = graph.linear %x, %table contract = 1 : (tensor<1x8x4xf32>, tensor<9x4xf32>) -> tensor<1x8x9xf32>
  return %logits : tensor<1x8x9xf32>
}
""")

for name, words in {
        "generate": ["model", "--mesh=dp=2,tp=4", "--shard=ffn=tp,residual:seq=tp:(1)2", "--batch=4", "--max-seq-len=64", "-o", "out"],
        "train": ["model", "--task=train", "--dtype=bf16", "--grad-dtype=bf16", "--optimizer=sgd", "--recompute=q,k", "--micro-batches=2", "--batch=4",
                  "--loss-chunks=2", "-o", "out"],
        "half": ["model", "--task=train", "--dtype=f16", "--loss-scale=1024", "--memory=16GiB", "-o", "out"],
        "pipeline": ["model", "--task=train", "--mesh=pp=2,dp=2", "--pipeline=interleaved:2", "--stages=2,2", "--batch=8", "--compile-to=step"],
        "megatron": ["model", "--mesh=tp=2", "--template=megatron", "--cpu=x86-64-v3", "--report=a.html", "--explain", "-o", "out"],
        "missing": ["model", "--cluster=a", "--plan=b"], "wrong": ["model", "--mehs=tp=2"], "completion": ["--completion=bash"],
        "help": ["--help=man"], "cuda": ["model", "--target=cuda", "--embed-weights", "--check", "-o", "out"]}.items():
    seed("compile-flags", name, "\n".join(words).encode())
seed("compile-flags", "machine", b'{"flops": 2e10, "memory_bandwidth": 1e11, "link": {"latency": 1e-8, "bandwidth": 1e9}, "axes": {"tp": {"latency": 2e-6}}}')
seed("compile-flags", "machine-nodes", b'{"name": "n", "cores": 2, "flops": {"f32": 1, "bf16": 2}, "ranks_per_node": 8, "between_nodes": {"latency": 1e-5}, "within": {"tp": 2}}')
