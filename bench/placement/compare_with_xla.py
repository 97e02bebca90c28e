#!/usr/bin/env python3
"""Rows of the placement page at random: small programs of one or two ops with random shardings of operands and results (any selection of up to
four axes, in any order), the bytes that a rank sends in ours and in XLA's (Shardy on). Lists the programs in which ours sends more, each with its predicted
time and that of the fastest plan which sends no more than XLA's: ours again, with what its ops make pinned in every way (--pins of them, drawn, where
there are more). Exit status 1 if ours sends more in more than --most of them, or takes longer than such a plan.

    compare_with_xla.py [--llm-opt=build/bin/llm-opt] [--machine=FILE] [--count=100] [--seed=0] [--kinds=dot,add] [--most=0] [--show]
                        [--keep=FILE.mlir] [--xla=FILE.json] [--jobs=1] [--pins=2000]

jax comes from PyPI, in an environment outside the tree; it is an oracle, not a dependency. Sizes divide, or jax refuses them. --xla keeps what XLA
sends, so that the same programs need not be compiled again."""
import argparse
import collections
import itertools
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile

ALL_KINDS = ("dot,dot_dot,dot_add,dot_exp,mlp,residual,two_dots,add,exp,reduce,sum_add,softmax,reshape_merge,reshape_split,reshape_both,transpose,lookup,"
             "slice,concat")
parser = argparse.ArgumentParser()
parser.add_argument("--llm-opt", default="build/bin/llm-opt")
parser.add_argument("--machine", default="", help="machine description; default: the compiler's")
parser.add_argument("--count", type=int, default=100)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--kinds", default=ALL_KINDS, help="what is drawn")
parser.add_argument("--most", type=int, default=0, help="programs that may send more")
parser.add_argument("--show", action="store_true", help="list every program")
parser.add_argument("--keep", default="", help="write our programs here")
parser.add_argument("--xla", default="", help="where bytes of XLA's programs are kept")
parser.add_argument("--pins", type=int, default=2000, help="plans that are tried where ours sends more")
parser.add_argument("--jobs", type=int, default=1, help="processes that ask XLA")
args = parser.parse_args()
os.environ["XLA_FLAGS"] = ("--xla_force_host_platform_device_count=16 --xla_backend_optimization_level=0 "
                           "--xla_llvm_disable_expensive_passes=true") # we read the program, and never run it
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2") # XLA says where it replicates a tensor whole: often

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bytes"))
import count

MESHES = [{"x": 4, "y": 2}, {"x": 2, "y": 2, "z": 2}, {"x": 2, "y": 4}, {"x": 2, "y": 2, "z": 2, "w": 2}]


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
        shape, d = (m, n), rng.randrange(2)
        size_, start = shape[d] // 2, rng.randrange(3) * shape[d] // 4
        result = tuple(size_ if i == d else shape[i] for i in range(2))
        at = [start if i == d else 0 for i in range(2)]
        return (kind, [shape], result, f"    %c = graph.slice %a0 at {at} : ({tensor(shape)}) -> {tensor(result)}\n",
                lambda a: jax.lax.slice_in_dim(a, start, start + size_, axis=d))
    if kind == "concat":
        d = rng.randrange(2)
        result = (2 * m, n) if d == 0 else (m, 2 * n)
        return (kind, [(m, n), (m, n)], result, f"    %c = graph.concat %a0, %a1 dim = {d} : ({tensor((m, n))}, {tensor((m, n))}) -> {tensor(result)}\n",
                lambda a, b: jnp.concatenate([a, b], axis=d))
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


def cases_of_seed():
    rng = random.Random(args.seed)
    cases = []
    for i in range(args.count):
        mesh = MESHES[i % len(MESHES)]
        kind, shapes, result, ops, function = draw(rng)
        cases.append((i, mesh, kind, shapes, result, ops, function, [random_sharding(rng, s, mesh) for s in shapes], random_sharding(rng, result, mesh)))
    return cases


def ask_xla(i):
    """What case i sends, by kind; None where XLA fails itself."""
    _, mesh, kind, shapes, result, _, function, shardings, wanted = CASES[i]
    devices = Mesh(np.array(jax.devices()[:int(np.prod(list(mesh.values())))]).reshape(list(mesh.values())), list(mesh))
    place = lambda dims: NamedSharding(devices, PartitionSpec(*[tuple(d) or None for d in dims]))
    inputs = [jax.ShapeDtypeStruct(s, np.int32 if kind == "lookup" and o == 1 else np.float32) for o, s in enumerate(shapes)]
    try:
        compiled = jax.jit(function, in_shardings=tuple(place(d) for d in shardings), out_shardings=place(wanted)).lower(*inputs).compile()
    except jax.errors.JaxRuntimeError:
        return None
    return dict(count.hlo(compiled.as_text()))


def xla_of(cases):
    known = json.load(open(args.xla)) if args.xla and os.path.exists(args.xla) else {}
    keys = [json.dumps([mesh, shapes, result, ops, shardings, wanted]) for _, mesh, _, shapes, result, ops, _, shardings, wanted in cases]
    asked = [i for i, key in enumerate(keys) if key not in known]
    if args.jobs > 1:
        with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
            answers = pool.map(ask_xla, asked, chunksize=50)
    else:
        answers = map(ask_xla, asked)
    for i, answer in zip(asked, answers):
        known[keys[i]] = answer
    if args.xla and asked:
        json.dump(known, open(args.xla, "w"))
    return [known[key] for key in keys]


def function_of(case, name, pins=()):
    """`pins`: shardings of what the ops make, in their order."""
    _, _, kind, shapes, result, ops, _, shardings, wanted = case
    element = lambda o: "i32" if kind == "lookup" and o == 1 else "f32"
    arguments = ", ".join(f'%a{o}: {tensor(s, element(o))} {{graph.kind = #graph.kind<input>, graph.name = "{name}_a{o}", dist.sharding = {attribute(d)}}}'
                          for o, (s, d) in enumerate(zip(shapes, shardings)))
    lines = ops.splitlines(keepends=True)
    for number, dims in reversed(list(enumerate(pins))):
        made, type_ = re.match(r" *(%\w+) = .* (?:-> |: )(tensor<\w+>)$", lines[number]).groups()
        lines[number] = (lines[number].replace(f"{made} =", f"{made}p =", 1) +
                         f"    {made} = dist.constraint {made}p <@mesh, " + attribute(dims)[len("#dist.sharding<@mesh, "):] + f" : {type_}\n")
    return (f'func.func @{name}({arguments}) -> ({tensor(result)} {{graph.kind = #graph.kind<output>, graph.name = "{name}_r", dist.sharding = {attribute(wanted)}}}) {{\n'
            f"{''.join(lines)}    return %c : {tensor(result)}\n}}\n")


def compile_ours(mesh, functions, machine):
    """Of each function, by name: bytes, of which kinds of collectives, and predicted seconds."""
    program = "dist.mesh @mesh = <[" + ", ".join(f'"{a}"={n}' for a, n in mesh.items()) + "]>\n" + "".join(functions)
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(program)
        file.flush()
        if args.keep:
            open(args.keep + "." + "".join(f"{a}{n}" for a, n in mesh.items()), "w").write(program)
        flags = "--tessera-shard" + (f"=machine={machine}" if machine else "")
        done = subprocess.run([args.llm_opt, file.name, flags, "--remarks-filter=dist", "--remark-format=emitRemark"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
    starts = [(number, line.split("@")[1].split("(")[0]) for number, line in enumerate(program.splitlines(), 1) if line.startswith("func.func @")]
    times = collections.Counter()
    for line, time in re.findall(r":(\d+):\d+: remark: .*?block of func\.func.*?: time ([\d.]+) us", done.stderr):
        times[[name for start, name in starts if start <= int(line)][-1]] += float(time) * 1e-6
    ours = {}
    for function in re.split(r"(?=\n  func\.func @)", done.stdout)[1:]:
        name = re.search(r"func\.func @(\w+)", function).group(1)
        sent = count.ours(program.splitlines()[0] + function, name)
        ours[name] = (int(sum(sent.values())), dict(sent), times[name])
    return ours


def ask_ours(cases, machine):
    ours = {}
    for mesh in MESHES:
        ours.update(compile_ours(mesh, [function_of(case, f"f{case[0]}") for case in cases if case[1] is mesh], machine))
    return ours


def all_shardings(shape, mesh):
    """Every sharding of a tensor, in every order of axes, that divides."""
    found = [[[] for _ in shape]]
    for axis in mesh:
        found += [dims[:d] + [dims[d][:at] + [axis] + dims[d][at:]] + dims[d + 1:]
                  for dims in found for d in range(len(shape)) for at in range(len(dims[d]) + 1)
                  if shape[d] % (mesh[axis] * int(np.prod([mesh[a] for a in dims[d]]))) == 0]
    return found


def fastest_pinned(case, most, machine):
    """Of plans of ours with everything that ops make pinned, and at most so many bytes: the least time, its bytes; None if none was found."""
    made = [tuple(map(int, re.findall(r"(\d+)x", line.rsplit("tensor<", 1)[1]))) for line in case[5].splitlines()]
    pins = list(itertools.islice(itertools.product(*(all_shardings(shape, case[1]) for shape in made)), 1 << 20))
    if len(pins) > args.pins:
        pins = random.Random(0).sample(pins, args.pins)
    tried = compile_ours(case[1], [function_of(case, f"p{n}", pin) for n, pin in enumerate(pins)], machine)
    return min(((time, sent) for sent, _, time in tried.values() if sent <= most), default=None)


def main():
    ours = ask_ours(CASES, args.machine)
    more, less, failed, slower, totals = 0, 0, 0, 0, collections.defaultdict(lambda: [0, 0, 0, 0])
    for (i, mesh, kind, shapes, result, ops, function, shardings, wanted), theirs in zip(CASES, xla_of(CASES)):
        if theirs is None:
            failed += 1
            continue
        xla, (mine, list_, time) = int(sum(theirs.values())), ours[f"f{i}"]
        for name in (kind, "all", "all but slice and concat"):
            if name != "all but slice and concat" or kind not in ("slice", "concat"):
                totals[name] = [a + b for a, b in zip(totals[name], (1, mine, xla, mine > xla))]
        more, less = more + (mine > xla), less + (mine < xla)
        if args.show or mine > xla:
            print(f"{'MORE ' if mine > xla else ''}f{i} {kind} mesh {mesh} {list(zip(shapes, map(text_of, shardings)))} -> {result} {text_of(wanted)}: "
                  f"ours {mine} {list_}, XLA {xla} {theirs}")
        if mine > xla:
            pinned = fastest_pinned(CASES[i], xla, args.machine)
            slower += pinned is not None and pinned[0] <= time
            print(f"     ours takes {time * 1e6:.3f} us; " +
                  (f"a pinned plan of {pinned[1]} bytes {pinned[0] * 1e6:.3f} us" if pinned else "no pinned plan with so few bytes was found"))
    for name, (number, mine, xla, over) in totals.items():
        print(f"{name}: {number} programs, {mine} bytes against {xla}, {mine / max(1, xla):.3f}; more in {over}")
    print(f"{args.count} programs: fewer bytes than XLA in {less}, as many in {args.count - less - more - failed}, more in {more}, of which {slower} take longer than a plan of XLA's bytes; XLA fails in {failed}")
    sys.exit(1 if more > args.most or slower else 0)


CASES = cases_of_seed()
if __name__ == "__main__":
    main()
