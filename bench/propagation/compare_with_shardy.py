#!/usr/bin/env python3
"""Draws random programs with sharding annotations, propagates them with build/bin/sharding-facts and with openxla/shardy (inside
jaxlib: `pip install jax`, in an environment outside the tree), and reports where the two differ.

    compare_with_shardy.py [--cases=500] [--seed=0] [--strategy=basic|aggressive|full] [--regions] [--show=3]
                           [--facts=build/bin/sharding-facts] [--write=FILE]

--write appends the programs to FILE, as cases with what shardy found as expectations (test/Facts/shardy.facts was made so).
--regions draws batched products, constraints, barriers, loops, branches and groups too.
"""
import argparse
import random
import re
import subprocess

from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib.mlir import ir, passmanager

PASSES = {"basic": "sdy-basic-propagate", "aggressive": "sdy-aggressive-propagate{propagation-strategy=aggressive}",
          "full": "sdy-user-priority-propagate"}
MESHES = [[("a", 2), ("b", 2)], [("a", 4), ("b", 2)], [("a", 2), ("b", 2), ("c", 2)], [("a", 3), ("b", 2)], [("a", 16), ("b", 2)]]


def factor_name(index):
    return "ijklmnop"[index]


class Case:
    """One program, kept as lines of both forms."""

    def __init__(self, rng, priorities, regions=False):
        self.rng = rng
        self.priorities = priorities
        self.mesh = rng.choice(MESHES + ([[("a", 1), ("b", 2), ("c", 4)], [("a", 2), ("b", 3), ("c", 5)]] if regions else []))
        self.facts, self.body, self.arguments = [], [], []
        self.shapes, self.values, self.uses, self.inner = {}, [], {}, []
        shapes = [(8, 8), (8, 8), (4, 16), (16, 4), (8, 16)]
        kinds = [self.add, self.add, self.negate, self.dot, self.transpose, self.reshape, self.broadcast, self.reduce]
        if regions:
            shapes += [(2, 8, 8), (4, 8, 8), (6, 10), (3, 7)]
            kinds += [self.batched_dot, self.constraint, self.barrier, self.loop, self.branches, self.dot_transposed]
        for _ in range(rng.randint(1, 3)):
            self.argument(rng.choice(shapes))
        for _ in range(rng.randint(1, 5)):
            rng.choice(kinds)()
        if regions and rng.random() < 0.2:
            self.group()
        self.finish()

    def sharding(self, rank, closed_share=0.4, priorities=True):
        """Text in our notation, or none."""
        rng = self.rng
        if rng.random() < 0.4:
            return None
        pieces = []
        for name, size in self.mesh:
            if size % 4 == 0 and rng.random() < 0.3:
                pieces += [f"{name}:(1)2", f"{name}:(2){size // 2}"]
            else:
                pieces.append(name)
        rng.shuffle(pieces)
        dims, replicated = [[] for _ in range(rank)], []
        for piece in pieces:
            where = rng.randint(0, rank + 1)
            if where < rank:
                # Two pieces of one axis side by side would have to be written as one.
                if not (dims[where] and dims[where][-1].split(":")[0] == piece.split(":")[0]):
                    dims[where].append(piece)
            elif rng.random() < 0.2 and ":" not in piece:
                replicated.append(piece)
        text = []
        for axes in dims:
            is_open = rng.random() >= closed_share
            item = ",".join(axes) + ("?" if is_open else "") or "-"
            if self.priorities and priorities and item != "-" and rng.random() < 0.15:
                item += f" p{rng.randint(0, 2)}"
            text.append(item)
        result = "[" + "/".join(text) + "]"
        order = [name for name, _ in self.mesh]
        if replicated:
            result += " R{" + ",".join(sorted(replicated, key=order.index)) + "}"
        return result

    def mlir_sharding(self, text):
        body, _, rest = text[1:].partition("]")
        dims = []
        for item in body.split("/"):
            axes, _, priority = item.partition(" ")
            names = []
            for axis in axes.rstrip("?").split(","):
                if axis in ("-", ""):
                    continue
                name, _, sub = axis.partition(":")
                names.append(f'"{name}"' + (":" + sub if sub else ""))
            if axes.endswith("?"):
                names.append("?")
            dims.append("{" + ", ".join(names) + "}" + priority)
        replicated = re.search(r"R\{(.*)\}", rest)
        suffix = ", replicated={" + ", ".join(f'"{a}"' for a in replicated.group(1).split(",")) + "}" if replicated else ""
        return f"<@mesh, [{', '.join(dims)}]{suffix}>"

    def declare(self, shape, annotate):
        name = f"v{len(self.values)}"
        text = self.sharding(len(shape), priorities=self.rng.random() < 0.3) if annotate else None
        self.facts.append(f"tensor {name} {'x'.join(map(str, shape))} {text or ''}")
        self.shapes[name] = shape
        self.values.append(name)
        self.uses[name] = 0
        return name, text

    def type(self, name):
        return f"tensor<{'x'.join(map(str, self.shapes[name]))}xf32>"

    def argument(self, shape):
        name, text = self.declare(shape, True)
        attribute = f" {{sdy.sharding = #sdy.sharding{self.mlir_sharding(text)}}}" if text else ""
        self.arguments.append(f"%{name}: {self.type(name)}{attribute}")

    def operation(self, operands, shape, fact_rule, mlir_text, suffix_types):
        name, text = self.declare(shape, self.rng.random() < 0.25)
        attribute = f"sdy.sharding = #sdy.sharding_per_value<[{self.mlir_sharding(text)}]>" if text else ""
        self.facts.append(f"op {mlir_text.split()[0]} {' '.join(operands)} -> {name}" + (f" : {fact_rule}" if fact_rule else ""))
        self.body.append(f"%{name} = {self.named(mlir_text, name, attribute)} : {suffix_types(self.type(name))}")
        for operand in operands:
            self.uses[operand] += 1

    @staticmethod
    def named(mlir_text, name, attribute=""):
        """The op with its name as an attribute, by which its sharding is found again."""
        return f'{mlir_text} {{tag = "{name}"{", " + attribute if attribute else ""}}}'

    def pick(self, rank=None, shape=None):
        fitting = [v for v in self.values if (rank is None or len(self.shapes[v]) == rank) and (shape is None or self.shapes[v] == shape)]
        return self.rng.choice(fitting) if fitting else None

    def add(self):
        a = self.pick()
        b = self.pick(shape=self.shapes[a])
        self.operation([a, b], self.shapes[a], "", f"stablehlo.add %{a}, %{b}", lambda t: t)

    def negate(self):
        a = self.pick()
        self.operation([a], self.shapes[a], "", f"stablehlo.negate %{a}", lambda t: t)

    def dot(self):
        a = self.pick(rank=2)
        if a is None:
            return
        fitting = [v for v in self.values if len(self.shapes[v]) == 2 and self.shapes[v][0] == self.shapes[a][1]]
        if not fitting:
            return
        b = self.rng.choice(fitting)
        types = f"({self.type(a)}, {self.type(b)}) -> "
        self.operation([a, b], (self.shapes[a][0], self.shapes[b][1]), "([i, k], [k, j]) -> ([i, j]) reduction={k}",
                       f"stablehlo.dot_general %{a}, %{b}, contracting_dims = [1] x [0]", lambda t: types + t)

    def transpose(self):
        a = self.pick(rank=2)
        if a is None:
            return
        x, y = self.shapes[a]
        types = f"({self.type(a)}) -> "
        self.operation([a], (y, x), "([i, j]) -> ([j, i])", f"stablehlo.transpose %{a}, dims = [1, 0]", lambda t: types + t)

    def reshape(self):
        a = self.pick()
        shape = self.shapes[a]
        types = f"({self.type(a)}) -> "
        if len(shape) == 2:
            self.operation([a], (shape[0] * shape[1],), "([i, j]) -> ([i*j])", f"stablehlo.reshape %{a}", lambda t: types + t)
        elif len(shape) == 1 and shape[0] % 4 == 0 and shape[0] > 4:
            self.operation([a], (4, shape[0] // 4), "([i*j]) -> ([i, j])", f"stablehlo.reshape %{a}", lambda t: types + t)

    def broadcast(self):
        a = self.pick(rank=1)
        if a is None:
            return
        types = f"({self.type(a)}) -> "
        self.operation([a], (self.shapes[a][0], 8), "([i]) -> ([i, j])", f"stablehlo.broadcast_in_dim %{a}, dims = [0]", lambda t: types + t)

    def reduce(self):
        a = self.pick(rank=2)
        if a is None or not self.arguments:
            return
        name = f"v{len(self.values)}"
        self.facts.append(f"tensor {name} {self.shapes[a][0]}")
        self.facts.append(f"op reduce {a} -> {name} : ([i, j]) -> ([i]) reduction={{j}}")
        self.shapes[name] = (self.shapes[a][0],)
        self.values.append(name)
        self.uses[a] += 1
        self.uses[name] = 0
        self.body.append(f"%{name} = stablehlo.reduce(%{a} init: %zero) applies stablehlo.add across dimensions = [1] "
                         f'{{tag = "{name}"}} : '
                         f"({self.type(a)}, tensor<f32>) -> {self.type(name)}")

    def batched_dot(self):
        a = self.pick(rank=3)
        if a is None:
            return
        fitting = [v for v in self.values if len(self.shapes[v]) == 3 and self.shapes[v][:2] == (self.shapes[a][0], self.shapes[a][2])]
        if not fitting:
            return
        b = self.rng.choice(fitting)
        types = f"({self.type(a)}, {self.type(b)}) -> "
        self.operation([a, b], self.shapes[a][:2] + self.shapes[b][2:], "([s, i, k], [s, k, j]) -> ([s, i, j]) reduction={k}",
                       f"stablehlo.dot_general %{a}, %{b}, batching_dims = [0] x [0], contracting_dims = [2] x [1]", lambda t: types + t)

    def dot_transposed(self):
        a = self.pick(rank=2)
        if a is None:
            return
        fitting = [v for v in self.values if len(self.shapes[v]) == 2 and self.shapes[v][1] == self.shapes[a][1]]
        b = self.rng.choice(fitting)
        types = f"({self.type(a)}, {self.type(b)}) -> "
        self.operation([a, b], (self.shapes[a][0], self.shapes[b][0]), "([i, k], [j, k]) -> ([i, j]) reduction={k}",
                       f"stablehlo.dot_general %{a}, %{b}, contracting_dims = [1] x [1]", lambda t: types + t)

    def concatenate(self):
        a = self.pick(rank=2)
        if a is None:
            return
        x, y = self.shapes[a]
        b = self.pick(shape=(x, y))
        types = f"({self.type(a)}, {self.type(b)}) -> "
        self.operation([a, b], (x, 2 * y), f"([i, j], [i, j]) -> ([i, j]) permutation={{j}} sizes={{j={2 * y}}}",
                       f"stablehlo.concatenate %{a}, %{b}, dim = 1", lambda t: types + t)

    def constraint(self):
        a = self.pick()
        text = self.sharding(len(self.shapes[a]), priorities=False)
        if text is None:
            return
        name = f"v{len(self.values)}"
        self.facts += [f"tensor {name} {'x'.join(map(str, self.shapes[a]))} {text}", f"op constraint {a} -> {name}"]
        self.add_value(name, a)
        self.body.append(f"%{name} = sdy.sharding_constraint %{a} {self.mlir_sharding(text)} {{tag = \"{name}\"}} : {self.type(name)}")

    def add_value(self, name, like):
        self.shapes[name] = self.shapes[like]
        self.values.append(name)
        self.uses[like] += 1
        self.uses[name] = 0

    def barrier(self):
        a = self.pick()
        direction = self.rng.choice(["forward", "backward", "none"])
        name = f"v{len(self.values)}"
        self.facts += [f"tensor {name} {'x'.join(map(str, self.shapes[a]))}", f"barrier {direction} {a} -> {name}"]
        self.add_value(name, a)
        self.body.append(f"%{name} = sdy.propagation_barrier %{a} allowed_direction={direction.upper()} "
                         f"{{tag = \"{name}\"}} : {self.type(name)}")

    def loop(self):
        """A loop that carries `a`: its edge stands for what the body reads and for the result."""
        a = self.pick()
        b = self.pick(shape=self.shapes[a])
        name = f"v{len(self.values)}"
        inner = name + "_next"
        shape, text = "x".join(map(str, self.shapes[a])), self.sharding(len(self.shapes[a]), priorities=False) if self.rng.random() < 0.2 else None
        attribute = f"sdy.sharding = #sdy.sharding_per_value<[{self.mlir_sharding(text)}]>" if text else ""
        self.facts += [f"tensor {name} {shape}", f"tensor {inner} {shape} {text or ''}", f"op add {name} {b} -> {inner}", f"edge {a} {inner} -> {name}"]
        self.add_value(name, a)
        self.uses[b] += 1
        self.inner.append(inner)
        self.shapes[inner] = self.shapes[a]
        it, r, t = f"%it_{name}", f"%loop_{name}", self.type(a)
        self.body.append(f"""{r} = stablehlo.while({it} = %{a}) : {t}
          cond {{ stablehlo.return %true : tensor<i1> }}
          do {{ %{inner} = {self.named(f"stablehlo.add {it}, %{b}", inner, attribute)} : {t}
                stablehlo.return %{inner} : {t} }}""")
        self.body.append(f"%{name} = sdy.data_flow_edge {r} {{tag = \"{name}\"}} : {t}")

    def branches(self):
        a = self.pick()
        b = self.pick(shape=self.shapes[a])
        name, t = f"v{len(self.values)}", self.type(a)
        self.facts += [f"tensor {name} {'x'.join(map(str, self.shapes[a]))}", f"edge {a} {b} -> {name}"]
        self.add_value(name, a)
        self.uses[b] += 1
        self.body.append(f"""%case_{name} = "stablehlo.case"(%index) ({{ stablehlo.return %{a} : {t} }}, {{ stablehlo.return %{b} : {t} }})
          : (tensor<i32>) -> {t}""")
        self.body.append(f"%{name} = sdy.data_flow_edge %case_{name} {{tag = \"{name}\"}} : {t}")

    def group(self):
        a = self.pick()
        b = self.pick(shape=self.shapes[a])
        if a != b and not any(" ".join(line.split()[:2]) in (f"tensor {a}", f"tensor {b}") and "[" in line for line in self.facts):
            self.facts.append(f"group {a} {b}")
            self.body += [f"sdy.sharding_group %{v} group_id=0 : {self.type(v)}" for v in (a, b)]

    def finish(self):
        self.returned = [v for v in self.values if not self.uses[v] or self.rng.random() < 0.15]
        self.results = []
        for value in self.returned:
            text = self.sharding(len(self.shapes[value])) if self.rng.random() < 0.5 else None
            name = "r" + value
            self.facts.append(f"tensor {name} {'x'.join(map(str, self.shapes[value]))} {text or ''}")
            self.facts.append(f"op return {value} -> {name}")
            attribute = f" {{sdy.sharding = #sdy.sharding{self.mlir_sharding(text)}}}" if text else ""
            self.results.append(self.type(value) + attribute)

    def facts_text(self, strategy):
        mesh = " ".join(f"{n}{s}" for n, s in self.mesh)
        return f"mesh {mesh}\nstrategy {strategy}\n" + "\n".join(self.facts) + "\n"

    def mlir_text(self):
        mesh = ", ".join(f'"{n}"={s}' for n, s in self.mesh)
        lines = [f"sdy.mesh @mesh = <[{mesh}]>", f"func.func @main({', '.join(self.arguments)}) -> ({', '.join(self.results)}) {{",
                 "%zero = stablehlo.constant dense<0.0> : tensor<f32>", "%true = stablehlo.constant dense<true> : tensor<i1>",
                 "%index = stablehlo.constant dense<0> : tensor<i32>"]
        lines += self.body
        lines.append(f"return {', '.join('%' + v for v in self.returned)} : {', '.join(self.type(v) for v in self.returned)}")
        return "\n".join(lines + ["}"])


def from_attribute(attribute, rank):
    """Our notation for a #sdy.sharding attribute."""
    if attribute is None:
        return "[" + "/".join("?" * rank) + "]"
    text = str(attribute)
    dims = re.search(r"\[(.*?)\]", text).group(1)
    items = []
    for dim in re.findall(r"\{(.*?)\}", dims):
        axes = [a.strip() for a in dim.split(",") if a.strip()]
        is_open = "?" in axes
        names = [a.replace('"', "") for a in axes if a != "?"]
        items.append(",".join(names) + ("?" if is_open else "" if names else "-"))
    result = "[" + "/".join(items) + "]"
    replicated = re.search(r"replicated=\{(.*?)\}", text)
    if replicated:
        result += " R{" + replicated.group(1).replace('"', "").replace(" ", "") + "}"
    return result


def shardy(case, strategy, context):
    """Sharding of every value and result, in our notation."""
    with context, ir.Location.unknown():
        module = ir.Module.parse(case.mlir_text())
        passmanager.PassManager.parse(f"builtin.module({PASSES[strategy]})").run(module.operation)
        function = [op for op in module.body.operations if op.operation.name == "func.func"][0]
        found, names = {}, list(case.values)
        block = function.regions[0].blocks[0]
        attributes = ir.ArrayAttr(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else []
        for i, argument in enumerate(block.arguments):
            attribute = ir.DictAttr(attributes[i])["sdy.sharding"] if attributes and "sdy.sharding" in ir.DictAttr(attributes[i]) else None
            found[names[i]] = from_attribute(attribute, len(case.shapes[names[i]]))
        rest = set(names[len(block.arguments):]) | set(case.inner)

        def visit(op):
            if "tag" in op.attributes:
                name = ir.StringAttr(op.attributes["tag"]).value
                attribute = None
                if "sdy.sharding" in op.attributes:
                    attribute = re.search(r"\[(<.*>)\]", str(op.attributes["sdy.sharding"])).group(1)
                elif "sharding" in op.attributes:
                    attribute = op.attributes["sharding"]
                found[name] = from_attribute(attribute, len(case.shapes[name]))
                rest.discard(name)
            return ir.WalkResult.ADVANCE

        function.operation.walk(visit)
        if rest:
            return None  # something was folded or removed: nothing to compare
        attributes = ir.ArrayAttr(function.attributes["res_attrs"]) if "res_attrs" in function.attributes else []
        for i, value in enumerate(case.returned):
            attribute = ir.DictAttr(attributes[i])["sdy.sharding"] if attributes and "sdy.sharding" in ir.DictAttr(attributes[i]) else None
            found["r" + value] = from_attribute(attribute, len(case.shapes[value]))
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strategy", choices=PASSES, default="basic")
    parser.add_argument("--regions", action="store_true")
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--write")
    parser.add_argument("--facts", default="build/bin/sharding-facts")
    options = parser.parse_args()
    context = jax_mlir.make_ir_context()
    compared = different = values = different_values = 0
    for number in range(options.cases):
        case = Case(random.Random(options.seed * 1000003 + number), options.strategy == "full", options.regions)
        theirs = shardy(case, options.strategy, context)
        if theirs is None:
            continue
        text = case.facts_text(options.strategy)
        run = subprocess.run([options.facts, "-"], input=text, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(run.stderr + text)
        ours = dict(line.split(" ", 1) for line in run.stdout.splitlines())
        compared += 1
        if options.write:
            with open(options.write, "a", encoding="utf-8") as file:
                file.write(f"case {options.strategy}-{options.seed}-{number}\n{text}" +
                           "".join(f"expect {name} {sharding}\n" for name, sharding in theirs.items()))
        wrong = [name for name in theirs if theirs[name] != ours[name]]
        values += len(theirs)
        different_values += len(wrong)
        if wrong:
            different += 1
            if different <= options.show:
                print(f"--- case {number}\n{text}" + "\n".join(f"  {n}: shardy {theirs[n]}, ours {ours[n]}" for n in wrong))
    print(f"{compared} programs compared, {different} differ; {values} values, {different_values} differ ({options.strategy})")


if __name__ == "__main__":
    main()
