"""A backward in two does what a whole one does, once, and holds between its halves what the second one reads.

For each model, type and --recompute, on rung spmd: the products of input_gradient and weight_gradient are those of
backward, and those of weight_gradient cost what forward's products with weights do (each weight's gradient is one
product of the same three sizes). In the executable: what a micro-batch holds behind input_gradient is what
weight_gradient takes, value by value, and nothing of it is without a name."""
import argparse
import json
import math
import re
import subprocess

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i64": 8, "i1": 1}
ATTENTION = {"attention": 4, "attention_query_gradient": 6, "attention_key_value_gradient": 8}


def shapes(text):
    found = re.findall(r"tensor<((?:\d+x)*)(\w+)>", text)
    return [[int(d) for d in dims.split("x") if d] for dims, _ in found]


def flops_of(line):
    """Of products, and whether it is one with a weight in forward."""
    op = re.search(r"graph\.(\w+) ", line)
    if not op:
        return 0, False
    if op[1] == "linear":
        contract = int(re.search(r"contract = (\d+)", line)[1])
        x, _, out = shapes(line)[:3]
        return 2 * math.prod(out) * math.prod(x[len(x) - contract:]), True
    if op[1] == "einsum":
        letters = re.search(r'"([a-z]+),([a-z]+)->', line)
        sizes = {}
        for names, shape in zip(letters.groups(), shapes(line)):
            sizes.update(zip(names, shape))
        return 2 * math.prod(sizes.values()), False
    if op[1] in ATTENTION:
        q, k = shapes(line)[:2]
        return ATTENTION[op[1]] * math.prod(q) * k[1], False
    return 0, False


def functions(path):
    """Of each stage program: name to (signature, FLOPs, FLOPs of products with weights)."""
    text = re.sub(r", #dist\.sharding<@mesh, \[[^\]]*\](?:, global=\[[^\]]*\])?>", "", open(path).read())
    stages = []
    for match in re.finditer(r"^ +func\.func @(\w+)\((.*?)\n(.*?)^    \}$", text, re.S | re.M):
        name, signature, body = match.groups()
        if name == "train_begin":
            stages.append({})
        total = linear = 0
        loops = []  # (indent, count)
        for line in body.split("\n"):
            indent = len(line) - len(line.lstrip())
            if line.strip().startswith("}"):
                loops = [loop for loop in loops if loop[0] < indent]
            flops, is_linear = flops_of(line)
            times = math.prod(count for _, count in loops)
            total += times * flops
            linear += times * flops * is_linear
            if repeat := re.search(r"graph\.repeat (\d+) ", line):
                loops.append((indent, int(repeat[1])))
        stages[-1][name] = (signature, total, linear)
    return stages


def kept(signature):
    """States of micro-batches that an entry takes: name to (slot, bytes)."""
    taken = signature.split(") -> (")[0]
    found = re.findall(
        r"tensor<((?:\d+x)*)(\w+)> \{[^}]*graph\.name = \"([^\"]*)\", graph\.slot = #graph\.slot<(\w+)>", taken)
    return {name: (slot, math.prod(int(d) for d in dims.split("x") if d) * BYTES[dtype])
            for dims, dtype, name, slot in found}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()

    def compile_to(path, model, *words):
        subprocess.run([options.compiler, f"{options.models}/{model}", "--task=train", "--mesh=pp=2",
                        "--stages=2,2" if model == "tiny-llama" else "--stages=2,3", "--batch=4", "--micro-batches=4", "--loss-chunks=1", "-o", path, *words], check=True)

    for model, dtype, recompute in [("tiny-llama", "f32", "none"), ("tiny-llama", "bf16", "full"),
                                    ("tiny-gpt2", "f32", "full"), ("tiny-gpt2", "f32", "none")]:
        words = [f"--dtype={dtype}", f"--recompute={recompute}"]
        compile_to(options.out + ".whole", model, "--pipeline=1f1b", "--compile-to=spmd", *words)
        compile_to(options.out + ".halves", model, "--pipeline=zb1p", "--compile-to=spmd", *words)
        compile_to(options.out, model, "--pipeline=zb1p", *words)
        info = json.loads(subprocess.run([options.out, "info", "--json"], check=True, capture_output=True).stdout)
        wholes, halves = functions(options.out + ".whole"), functions(options.out + ".halves")
        assert len(wholes) == len(halves) == 2
        for number, (whole, half) in enumerate(zip(wholes, halves)):
            where = f"{model}, {dtype}, recompute {recompute}, stage {number}"
            both, first, second = (whole["train_backward"][1], half["train_input_gradient"][1],
                                   half["train_weight_gradient"][1])
            assert 0 < second < first and first + second == both, (where, first, second, both)
            weights = half["train_forward"][2]
            assert second == weights, (where, second, weights)
            stage = info["pipeline"]["stages"][number]
            read = kept(half["train_weight_gradient"][0])
            before = kept(half["train_input_gradient"][0])
            listed = sorted(value["bytes"] for value in stage["weight_gradient_reads"])
            assert listed == sorted(size for _, size in read.values()), (where, listed, read)
            assert all(value["value"] for value in stage["weight_gradient_reads"]), where
            assert not any(slot == "until_input_gradient" for slot, _ in read.values()), (where, read)
            lines = lambda sizes: sum((size + 63) // 64 * 64 for size in sizes)
            held = stage["input_gradient"]
            assert held["bytes_after"] == lines(size for _, size in read.values()), (where, held, read)
            freed = lines(size for slot, size in before.values() if slot == "until_input_gradient")
            assert freed > 0, where
            assert held["bytes_within"] - held["bytes_after"] == freed, (where, held, freed)
            print(f"{where}: I {first} + W {second} = B {both} FLOPs, {held['bytes_before']} bytes before, "
                  f"{held['bytes_after']} after I")


main()
