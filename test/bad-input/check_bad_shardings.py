#!/usr/bin/env python3
"""Malformed and contradictory shardings, and machine descriptions: every case is one clear error line that says the words beside it (value or op, dimension, axis),
with exit status 1, within a time and memory limit, without a crash.

    check_bad_shardings.py --bin DIR --models DIR --out PREFIX"""
import argparse
import os
import resource
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("--models", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--show", action="store_true", help="print every message")
args = parser.parse_args()

# --mesh, --shard of a compilation of tiny-llama; the words its error says.
FLAGS = [
    ("tp", "", ["tp", "NAME=SIZE"]),
    ("tp=0", "", ["tp=0", "less than 1"]),
    ("tp=-3", "", ["tp=-3", "less than 1"]),
    ("tp=2.5", "", ["tp=2.5"]),
    ("tp=two", "", ["tp=two"]),
    ("=2", "", ["=2"]),
    ("tp=2,,dp=2", "", ["tp=2,,dp=2"]),
    ("tp=2,tp=4", "", ["tp=4", "repeated"]),
    ("rows=2", "", ["rows", "meaning"]),
    ("dp=1048576,tp=2", "", ["1048576"]),
    ("tp=340282366920938463463374607431768211456", "", ["1048576"]),
    ("tp=2", "ffn=dp", ["dp", "ffn=dp"]),
    ("tp=2", "ffn", ["ffn"]),
    ("tp=2", "ffn=", ["ffn="]),
    ("tp=2", "=tp", ["=tp"]),
    ("tp=2", ":ffn=tp", [":ffn=tp"]),
    ("tp=2", "ffn=tp,,vocab=tp", ["--shard"]),
    ("tp=2", "nowhere=tp", ["nowhere", "ffn", "vocab"]),
    ("tp=2", "nothing:ffn=tp", ["nothing", "attention", "residual"]),
    ("tp=2", "nxt_tokens:batch=tp", ["the values are next_tokens, end_tokens, attention"]),
    ("tp=2", "layer.k_cache:context=tp", ["the values are layers.k_cache, layers.v_cache, attention"]),
    ("tp=2", "logits:ffn=tp", ["logits", "ffn", "vocab"]),
    ("tp=2", "mlp:vocab=tp", ["mlp", "vocab", "ffn"]),
    ("tp=4", "ffn=tp+tp", ["tp", "twice"]),
    ("tp=4", "ffn=tp:2", ["tp:2", "(PRE)SIZE"]),
    ("tp=4", "ffn=tp:(1)3", ["tp:(1)3", "4"]),
    ("tp=4", "ffn=tp:(3)2", ["tp:(3)2", "4"]),
    ("tp=4", "ffn=tp:(0)2", ["tp:(0)2"]),
    ("tp=4", "ffn=tp:(-1)2", ["tp:(-1)2"]),
    ("tp=4", "ffn=tp:(1)99999999999999999999", ["tp:(1)99999999999999999999"]),
    ("tp=4", "ffn=tp:(1)2+tp", ["tp", "ffn"]),
    ("tp=8", "ffn=tp:(1)4+tp:(2)2", ["tp", "ffn"]),
    ("dp=2,tp=2", "ffn=tp,ffn=dp", ["ffn=tp", "ffn=dp", "repeated"]),
    ("dp=2,tp=2", "mlp:ffn=tp,mlp:ffn=dp", ["mlp:ffn=tp", "mlp:ffn=dp"]),
    ("tp=2", "residual:seq=tp,residual:hidden=tp", ["residual:seq=tp", "residual:hidden=tp", "tp", "graph."]),
    ("tp=2", "q:seq=tp,q:group=tp", ["q:seq=tp", "q:group=tp", "graph.rope"]),
    ("tp=4", "k:seq=tp:(1)2,k:kv_heads=tp", ["k:seq=tp:(1)2", "k:kv_heads=tp", "tp"]),
    ("tp=8", "mlp:seq=tp:(1)4,mlp:ffn=tp:(2)4", ["mlp:seq=tp:(1)4", "mlp:ffn=tp:(2)4"]),
    ("dp=2", "batch=dp,seq=dp", ["batch=dp", "seq=dp", "dp"]),
    ("tp=2", "layers.gate:ffn=tp,layers.gate:hidden=tp", ["layers.gate", "ffn", "hidden", "tp"]),
    ("tp=2", "embedding:vocab=tp,embedding:hidden=tp", ["embedding", "vocab", "hidden", "tp"]),
    ("tp=2", "layers.k_cache:context=tp,layers.k_cache:kv_heads=tp", ["layers.k_cache", "context", "kv_heads", "tp"]),
    ("x=2,tp=2", "mlp:ffn=x+tp,mlp:seq=x", ["mlp:ffn=x+tp", "mlp:seq=x", "'x'"]),
    ("tp=2 dp=2", "", ["tp=2 dp=2", "NAME=SIZE"]),
    ("tp=+2", "", ["tp=+2"]),
    ("tp=2,", "", ["tp=2,"]),
    ("tp=2=2", "", ["tp=2=2"]),
    ("tp=\u00c3(", "", ["NAME=SIZE"]),
    ("TP=2", "", ["TP", "standard"]),
    ("tp=2", "ffn=tp;vocab=tp", ["tp;vocab=tp"]),
    ("tp=2", "ffn=TP", ["TP", "ffn=TP"]),
    ("tp=2", "ffn=tp++tp", ["tp++tp"]),
    ("tp=2", "ffn=[tp]", ["[tp]"]),
    ("tp=4", "ffn=tp:(2)4", ["tp:(2)4", "4"]),
    ("tp=4", "ffn=tp:(1)1", ["tp:(1)1"]),
    ("tp=4", "ffn=tp:(1)", ["tp:(1)", "(PRE)SIZE"]),
    ("tp=2", "residual:=tp", ["residual:=tp"]),
    ("tp=2", "a:b:c=tp", ["a:b:c=tp"]),
    ("tp=2", "residual:seq=tp,residual:seq=tp", ["residual:seq=tp", "the same", "keep one"]),
    ("dp=2,tp=2", "heads=tp,kv_heads=dp", ["heads=tp", "kv_heads=dp", "dimension kv_heads", "over tp", "over dp"]),
    ("tp=4", "heads=tp:(1)2,kv_heads=tp:(2)2", ["tp:(1)2", "tp:(2)2", "kv_heads"]),
    ("tp=2", "vocab=tp,hidden=tp", ["vocab=tp", "hidden=tp", "embedding"]),
    ("tp=2", "heads=tp,head_dim=tp", ["heads=tp", "head_dim=tp", "layers.q"]),
    ("fsdp=2", "ffn=fsdp,hidden=fsdp", ["ffn=fsdp", "hidden=fsdp", "layers.gate", "'fsdp'"]),
    ("tp=2", "attention:seq=tp,attention:head_dim=tp", ["attention:seq=tp", "attention:head_dim=tp", "graph.attention", "'tp'"]),
    ("tp=2", "k:kv_heads=tp,k:head_dim=tp", ["k:kv_heads=tp", "k:head_dim=tp", "graph.rope", "'tp'"]),
    ("tp=2", "logits:vocab=tp,logits:batch=tp", ["batch", "vocab", "logits", "'tp'"]),
    ("dp=2,tp=2", "residual:hidden=tp,mlp:hidden=dp", ["mlp:hidden=dp", "hidden", "ffn"]),
    ("dp=3", "batch=dp,residual:batch=", ["residual:batch="]),
    ("tp=2", "ffn=tp," * 3000 + "ffn=tp", ["ffn"]),
    ("tp=2", "x" * 60000 + "=tp", ["unknown dimension"]),
]

MESH = 'dist.mesh @mesh = <["x"=2, "y"=4]>\n'


def add(x="", y="", result="", before="", mesh=MESH, dims='graph.dims = ["rows", "cols"]'):
    """A function with two arguments and annotations; `before` stands before the add."""
    return f"""{mesh}func.func @f(%x: tensor<8x8xf32> {{{dims}{', dist.sharding = ' + x if x else ''}}},
                   %y: tensor<8x8xf32> {{{dims}{', dist.sharding = ' + y if y else ''}}}) -> (tensor<8x8xf32>{' {dist.sharding = ' + result + '}' if result else ''}) {{
{before}  %0 = graph.add %x, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}}
"""


def of(text):
    return f"#dist.sharding<@mesh, {text}>"


def constrain(text):
    return f"  %c = dist.constraint %x <@mesh, {text}> : tensor<8x8xf32>\n"


SHARD = ["--tessera-shard="]
# Title, program, flags of llm-opt, words.
PROGRAMS = [
    ("an axis twice", add(of('[{"x"}, {"x"}]')), SHARD, ["x", "twice"]),
    ("an axis twice in a dimension", add(of('[{"x", "x"}, {}]')), SHARD, ["x", "twice"]),
    ("an axis that the mesh lacks", add(of('[{"q"}, {}]')), SHARD, ["q"]),
    ("overlapping sub-axes", add(of('[{"y":(1)4}, {"y":(2)2}]')), SHARD, ["y"]),
    ("sub-axes that are not maximal", add(of('[{"y":(1)2, "y":(2)2}, {}]')), SHARD, ["y"]),
    ("a sub-axis that does not divide", add(of('[{"y":(1)3}, {}]')), SHARD, ["y"]),
    ("a sub-axis of pre-size 0", add(of('[{"y":(0)2}, {}]')), SHARD, ["y"]),
    ("too few dimensions", add(of('[{"x"}]')), SHARD, ["1", "2"]),
    ("too many dimensions", add(of('[{"x"}, {}, {}]')), SHARD, ["3", "2"]),
    ("another mesh", add("#dist.sharding<@other, [{}, {}]>"), SHARD, ["other"]),
    ("replicated and split", add(of('[{"x"}, {}], replicated={"x"}')), SHARD, ["x", "twice"]),
    ("partial and split", add(of('[{"x"}, {}], partial=sum{"x"}')), SHARD, ["x"]),
    ("an argument that is a partial sum", add(of('[{}, {}], partial=sum{"x"}')), SHARD, ["x"]),
    ("a sharding that is none", add('"x"'), SHARD, ["dist.sharding"]),
    ("a result with an axis twice", add(result=of('[{"x"}, {"x"}]')), SHARD, ["x", "twice"]),
    ("a result of another rank", add(result=of('[{"x"}]')), SHARD, ["1", "2"]),
    ("a constraint of another rank", add(before=constrain('[{"x"}]')), SHARD, ["dist.constraint", "1", "2"]),
    ("a constraint with an axis twice", add(before=constrain('[{"x"}, {"x"}]')), SHARD, ["x", "twice"]),
    ("a constraint over no axis", add(before=constrain('[{"z"}, {}]')), SHARD, ["z"]),
    ("an axis of size 0", add(mesh='dist.mesh @mesh = <["x"=0]>\n'), SHARD, ["x"]),
    ("an axis named twice", add(mesh='dist.mesh @mesh = <["x"=2, "x"=2]>\n'), SHARD, ["x"]),
    ("too many ranks", add(mesh='dist.mesh @mesh = <["x"=1048576, "y"=2]>\n'), SHARD, ["1048576"]),
    ("a partial maximum", add(of('[{}, {}], partial=max{"x"}')), SHARD, ["partial", "x"]),
    ("a partial result", add(result=of('[{}, {}], partial=sum{"x"}')), SHARD, ["partial", "x"]),
    ("a partial constraint", add(before=constrain('[{}, {}], partial=sum{"x"}')), SHARD, ["dist.constraint", "partial"]),
    ("a priority below 0", add(of('[{"x"}p-1, {}]')), SHARD, ["priority"]),
    ("a field that there is none of", add(of('[{"x"}, {}], foo={"y"}')), SHARD, ["foo", "replicated"]),
    ("an axis replicated twice", add(of('[{}, {}], replicated={"y", "y"}')), SHARD, ["y", "twice"]),
    ("replicated axes in another order", add(of('[{}, {}], replicated={"y", "x"}')), SHARD, ["order"]),
    ("a replicated axis that the mesh lacks", add(of('[{}, {}], replicated={"z"}')), SHARD, ["z"]),
    ("an axis without a name", add(of('[{""}, {}]')), SHARD, ['""']),
    ("open before the axes", add(of('[{?, "x"}, {}]')), SHARD, ["expected"]),
    ("a sub-axis far too large", add(of('[{"y":(4611686018427387904)4}, {}]')), SHARD, ["y"]),
    ("a number", add("3 : i64"), SHARD, ["3 : i64", "argument 0"]),
    ("names of dimensions that are numbers", add(dims="graph.dims = [1, 2]"), SHARD, ["graph.dims"]),
    ("too few names of dimensions", add(dims='graph.dims = ["rows"]'), SHARD, ["graph.dims", "1"]),
    ("no mesh", add(of('[{"x"}, {}]'), mesh=""), SHARD, ["x", "argument 0"]),
    ("a sharding of no tensor", MESH + 'func.func @f(%i: index {dist.sharding = #dist.sharding<@mesh, []>}) -> index { return %i : index }\n', SHARD,
     ["argument 0", "index", "no tensor"]),
    ("a sharding in a type", MESH + 'func.func @f(%x: tensor<8x8xf32, #dist.sharding<@mesh, [{"x"}, {"x"}]>>) { return }\n', SHARD, ["x", "twice"]),
    ("another --mesh than the program's", add(), ["--tessera-shard=mesh=tp=2"], ["tp=2"]),
    ("one weight, two layouts", """dist.mesh @mesh = <["x"=2, "y"=4]>
func.func @f(%w: tensor<8x8xf32> {graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> { return %w : tensor<8x8xf32> }
func.func @g(%w: tensor<8x8xf32> {graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>}) -> tensor<8x8xf32> { return %w : tensor<8x8xf32> }
""", SHARD, ["'w'", "@f", "@g", "x"]),
    ("two names of one value", """func.func @f(%x: tensor<8x8xf32> {graph.dims = ["rows", "cols"]}) -> tensor<8x8xf32> {
  %0 = graph.neg %x : tensor<8x8xf32>
  %a = graph.name %0 "a" ["rows", "cols"] : tensor<8x8xf32>
  %b = graph.name %a "b" ["rows", "cols"] : tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}
""", ["--tessera-shard=mesh=dp=2,tp=2 shard=a:rows=dp,b:rows=tp"], ["a:rows=dp", "b:rows=tp", "one value", "rows"]),
    ("two names of one value, one axis", """func.func @f(%x: tensor<8x8xf32> {graph.dims = ["rows", "cols"]}) -> tensor<8x8xf32> {
  %a = graph.name %x "a" ["rows", "cols"] : tensor<8x8xf32>
  %b = graph.name %a "b" ["rows", "cols"] : tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}
""", ["--tessera-shard=mesh=dp=2,tp=2 shard=a:rows=tp,b:cols=tp"], ["a:rows=tp", "b:cols=tp", "rows", "cols", "tp"]),
]

# Cases of sharding-facts.
FACTS = [
    ("mesh a2 b2\ntensor A 8x8 [a/a]\n", ["a", "A"]),
    ("mesh a2 b2\ntensor A 8x8 [c/-]\n", ["c", "A"]),
    ("mesh a2 b2\ntensor A 8x8 [a]\n", ["A"]),
    ("mesh a2 a2\n", ["a"]),
    ("mesh a0\n", ["a0"]),
    ("mesh a4\ntensor A 8 [a:(1)3]\n", ["a:(1)3"]),
    ("mesh a4\ntensor A 8x8 [a:(1)2/a]\n", ["a"]),
    ("mesh a2\ntensor A 8x8\nop add A B -> C\n", ["B"]),
    ("mesh a2\ntensor A 8x8 [a/-\n", ["A"]),
    ("mesh a2\nexpect A [a/-]\n", ["A"]),
    ("tensor A 8x8 [a/-]\n", ["a"]),
    ("mesh a2\ntensor A 8x8\nop dot A -> B : ([i, j]) -> ([i, j, k])\n", []),
    ("mesh a2\ntensor A 8\nop exp A -> \n", ["line 3", "rule"]),
    ("mesh a2 b2\ntensor A 8 [b]\nmesh a2\n", ["line 3", "mesh"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop return A -> B\nplace expect return [a] -> [a]\n", ["line 5", "return"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace where\n", ["line 5", "where"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace expect dot [a] -> [a]\n", ["line 5", "dot"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace expect exp [a/-] -> [a]\n", ["line 5", "[a/-]", "A"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace expect exp [b] -> [a]\n", ["line 5", "b"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace expect exp [a] [a] -> [a]\n", ["line 5", "exp"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace expect bytes many\n", ["line 5", "bytes"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace machine {\"flops\": -1}\n", ["line 5", "flops"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nop exp A -> B\nplace flops exp lots\n", ["line 5", "flops"]),
    ("mesh a2\ntensor A 8\ntensor B 8\nmanual {a} A -> B\nplace\n", ["line 5", "manual"]),
    ("mesh a2 b2\ntensor A 8x8 [a/-] U{b} Umax{b}\n", ["line 2", "U{b} Umax{b}", "A"]),
    ("mesh a2 b2\ntensor A 8x8 [a/-] R{a}\n", ["line 2", "replicated", "a"]),
    ("mesh a4\ntensor A 8 [a:(1)2,a:(2)2]\n", ["line 2", "a:(1)2", "a:(2)2"]),
    ("mesh a4\ntensor A 8 [a:(0)2]\n", ["line 2", "a:(0)2"]),
    ("mesh a2\ntensor A 8 [a p-1]\n", ["line 2", "-1"]),
    ("mesh a2\ntensor A 8x8\ntensor B 8x9\nmanual {a} A -> B\n", ["line 4", "A", "B"]),
    ("mesh a2\ntensor A 8\nbarrier up A -> A\n", ["line 3", "up", "forward"]),
    ("mesh a2\ntensor A 8\ntensor B 4\nedge A -> B\n", ["line 4", "shapes"]),
    ("mesh a2\ntensor A 8\ntensor B 4\ngroup A B\n", ["line 4", "shapes"]),
    ("mesh a2\ntensor A 8x8\ntensor B 8x8\nop t A -> B : ([i, i]) -> ([i, j])\n", ["line 4", "i"]),
    ("mesh a2\ntensor A 8x8\ntensor B 8x8\nop t A -> B : ([i, k]) -> ([i, j]) reduction={i}\n", ["line 4", "i", "result"]),
    ("mesh a2\ntensor A 8x8\ntensor B 8x4\nop t A -> B : ([i, j]) -> ([i, j])\n", ["line 4", "dimension 1"]),
    ("strategy best\n", ["line 1", "best", "basic"]),
    ("A" * 100000, ["line 1", "unknown word"]),
    ("\x01\x02\x7f\x00" * 1000, ["line 1", "unknown word"]),
]

# Rows of reshard-facts: mesh, shape, from, to.
ROWS = [
    ("x2 y2\t8x8\t[x/x]\t[-/-]", ["x"]),
    ("x2 y2\t8x8\t[x/-]\t[z/-]", ["z"]),
    ("x2 y2\t8x8\t[x]\t[-/-]", []),
    ("x2 x2\t8x8\t[x/-]\t[-/-]", ["x"]),
    ("x4\t8\t[x:(1)3]\t[-]", ["x:(1)3"]),
    ("x2\t8\t[-]\t[x] U{x}", []),
    ("x2\t8", []),
    ("x2 y2\t8\t[-] U{x} Umax{y}\t[-]", ["U{x} Umax{y}"]),
    ("x2\t8\t[x] R{x}\t[-]", ["x", "twice"]),
    ("x2\t8\t[_2,x]\t[-]", ["_2"]),
    ("x2\t8q\t[x]\t[-]", ["8q"]),
    ("x0\t8\t[x]\t[-]", ["x0"]),
    ("x64 y64 z64 w64 v64 u64\t8\t[x]\t[-]", ["1073741824"]),
    ("x2\t99999999999999999999\t[x]\t[-]", ["99999999999999999999"]),
    ("A" * 100000, ["four columns"]),
]

# Machine descriptions for --mesh=tp=2.
MACHINES = [
    ("", ["machine"]),
    ("{", ["machine"]),
    ('{"flops": 5e10, "memory_band', ["machine"]),
    ('{"flops": NaN}', ["machine"]),
    ('{"flops": Infinity}', ["machine"]),
    ('{"flops": 1e999}', ["flops", "number"]),
    ('{"flops": 1' + "0" * 400 + "}", ["flops", "number"]),
    ('{"flops": 1e300}', ["flops", "1e30"]),
    ('{"flops": 1e-300}', ["flops", "1e-30"]),
    ('{"flops": 0}', ["flops", "above 0"]),
    ('{"memory_bandwidth": -1e10}', ["memory_bandwidth", "above 0"]),
    ('{"memory_bandwidth": "1e10"}', ["memory_bandwidth", "number"]),
    ('{"memory_bandwidth": [1e10]}', ["memory_bandwidth", "number"]),
    ('{"flops": null}', ["flops", "number"]),
    ('{"flops": true}', ["flops", "number"]),
    ('{"FLOPS": 5e10}', ["FLOPS", "memory_bandwidth"]),
    ("[]", ["object"]),
    ("5", ["object"]),
    ('"machine"', ["object"]),
    ('{"flops": 5e10} {"flops": 5e10}', ["machine"]),
    ('{"link": 5e-6}', ["link", "latency"]),
    ('{"link": {"latency": -5e-6}}', ["link.latency", "above 0"]),
    ('{"link": {"bandwidth": 1e31}}', ["link.bandwidth", "1e30"]),
    ('{"link": {"width": 1e9}}', ["link", "width", "bandwidth"]),
    ('{"axes": []}', ["axes", "object"]),
    ('{"axes": {"tp": 5e9}}', ["axes.tp", "latency"]),
    ('{"axes": {"tp": {"latency": "5 us"}}}', ["axes.tp.latency", "number"]),
    ('{"axes": {"tp": {"latncy": 5e-6}}}', ["axes.tp", "latncy"]),
    ('{"axes": {"pp": {"latency": 5e-6}}}', ["pp", "mesh"]),
    ('{"axes": {"": {"latency": 5e-6}}}', ["mesh"]),
    ("[" * 100000, ["nested"]),
    ('{"axes": ' * 50 + "{}" + "}" * 50, ["nested"]),
    (" " * 200000, ["bytes"]),
    ("\x7fELF\x02\x01\x01", ["machine"]),
    ('{"flops": "\udcff\udcfe"}', ["machine"]),
]
# Paths that are no description, and what the error says beside them.
PLACES = [("/nowhere/machine.json", ["No such file"]), ("/", ["folder"]), ("/dev/zero", ["regular"]), ("/dev/null", ["regular"]),
          ("{pipe}", ["regular"])]


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))


failures, count = [], 0


def expect(title, command, words, mlir=False):
    global count
    count += 1
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              preexec_fn=limits)
    except subprocess.TimeoutExpired:
        failures.append(f"{title}: hangs")
        return
    text = done.stderr.decode(errors="replace")
    errors = [line for line in text.splitlines() if "error: " in line]
    if args.show:
        print(f"{title}: {errors}")
    if done.returncode != 1:
        failures.append(f"{title}: exit status {done.returncode}; {text[-300:]!r}")
    elif len(errors) != 1 or (not mlir and text.splitlines() != errors):
        failures.append(f"{title}: not one error line: {text[:600]!r}")
    elif missing := [word for word in words if word not in errors[0]]:
        failures.append(f"{title}: {errors[0]!r} does not say {missing}")


tool = lambda name: os.path.join(args.bin, name)
out = args.out + ".never"
for mesh, shard, words in FLAGS:
    expect(f"--mesh={mesh} --shard={shard}", [tool("llm-compile"), os.path.join(args.models, "tiny-llama"), "--mesh=" + mesh]
           + (["--shard=" + shard] if shard else []) + ["--compile-to=spmd", "-o", out], words)
    if os.path.exists(out):
        failures.append(f"--mesh={mesh} --shard={shard}: an output was left behind")
        os.unlink(out)


def written(text, suffix):
    path = args.out + suffix
    with open(path, "w", errors="surrogateescape") as file:
        file.write(text)
    return path


for title, program, flags, words in PROGRAMS:
    expect(title, [tool("llm-opt"), written(program, ".mlir")] + flags, words, mlir=True)
for text, words in FACTS:
    expect(f"sharding-facts {text!r}", [tool("sharding-facts"), written(text, ".facts")], words)
for text, words in ROWS:
    expect(f"reshard-facts {text!r}", [tool("reshard-facts"), written(text + "\n", ".tsv")], words)
compiler = lambda path: [tool("llm-compile"), os.path.join(args.models, "tiny-llama"), "--mesh=tp=2", "--machine=" + path, "--compile-to=spmd",
                         "-o", out]
for text, words in MACHINES:
    path = written(text, ".machine.json")
    expect(f"--machine with {text[:60]!r}", compiler(path), words + [path])
pipe = args.out + ".pipe"
if not os.path.exists(pipe):
    os.mkfifo(pipe)
for place, words in PLACES:
    place = place.format(pipe=pipe)
    expect(f"--machine={place}", compiler(place), words + [place])
if os.path.exists(out):
    failures.append("--machine: an output was left behind")
for failure in failures:
    print(failure)
print(f"{count - len(failures)} of {count} as they should be")
sys.exit(1 if failures else 0)
