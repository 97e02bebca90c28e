#!/usr/bin/env python3
"""Rows of the placement page at random: small programs of one or two ops with random shardings of operands and results, the bytes that a rank
sends in ours and in XLA's (Shardy on). Exit status 1 if ours sends more in one of them.

    compare_with_xla.py [--llm-opt=build/bin/llm-opt] [--machine=FILE] [--count=100] [--seed=0] [--kinds=dot,add] [--show] [--keep=FILE.mlir]

jax comes from PyPI, in an environment outside the tree; it is an oracle, not a dependency. Sizes divide, or jax refuses them. Kinds slice and
concat, which are not among the default ones, cut the first dimension: XLA passes pieces on where it is sharded, ours makes it whole."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--llm-opt", default="build/bin/llm-opt")
parser.add_argument("--machine", default="", help="machine description; default: the compiler's")
parser.add_argument("--count", type=int, default=100)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--kinds", default="dot,dot_dot,dot_add,dot_exp,mlp,residual,two_dots,add,exp,reduce,sum_add,softmax,reshape_merge,"
                    "reshape_split,reshape_both,transpose,lookup", help="what is drawn")
parser.add_argument("--show", action="store_true", help="list every program")
parser.add_argument("--keep", default="", help="write our programs here")
args = parser.parse_args()
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=16"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2") # XLA says where it replicates a tensor whole: often

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bytes"))
import count

MESHES = [{"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}, {"x": 2, "y": 4}]


def tensor(shape, element="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def random_sharding(rng, shape, mesh):
    """Axes of each dimension, each axis used at most once, everything divides."""
    dims = [[] for _ in shape]
    axes = list(mesh)
    rng.shuffle(axes)
    for axis in axes:
        d = rng.randrange(-1, len(shape))
        if d >= 0 and shape[d] % (mesh[axis] * int(np.prod([mesh[a] for a in dims[d]]))) == 0:
            dims[d].append(axis)
    return dims


def text_of(dims):
    return "[" + "/".join(",".join(d) or "-" for d in dims) + "]"


def attribute(dims):
    return "#dist.sharding<@mesh, [" + ", ".join("{" + ", ".join(f'"{a}"' for a in d) + "}" for d in dims) + "]>"


SIZES = [8, 16, 32, 64]


def draw(rng):
    """Operand shapes, result shape, our ops and the jax function."""
    size = lambda: rng.choice(SIZES)
    m, k, n = size(), size(), size()
    kind = rng.choice(args.kinds.split(","))
    dot = lambda out, a, b, s, w, r: f"    %{out} = graph.linear %{a}, %{b} contract = 1 : ({tensor(s)}, {tensor(w)}) -> {tensor(r)}\n"
    pair = lambda out, op, a, b, s: f"    %{out} = graph.{op} %{a}, %{b} : ({tensor(s)}, {tensor(s)}) -> {tensor(s)}\n"
    if kind == "dot":
        return kind, [(m, k), (n, k)], (m, n), dot("c", "a0", "a1", (m, k), (n, k), (m, n)), lambda a, b: a @ b.T
    if kind == "dot_dot":
        h = size()
        return (kind, [(m, k), (h, k), (n, h)], (m, n), dot("h", "a0", "a1", (m, k), (h, k), (m, h)) + dot("c", "h", "a2", (m, h), (n, h), (m, n)),
                lambda a, b, c: (a @ b.T) @ c.T)
    if kind == "dot_add":
        return (kind, [(m, k), (n, k), (m, n)], (m, n), dot("h", "a0", "a1", (m, k), (n, k), (m, n)) + pair("c", "add", "h", "a2", (m, n)),
                lambda a, b, c: a @ b.T + c)
    if kind == "dot_exp":
        return (kind, [(m, k), (n, k)], (m, n), dot("h", "a0", "a1", (m, k), (n, k), (m, n)) + f"    %c = graph.exp %h : {tensor((m, n))}\n",
                lambda a, b: jnp.exp(a @ b.T))
    if kind in ("mlp", "residual"):
        h = size()
        ops = (dot("h", "a0", "a1", (m, k), (h, k), (m, h)) + f"    %e = graph.relu %h : {tensor((m, h))}\n" + dot("y", "e", "a2", (m, h), (k, h), (m, k)))
        if kind == "residual":
            return kind, [(m, k), (h, k), (k, h)], (m, k), ops + pair("c", "add", "a0", "y", (m, k)), lambda a, b, c: a + jax.nn.relu(a @ b.T) @ c.T
        return kind, [(m, k), (h, k), (k, h)], (m, k), ops.replace("%y", "%c"), lambda a, b, c: jax.nn.relu(a @ b.T) @ c.T
    if kind == "two_dots":
        ops = dot("s", "a0", "a1", (m, k), (n, k), (m, n)) + dot("t", "a0", "a2", (m, k), (n, k), (m, n)) + pair("c", "add", "s", "t", (m, n))
        return kind, [(m, k), (n, k), (n, k)], (m, n), ops, lambda a, b, c: a @ b.T + a @ c.T
    if kind == "softmax":
        return kind, [(m, n)], (m, n), f"    %c = graph.softmax %a0 : {tensor((m, n))}\n", lambda a: jax.nn.softmax(a, axis=-1)
    if kind == "slice":
        return (kind, [(m, n)], (m // 2, n), f"    %c = graph.slice %a0 at [{m // 2}, 0] : ({tensor((m, n))}) -> {tensor((m // 2, n))}\n",
                lambda a: a[m // 2:])
    if kind == "concat":
        return (kind, [(m, n), (m, n)], (2 * m, n), f"    %c = graph.concat %a0, %a1 dim = 0 : ({tensor((m, n))}, {tensor((m, n))}) -> {tensor((2 * m, n))}\n",
                lambda a, b: jnp.concatenate([a, b]))
    if kind == "add":
        return kind, [(m, n), (m, n)], (m, n), pair("c", "add", "a0", "a1", (m, n)), lambda a, b: a + b
    if kind == "sum_add":
        reduce = lambda out, a: f"    %{out} = graph.reduce sum %{a} dims = [1] : ({tensor((m, k, n))}) -> {tensor((m, n))}\n"
        return (kind, [(m, k, n), (m, k, n)], (m, n), reduce("s", "a0") + reduce("t", "a1") + pair("c", "add", "s", "t", (m, n)),
                lambda a, b: a.sum(1) + b.sum(1))
    if kind == "exp":
        return kind, [(m, n)], (m, n), f"    %c = graph.exp %a0 : {tensor((m, n))}\n", jnp.exp
    if kind == "reduce":
        d = rng.randrange(3)
        shape = (m, k, n)
        result = shape[:d] + shape[d + 1:]
        which = rng.choice(["sum", "max"])
        return (kind, [shape], result, f"    %c = graph.reduce {which} %a0 dims = [{d}] : ({tensor(shape)}) -> {tensor(result)}\n",
                (lambda a: a.sum(d)) if which == "sum" else (lambda a: a.max(d)))
    if kind.startswith("reshape"):
        shape, result = {"reshape_merge": ((m, n), (m * n,)), "reshape_split": ((m * n,), (m, n)), "reshape_both": ((m, n), (m // 2, n * 2))}[kind]
        return kind, [shape], result, f"    %c = graph.reshape %a0 : ({tensor(shape)}) -> {tensor(result)}\n", lambda a: a.reshape(result)
    if kind == "transpose":
        return (kind, [(m, k, n)], (n, m, k), f"    %c = graph.transpose %a0 [2, 0, 1] : ({tensor((m, k, n))}) -> {tensor((n, m, k))}\n",
                lambda a: a.transpose(2, 0, 1))
    return (kind, [(512, n), (m,)], (m, n), f"    %c = graph.embedding %a0, %a1 : ({tensor((512, n))}, {tensor((m,), 'i32')}) -> {tensor((m, n))}\n",
            lambda table, ids: jnp.take(table, ids, axis=0, mode="fill", fill_value=0))


def main():
    rng = random.Random(args.seed)
    cases = []
    for i in range(args.count):
        mesh = MESHES[i % len(MESHES)]
        kind, shapes, result, ops, function = draw(rng)
        cases.append((i, mesh, kind, shapes, result, ops, function, [random_sharding(rng, s, mesh) for s in shapes], random_sharding(rng, result, mesh)))
    ours = {}
    for mesh in MESHES:
        program = "dist.mesh @mesh = <[" + ", ".join(f'"{a}"={n}' for a, n in mesh.items()) + "]>\n"
        for i, m, kind, shapes, result, ops, _, shardings, wanted in cases:
            if m is not mesh:
                continue
            element = lambda o: "i32" if kind == "lookup" and o == 1 else "f32"
            arguments = ", ".join(f'%a{o}: {tensor(s, element(o))} {{graph.kind = #graph.kind<input>, graph.name = "f{i}_a{o}", dist.sharding = {attribute(d)}}}'
                                  for o, (s, d) in enumerate(zip(shapes, shardings)))
            program += (f'func.func @f{i}({arguments}) -> ({tensor(result)} {{graph.kind = #graph.kind<output>, graph.name = "f{i}_r", dist.sharding = {attribute(wanted)}}}) {{\n'
                        f"{ops}    return %c : {tensor(result)}\n}}\n")
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(program)
            file.flush()
            if args.keep:
                open(args.keep + "." + "".join(f"{a}{n}" for a, n in mesh.items()), "w").write(program)
            flags = "--tessera-explain=json=true" + (f" machine={args.machine}" if args.machine else "")
            done = subprocess.run([args.llm_opt, file.name, flags, "-o", os.devnull], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            explained = json.loads(done.stderr)
        for step in explained["steps"]:
            ours[step["function"]] = (step["collective_bytes"], [c["kind"] + "{" + ",".join(c["axes"]) + "}" for c in explained["collectives"] if c["function"] == step["function"]])
    more, less, total_ours, total_xla = 0, 0, 0, 0
    for i, mesh, kind, shapes, result, ops, function, shardings, wanted in cases:
        devices = Mesh(np.array(jax.devices()[:int(np.prod(list(mesh.values())))]).reshape(list(mesh.values())), list(mesh))
        place = lambda dims: NamedSharding(devices, PartitionSpec(*[tuple(d) or None for d in dims]))
        inputs = [jax.ShapeDtypeStruct(s, np.int32 if kind == "lookup" and o == 1 else np.float32) for o, s in enumerate(shapes)]
        compiled = jax.jit(function, in_shardings=tuple(place(d) for d in shardings), out_shardings=place(wanted)).lower(*inputs).compile()
        theirs = count.hlo(compiled.as_text())
        xla, (mine, list_) = int(sum(theirs.values())), ours[f"f{i}"]
        total_ours, total_xla = total_ours + mine, total_xla + xla
        more, less = more + (mine > xla), less + (mine < xla)
        if args.show or mine > xla:
            print(f"{'MORE ' if mine > xla else ''}f{i} {kind} mesh {mesh} {list(zip(shapes, map(text_of, shardings)))} -> {result} {text_of(wanted)}: "
                  f"ours {mine} {list_}, XLA {xla} {dict(theirs)}")
    print(f"{args.count} programs: fewer bytes than XLA in {less}, as many in {args.count - less - more}, more in {more}; in all {total_ours} against {total_xla}")
    sys.exit(1 if more else 0)


main()
