#!/usr/bin/env python3
"""Bytes that a rank sends in one step: ours, XLA's (Shardy on) for the same program in jax with the same shardings of arguments and results,
and the analytic floor. Exit status 1 if ours is more than XLA's, or more than 1.01 x the floor.

    compare_with_xla.py [--compiler=build/bin/llm-compile] [--only=TEXT] [--show]

jax comes from PyPI, in an environment outside the tree; it is an oracle, not a dependency. Floors are those of floor.py.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", default="build/bin/llm-compile")
parser.add_argument("--only", default="", help="programs whose name holds this text")
parser.add_argument("--show", action="store_true", help="list the kinds of collectives too")
args = parser.parse_args()
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import count
import floor
import llama

jax.config.update("jax_enable_x64", False)

BASE = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "max_position_embeddings": 2048, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 0}
MODELS = {
    "tiny": dict(hidden_size=64, intermediate_size=128, num_attention_heads=8, num_key_value_heads=4, num_hidden_layers=4, vocab_size=512),
    "smollm2-like": dict(hidden_size=576, intermediate_size=1536, num_attention_heads=12, num_key_value_heads=4, head_dim=48,
                         num_hidden_layers=30, vocab_size=49152),
    "llama-8b-layer": dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=1,
                           vocab_size=32768),
}
MESHES = ["tp=4", "dp=2,tp=4", "sp=2,tp=4", "fsdp=4"]
ELEMENT = {"f32": np.float32, "i32": np.int32}
BATCH, CONTEXT = 8, 256


def compile_ours(model, mesh):
    with tempfile.TemporaryDirectory() as folder:
        json.dump({**BASE, **MODELS[model]}, open(folder + "/config.json", "w"))
        subprocess.run([args.compiler, folder, f"--batch={BATCH}", f"--max-seq-len={CONTEXT}", f"--mesh={mesh}", "--compile-to=spmd",
                        "-o", folder + "/out.mlir"], check=True)
        return open(folder + "/out.mlir").read()


def signature(text, function):
    """[(name, shape, element, axes by dimension)] of arguments and of results."""
    line = re.search(r"func\.func @%s\((.*)\) \{$" % function, text, re.M).group(1)
    inputs, outputs = line.split(") -> (")
    tensor = re.compile(r"tensor<[\dx]*?(\w\d+), #dist\.sharding<@mesh, \[([^\]]*)\], global ?= ?\[([\d, ]*)\]>> \{.*?graph\.name = \"([\w.]+)\"\}")
    tensor = re.compile(r"tensor<(?:\d+x)*(\w\d+), #dist\.sharding<@mesh, \[([^\]]*)\], global ?= ?\[([\d, ]*)\]>> \{[^{}]*?graph\.name = \"([\w.]+)\"\}")

    def parse(part):
        return [(name, tuple(map(int, shape.split(","))), element, [re.findall(r'"(\w+)"', dim) for dim in re.findall(r"\{(.*?)\}", dims)])
                for element, dims, shape, name in tensor.findall(part)]

    return parse(inputs), parse(outputs)


def compile_xla(function, inputs, outputs, mesh):
    axes = [item.split("=") for item in mesh.split(",")]
    sizes = [int(size) for _, size in axes]
    devices = Mesh(np.array(jax.devices()[:int(np.prod(sizes))]).reshape(sizes), [name for name, _ in axes])

    def sharding(dims):
        return NamedSharding(devices, PartitionSpec(*[tuple(dim) or None for dim in dims]))

    names = [name for name, *_ in outputs]
    step = jax.jit(lambda given: {name: value for name, value in function(given).items() if name in names},
                   in_shardings=({name: sharding(dims) for name, _, _, dims in inputs},),
                   out_shardings={name: sharding(dims) for name, _, _, dims in outputs})
    return step.lower({name: jax.ShapeDtypeStruct(shape, ELEMENT[element]) for name, shape, element, _ in inputs}).compile().as_text()


failed = False
print("| program | mesh | XLA bytes | ours | floor | ours / XLA | ours / floor |\n|---|---|---|---|---|---|---|")
for model in MODELS:
    for mesh in MESHES:
        text = None
        for name, function in (("prefill", llama.prefill), ("decode", llama.decode)):
            if args.only not in f"{model} {name} {mesh}":
                continue
            text = text or compile_ours(model, mesh)
            inputs, outputs = signature(text, name)
            ours = count.ours(text, name)
            xla = count.hlo(compile_xla(function, inputs, outputs, mesh))
            least = floor.generate(MODELS[model], name, dict((k, int(v)) for k, v in (item.split("=") for item in mesh.split(","))),
                                   {n: (shape, dims) for n, shape, _, dims in inputs})
            a, b = sum(ours.values()), sum(xla.values())
            bad = a > b or a > 1.01 * least
            failed |= bad
            print(f"| {model} {name} | {mesh} | {b:,.0f} | {a:,.0f} | {least:,.0f} | {a / b if b else 1:.3f} | {a / least if least else 1:.3f}"
                  f"{' **over**' if bad else ''} |", flush=True)
            if args.show:
                print("  ours", dict(ours), "\n  xla ", dict(xla))
sys.exit(1 if failed else 0)
