#!/usr/bin/env python3
"""Bytes that a rank sends in one step: ours, XLA's (Shardy on) for the same program in jax with the same shardings of arguments and results,
and those of the best plan that we know where there is one. Exit status 1 if ours is more than XLA's, or more than 1.01 x that plan, and not because work takes less time so.

    compare_with_xla.py [--compiler=build/bin/llm-compile] [--opt=build/bin/llm-opt] [--tables=generate,backward,train,more] [--only=TEXT] [--show] [--xla=FILE.json]

Generate steps of llama models, the forward and backward passes of backward.mlir, steps of training (train.py), and more of the first two (more.py): axes in other orders, other batches.
jax comes from PyPI, in an environment outside the tree; it is an oracle, not a dependency. Reference plans are those of reference.py and backward.py; no bounds, as other plans may send
less. --xla keeps what XLA sends, so that the same programs need not be compiled again.
"""
import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", default="build/bin/llm-compile")
parser.add_argument("--opt", default="build/bin/llm-opt")
parser.add_argument("--tables", default="generate,backward,train,more", help="which to make")
parser.add_argument("--only", default="", help="programs whose name holds this text")
parser.add_argument("--mesh", action="append", help="meshes to take in place of all")
parser.add_argument("--show", action="store_true", help="list the kinds of collectives too")
parser.add_argument("--xla", default="", help="where bytes of XLA's programs are kept")
args = parser.parse_args()
os.environ["XLA_FLAGS"] = ("--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0 "
                           "--xla_llvm_disable_expensive_passes=true") # we read the program, and never run it
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import backward
import count
import reference
import llama
import more
import train

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
STACKS = {**MODELS, "llama-8b-layers": {**MODELS["llama-8b-layer"], "num_hidden_layers": 4}}
MESHES = ["tp=4", "dp=2,tp=4", "sp=2,tp=4", "fsdp=4", "tp=2", "tp=8", "dp=4", "sp=2", "sp=4", "dp=2,sp=2", "dp=2,sp=2,tp=2", "fsdp=8",
          "dp=2,fsdp=2", "dp=2,fsdp=4", "fsdp=2,tp=2", "fsdp=4,tp=2", "dp=2,fsdp=2,tp=2"]
TRAINED = {"tiny": dict(batch=16, seq=64), "smollm2-like": dict(batch=16, seq=512), "llama-8b-layers": dict(batch=8, seq=2048)}
# Of each a template and its meshes.
TEMPLATES = {"ddp": ["dp=4"], "zero1": ["dp=4"], "zero2": ["dp=4"], "fsdp": ["fsdp=4", "fsdp=8"], "hsdp": ["dp=2,fsdp=2"], "tp": ["tp=2", "tp=4", "dp=2,tp=4"],
             "megatron": ["tp=2", "tp=4", "dp=2,tp=4"], "2d": ["fsdp=2,tp=2", "fsdp=2,tp=4"]}
BACKWARD_MESHES = ["fsdp=4", "fsdp=2,tp=4", "dp=2,fsdp=2,tp=2"]
ELEMENT = {"f32": np.float32, "i32": np.int32}
BATCH, CONTEXT = 8, 256


@functools.cache
def compile_ours(model, mesh, batch=BATCH, pin="", machine=""):
    """None where a pin is refused. `machine`: a file that says what things take."""
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/config.json", "w") as file:
            json.dump({**BASE, **MODELS[model]}, file)
        flags = [f"--batch={batch}", f"--max-seq-len={CONTEXT}", f"--mesh={mesh}"] + ([f"--shard={pin}"] if pin else []) + ([f"--machine={machine}"] if machine else [])
        done = subprocess.run([args.compiler, folder, *flags, "--compile-to=spmd", "-o", folder + "/out.mlir"], stderr=subprocess.PIPE, text=True)
        if done.returncode and pin:
            return None
        if done.returncode:
            sys.exit(f"{model} {flags}: {done.stderr}")
        with open(folder + "/out.mlir") as file:
            return file.read()


def compile_training(model, template, mesh):
    with tempfile.TemporaryDirectory() as folder:
        json.dump({**BASE, **STACKS[model]}, open(folder + "/config.json", "w"))
        sizes = TRAINED[model]
        subprocess.run([args.compiler, folder, "--task=train", f"--template={template}", f"--mesh={mesh}", f"--batch={sizes['batch']}",
                        f"--max-seq-len={sizes['seq']}", "--compile-to=spmd", "-o", folder + "/out.mlir"], check=True)
        return open(folder + "/out.mlir").read()


def compile_backward(sizes, mesh):
    source = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "backward.mlir")).read()
    return subprocess.run([args.opt, "-", f"--tessera-shard=mesh={mesh}"], input=backward.text(source, sizes), check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def signature(text, function):
    """[(name, shape, element, axes by dimension)] of arguments and of results; an axis is its name, position and size of the digit."""
    line = re.search(r"func\.func @%s\((.*?)\)(?: attributes \{.*\})? \{$" % function, text, re.M).group(1)
    inputs, outputs = line.split(") -> (")
    tensor = re.compile(r"tensor<(?:\d+x)*(\w\d+), #dist\.sharding<@mesh, \[([^\]]*)\](?:, global ?= ?\[([\d, ]*)\])?>> \{(?:dist\.seeded = #dist\.sharding<[^>]*>, )?[^{}]*?graph\.name = \"([\w.]+)\"\}")

    def parse(part):
        axes = re.compile(r'"(\w+)"(?::\((\d+)\)(\d+))?')
        return [(name, tuple(map(int, filter(None, shape.split(",")))), element,
                 [[(axis, int(pre or 1), int(size or 0)) for axis, pre, size in axes.findall(dim)] for dim in re.findall(r"\{(.*?)\}", dims)])
                for element, dims, shape, name in tensor.findall(part)]

    return parse(inputs), parse(outputs)


def sent_by_xla(function, inputs, outputs, mesh, residual=None):
    """{kind: bytes}; None where jax cannot be asked."""
    key = json.dumps([function.__name__, mesh, inputs, outputs, residual])
    if key not in answers:
        compiled = compile_xla(function, inputs, outputs, mesh, residual)
        answers[key] = count.hlo(compiled) if compiled else None
        if args.xla:
            with open(args.xla, "w") as file:
                json.dump(answers, file)
    return answers[key]


def signature_for(function, text, name):
    """Without results that `function` does not give: tokens and positions of the next step, which are copies."""
    inputs, outputs = signature(text, name)
    given = jax.eval_shape(function, {n: jax.ShapeDtypeStruct(shape, ELEMENT[element]) for n, shape, element, _ in inputs})
    return inputs, [output for output in outputs if output[0] in given]


def compile_xla(function, inputs, outputs, mesh, residual=None):
    """None where jax cannot be asked: a dimension does not divide. `residual`: axes by dimension that are asked of values in the program, too."""
    # An axis of which arguments use digits becomes one axis for each: jax has no sub-axes.
    cuts = {name: {1, int(size)} for name, size in (item.split("=") for item in mesh.split(","))}
    for _, _, _, dims in inputs + outputs:
        for axis, pre, size in sum(dims, []):
            cuts[axis] |= {pre, pre * size} if size else set()
    digits = {}  # of an axis: [(name, pre, size)], major to minor
    for axis, at in cuts.items():
        at = sorted(at)
        digits[axis] = [(f"{axis}_{pre}", pre, post // pre) for pre, post in zip(at, at[1:])]
    every = sum(digits.values(), [])
    sizes = [size for _, _, size in every]
    devices = Mesh(np.array(jax.devices()[:int(np.prod(sizes))]).reshape(sizes), [name for name, _, _ in every])

    def names_of(dim):
        return tuple(name for axis, pre, size in dim for name, p, s in digits[axis] if not size or pre <= p and p * s <= pre * size)

    def sharding(dims):
        return NamedSharding(devices, PartitionSpec(*[names_of(dim) or None for dim in dims]))

    size_of = {name: size for name, _, size in every}
    for _, shape, _, dims in inputs + outputs:
        if any(n % int(np.prod([size_of[name] for name in names_of(dim)])) for n, dim in zip(shape, dims)):
            return None

    names = [name for name, *_ in outputs]
    pinned = [] if residual is None else [lambda value: jax.lax.with_sharding_constraint(value, sharding([[(axis, 1, 0) for axis in dim] for dim in residual]))]
    step = jax.jit(lambda given: {name: value for name, value in function(given, *pinned).items() if name in names},
                   in_shardings=({name: sharding(dims) for name, _, _, dims in inputs},),
                   out_shardings={name: sharding(dims) for name, _, _, dims in outputs})
    return step.lower({name: jax.ShapeDtypeStruct(shape, ELEMENT[element]) for name, shape, element, _ in inputs}).compile().as_text()


failed = False
answers = {}
if args.xla and os.path.exists(args.xla):
    with open(args.xla) as file:
        answers = json.load(file)


def ratio(a, b):
    return "" if b is None else f"{a / b:.3f}" if b else "1.000" if a == b else "inf"


def row(program, mesh, text, name, function, reference_of=None, residual=None):
    """`reference_of`: of the arguments' shapes and axes, if there is one."""
    global failed
    inputs, outputs = signature_for(function, text, name)
    ours = count.ours(text, name)
    xla = sent_by_xla(function, inputs, outputs, mesh, residual)
    planned = reference_of({n: (shape, dims) for n, shape, _, dims in inputs}) if reference_of else None
    a, b = sum(ours.values()), sum(xla.values()) if xla is not None else None
    bad = (b is not None and a > b) or (planned is not None and a > 1.01 * planned)
    failed |= bad
    print(f"| {program} | {mesh} | {'cannot be asked' if b is None else f'{b:,.0f}'} | {a:,.0f} | {'' if planned is None else f'{planned:,.0f}'} | {ratio(a, b)} | {ratio(a, planned)}"
          f"{' **over**' if bad else ''} |", flush=True)
    if args.show:
        print("  ours", dict(ours), "\n  xla ", dict(xla or {}))


def known_plans(ours, name, compile_other, mesh, plans):
    """(bytes, how) of each plan of `plans` whose arguments and results lie as `ours`."""
    lies = signature(ours, name)
    for how, other in plans:
        text = compile_other(other)
        if text is None:
            continue
        if signature(text, name) == lies:
            yield sum(count.ours(text, name).values()), how


def without_work(text, name, compile_on):
    """Bytes of the same program with the same arguments and results on a machine on which work takes no time: no bytes are sent there to save any. None if they lie otherwise there."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as machine:
        json.dump({"flops": 1e30, "memory_bandwidth": 1e30, "link": {"latency": 1e-12, "bandwidth": 1e9}}, machine)
        machine.flush()
        other = compile_on(machine.name)
    return sum(count.ours(other, name).values()) if other and signature(other, name) == signature(text, name) else None


def more_row(program, batch, mesh, text, name, function, compile_other, plans, planned=None, compile_on=None):
    """Another row, with the best plan known: `plans` are (how it is called, what compile_other gets), `planned` is that of a reference; compile_on gets the file of a machine."""
    global failed
    inputs, outputs = signature_for(function, text, name)
    ours = count.ours(text, name)
    mine, theirs = sum(ours.values()), sent_by_xla(function, inputs, outputs, mesh)
    xla = sum(theirs.values()) if theirs is not None else None
    if not mine and not xla:
        return
    known = list(known_plans(text, name, compile_other, mesh, plans)) + ([(planned, "reference")] if planned is not None else [])
    least, how = min(known, default=(None, ""))
    def is_over(bytes):
        return (xla is not None and bytes > xla) or (least is not None and bytes > 1.01 * least)

    bad, note = is_over(mine), ""
    if bad:  # more bytes for less time?
        free = without_work(text, name, compile_on) if compile_on else None
        bad = free is None or is_over(free)
        note = " **over**" if bad else f" for less time: {free:,.0f} bytes if work took none"
    failed |= bad
    print(f"| {program} | {batch} | {mesh} | {'cannot be asked' if xla is None else f'{xla:,.0f}'} | {mine:,.0f} | {'' if least is None else f'{least:,.0f}'} | "
          f"{how if least is not None and least < mine else ''} | {ratio(mine, xla)} | {ratio(mine, least)}{note} |", flush=True)
    if args.show:
        print("  ours", dict(ours), "\n  xla ", theirs, "\n  known", sorted(known))


tables = args.tables.split(",")
if set(tables) & {"generate", "backward", "train"}:
    print("| program | mesh | XLA bytes | ours | reference | ours / XLA | ours / reference |\n|---|---|---|---|---|---|---|")
for model in MODELS if "generate" in tables else []:
    for mesh in args.mesh or MESHES:
        for name, function in (("prefill", llama.prefill), ("decode", llama.decode)):
            if args.only in f"{model} {name} {mesh}":
                row(f"{model} {name}", mesh, compile_ours(model, mesh), name, function,
                    lambda inputs: reference.generate(MODELS[model], name, more.sizes_of(mesh), inputs))
for size, sizes in backward.SIZES.items() if "backward" in tables else []:
    for mesh in args.mesh or BACKWARD_MESHES:
        for name, function, facts in (("linear", backward.linear, "T8"), ("layers", backward.layers, "T14")):
            program = f"{facts} {size} forward and backward"
            if args.only in f"{program} {mesh}":
                row(program, mesh, compile_backward(sizes, mesh), name, function, lambda _: backward.reference(name, sizes, more.sizes_of(mesh)))
for model in TRAINED if "train" in tables else []:
    for template, meshes in TEMPLATES.items():
        for mesh in args.mesh or meshes:
            program = f"{model} train {template}"
            if args.only not in f"{program} {mesh}":
                continue
            sizes = more.sizes_of(mesh)
            if not set(sizes) >= set(TEMPLATES[template][0].replace("=", ",").split(",")[::2]):
                continue
            text = compile_training(model, template, mesh)
            # As people write it: the stream between blocks over the batch's axes, and where the template says so the sequence over tp.
            residual = [[axis for axis in ("dp", "fsdp") if axis in sizes], ["tp"] if template == "megatron" else [], []]
            row(program, mesh, text, "train", train.train, residual=residual)
if "more" in tables:
    print("| program | batch | mesh | XLA bytes | ours | best known | by | ours / XLA | ours / best known |\n|---|---|---|---|---|---|---|---|---|")
    for model, mesh, batch in more.generate(MODELS):
        if args.mesh and mesh not in args.mesh:
            continue
        for name, function in (("prefill", llama.prefill), ("decode", llama.decode), ("head", llama.head_of_chunk)):
            if args.only not in f"{model} {name} {mesh}":
                continue
            text, sizes = compile_ours(model, mesh, batch), more.sizes_of(mesh)
            planned = None
            if name != "head" and more.has_reference(mesh):
                planned = reference.generate(MODELS[model], name, sizes, {n: (shape, dims) for n, shape, _, dims in signature(text, name)[0]})
            plans = [(f"--mesh={other}", (other, "")) for other in more.orders(mesh)] + [(f"--shard={pin}", (mesh, pin)) for pin in more.pins(mesh)]
            more_row(f"{model} {name}", batch, mesh, text, name, function, lambda plan: compile_ours(model, plan[0], batch, plan[1]), plans, planned,
                     lambda machine: compile_ours(model, mesh, batch, machine=machine))
    for mesh in args.mesh or more.BACKWARD_MESHES:
        for batch in more.BACKWARD_BATCHES:
            sizes = {**backward.SIZES["small"], "B": batch}
            for name, function, facts in (("linear", backward.linear, "T8"), ("layers", backward.layers, "T14")):
                program = f"{facts} small forward and backward"
                if args.only in f"{program} {mesh}":
                    more_row(program, batch, mesh, compile_backward(sizes, mesh), name, function, lambda other: compile_backward(sizes, other),
                             [(f"--mesh={other}", other) for other in more.orders(mesh)],
                             backward.reference(name, sizes, more.sizes_of(mesh)) if more.has_reference(mesh) else None)
sys.exit(1 if failed else 0)
