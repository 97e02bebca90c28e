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


def gguf_without_data(path, **other):
    """A GGUF file behind magic and version: metadata without the tokenizer, and the table of tensors. `other`: values by the ends of their keys (dots are
    two underscores), each with the letter of its type in `struct`, or a list of such; they stand in place of what the file says."""
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
    kept = {}
    for _ in range(values):
        begin = at
        skip(8)
        name = data[begin + 8:at]
        skip(take("I"))
        if not name.startswith(b"tokenizer."):
            kept[name] = data[begin:at]
    begin = at
    for _ in range(tensors):
        skip(8)
        rank = take("I")
        at += 8 * rank + 12
    kinds = {"I": 4, "i": 5, "f": 6, "?": 7}
    architecture = kept[b"general.architecture"][8 + 20 + 4 + 8:]
    for end, value in other.items():
        name = architecture + b"." + end.replace("__", ".").encode()
        if isinstance(value, list):
            content = struct.pack("<IIQ", 9, kinds[value[0][0]], len(value)) + b"".join(struct.pack("<" + kind, element) for kind, element in value)
        else:
            content = struct.pack("<I" + value[0], kinds[value[0]], value[1])
        kept[name] = struct.pack("<Q", len(name)) + name + content
    return struct.pack("<QQ", tensors, len(kept)) + b"".join(kept.values()) + data[begin:at]


for folder in sorted(path.parent for path in models.glob("**/config.json")):
    name = "-".join(folder.relative_to(models).parts)
    settings = json.dumps(json.loads((folder / "config.json").read_text()), separators=(",", ":")).encode()
    seed("import", name, settings)
    if (folder / "model.safetensors").exists():
        seed("import", name + "-tensors", settings + b"\0" + header(folder / "model.safetensors"))
for path in sorted(models.glob("**/model.gguf")):
    seed("import-gguf", "-".join(path.parent.relative_to(models).parts), gguf_without_data(path))

# What the tests' models do not say: other words for settings, contradictions, and sizes beyond every limit.
llama = json.loads((models / "tiny-llama" / "config.json").read_text())
tensors, end = {}, 0  # of all its files, as if they were one; the head comes last
found = {}
for path in sorted((models / "tiny-llama").glob("model-*.safetensors")):
    found.update(json.loads(header(path)))
for name in sorted(found.keys() - {"__metadata__"}, key=lambda name: (name == "lm_head.weight", name)):
    begin, behind = found[name]["data_offsets"]
    tensors[name] = {**found[name], "data_offsets": [end, end + behind - begin]}
    end += behind - begin
GIVEN = object()


def variant(name, settings=GIVEN, table=None, flags=(), base=llama, **changes):
    """A seed: settings as they are, or `base` with changes (None leaves one out); a table of tensors; flags of llm-compile."""
    settings = {k: v for k, v in {**base, **changes}.items() if v is not None} if settings is GIVEN else settings
    parts = [json.dumps(settings, separators=(",", ":")), json.dumps(table, separators=(",", ":")) if table else "", "\n".join(flags)]
    seed("import", "of-" + name, "\0".join(parts).encode())


for name, flags in {
        "mesh": ["--mesh=tp=2", "--dtype=bf16"], "train": ["--task=train", "--dtype=f16", "--batch=4", "--max-seq-len=5"], "types": ["--dtype=q8_0"],
        "long": ["--max-seq-len=1000000"], "wide": ["--batch=1048576"], "cuda": ["--target=cuda"]}.items():
    variant("flags-" + name, table=tensors, flags=flags)
for name, settings in {"list": [], "empty": {}, "type": {"model_type": 5}, "two": {"architectures": ["A", "B"]}, "unknown": {"architectures": ["A"]},
                       "unknown-type": {"model_type": "a"}}.items():
    variant("settings-" + name, settings=settings)
variant("type-alone", architectures=None)
variant("type-of-another", model_type="gpt2")
variant("layers", num_hidden_layers=100000)
variant("numbers", vocab_size=1 << 40, hidden_size=1 << 20)
variant("rows", flags=["--batch=1048576"], vocab_size=1 << 30, max_position_embeddings=1 << 20)
vision = json.loads((models / "families" / "gemma3-vision" / "config.json").read_text())
variant("group-missing", base=vision, text_config=None)
experts = json.loads((models / "families" / "qwen3-moe" / "config.json").read_text())
variant("experts", base=experts, num_experts=100000)
variant("experts-in-no-order", base=experts, num_hidden_layers=5000, mlp_only_layers=[layer * layer for layer in range(70)])

# The head: missing, tied and there, in the same type and in another.
shape = next(entry["shape"] for name, entry in tensors.items() if name.endswith("embed_tokens.weight"))
elements = shape[0] * shape[1]
without = {name: entry for name, entry in tensors.items() if name != "lm_head.weight"}
end = tensors["lm_head.weight"]["data_offsets"][0]
variant("head-missing", table=without, tie_word_embeddings=False)
for name, bytes_each in {"F32": 4, "BF16": 2, "F16": 2, "I32": 4}.items():
    head = {"dtype": name, "shape": shape, "data_offsets": [end, end + bytes_each * elements]}
    variant("head-" + name, table={**without, "lm_head.weight": head}, tie_word_embeddings=True)

# Rotary embeddings, in the words of transformers 4 and 5 at once.
yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
for name, old, new in [("yarn", yarn, yarn), ("yarn-scales", None, {**yarn, "mscale": 1.0, "mscale_all_dim": 0.5, "truncate": False}),
                       ("yarn-differs", {**yarn, "beta_fast": 16}, yarn), ("types-differ", {**yarn, "rope_type": "linear"}, yarn),
                       ("linear", {"type": "linear", "factor": 2}, None), ("dynamic", {"type": "dynamic", "factor": 2}, None),
                       ("llama3", None, {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
                                         "original_max_position_embeddings": 16}),
                       ("longrope", {"type": "su", "short_factor": [1.0, 2.0, 3.0, 4.0], "long_factor": [5.0] * 4}, None), ("unknown", {"type": "a"}, None),
                       ("part", {"type": "default", "partial_rotary_factor": 0.5}, None), ("factor-alone", None, {"factor": 2.0})]:
    variant("rotary-" + name, rope_scaling=old, rope_parameters=new)
variant("rotary-theta", rope_theta=5.0, rope_parameters={"rope_theta": 6.0})
local = json.loads((models / "families" / "gemma3" / "config.json").read_text())
variant("rotary-kinds", base=local, rope_scaling=yarn, rope_theta=None, rope_local_base_freq=None,
        rope_parameters={"full_attention": yarn, "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}})
variant("rotary-beside", base=local, rope_parameters={"rope_type": "linear", "full_attention": yarn})

# Windows in GGUF: which layers slide, said in numbers, in truths, and wrongly; integers with a sign.
window = models / "families" / "gemma3" / "model.gguf"
layers = local["num_hidden_layers"]
for name, other in {
        "truths": {"attention__sliding_window_pattern": [("?", layer % 3 != 2) for layer in range(layers)]},
        "numbers": {"attention__sliding_window_pattern": [("i", layer % 2) for layer in range(layers)]},
        "too-few": {"attention__sliding_window_pattern": [("?", True)]}, "others": {"attention__sliding_window_pattern": [("i", 7)] * layers},
        "all": {"attention__sliding_window_pattern": ("I", 0)}, "period": {"attention__sliding_window_pattern": ("i", 4)},
        "none": {"attention__sliding_window": ("I", 0)}, "signs": {"block_count": ("i", layers), "expert_count": ("i", -1)},
        "unread": {"expert_count": ("I", 0), "expert_used_count": ("I", 0), "attention__causal": ("?", True), "rope__scaling__attn_factor": ("f", 1.0)}}.items():
    seed("import-gguf", "window-" + name, gguf_without_data(window, **other))

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

seed("program", "deep", b"// " + b"(" * 300)
seed("program", "signs", b"module attributes {a = affine_map<(d0) -> (" + b"d0 + " * 300 + b"0)>} {}")
seed("program", "words", rb"""// --task=train
module attributes {a = "a \" [ ( {", b = affine_set<(d0) : (d0 - 1 >= 0)>} {} // [ ( {""")

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
for i, text in enumerate([
        '{"within": {"tp": 2}}', '{"name": ""}', '{"flops": 0}', '{"flops": {"f32": 1e40}}', '{"flops": {"int8": 1}}', '{"cores": 0}', '{"link": 5}',
        '{"link": {"speed": 1}}', '{"axes": []}', '{"axes": {"tp": 1}}', '{"within": 2, "ranks_per_node": 8}', '{"within": {"tp": 0}, "ranks_per_node": 8}',
        '{"memory_bandwidth": -1}', '{"between_nodes": {"latency": "a"}}', '{"a": ' + "[" * 100, '{"a": "\\"', '{"machine": 1}', '{"name": "a\\"b", "flops": 1e12}']):
    seed("compile-flags", f"machine-{i}", text.encode())
# Meshes and shards that say nothing, or too much.
for i, (mesh, shard) in enumerate([
        ("dp=2,,tp=2", ""), (",dp=2", ""), ("dp", ""), ("dp=99999999999999999999", ""), ("dp=0", ""), ("dp=2,dp=2", ""), ("dp=65536,tp=65536", ""),
        ("x=2", ""), ("x=2", "ffn=x"), ("tp=4", "heads=dp"), ("", "heads=tp"), ("tp=4", "heads=tp:2"), ("tp=4", "heads=tp:(1)3"), ("tp=4", "heads=tp+tp"),
        ("tp=4", "heads=tp:(1)2+tp:(2)2"), ("tp=4", "heads=tp,heads=tp"), ("tp=4", "heads=tp,heads=-"), ("tp=4", "heads=tp++dp"), ("tp=4", "heads"),
        ("tp=4", "q:heads=tp,:heads=tp"), ("tp=4", "heads=tp,,ffn=tp")]):
    seed("compile-flags", f"mesh-{i}", "\n".join(["model", "--mesh=" + mesh, "--shard=" + shard, "-o", "out"]).encode())
seed("compile-flags", "machine", b'{"flops": 2e10, "memory_bandwidth": 1e11, "link": {"latency": 1e-8, "bandwidth": 1e9}, "axes": {"tp": {"latency": 2e-6}}}')
seed("compile-flags", "machine-nodes", b'{"name": "n", "cores": 2, "flops": {"f32": 1, "bf16": 2}, "ranks_per_node": 8, "between_nodes": {"latency": 1e-5}, "within": {"tp": 2}}')
