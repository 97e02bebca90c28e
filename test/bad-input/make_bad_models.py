#!/usr/bin/env python3
"""Makes damaged, contradictory and hostile models. Standard library only.

    make_bad_models.py OUT

OUT/cases.json lists them: {"name", "path" (relative to OUT), "tools": who must refuse it, "needles": what the one line says}.
Two cases named `good-*` have no needles: they must be accepted, so that a tool which refuses everything fails.

Tools: `info` (model-info --check reads everything) and `compile` (llm-compile reads settings and the table of tensors;
tokenizers and weights are the executable's business).
"""
import copy
import json
import os
import random
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "Inputs"))
import make_variants  # noqa: E402
import modelio  # noqa: E402
from modelio import Tensor  # noqa: E402

BOTH = ("info", "compile")
INFO = ("info",)
COMPILE = ("compile",)

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 32,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "num_hidden_layers": 2, "vocab_size": 389,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": True,
    "bos_token_id": 0, "eos_token_id": 0, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}


def make_tensors():
    rng = random.Random(1)
    shapes = {"model.embed_tokens.weight": [389, 32], "model.norm.weight": [32]}
    for i in range(2):
        shapes.update({f"model.layers.{i}.{name}.weight": shape for name, shape in [
            ("input_layernorm", [32]), ("post_attention_layernorm", [32]), ("self_attn.q_proj", [32, 32]),
            ("self_attn.k_proj", [16, 32]), ("self_attn.v_proj", [16, 32]), ("self_attn.o_proj", [32, 32]),
            ("mlp.gate_proj", [32, 32]), ("mlp.up_proj", [32, 32]), ("mlp.down_proj", [32, 32])]})
    return {name: Tensor(shape, modelio.to_f32(rng.gauss(0, 0.1) for _ in range(shape[0] * (shape + [1])[1])))
            for name, shape in shapes.items()}


class Maker:
    def __init__(self, out):
        self.out, self.cases = out, []
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        self.tensors = make_tensors()
        with open(os.path.join(HERE, "..", "Inputs", "models", "tiny-llama", "tokenizer.json")) as file:
            self.tokenizer = json.load(file)
        self.weights = self.safetensors(self.tensors)
        self.gguf = self.gguf_bytes()

    # Good files, and parts of them.
    def safetensors(self, tensors):
        return self.through_file("x.safetensors", lambda path: modelio.write_safetensors(
            path, [(n, "F32", t.shape, modelio.encode("F32", t.values)) for n, t in tensors.items()]))

    def gguf_bytes(self, change_metadata=None, change_entries=None):
        metadata = make_variants.gguf_metadata(CONFIG, self.tokenizer, 389)
        entries = []
        for theirs, ours, there, _ in make_variants.llama_names(CONFIG, self.tensors):
            tensor = there(self.tensors[theirs])
            kind = "Q8_0" if len(tensor.shape) > 1 else "F32"
            entries.append((ours, kind, tensor.shape, modelio.encode(kind, tensor.values)))
        if change_metadata:
            change_metadata(metadata)
        if change_entries:
            change_entries(entries)
        return self.through_file("x.gguf", lambda path: modelio.write_gguf(path, metadata, entries))

    def through_file(self, name, write):
        path = os.path.join(self.out, name)
        write(path)
        with open(path, "rb") as file:
            data = file.read()
        os.unlink(path)
        return data

    def header(self):
        """(header as a dictionary, data) of the good weights."""
        length, = struct.unpack_from("<Q", self.weights)
        return json.loads(self.weights[8:8 + length]), self.weights[8 + length:]

    @staticmethod
    def with_header(header, data):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    # One case each.
    def add(self, name, path, tools, needles):
        assert all(case["name"] != name for case in self.cases), name
        self.cases.append({"name": name, "path": path, "tools": tools, "needles": [needles] if isinstance(needles, str) else needles})

    def folder(self, name, tools, needles, files=(), drop=(), config=None, link=None):
        """A good directory with some files replaced (bytes, or a dictionary as JSON) or dropped."""
        folder = os.path.join(self.out, name)
        os.makedirs(folder)
        contents = {"config.json": CONFIG, "model.safetensors": self.weights, "tokenizer.json": self.tokenizer}
        if config is not None:
            contents["config.json"] = dict(CONFIG, **config)
            for key in [key for key, value in config.items() if value is DROP]:
                del contents["config.json"][key]
        contents.update(files)
        for file, data in contents.items():
            if file in drop:
                continue
            with open(os.path.join(folder, file), "wb") as out:
                out.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        for file, target in (link or {}).items():
            os.symlink(target, os.path.join(folder, file))
        self.add(name, name, tools, needles)

    def weights_case(self, name, data, needles, tools=BOTH):
        self.folder("weights-" + name, tools, needles, {"model.safetensors": data})

    def gguf_case(self, name, data, needles, tools=BOTH):
        name = "gguf-" + name
        with open(os.path.join(self.out, name + ".gguf"), "wb") as file:
            file.write(data)
        self.add(name, name + ".gguf", tools, needles)


DROP = object()


def safetensors_cases(make):
    good, where = make.weights, "model.safetensors"
    make.weights_case("empty", b"", [where, "too short"])
    make.weights_case("cut-in-length", good[:5], [where, "too short"])
    make.weights_case("cut-in-header", good[:500], [where, "truncated"])
    make.weights_case("cut-in-data", good[:-100], [where, "outside the file"])
    make.weights_case("one-byte-more", good + b"x", [where, "cover"])
    make.weights_case("header-length-huge", b"\xff" * 8 + good[8:], [where, "header would be 18446744073709551615"])
    make.weights_case("header-length-99M", struct.pack("<Q", 99_000_000) + good[8:], [where, "truncated"])
    make.weights_case("text-file", b"These are no weights at all.\n" * 40, [where])
    make.weights_case("git-lfs-pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n", "git lfs pull")
    make.weights_case("header-not-json", make.with_header(b"{" + b"x" * 90, b""), [where, "not valid JSON"])
    make.weights_case("header-bomb", make.with_header(b"[" * 5_000_000, b""), [where, "not a table of tensors"])
    make.weights_case("header-object-bomb", make.with_header(b'{"a":' * 1_000_000, b""), where)
    make.weights_case("header-utf8", make.with_header(b'{"\xff\xfe":{}}', b""), [where, "not valid JSON"])
    norm = "model.norm.weight"

    def changed(name, needles, **entry):
        header, data = make.header()
        header[norm].update(entry)
        make.weights_case(name, make.with_header(header, data), [norm] + needles)

    changed("shape-too-small", ["needs 124 bytes"], shape=[31])
    changed("shape-overflows", [], shape=[2 ** 62, 2 ** 62])
    changed("shape-negative", [], shape=[-32])
    changed("shape-fraction", [], shape=[32.5])
    changed("shape-nested", [], shape=[[32]])
    changed("type-unknown", ["F4", "not supported"], dtype="F4")
    changed("type-number", [], dtype=7)
    changed("offsets-swapped", ["outside the file"], data_offsets=[128, 0])
    changed("offsets-beyond", ["outside the file"], data_offsets=[10 ** 9, 10 ** 9 + 128])
    changed("offsets-2-64", ["outside the file"], data_offsets=[2 ** 64 - 128, 2 ** 64 - 1])
    changed("offsets-three", [], data_offsets=[0, 64, 128])
    changed("offsets-overlap", ["overlap"], data_offsets=[0, 128])
    header, data = make.header()
    twice = json.dumps(header)[:-1] + ', "model.norm.weight": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}'
    make.weights_case("tensor-twice", make.with_header(twice.encode(), data), [norm, "twice"])
    header[norm] = "gone"
    make.weights_case("entry-is-text", make.with_header(header, data), where)
    bad = dict(make.tensors)
    bad[norm] = Tensor([32], [float("nan")] * 32)
    make.weights_case("not-a-number", make.safetensors(bad), [norm, "not a number"], INFO)


def table_cases(make):
    """The table is sound, but it is not the table of the model in config.json."""
    def changed(name, needles, change):
        tensors = dict(make.tensors)
        change(tensors)
        make.weights_case(name, make.safetensors(tensors), needles, COMPILE)

    q = "model.layers.1.self_attn.q_proj.weight"
    changed("tensor-missing", [q, "missing"], lambda t: t.pop(q))
    changed("tensor-transposed", ["model.layers.0.self_attn.k_proj.weight", "[32, 16]"],
            lambda t: t.update({"model.layers.0.self_attn.k_proj.weight": Tensor([32, 16], [0.0] * 512)}))
    changed("tensor-flat", [q, "[1024]"], lambda t: t.update({q: Tensor([1024], [0.0] * 1024)}))
    changed("tensor-too-many", ["model.layers.2.mlp.up_proj.weight", "no place"],
            lambda t: t.update({"model.layers.2.mlp.up_proj.weight": Tensor([32, 32], [0.0] * 1024)}))
    changed("tensor-unknown", ["model.layers.0.self_attn.q_norm.weight"],
            lambda t: t.update({"model.layers.0.self_attn.q_norm.weight": Tensor([8], [1.0] * 8)}))
    entries = [(n, "I32" if n == q else "F32", t.shape, modelio.encode("F32", t.values)) for n, t in make.tensors.items()]
    data = make.through_file("x", lambda path: modelio.write_safetensors(path, entries))
    make.weights_case("tensor-of-integers", data, [q, "I32"], COMPILE)


def directory_cases(make):
    make.folder("dir-no-config", BOTH, "config.json", drop=["config.json"])
    make.folder("dir-weights-are-a-folder-link", BOTH, "model.safetensors", drop=["model.safetensors"], link={"model.safetensors": "."})
    make.folder("dir-dangling-link", BOTH, "model.safetensors", drop=["model.safetensors"], link={"model.safetensors": "nowhere"})
    make.folder("dir-link-to-itself", BOTH, "model.safetensors", drop=["model.safetensors"],
                link={"model.safetensors": "model.safetensors"})
    make.folder("dir-weights-are-a-device", BOTH, "not a regular file", drop=["model.safetensors"], link={"model.safetensors": "/dev/zero"})
    os.makedirs(os.path.join(make.out, "dir-empty"))
    make.add("dir-empty", "dir-empty", BOTH, "config.json")
    make.add("no-such-path", "no-such-path", BOTH, "no-such-path")
    with open(os.path.join(make.out, "text.gguf"), "w") as file:
        file.write("not a model")
    make.add("text-as-gguf", "text.gguf", BOTH, "text.gguf")

    names = list(make.tensors)
    halves = [make.safetensors({n: make.tensors[n] for n in part}) for part in (names[:9], names[9:])]
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    index = {"metadata": {}, "weight_map": {n: shards[i >= 9] for i, n in enumerate(names)}}
    sharded = {shards[0]: halves[0], shards[1]: halves[1], "model.safetensors.index.json": index}

    def changed(name, needles, files=(), drop=(), **map_changes):
        contents = copy.deepcopy(sharded)
        contents["model.safetensors.index.json"]["weight_map"].update({k.replace("_", "."): v for k, v in map_changes.items()})
        contents.update(files)
        make.folder("shards-" + name, BOTH, needles, contents, drop=["model.safetensors", *drop])

    make.folder("good-shards", BOTH, None, sharded, drop=["model.safetensors"])
    changed("one-missing", [shards[1], "missing"], drop=[shards[1]])
    changed("one-cut-short", [shards[1]], {shards[1]: halves[1][:-1]})
    changed("one-empty", [shards[0]], {shards[0]: b""})
    changed("no-index", ["model.safetensors.index.json"], drop=["model.safetensors.index.json"])
    changed("index-cut-short", ["index.json", "not valid JSON"], {"model.safetensors.index.json": json.dumps(index)[:300].encode()})
    changed("index-bomb", ["index.json", "nested"], {"model.safetensors.index.json": b"[" * 2_000_000})
    changed("index-without-map", ["index.json", "weight_map"], {"model.safetensors.index.json": {"metadata": {}}})
    changed("index-map-is-list", ["index.json", "weight_map"], {"model.safetensors.index.json": {"weight_map": names}})
    changed("index-names-itself", ["index.json"], model_norm_weight="model.safetensors.index.json")
    changed("index-leads-out", ["../", "beside the index"], model_norm_weight="../good/model.safetensors")
    changed("index-absolute", ["/etc/passwd", "beside the index"], model_norm_weight="/etc/passwd")
    changed("index-number", ["model.norm.weight"], model_norm_weight=1)
    changed("index-wrong-shard", ["model.layers.1.mlp.up_proj.weight", shards[1]], {"model.safetensors.index.json": {
        "weight_map": dict(index["weight_map"], **{"model.layers.1.mlp.up_proj.weight": shards[0]})}})
    changed("index-unknown-tensor", ["model.absent.weight"], model_absent_weight=shards[0])
    changed("tensor-in-both", ["also in"], {shards[1]: make.safetensors({n: make.tensors[n] for n in names[8:]})})


def config_cases(make):
    def raw(name, data, needles, tools=BOTH):
        make.folder("config-" + name, tools, needles, {"config.json": data})

    raw("empty", b"", ["config.json", "not valid JSON"])
    raw("cut-short", json.dumps(CONFIG)[:100].encode(), ["config.json", "not valid JSON"])
    raw("bomb", b"[" * 1_000_000, ["config.json", "nested"])
    raw("binary", bytes(range(256)), ["config.json", "not valid JSON"])
    raw("list", b"[1, 2]", "config.json", COMPILE)
    raw("says-two-things", b'{"hidden_size": 32, "hidden_size": 64}', ["hidden_size", "twice"])
    raw("bad-end-token", dict(CONFIG, eos_token_id="</s>"), "eos_token_id", INFO)

    def config(name, needles, **changes):
        make.folder("config-" + name, COMPILE, needles, config=changes)

    for key in ("hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size", "intermediate_size"):
        config("no-" + key, [key, "missing"], **{key: DROP})
    config("architecture-missing", ["architectures"], architectures=DROP, model_type=DROP)
    config("architecture-unknown", ["MambaForCausalLM", "not implemented"], architectures=["MambaForCausalLM"])
    config("architecture-contradicts-type", ["model_type", "gpt2"], model_type="gpt2")
    config("architectures-text", ["architectures"], architectures="LlamaForCausalLM")
    config("hidden-zero", ["hidden_size"], hidden_size=0)
    config("hidden-negative", ["hidden_size", "-32"], hidden_size=-32)
    config("hidden-fraction", ["hidden_size", "32.5"], hidden_size=32.5)
    config("hidden-text", ["hidden_size"], hidden_size="32")
    config("hidden-huge", ["hidden_size"], hidden_size=10 ** 18)
    config("hidden-not-the-weights", ["model.embed_tokens.weight", "[389, 32]"], hidden_size=64)
    config("layers-too-many", ["model.layers.2.", "missing"], num_hidden_layers=3)
    config("layers-too-few", ["model.layers.1.", "no place"], num_hidden_layers=1)
    config("layers-billion", ["1000000000 layers", "65536 at most"], num_hidden_layers=10 ** 9)
    config("vocab-not-the-weights", ["model.embed_tokens.weight"], vocab_size=390)
    config("heads-do-not-divide", ["num_attention_heads"], num_attention_heads=5, num_key_value_heads=5, head_dim=DROP)
    config("kv-heads-do-not-divide", ["num_key_value_heads"], num_key_value_heads=3)
    config("kv-heads-more-than-heads", ["num_key_value_heads"], num_key_value_heads=8)
    config("heads-odd-size", ["pairs"], head_dim=7)
    config("eps-negative", ["rms_norm_eps"], rms_norm_eps=-1)
    config("eps-text", ["rms_norm_eps"], rms_norm_eps="small")
    config("activation-unknown", ["hidden_act", "mish"], hidden_act="mish")
    config("bias-not-there", ["q_proj.bias", "missing"], attention_bias=True)
    config("bias-maybe", ["attention_bias"], attention_bias="maybe")
    config("head-not-tied", ["tie_word_embeddings"], tie_word_embeddings=3)
    config("rope-unknown", ["rope", "ntk"], rope_parameters={"rope_type": "ntk", "rope_theta": 10000.0, "factor": 4.0})
    config("rope-contradicts", ["rope_theta"], rope_theta=5.0)
    config("rope-list", ["rope_parameters"], rope_parameters=[1])
    config("rope-llama3-incomplete", ["rope_parameters"], rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0})
    config("sliding-window", ["sliding_window", "not implemented"], sliding_window=16)
    config("quantized", ["quantization_config", "bitsandbytes"], quantization_config={"quant_method": "bitsandbytes", "bits": 4})
    config("quantized-in-3-bits", ["quantization_config.bits", "is 3"], quantization_config={"quant_method": "gptq", "bits": 3})
    config("quantized-out-of-order", ["desc_act"], quantization_config={"quant_method": "gptq", "bits": 4, "desc_act": True})
    config("quantized-and-is-not", ["gptq", "no weight"], quantization_config={"quant_method": "gptq", "bits": 4})
    config("partial-rotary", ["partial_rotary_factor"], partial_rotary_factor=0.5)
    config("positions-zero", ["max_position_embeddings"], max_position_embeddings=0)


def gguf_cases(make):
    good = make.gguf
    metadata_begin = 24
    tensors_begin = good.index(struct.pack("<Q", 17) + b"token_embd.weight")
    make.gguf_case("cut-in-magic", good[:3], "gguf")
    make.gguf_case("cut-in-header", good[:20], "ends inside")
    make.gguf_case("cut-in-metadata", good[:400], "ends inside")
    make.gguf_case("cut-in-tokens", good[:good.index(b"tokenizer.ggml.tokens") + 600], "tokenizer.ggml.tokens")
    make.gguf_case("cut-in-table", good[:tensors_begin + 60], "ends inside")
    make.gguf_case("cut-in-data", good[:-200], "truncated")
    make.gguf_case("version-1", good[:4] + struct.pack("<I", 1) + good[8:], "version 1")
    make.gguf_case("version-99", good[:4] + struct.pack("<I", 99) + good[8:], "version 99")
    make.gguf_case("big-endian", good[:4] + struct.pack(">I", 3) + good[8:], "big-endian")
    make.gguf_case("tensors-2-64", good[:8] + b"\xff" * 8 + good[16:], "gguf-tensors-2-64.gguf")
    make.gguf_case("values-2-64", good[:16] + b"\xff" * 8 + good[24:], "gguf-values-2-64.gguf")
    make.gguf_case("key-length-huge", good[:metadata_begin] + b"\xff" * 8 + good[metadata_begin + 8:], "metadata")
    at = good.index(b"tokenizer.ggml.tokens") + len("tokenizer.ggml.tokens") + 4
    make.gguf_case("array-of-arrays", good[:at] + struct.pack("<I", 9) + good[at + 4:], "tokenizer.ggml.tokens")
    make.gguf_case("array-huge", good[:at + 4] + struct.pack("<Q", 2 ** 61) + good[at + 12:], "more than the file can hold")
    make.gguf_case("value-type", good.replace(b"general.alignment" + struct.pack("<I", 4), b"general.alignment" + struct.pack("<I", 200)),
                   "unknown value type 200")
    for alignment in (0, 3, 2 ** 31):
        make.gguf_case(f"alignment-{alignment}",
                       make.gguf_bytes(lambda m: m.update({"general.alignment": alignment})), "general.alignment")
    # The entry of token_embd.weight: name, rank 2, 32, 389, type 8, offset 0.
    entry = tensors_begin + 8 + 17

    def patched(at, fmt, value):
        return good[:entry + at] + struct.pack(fmt, value) + good[entry + at + struct.calcsize(fmt):]

    make.gguf_case("rank", patched(0, "<I", 9), ["token_embd.weight", "9 dimensions"])
    make.gguf_case("shape-huge", patched(4, "<Q", 2 ** 63), "token_embd.weight")
    make.gguf_case("shape-overflows", patched(12, "<Q", 2 ** 60), "token_embd.weight")
    make.gguf_case("shape-no-whole-blocks", patched(4, "<Q", 31), ["token_embd.weight", "Q8_0"])
    make.gguf_case("type-q2_k", patched(20, "<I", 10), ["token_embd.weight", "Q2_K", "not supported"])
    make.gguf_case("type-q4_k-of-32", patched(20, "<I", 12), ["token_embd.weight", "Q4_K", "[389, 32] is impossible"])
    make.gguf_case("type-unknown", patched(20, "<I", 12345), ["token_embd.weight", "12345"])
    make.gguf_case("offset-beyond", patched(24, "<Q", 2 ** 40), ["token_embd.weight", "truncated"])
    make.gguf_case("offset-odd", patched(24, "<Q", 7), ["token_embd.weight", "alignment"])
    make.gguf_case("offset-overlap", patched(24, "<Q", 32), "overlap")
    make.gguf_case("name-twice", good.replace(b"blk.1.ffn_up.weight", b"blk.0.ffn_up.weight"), "blk.0.ffn_up.weight")
    make.gguf_case("split", make.gguf_bytes(lambda m: m.update({"split.count": 2})), "split over several")

    def metadata(name, needles, tools, change):
        make.gguf_case(name, make.gguf_bytes(change), needles, tools)

    metadata("architecture-unknown", ["mamba"], COMPILE, lambda m: m.update({"general.architecture": "mamba"}))
    metadata("architecture-missing", ["general.architecture"], COMPILE, lambda m: m.pop("general.architecture"))
    metadata("architecture-number", ["general.architecture"], COMPILE, lambda m: m.update({"general.architecture": 3}))
    for key in ("block_count", "embedding_length", "attention.head_count", "attention.layer_norm_rms_epsilon"):
        metadata("no-" + key, ["llama." + key], COMPILE, lambda m: m.pop("llama." + key))
    metadata("layers-too-many", ["blk.2."], COMPILE, lambda m: m.update({"llama.block_count": 3}))
    metadata("layers-zero", ["llama.block_count"], COMPILE, lambda m: m.update({"llama.block_count": 0}))
    metadata("hidden-not-the-weights", ["32"], COMPILE, lambda m: m.update({"llama.embedding_length": 48}))
    metadata("experts-without-used", ["llama.expert_used_count", "is missing"], COMPILE, lambda m: m.update({"llama.expert_count": 8}))
    metadata("rope-ntk", ["ntk"], COMPILE, lambda m: m.update({"llama.rope.scaling.type": "ntk", "llama.rope.scaling.factor": 4.0}))

    def entries(name, needles, change):
        make.gguf_case(name, make.gguf_bytes(change_entries=change), needles, COMPILE)

    entries("tensor-missing", ["blk.1.attn_v.weight", "missing"],
            lambda e: e.remove(next(x for x in e if x[0] == "blk.1.attn_v.weight")))
    entries("tensor-unknown", ["blk.0.attn_q_norm.weight"], lambda e: e.append(("blk.0.attn_q_norm.weight", "F32", [8], bytes(32))))
    with open(os.path.join(make.out, "good.gguf"), "wb") as file:
        file.write(good)
    make.add("good-gguf", "good.gguf", BOTH, None)

    # The tokenizer inside.
    metadata("tokenizer-wordpiece", ["bert", "not implemented"], INFO, lambda m: m.update({"tokenizer.ggml.model": "bert"}))
    metadata("tokenizer-no-scores", ["tokenizer.ggml.scores"], INFO, lambda m: m.update({"tokenizer.ggml.model": "llama"}))
    metadata("tokenizer-type-unknown", ["type 9 of token 0"], INFO, lambda m: m["tokenizer.ggml.token_type"].__setitem__(0, 9))

    def scored(m, **more):
        count = len(m["tokenizer.ggml.tokens"])
        m.pop("tokenizer.ggml.merges")
        m.update({"tokenizer.ggml.model": "llama", "tokenizer.ggml.scores": [float(-i) for i in range(count)]})
        m.update({"tokenizer.ggml." + key: value for key, value in more.items()})

    metadata("scores-too-few", ["tokenizer.ggml.scores"], INFO, lambda m: (scored(m), m["tokenizer.ggml.scores"].pop()))
    metadata("score-nan", ["score", "not a number"], INFO, lambda m: (scored(m), m["tokenizer.ggml.scores"].__setitem__(7, float("nan"))))
    metadata("score-infinite", ["score", "not a number"], INFO, lambda m: (scored(m), m["tokenizer.ggml.scores"].__setitem__(7, float("inf"))))
    metadata("unknown-token-far", ["unknown_token_id"], INFO, lambda m: scored(m, unknown_token_id=2 ** 31))
    metadata("charsmap-damaged", ["precompiled_charsmap"], INFO, lambda m: scored(m, precompiled_charsmap=[255] * 9))
    metadata("charsmap-too-short", ["precompiled_charsmap"], INFO, lambda m: scored(m, precompiled_charsmap=[1, 0]))
    metadata("charsmap-of-texts", ["precompiled_charsmap", "bytes"], INFO, lambda m: scored(m, precompiled_charsmap=["a"]))
    metadata("prefix-not-a-flag", ["add_space_prefix", "true or false"], INFO, lambda m: scored(m, add_space_prefix="yes"))
    metadata("spaces-not-a-flag", ["remove_extra_whitespaces"], INFO, lambda m: scored(m, remove_extra_whitespaces=1))
    metadata("some-of-the-bytes", ["1 of the 256 bytes"], INFO,
             lambda m: (scored(m), m["tokenizer.ggml.tokens"].__setitem__(9, "<0x41>"), m["tokenizer.ggml.token_type"].__setitem__(9, 6)))
    metadata("byte-that-is-none", ["not a byte"], INFO,
             lambda m: (scored(m), m["tokenizer.ggml.tokens"].__setitem__(9, "<0xZZ>"), m["tokenizer.ggml.token_type"].__setitem__(9, 6)))
    metadata("piece-empty", ["piece 9 is empty"], INFO, lambda m: (scored(m), m["tokenizer.ggml.tokens"].__setitem__(9, "")))
    metadata("tokenizer-no-split", ["tokenizer.ggml.pre"], INFO, lambda m: m.pop("tokenizer.ggml.pre"))
    metadata("tokenizer-unknown-split", ["brand-new"], INFO, lambda m: m.update({"tokenizer.ggml.pre": "brand-new"}))
    metadata("tokenizer-types-too-few", ["token_type"], INFO, lambda m: m["tokenizer.ggml.token_type"].pop())
    metadata("tokenizer-bad-merge", ["not two tokens"], INFO, lambda m: m["tokenizer.ggml.merges"].append("onlyone"))
    metadata("tokenizer-end-token", ["eos_token_id"], INFO, lambda m: m.update({"tokenizer.ggml.eos_token_id": "two"}))


def tokenizer_cases(make):
    def changed(name, needles, change):
        tokenizer = copy.deepcopy(make.tokenizer)
        change(tokenizer)
        make.folder("tokenizer-" + name, INFO, needles, {"tokenizer.json": tokenizer})

    make.folder("tokenizer-cut-short", INFO, ["tokenizer.json", "not valid JSON"],
                {"tokenizer.json": json.dumps(make.tokenizer)[:2000].encode()})
    make.folder("tokenizer-bomb", INFO, ["tokenizer.json", "nested"], {"tokenizer.json": b'{"model":' + b"[" * 1_000_000})
    changed("wordpiece", ["WordPiece", "not implemented"], lambda t: t["model"].update(type="WordPiece"))
    changed("unigram-behind-bytes", ["Unigram behind ByteLevel"], lambda t: t["model"].update(type="Unigram"))
    changed("normalizer", ["BertNormalizer", "not implemented"], lambda t: t.update(normalizer={"type": "BertNormalizer"}))
    changed("pre-tokenizer", ["UnicodeScripts", "not implemented"], lambda t: t.update(pre_tokenizer={"type": "UnicodeScripts"}))
    changed("decoder", ["Fuse", "not implemented"], lambda t: t.update(decoder={"type": "Fuse"}))
    changed("added-elsewhere", ["has the id 7", "in the vocabulary"], lambda t: t["added_tokens"][0].update(id=7))
    changed("post-processor", ["BertProcessing", "not implemented"], lambda t: t.update(post_processor={"type": "BertProcessing"}))

    def characters(name, needles, **parts):
        """A tokenizer on characters instead of bytes."""
        changed(name, needles, lambda t: t.update({"pre_tokenizer": None, "decoder": {"type": "Fuse"}, **parts}))

    def pieces(name, needles, vocabulary, **model):
        characters(name, needles, model={"type": "Unigram", "unk_id": 0, "vocab": vocabulary, **model}, added_tokens=[])

    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    characters("no-decoder", ["without a decoder"], decoder=None)
    characters("metaspace-nothing", ["Metaspace", "missing or damaged"], pre_tokenizer={"type": "Metaspace", "replacement": ""})
    characters("metaspace-scheme", ["prepend_scheme", "sometimes"],
               pre_tokenizer={"type": "Metaspace", "replacement": "_", "prepend_scheme": "sometimes"})
    characters("split-both", ["pattern", "Split"], pre_tokenizer={**split, "pattern": {"String": "a", "Regex": "b"}})
    characters("split-word-border", ["\\b", "not implemented"], pre_tokenizer={**split, "pattern": {"Regex": "\\bx"}})
    characters("split-huge", ["too long"], pre_tokenizer={**split, "pattern": {"Regex": "a" * 70000}})
    characters("replace-nothing", ["Replace", "pattern"], normalizer={"type": "Replace", "pattern": {"String": ""}, "content": "x"})
    characters("replace-by-number", ["Replace", "content"], normalizer={"type": "Replace", "pattern": {"String": "a"}, "content": 3})
    characters("prepend-nothing", ["Prepend"], normalizer={"type": "Prepend", "prepend": ""})
    characters("charsmap-no-base64", ["precompiled_charsmap"], normalizer={"type": "Precompiled", "precompiled_charsmap": "!!!!"})
    characters("charsmap-empty", ["precompiled_charsmap"], normalizer={"type": "Precompiled", "precompiled_charsmap": ""})
    characters("charsmap-long", ["precompiled_charsmap"], normalizer={"type": "Precompiled", "precompiled_charsmap": "/////wAA"})
    characters("sequence-of-nothing", ["normalizer Sequence"], normalizer={"type": "Sequence", "normalizers": 5})
    characters("decoder-pattern", ["regular expression", "Replace"], decoder={"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""})
    characters("decoder-order", ["Metaspace after Fuse"], decoder={"type": "Sequence", "decoders": [
        {"type": "Fuse"}, {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}]})
    characters("decoder-huge", ["64 MiB"], decoder={"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 1000}] * 4})
    characters("strip-by-text", ["decoder Strip"], decoder={"type": "Strip", "content": " ", "start": "1", "stop": 0})
    pieces("score-of-text", ["an entry of"], [["<unk>", "x"]])
    pieces("score-missing", ["an entry of"], [["<unk>"]])
    pieces("unknown-far", ["unk_id"], [["<unk>", 0], ["a", -1]], unk_id=9)
    pieces("piece-twice", ["twice"], [["<unk>", 0], ["a", -1], ["a", -2]])
    pieces("few-bytes", ["1 of the 256"], [["<unk>", 0], ["<0x41>", -1]], byte_fallback=True)

    def sentencepiece(name, needles, model, settings=None):
        files = {"tokenizer.model": model, **({"tokenizer_config.json": settings} if settings is not None else {})}
        make.folder("sentencepiece-" + name, INFO, needles, files, drop=("tokenizer.json",))

    def piece(text, score=0.0, kind=1):
        body = b"\n" + bytes([len(text)]) + text + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind])
        return b"\n" + bytes([len(body)]) + body

    bpe = b"\x12\x02\x18\x02"  # the trainer: model_type = BPE
    whole = piece(b"<unk>", 0, 2) + piece(b"<s>", 0, 3) + piece(b"</s>", 0, 3) + piece(b"a", -1) + bpe
    sentencepiece("none", ["not a SentencePiece model"], b"no such thing")
    sentencepiece("empty", ["not a SentencePiece model"], b"")
    sentencepiece("cut", ["not a SentencePiece model"], whole[:-1])
    sentencepiece("piece-cut", ["not a SentencePiece model"], b"\n\x7f" + whole)
    sentencepiece("kind-unknown", ["not a SentencePiece model"], piece(b"a", 0, 9) + bpe)
    sentencepiece("word", ["model type 3"], whole + b"\x12\x02\x18\x03")
    sentencepiece("suffix", ["treat_whitespace_as_suffix"], whole + b"\x12\x03\xc0\x01\x01")
    sentencepiece("not-utf8", ["piece 4 is empty or not valid"], whole + piece(b"\xff"))
    sentencepiece("twice", ["twice"], whole + piece(b"a"))
    sentencepiece("no-bos", ["token 1"], piece(b"a") + bpe)
    sentencepiece("own-tokens", ["user-defined"], whole + piece(b"<tool>", 0, 4))
    sentencepiece("flag", ["add_bos_token"], whole, {"add_bos_token": "yes"})
    sentencepiece("tokens", ["added_tokens_decoder"], whole, {"added_tokens_decoder": {"-5": {"content": "x"}}})
    sentencepiece("far", ["out of range"], whole, {"added_tokens_decoder": {"999999999": {"content": "x"}}})
    changed("merge-of-strangers", ["not in the vocabulary"], lambda t: t["model"]["merges"].append(["never", "seen"]))
    changed("id-huge", ["out of range"], lambda t: t["model"]["vocab"].update(a=2 ** 31 - 1))
    changed("id-twice", ["twice"], lambda t: t["model"]["vocab"].update(a=5))
    changed("bad-pattern", ["bad split pattern"], lambda t: t.update(pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "(" * 50}, "behavior": "Isolated"}, {"type": "ByteLevel"}]}))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    make = Maker(sys.argv[1])
    make.folder("good", BOTH, None)
    for cases in (safetensors_cases, table_cases, directory_cases, config_cases, gguf_cases, tokenizer_cases):
        cases(make)
    with open(os.path.join(make.out, "cases.json"), "w") as file:
        json.dump(make.cases, file, indent=1)


if __name__ == "__main__":
    main()
