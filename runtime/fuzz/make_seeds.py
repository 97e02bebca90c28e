#!/usr/bin/env python3
"""Makes the inputs that fuzzers start from, small ones of every kind, out of the tests' own models and tokenizers.

    make_seeds.py TEST-INPUTS BUILT-TEST-INPUTS FOLDER
"""
import base64
import json
import pathlib
import struct
import sys

tests, built, out = map(pathlib.Path, sys.argv[1:])


def seed(target, name, data):
    folder = out / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(tensors, **metadata):
    """Behind magic and version."""
    body = struct.pack("<QQ", len(tensors), len(metadata))
    for key, value in metadata.items():
        body += text(key.replace("__", "."))
        if isinstance(value, str):
            body += struct.pack("<I", 8) + text(value)
        elif isinstance(value, bool):
            body += struct.pack("<IB", 7, value)
        elif isinstance(value, int):
            body += struct.pack("<II", 4, value)
        else:
            kind = {str: 8, int: 5, float: 6}[type(value[0])]
            body += struct.pack("<IIQ", 9, kind, len(value))
            body += b"".join(text(v) if kind == 8 else struct.pack("<i" if kind == 5 else "<f", v) for v in value)
    data = b""
    for name, (kind, shape, payload) in tensors.items():
        body += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in shape)
        body += struct.pack("<IQ", kind, len(data))
        data += payload + bytes(-len(payload) % 32)
    body += bytes(-(len(body) + 8) % 32)
    return body + data


def parts(tensors):
    """A header of safetensors, and the data behind it: no byte of that is a brace."""
    header, data = {}, b""
    for name, (dtype, shape, payload) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(payload)]}
        data += payload
    return json.dumps(header).encode() + data


def charsmap(rules):
    """SentencePiece's rules, for texts of at most two bytes, as a double array: children of the root are units 0 to 255, those of the n-th rule's first byte
    512 n and more, and what a text is replaced by hangs 256 from its last byte."""
    units, texts = [0] * 512 * (len(rules) + 1), b""
    for number, (before, after) in enumerate(rules.items(), 1):
        first, *second = before.encode()
        place = first
        if second:
            units[first] = first | 512 * number << 10
            place = first ^ 512 * number ^ second[0]
        units[place] = (second or [first])[0] | 0x100 | 0x100 << 10
        units[place ^ 0x100] = 0x80000000 | len(texts)
        texts += after.encode() + b"\0"
    return struct.pack("<I", 4 * len(units)) + b"".join(struct.pack("<I", unit) for unit in units) + texts


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def message(*fields):
    """Of Protocol Buffers: (number, int, float or bytes)."""
    body = b""
    for number, value in fields:
        if isinstance(value, bytes):
            body += varint(number << 3 | 2) + varint(len(value)) + value
        else:
            body += varint(number << 3 | 5) + struct.pack("<f", value) if isinstance(value, float) else varint(number << 3) + varint(value)
    return body


header = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]}}
seed("safetensors", "two", json.dumps(header).encode() + bytes(range(26)))
seed("safetensors", "metadata", json.dumps({"__metadata__": {"format": "pt"}, "c": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]}}).encode())
seed("safetensors", "raw", b"!" + struct.pack("<Q", 2) + b"{}")
sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "F8_E4M3": 1}
seed("safetensors", "types", parts({name: (name, [3], bytes(3 * size)) for name, size in sizes.items()}))
seed("safetensors", "apart", parts({"w_blocks": ("U8", [2, 1, 16], bytes(32)), "w_scales": ("U8", [2, 1], b"\x7e\x80")}))
for name, entry in {"shape": {"shape": [2, 4]}, "short": {"shape": [2, 2]}, "outside": {"data_offsets": [0, 99]}, "backwards": {"data_offsets": [8, 0]},
                    "type": {"dtype": "F4"}, "large": {"shape": [2**62, 9]}, "zero": {"shape": [0, 2**62, 9]}, "field": {"x": 1}, "below": {"shape": [-1]},
                    "rank": {"shape": [1] * 17}, "words": {"shape": "2"}, "truth": {"dtype": True}, "fraction": {"shape": [1.5]}, "none": {"shape": None}}.items():
    seed("safetensors", "bad-" + name, json.dumps({"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **entry}}).encode() + bytes(24))
seed("safetensors", "bad-twice", b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}} ')
seed("safetensors", "bad-overlap", parts({"a": ("U8", [2], b"12"), "b": ("U8", [2], b"34")}).replace(b"[2, 4]", b"[1, 3]"))
seed("safetensors", "bad-lack", b'{"a": {"shape": [1]}}')
seed("safetensors", "bad-metadata", b'{"__metadata__": {"a": 1}}')
seed("safetensors", "bad-list", b"[]")
seed("safetensors", "bad-scales", parts({"w_blocks": ("U8", [2, 16], bytes(32)), "w_scales": ("U8", [3], bytes(3))}))
seed("safetensors", "bad-zero", parts({"w_blocks": ("U8", [0, 2**58, 16], b""), "w_scales": ("U8", [0, 2**58], b"")}))
for name, file in {"lfs": b"version https://git-lfs.github.com/spec/v1", "short": b"\x02\0", "long": struct.pack("<Q", 2**40) + b"{}", "cut": struct.pack("<Q", 99) + b"{}"}.items():
    seed("safetensors", "raw-" + name, b"!" + file)

# Weights in parts, as three ways to quantize write them.
half = struct.pack("<e", 0.5)
fp8 = ("F8_E4M3", [2, 128], bytes(i % 100 for i in range(256)))
for name, scale in {"one": ("F32", [], bytes(4)), "rows": ("BF16", [2, 1], bytes(4)), "F16": ("F16", [1], bytes(2)), "blocks": ("F32", [1, 1], bytes(4)),
                    "shape": ("F32", [3], bytes(12)), "type": ("I32", [], bytes(4))}.items():
    seed("quantized", "fp8-" + name, b'{"quant_method": "fp8", "weight_block_size": [128, 128]}\0' + parts({"w.weight": fp8, "w.weight_scale_inv": scale}))
tensors = parts({"w.weight": fp8, "w.weight_scale": ("F32", [], bytes(4)), "w.input_scale": ("F32", [], bytes(4))})
seed("quantized", "compressed", b'{"quant_method": "compressed-tensors", "format": "float-quantized"}\0' + tensors)
seed("quantized", "fp8-columns", b'{"quant_method": "fp8", "weight_block_size": [2, 64]}\0' + parts({"w.weight": fp8, "w.weight_scale": ("F32", [1, 2], bytes(8))}))
seed("quantized", "fp8-alone", b'{"quant_method": "fp8"}\0' + parts({"w.weight": fp8}))
seed("quantized", "fp8-rank", b'{"quant_method": "fp8"}\0' + parts({"w.weight": ("F8_E4M3", [3], b"123"), "w.weight_scale": ("F32", [], bytes(4))}))
seed("quantized", "fp8-zero", b'{"quant_method": "fp8"}\0' + parts({"w.weight": ("F8_E4M3", [2**63 - 1, 0], b""), "w.weight_scale": ("F32", [], bytes(4))}))
groups = b"".join(struct.pack("<i", i // 32) for i in range(64))
four = {"w.qzeros": ("I32", [2, 1], b"\x21\x43\x65\x07" * 2), "w.scales": ("F16", [2, 8], half * 16), "w.g_idx": ("I32", [64], groups)}
gptq = {"w.qweight": ("I32", [8, 8], bytes(i % 100 for i in range(256))), **four}
awq = {"w.qweight": ("I32", [64, 1], bytes(i % 100 for i in range(256))), **four}
for name, settings in {"gptq": {}, "gptq-2": {"checkpoint_format": "gptq_v2"}, "gptq-all": {"group_size": -1}, "gptq-group": {"group_size": 96}, "gptq-bits": {"bits": 8},
                       "gptq-act": {"desc_act": True}, "gptq-flag": {"desc_act": 1}, "gptq-format": {"checkpoint_format": "x"}, "gptq-text": {"checkpoint_format": 1},
                       "gptq-size": {"group_size": 33}, "gptq-far": {"group_size": 2**40}}.items():
    seed("quantized", name, json.dumps({"quant_method": "gptq", "bits": 4, "group_size": 32, **settings}).encode() + b"\0" + parts(gptq))
for name, settings in {"awq": {}, "awq-version": {"version": "GEMV"}, "awq-zero": {"zero_point": False}, "awq-other": {"w_bit": 4, "bits": None}}.items():
    seed("quantized", name, json.dumps({"quant_method": "awq", "bits": 4, "group_size": 32, **settings}).encode() + b"\0" + parts(awq))
settings = b'{"quant_method": "gptq", "bits": 4, "group_size": 32}\0'
seed("quantized", "gptq-order", settings + parts({**gptq, "w.g_idx": ("I32", [64], groups[::-1])}))
seed("quantized", "gptq-missing", settings + parts({name: part for name, part in gptq.items() if name != "w.scales"}))
seed("quantized", "gptq-type", settings + parts({**gptq, "w.qweight": ("F32", [8, 8], bytes(256))}))
seed("quantized", "gptq-zeros", settings + parts({**gptq, "w.qzeros": ("I32", [1, 2], bytes(8))}))
for elements, kind in ((64, "64"), (128, "128")):
    seed("quantized", "gptq-" + kind, settings.replace(b"32", kind.encode()) + parts({
        "w.qweight": ("I32", [elements // 8, 8], bytes(4 * elements)), "w.qzeros": ("I32", [1, 1], bytes(4)), "w.scales": ("F16", [1, 8], half * 8)}))
for name, value in {"none": "null", "number": "3", "empty": "{}", "method": '{"quant_method": "x"}', "mxfp4": '{"quant_method": "mxfp4"}', "format": '{"quant_method": "compressed-tensors"}',
                    "fmt": '{"quant_method": "fp8", "fmt": "e5m2"}', "sizes": '{"quant_method": "fp8", "weight_block_size": [0, 1]}', "json": "{"}.items():
    seed("quantized", "settings-" + name, value.encode() + b"\0" + tensors)

# What executables carry.
table = {"format": "huggingface", "files": [{"name": "config.json", "offset": 0, "bytes": 2}, {"name": "model.safetensors", "offset": 2, "bytes": 10}]}
carried = b"{}" + struct.pack("<Q", 2) + b"{}"
for name, change in {"directory": {}, "alone": {"format": "safetensors", "files": [{"name": "a.safetensors", "offset": 2, "bytes": 10}]},
                     "gguf": {"format": "gguf", "files": [{"name": "a.gguf", "offset": 2, "bytes": 10}]}, "two": {"format": "gguf"}, "none": {"files": []},
                     "outside": {"files": [{"name": "a", "offset": 0, "bytes": 2**60}]}, "entry": {"files": [{"name": 1}]}, "number": {"files": 1}}.items():
    seed("embedded", name, json.dumps({**table, **change}).encode() + b"\0" + carried)
seed("embedded", "json", b"{\0" + carried)
seed("embedded", "raw", b"!" + bytes(20) + struct.pack("<QQ", 4, 99) + b"TSRWGT01")
seed("embedded", "not", b"!" + bytes(30))

tensors = {"token_embd.weight": (8, [32, 1], bytes(34)), "output.weight": (3, [32, 1], bytes(20)), "norm": (0, [2], bytes(8)),
           **{f"k{kind}": (kind, [256], bytes(size)) for kind, size in ((12, 144), (13, 176), (14, 210))},
           **{f"q{kind}": (kind, [32], bytes(size)) for kind, size in ((2, 18), (6, 22), (7, 24), (39, 17))}}
seed("gguf", "types", gguf(tensors, general__architecture="llama", general__alignment=32, a=True, b=[1, 2], c=[0.5], d=["x", "yy"]))
byte_level = {"tokenizer__ggml__model": "gpt2", "tokenizer__ggml__pre": "qwen2", "tokenizer__ggml__tokens": ["a", "b", "ab", "\u0120", "<s>"],
              "tokenizer__ggml__token_type": [1, 1, 1, 1, 3], "tokenizer__ggml__merges": ["a b"], "tokenizer__ggml__bos_token_id": 4,
              "tokenizer__ggml__add_bos_token": True}
seed("gguf", "byte-level", gguf({}, **byte_level))
scored = {"tokenizer__ggml__tokens": ["<unk>", "<s>", "\u2581", "a", "\u2581a", "aa", "m"], "tokenizer__ggml__token_type": [2, 3, 1, 1, 5, 1, 4],
          "tokenizer__ggml__scores": [0.0, 0.0, -1.0, -2.0, -3.0, -1.0, 0.0], "tokenizer__ggml__unknown_token_id": 0,
          "tokenizer__ggml__remove_extra_whitespaces": True}
rules = list(charsmap({"A": "a", "\u00e9": "e"}))
for model in ("llama", "t5"):
    seed("gguf", model, gguf({}, tokenizer__ggml__model=model, tokenizer__ggml__precompiled_charsmap=rules, **scored))
phi3 = {**scored, "tokenizer__ggml__add_space_prefix": True, "tokenizer__ggml__add_eos_token": True, "tokenizer__ggml__eos_token_id": 1}
seed("gguf", "phi3", gguf({}, general__architecture="phi3", tokenizer__ggml__model="llama", **phi3))
all_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
seed("gguf", "bytes", gguf({}, tokenizer__ggml__model="llama", tokenizer__ggml__tokens=["<unk>", "\u2581", *all_bytes], tokenizer__ggml__token_type=[2, 1] + [6] * 256,
                           tokenizer__ggml__scores=[0.0, -1.0] + [0.0] * 256))
gemma4 = {"tokenizer__ggml__model": "gemma4", "tokenizer__ggml__tokens": ["a", "\u2581", "\u2581a", "<s>", *all_bytes],
          "tokenizer__ggml__token_type": [1, 1, 1, 3] + [6] * 256, "tokenizer__ggml__merges": ["\u2581 a"]}
seed("gguf", "gemma4", gguf({}, **gemma4))
seed("gguf", "gptneox", gguf({}, general__architecture="gptneox", **{key: value for key, value in byte_level.items() if key != "tokenizer__ggml__pre"}))
seed("gguf", "template", gguf({}, **byte_level, tokenizer__chat_template="{{ bos_token }}", tokenizer__chat_template__tool_use="t", tokenizer__ggml__eos_token_id=0,
                              tokenizer__ggml__eot_token_id=1))
for name, change in {"model": {"model": "bert"}, "no-model": {"model": 1}, "pre": {"pre": "x"}, "no-pre": {"pre": 1}, "merge": {"merges": ["ab"]}, "merges": {"merges": [1]},
                     "tokens": {"tokens": [1]}, "types": {"token_type": [1]}, "type": {"token_type": [9, 1, 1, 1, 1]}, "bos": {"bos_token_id": 99}, "flag": {"add_bos_token": 1},
                     "twice": {"tokens": ["a", "a", "ab", "b", "c"]}, "eos": {"eos_token_id": "x"}}.items():
    seed("gguf", "bad-" + name, gguf({}, **{**byte_level, **{"tokenizer__ggml__" + key: value for key, value in change.items()}}))
for name, change in {"scores": {"scores": [1.0]}, "unknown": {"unknown_token_id": 99}, "map": {"precompiled_charsmap": ["x"]}, "damaged": {"precompiled_charsmap": [1, 2]},
                     "bytes": {"token_type": [2, 3, 1, 1, 5, 1, 6]}, "infinite": {"scores": [0.0, 0.0, float("inf"), 0.0, 0.0, 0.0, 0.0]},
                     "empty": {"tokens": ["<unk>", "<s>", "", "a", "b", "c", "d"]}}.items():
    seed("gguf", "bad-scored-" + name, gguf({}, tokenizer__ggml__model="t5", **{**scored, **{"tokenizer__ggml__" + key: value for key, value in change.items()}}))
values = [(0, b"\1"), (1, b"\xff"), (2, b"\1\0"), (3, b"\xff\xff"), (4, bytes(4)), (5, bytes(4)), (6, bytes(4)), (7, b"\1"), (10, bytes(8)), (11, bytes(8)), (12, bytes(8))]
seed("gguf", "values", struct.pack("<QQ", 0, 2 * len(values)) + b"".join(text(f"k{kind}") + struct.pack("<I", kind) + value for kind, value in values) +
     b"".join(text(f"l{kind}") + struct.pack("<IIQ", 9, kind, 2) + 2 * value for kind, value in values))
for name, value in {"array": struct.pack("<IIQ", 9, 9, 1), "many": struct.pack("<IIQ", 9, 4, 2**60), "kind": struct.pack("<I", 13), "truth": struct.pack("<IB", 7, 2),
                    "truths": struct.pack("<IIQBB", 9, 7, 2, 1, 2), "cut": struct.pack("<I", 10)}.items():
    seed("gguf", "bad-value-" + name, struct.pack("<QQ", 0, 1) + text("k") + value)
seed("gguf", "bad-key", struct.pack("<QQ", 0, 2) + 2 * (text("a") + struct.pack("<II", 4, 1)))
seed("gguf", "split", gguf({}, split__count=2))
seed("gguf", "bad-alignment", gguf({}, general__alignment=3))
for name, (tail, change) in {"rank": (struct.pack("<I", 5), b""), "size": (struct.pack("<IQ", 1, 2**63), b""), "type": (struct.pack("<IQIQ", 1, 1, 9, 0), b""),
                             "number": (struct.pack("<IQIQ", 1, 1, 99, 0), b""), "large": (struct.pack("<IQQIQ", 2, 2**40, 2**40, 0, 0), b""), "offset": (struct.pack("<IQIQ", 1, 1, 0, 1), bytes(64)),
                             "end": (struct.pack("<IQIQ", 1, 9, 0, 32), bytes(16)), "cut": (struct.pack("<IQ", 1, 1), b"")}.items():
    seed("gguf", "bad-tensor-" + name, struct.pack("<QQ", 1, 0) + text("a") + tail + change)
seed("gguf", "bad-tensor-twice", struct.pack("<QQ", 2, 0) + 2 * (text("a") + struct.pack("<IQIQ", 1, 1, 0, 0)) + bytes(64))
for name, version in {"raw": 2, "version": 1, "endian": 0x03000000}.items():
    seed("gguf", name, b"!GGUF" + struct.pack("<I", version) + bytes(16))

# Ids to train on: 16 bits bare, with llm.c's two headers, and as a table.
seed("training-data", "bare", struct.pack("<8H", *range(8)))
for name, (magic, version, count, data) in {"narrow": (20240520, 1, 4, struct.pack("<4H", 1, 2, 3, 98)), "wide": (20240801, 7, 4, struct.pack("<4I", 1, 2, 3, 4)),
                                            "version": (20240520, 2, 0, b""), "count": (20240801, 7, 9, b""), "outside": (20240801, 7, 4, struct.pack("<4I", 1, 2, 99, 4))}.items():
    seed("training-data", name, struct.pack("<III", magic, version, count) + bytes(1012) + data)
seed("training-data", "odd", b"123")
seed("training-data", "empty", b"")
seed("training-data", "few", b"1212")
for name, (dtype, shape, ids) in {"table": ("I32", [2, 4], (1, 2, 3, 4, 5, 6, -1, -1)), "type": ("U32", [1, 4], (1, 2, 3, 4)), "rank": ("I32", [4], (1, 2, 3, 4)), "no-row": ("I32", [0, 4], ()),
                                  "width": ("I32", [2, 2], (1, 2, 3, 4)), "one": ("I32", [4, 1], (1, 2, 3, 4)), "behind": ("I32", [1, 4], (1, -1, 3, 4)), "below": ("I32", [1, 4], (1, -2, 3, 4))}.items():
    seed("training-data", "table-" + name, parts({"tokens": (dtype, shape, struct.pack(f"<{len(ids)}i", *ids))}))
seed("training-data", "table-none", b"{}")

for kind in range(18):  # types that can be widened
    seed("blocks", f"type-{kind}", bytes([kind]) + bytes((37 * i + kind) % 256 for i in range(430)))
    seed("blocks", f"infinite-{kind}", bytes([kind]) + b"\x00\x7c\x01\xfc\xff\x7f" * 70)

pipelines = json.loads((tests / "tokenizer_pipelines.json").read_text())
for number, case in enumerate(pipelines["cases"]):
    model = {"type": "BPE", "vocab": {t: i for i, t in enumerate(["<unk>", "<s>", "a", "b", "ab", "\u2581", "\u2581a"])},
             "merges": [["a", "b"], ["\u2581", "a"]], "unk_token": "<unk>"}
    if case["vocabulary"] == "unigram":
        model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["<s>", 0], ["a", -1.5], ["b", -2], ["ab", -3], ["\u2581", -1], ["\u2581a", -2]]}
    added = [{"id": 1, "content": "<s>", "special": True}, {"id": 7, "content": "<m>", "lstrip": True, "rstrip": True, "single_word": True}]
    seed("tokenizer-json", f"case-{number:02}", {"added_tokens": added, **case["parts"], "model": {**model, **case["model"]}})
    if number < 2 and case["vocabulary"] != "unigram":
        model = {**model, "vocab": {**model["vocab"], **{name: 7 + i for i, name in enumerate(all_bytes)}}}
        seed("tokenizer-json", f"bytes-{number:02}", {"added_tokens": added[:1], **case["parts"], "model": {**model, **case["model"]}})
    seed("text", f"case-{number:02}", bytes([number]) + pipelines["texts"][number % len(pipelines["texts"])].encode())

for number, case in enumerate(json.loads((tests / "tokenizer_sentencepiece.json").read_text())):
    data = base64.b64decode(case["model"])
    cut = data.index(b"\x12", 600)
    seed("sentencepiece", f"small-{number}", b"\n\x09\n\x05<unk>\x18\x02\n\x0a\n\x01a\x15\x00\x00\x80\xbf\x18\x01\x12\x02\x18\x02\0{}")
    seed("sentencepiece", f"begin-{number}", data[:cut])
pieces = [(1, message((1, name.encode()), (2, score), (3, kind))) for name, score, kind in (
    ("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("\u2581", -1.0, 1), ("a", -2.0, 1), ("m", -3.0, 1), ("\u2581a", -1.5, 1), ("an", -0.5, 5), ("n", -4.0, 1))]
byte_pieces = [(1, message((1, name.encode()), (3, 6))) for name in all_bytes]
circle = struct.pack("<257I", 1024, *(unit | 0x100 | unit << 10 for unit in range(256))) + b"x\0"  # every byte leads back to the root
bpe, plain = (2, message((3, 2))), (3, message((3, 0), (4, 0)))
for name, fields in {
        "bpe": [*pieces, bpe], "unigram": pieces, "kind": [*pieces, (2, message((3, 3)))], "bpe-bytes": [*pieces, *byte_pieces, bpe], "unigram-bytes": [*pieces, *byte_pieces],
        "some-bytes": [*pieces, *byte_pieces[:3]], "byte-twice": [*pieces, *byte_pieces, byte_pieces[0]], "own": [*pieces, (1, message((1, b"a b"), (3, 4))), bpe, plain],
        "own-blanks": [*pieces, (1, message((1, b"ab"), (3, 4)))], "suffix": [*pieces, (2, message((24, 1)))], "escapes": [*pieces, (3, message((5, 0)))],
        "ids": [*pieces, (2, message((3, 2), (40, 4), (41, 2**64 - 1), (42, 2)))], "far": [*pieces, (2, message((3, 2), (41, 99)))],
        "no-unknown": [*pieces[3:], (2, message((3, 2), (40, 99), (41, 2**64 - 1)))], "rules": [*pieces, bpe, (3, message((2, charsmap({"A": "a", "\u00e9": "e"}))))],
        "rules-circle": [*pieces, bpe, (3, message((2, circle)))], "rules-damaged": [*pieces, (3, message((2, b"12345678")))], "empty-piece": [*pieces, (1, message((1, b"")))], "infinite": [*pieces, (1, message((1, b"x"), (2, float("inf"))))],
        "type": [*pieces, (1, message((1, b"x"), (3, 9)))], "part": [*pieces, (1, b"\x0a\x99")], "none": [], "wide": [*pieces, (9, 1.0), (10, 5)]}.items():
    seed("sentencepiece", name, message(*fields))
seed("sentencepiece", "eight-bytes", message(*pieces) + b"\x49" + bytes(8))
seed("sentencepiece", "group", message(*pieces) + b"\x4b")
seed("sentencepiece", "number", message(*pieces) + b"\x48" + b"\xff" * 11)
for name, settings in {"first": {"legacy": False}, "bos": {"add_bos_token": 1}, "eos": {"add_eos_token": True, "add_prefix_space": None}, "decoder": {"added_tokens_decoder": 1},
                       "entry": {"added_tokens_decoder": {"x": {"content": "a"}}}, "content": {"added_tokens_decoder": {"1": {}}}}.items():
    seed("sentencepiece", "settings-" + name, message(*pieces, bpe) + b"\0" + json.dumps(settings).encode())
seed("sentencepiece", "settings-json", message(*pieces, bpe) + b"\0{")
seed("sentencepiece", "settings", b"\n\x09\n\x05<unk>\x18\x02\n\x05\n\x03<s>\n\x0a\n\x01a\x15\x00\x00\x80\xbf\x18\x01\x12\x02\x18\x02\0" +
     json.dumps({"add_bos_token": False, "legacy": False, "added_tokens_decoder": {"9": {"content": "<m>", "rstrip": True}}}).encode())

alphabet = [chr(c) for c in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x144)]]
ids = {token: i for i, token in enumerate(["<s>", *alphabet, "ab", "\u4e2d"])}
byte_level = {"added_tokens": [{"id": 0, "content": "<s>", "special": True}], "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}, "decoder": {"type": "ByteLevel"},
              "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {
                  "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<s>"}}],
                  "special_tokens": {"<s>": {"ids": [0]}}}]},
              "model": {"type": "BPE", "vocab": ids, "merges": ["a b"], "ignore_merges": True}}
seed("tokenizer-json", "byte-level", byte_level)
characters = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u2581": 3}, "merges": [["a", "b"]]}, "decoder": {"type": "Fuse"}}
unigram = {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1]]}, "decoder": {"type": "Fuse"}}
single = [{"Sequence": {"id": "A"}}]
within = charsmap({"a": "\u00e9"}).replace(struct.pack("<I", 0x80000000), struct.pack("<I", 0x80000001))  # what "a" becomes begins within a character
for name, (base, change) in {
        "prefix": (byte_level, {"model": {**byte_level["model"], "continuing_subword_prefix": "##"}}), "dropout": (byte_level, {"model": {**byte_level["model"], "dropout": 0.5}}),
        "list": (byte_level, {"model": {**byte_level["model"], "vocab": []}}), "merges": (byte_level, {"model": {**byte_level["model"], "merges": {}}}),
        "unknown": (characters, {"model": {**characters["model"], "unk_token": "x"}}), "id": (byte_level, {"added_tokens": [{"id": 3, "content": "<s>"}]}),
        "some-bytes": (characters, {"model": {**characters["model"], "vocab": {"a": 0, "<0x00>": 1}, "merges": [], "byte_fallback": True}}),
        "wordpiece": (byte_level, {"model": {"type": "WordPiece"}}), "no-model": (byte_level, {"model": 1}), "added": (byte_level, {"added_tokens": 1}),
        "entry": (byte_level, {"added_tokens": [{"id": -1}]}), "flag": (byte_level, {"added_tokens": [{"id": 0, "content": "<s>", "special": 1}]}),
        "unigram-bytes": (unigram, {"model": {**unigram["model"], "byte_fallback": True}}), "unigram-id": (unigram, {"model": {**unigram["model"], "unk_id": 9}}),
        "unigram-level": (unigram, {"pre_tokenizer": {"type": "ByteLevel"}}), "unigram-none": (unigram, {"model": {"type": "Unigram", "vocab": []}}),
        "score": (unigram, {"model": {"type": "Unigram", "vocab": [["a", "b"]]}}), "normalizer": (characters, {"normalizer": {"type": "Bert"}}),
        "sequence": (characters, {"normalizer": {"type": "Sequence"}}), "prepend": (characters, {"normalizer": {"type": "Prepend", "prepend": ""}}),
        "replace": (characters, {"normalizer": {"type": "Replace", "pattern": {"String": "a"}}}), "both": (characters, {"normalizer": {"type": "Replace", "pattern": {"String": "a", "Regex": "a"}}}),
        "regex": (characters, {"normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}}), "nothing": (characters, {
            "added_tokens": [{"id": 9, "content": "a"}], "normalizer": {"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}}),
        "many": (characters, {"normalizer": {"type": "Sequence", "normalizers": 7 * [{"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaa"}]}}),
        "base64": (characters, {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "!"}}), "base64-cut": (characters, {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAA"}}),
        "within": (characters, {"normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(within).decode()}, "pre_tokenizer": {"type": "Digits"}}),
        "white-space": (characters, {"added_tokens": [{"id": 4, "content": " ", "lstrip": True, "rstrip": True}]}),
        "after": (byte_level, {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]}}), "bert": (byte_level, {"pre_tokenizer": {"type": "Bert"}}),
        "blank": (characters, {"pre_tokenizer": {"type": "Metaspace", "replacement": "__"}}), "scheme": (characters, {"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "x"}}),
        "old": (characters, {"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "add_prefix_space": False}}), "digits": (characters, {"pre_tokenizer": {"type": "Digits"}}),
        "spaces": (characters, {"pre_tokenizer": {"type": "WhitespaceSplit"}}), "punctuation": (characters, {"pre_tokenizer": {"type": "Punctuation"}}),
        "behavior": (characters, {"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "x"}}),
        "set": (characters, {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated"}}), "escape": (characters, {
            "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\K"}, "behavior": "Isolated"}}), "classes": (characters, {
                "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\w\\S]|\\s|\\w|\\S|\\W|\\p{L}|[^]]"}, "behavior": "Isolated", "invert": True}}),
        "word-class": (characters, {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\W]"}, "behavior": "Isolated"}}),
        "explodes": (characters, {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|a|an| |.)*$^x"}, "behavior": "Isolated"}}),
        "post": (byte_level, {"post_processor": {"type": "Roberta"}}), "post-single": (byte_level, {"post_processor": {"type": "TemplateProcessing"}}),
        "post-twice": (byte_level, {"post_processor": {"type": "TemplateProcessing", "single": 2 * single}}), "post-none": (byte_level, {"post_processor": {"type": "TemplateProcessing", "single": []}}),
        "post-token": (byte_level, {"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]}}), "post-id": (byte_level, {
            "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [99999]}}}}),
        "decoder": (characters, {"decoder": {"type": "x"}}), "no-decoder": (characters, {"decoder": None}), "level": (characters, {"decoder": {"type": "ByteLevel"}}),
        "not-level": (byte_level, {"decoder": {"type": "Fuse"}}), "decoder-blank": (characters, {"decoder": {"type": "Metaspace", "replacement": ""}}),
        "decoder-regex": (characters, {"decoder": {"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}}), "decoder-replace": (characters, {"decoder": {"type": "Replace"}}),
        "decoder-strip": (characters, {"decoder": {"type": "Strip"}}), "decoder-two": (characters, {"decoder": {"type": "Sequence", "decoders": [
            {"type": "Fuse"}, {"type": "Strip", "content": "a", "start": 1, "stop": 1}, {"type": "Strip", "content": "a", "start": 1, "stop": 1}]}}),
        "decoder-long": (characters, {"decoder": {"type": "Sequence", "decoders": 7 * [{"type": "Replace", "pattern": {"String": "a"}, "content": 30 * "a"}]}}),
        "decoder-ends": (characters, {"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "a", "start": 1, "stop": 1}]}}),
        "decoder-fused": (characters, {"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "a"}, "content": ""}]}}),
}.items():
    seed("tokenizer-json", "with-" + name, {**base, **change})
for name, json_text in {"escapes": r'{"model": {"type": "BPE", "vocab": {"\u0061\n\ud83c\udf1f\"": 0}, "merges": []}, "decoder": {"type": "Fuse"}}',
                        "half": r'{"model": {"type": "BPE", "vocab": {"\ud83c": 0}}}', "lone": r'{"model": {"type": "BPE", "vocab": {"\udf1f": 0}}}',
                        "unit": r'{"model": {"type": "BPE", "vocab": {"\u00x": 0}}}', "letter": r'{"model": {"type": "BPE", "vocab": {"\x": 0}}}',
                        "number": '{"model": {"type": "Unigram", "vocab": [["a", nan]]}}', "id": '{"model": {"vocab": {"a": 4294967295}, "merges": []}}',
                        "merge": '{"model": {"vocab": {"a": 0}, "merges": ["aa"]}}', "merge-number": '{"model": {"vocab": {"a": 0}, "merges": [1]}}',
                        "merge-three": '{"model": {"vocab": {"a": 0}, "merges": [["a", "b", "c"]]}}', "text": '"x"', "spaces": ' { "a" : [ 1 , "]" , { "b" : null } ] , "model" : { } } '}.items():
    seed("tokenizer-json", "text-" + name, json_text.encode())

for path in sorted((tests / "models").glob("*/config.json")):
    seed("config", path.parent.name, path.read_bytes())
shard = parts({"a": ("U8", [2], b"12"), "b": ("U8", [1], b"3")})
for name, (settings, index, more) in {
        "shard": ("{}", {"weight_map": {"a": "a.safetensors", "b": "a.safetensors"}}, b"\0" + shard), "elsewhere": ("{}", {"weight_map": {"a": "a.safetensors", "c": "a.safetensors"}}, b"\0" + shard),
        "no-map": ("{}", {}, b""), "empty": ("{}", {"weight_map": {}}, b""), "number": ("{}", {"weight_map": {"a": 1}}, b""), "above": ("{}", {"weight_map": {"a": "../a"}}, b""),
        "end": ('{"eos_token_id": "x"}', {"weight_map": {"a": "a.safetensors"}}, b"\0" + shard), "null": ('{"eos_token_id": null}', {"weight_map": {"a": "a.safetensors"}}, b"\0" + shard),
        "one": ('{"eos_token_id": 2}', {"weight_map": {"a": "a.safetensors"}}, b"\0" + shard)}.items():
    seed("config", "index-" + name, settings.encode() + b"\0" + json.dumps(index).encode() + more)
seed("config", "quantized", b'{"quantization_config": {"quant_method": "x"}}')
seed("config", "index", b'{"eos_token_id": [1, 2]}\0{"weight_map": {"a": "x/model.safetensors", "b": "y.safetensors"}}')

# Saves and logs of training runs. @C, @H, @B and @T are filled in (TrainingTargets.cpp).
file = '"model.safetensors":{"bytes":@B,"header_bytes":@H,"checksum":"@C","tensors":{"a":"0123456789abcdef"}}'
mark = ('{"format":1,"step":1,"updates":1,"rows":2,"loss_scale":0.0,"good_steps":0,"pass_rows":4,"shuffle":7,"data":"0000000000000001","documents":false,'
        '"files":{"config.json":{"bytes":2,"checksum":"@T"},' + file + "}}\n").encode()
one = b"\0\0" + parts({"a": ("F32", [2, 3], bytes(24))})
index = b'\0{"metadata":{"total_size":24,"step":1},"weight_map":{"a":"step-1/model.safetensors"}}'
for name, save in {"plain": mark + one, "index": mark + index + one[1:], "index-far": mark + index.replace(b":1}", b":18446744073709551615}") + one[1:],
                   "index-other": mark + index.replace(b":1}", b":2}") + one[1:], "index-list": mark + b"\0[]" + one[1:],
                   "other-shape": mark + one.replace(b"[2, 3]", b"[3, 2]"), "more": mark + b"\0\0" + parts({"a": ("F32", [2, 3], bytes(24)), "b": ("U8", [1], b"1")}),
                   "other-name": mark + b"\0\0" + parts({"c": ("F32", [2, 3], bytes(24))}), "other-state": mark.replace(b"model.", b"exp_avg.") + one,
                   "blocks": mark.replace(b'"a"', b'"a_blocks"') + b"\0\0" + parts({"a_blocks": ("U8", [1, 16], bytes(16)), "a_scales": ("U8", [1], b"1")}),
                   "gguf": mark + b"\0\0!GGUF\3\0\0\0" + gguf({"a": (8, [2048], bytes(2176))}), "no-files": b'{"format":1}',
                   "files": b'{"format":1,"files":[]}', "version": mark.replace(b"1", b"2", 1), "far": mark.replace(b'"rows":2', b'"rows":9223372036854775808'),
                   "scale": mark.replace(b"0.0", b"-1"), "scale-text": mark.replace(b"0.0", b'"1"'), "missing": mark.replace(b"config.json", b"x.json"), "size": mark.replace(b"@B", b"1"),
                   "sum": mark.replace(b"@T", b"0123456789abcdef") + one, "head": mark.replace(b"@H", b"9999") + one, "json": b"{" + one, "raw": b"x", "none": b"",
                   "no-sums": mark.replace(b'{"a":"0123456789abcdef"}', b"{}") + one, "cut": mark + one[:-1],
                   "earlier": mark.replace(b',"shuffle":7,"data":"0000000000000001","documents":false', b"") + one}.items():
    seed("checkpoint", name, save)
line = '{"step": %s, "loss": %s, "grad_norm": 1.5, "lr": 0.001, "tokens_per_s": 99.5}\n'
for name, log in {"lines": "".join(line % (i, 5 / (i + 1)) for i in range(8)), "one": line % (1, 2), "null": line % (1, "null") + line % (2, "null"),
                  "again": line % (1, 3) + line % (5, 2) + line % (2, 1), "evaluated": line.replace("}", ', "eval_loss": 3, "mfu": 0.5, "memory_bytes": 1e9, "loss_scale": 1024}') % (4, 3),
                  "far": line % (9223372036854775000, 1e308) + line % (9223372036854775807, -1e308), "near": line % (10**17, 1e17) + line % (10**17 + 16, 1e17 + 16),
                  "tiny": line % (-(2**63), 5e-324) + line % (-(2**63) + 1, 0), "many": "".join(line % (i, i % 7 if i % 50 else "null") for i in range(1300)),
                  "gap": line % (1, 2) + "\n \n" + line % (2, 2), "half": line % (1, 2) + '{"step": 2', "empty": "", "text": "no log\n", "list": "[1]\n", "words": '{"step": "1"}\n',
                  "unsigned": line % (2**64 - 1, 1) + line % (3, 1)}.items():
    seed("log", name, log.encode())

# Templates: what jinja2 is held against, a line each, and the shapes that models' templates have.
for number, line in enumerate((tests / ".." / "Templates" / "snippets.txt").read_text().splitlines()):
    seed("template", f"snippet-{number:03}", line.encode())
seed("template", "chat", b"""{{- bos_token }}{% macro put(m, n=1) -%}<|{{ m.role }}|>{{ m['content']|trim }}{%- endmacro %}
{%- set ns = namespace(found=false, system='') %}
{% for message in messages %}{% if loop.first and message.role == 'system' %}{% set ns.system = message.content %}{% continue %}{% endif %}
{% if message.tool_calls is defined and message.tool_calls is not none %}{% for call in message.tool_calls %}{{ call.function.name ~ call.function.arguments|tojson(indent=2) }}{% endfor %}
{% elif message['role'] not in ['user', 'assistant', 'tool'] %}{{ raise_exception('role ' ~ message.role) }}{% else %}{{ put(message, n=2) }}{% endif %}{% endfor %}
{% if tools %}{{ tools|map(attribute='function')|list|length }}{% endif %}{% filter upper %}a{% endfilter %}{% call(x) put(messages[0]) %}{{ x }}{% endcall %}
{% generation %}{{ strftime_now('%d %b %Y') }}{% endgeneration %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}{{ eos_token }}""")
seed("template", "names", b"{% for k, v in a|dictsort %}{{ k }}={{ v }}{{ ', ' if not loop.last }}{% endfor %}{{ b.c[1:] }}" + b"\0" +
     json.dumps({"a": {"y": 1, "x": "\u00e9"}, "b": {"c": [1, 2.5, None]}}).encode())
seed("template", "config", {"chat_template": "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}", "bos_token": "<s>",
                            "eos_token": {"content": "</s>", "lstrip": False}})
seed("template", "many-names", {f"{i}_token": "x" for i in range(1001)})
seed("template", "null", {"chat_template": None})
seed("template", "number", {"chat_template": 1})
seed("template", "unnamed", {"chat_template": [{"template": "x"}]})
seed("template", "no-default", {"chat_template": [{"name": "a", "template": "x"}, {"name": "b", "template": "x"}]})
seed("template", "zeros", b"{{ '%\\0' % 1 }}{{ '{:\\0}'.format(1) }}{{ '{!\\0}'.format(1) }}")
seed("template", "named", {"chat_template": [{"name": "default", "template": "d{{ eos_token }}"}, {"name": "tool_use", "template": "{{ tools }}"}]})

for name, text in {"lists": "# two ranks\nr0 0F0 0F1 0B0 0B1\nr1 1F0 1B0 1F1 1B1\n",
                   "messages": "r0 0F0 0SEND_F0 0RECV_B0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0\n",
                   "split": "r1 1F0 1I0 1W0\nr0 0F0 0I0 0W0 0REDUCE_GRAD 0WAIT_REDUCE_GRAD\n",
                   "pairs": "r0 0F0 (0F1;0B0) 0B1\n", "gathered": "r0 0UNSHARD 0F0 0B0 0RESHARD\n",
                   "csv": "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "far": "r0 0F0 9F9 1F0\n",
                   "empty": "# nothing\n", "twice": "r0 0F0 0F0 0B0\n", "other": "r0 0F0 1F0\nr1 1B0\n", "action": "r0 0X0\n", "pair": "r0 (0F0;0F1)\n", "open": "r0 (0F0\n",
                   "line": "r0 0F0 0B0\nx\n", "again": "r0 0F0 0B0\nr0 0F0\n", "gap": "r0 0F0 0B0\nr2 1F0\n", "number": "r0 9999999F0\n", "row": "0F0,x\n",
                   "order": "r0 0B0 0F0\n", "both": "r0 0F0 0B0 0I0 0W0\n", "weight": "r0 0F0 0W0 0I0\n", "no-weight": "r0 0F0 0I0\n", "no-backward": "r0 0F0\n",
                   "send": "r0 0SEND_F0 0F0 0RECV_B0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0\n", "wait": "r0 0F0 0WAIT_SEND_F0 0SEND_F0 0RECV_B0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0\n",
                   "waits": "r0 0F0 0SEND_F0 0WAIT_SEND_F0 0RECV_B0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0 1WAIT_SEND_B0\n", "nowhere": "r0 0F0 0SEND_F0 0B0\n",
                   "same-rank": "r0 0F0 0SEND_F0 1RECV_F0 1F0 1B0 0B0\n", "unsent": "r0 0F0 0RECV_B0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0\n",
                   "unread": "r0 0F0 0SEND_F0 0B0\nr1 1F0 1B0\n", "early-sum": "r0 0F0 0REDUCE_GRAD 0B0 0WAIT_REDUCE_GRAD\n", "no-wait": "r0 0F0 0B0 0REDUCE_GRAD\n",
                   "no-sum": "r0 0F0 0B0 0WAIT_REDUCE_GRAD\n", "not-held": "r0 0F0 0UNSHARD 0B0 0RESHARD\n", "held-twice": "r0 0UNSHARD 0UNSHARD 0F0 0B0 0RESHARD\n",
                   "left": "r0 0RESHARD 0F0 0B0\n", "still-held": "r0 0UNSHARD 0F0 0B0\n", "deadlock": "r0 0F0 0RECV_B0 0SEND_F0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0\n",
                   "neighbour": "r0 1F0 0F0 0B0 1B0\n", "chunks": "r0 0F0 1F0 2F0 2B0 1B0 0B0\n", "overlap": "r0 0F0 (0F1;0B0)OVERLAP_F_B 0B1\n",
                   "long": "r0 " + " ".join(f"0F{i}" for i in range(20)) + " 0B0\n", "wide": "".join(f"r{i} {i}F0\n" for i in range(20)),
                   "table": "r0 " + " ".join(f"0F{i} {i}F0" for i in range(300)) + "\n"}.items():
    seed("schedule", name, text.encode())

for name, words in {"generate": ["generate", "--prompt=a b", "--tokens=1,2,3", "--max-new-tokens=7", "--temperature=0.5", "--top-p=0.9", "--seed=5"],
                    "chat": ["chat", "--system=x y", "--template-arg=a=[1]", "--top-k", "5"],
                    "all": ["generate", "--prompt-file=-", "--chat", "--stop=a", "--stop=b", "--json", "--quiet", "--logits=x.safetensors", "--init=random:3"],
                    "plot": ["plot", "a.jsonl", "b=c.jsonl", "-o", "x.html"], "wrong": ["generate", "--promt=a", "--temperature=nan", "--tokens=1,,2"],
                    "finetune": ["train", "--data", "x.safetensors", "--steps=4", "--warmup=2", "--schedule=wsd", "--decay-steps=1", "--betas", "--beta2=1",
                                 "--eval=y", "--eval-every=2", "--log=l", "--resume=d/step-2", "--shuffle=3", "--epochs=2"],
                    "train": ["train", "--data=x.bin", "--steps=4", "--lr=1e-3", "--save=y"], "bench": ["bench", "--threads=2"],
                    "info": ["info", "--trace=t", "--json"],
                    "drawn": ["generate", "--prompt-file=x", "--temperature=1", "--top-k=3", "--min-p=0.1", "--repeat-penalty=1.1", "--print-tokens", "--model=m"],
                    "adam": ["train", "--data=x", "--steps=4", "--min-lr=1e-4", "--weight-decay=0", "--beta1=0.9", "--eps=1e-8", "--clip=1", "--momentum=0.5", "--dropout=0.1",
                             "--seed=3", "--documents", "--save=d", "--save-every=1", "--keep=2", "--overwrite", "--grads=g", "--trace=t", "--trace-steps=1:2"],
                    "measured": ["bench", "--prompt-len=5", "--decode=6", "--peak-flops=1e9", "--json", "--init=random:1"],
                    "chat-once": ["generate", "--chat", "--prompt=a", "--system=b", "--template-arg=c=d"], "nothing": [], "help": ["help", "train"], "help-all": ["help"],
                    "h": ["-h"], "man": ["--help=man"], "help-of": ["chat", "--help"], "version": ["--version"], "bash": ["--completion=bash"], "zsh": ["--completion=zsh"],
                    "fish": ["--completion=fish"], "shell": ["--completion=x"], "form": ["--help=x"]}.items():
    seed("command-line", name, "\n".join(words).encode())
for name, lines in {"lines": b"a\nb c\r\n", "gap": b"a\n\nb", "none": b"", "long": b"x" * 9000 + b"\ny"}.items():
    seed("command-line", "file-" + name, b"generate\n--prompt-file=-\0" + lines)
# What each command refuses.
for command, wrong in {"generate": ["--tokens=x", "--template-arg=x", "--template-arg=a=1\n--template-arg=a=2", "--temperature=-1", "--temperature=x", "--top-p=0", "--min-p=2",
                                    "--repeat-penalty=0", "--top-k=-1", "--top-k=x", "--seed=-1", "--stop=", "--init=x", "--init=random:x", "--threads=0", "--mesh=tp=2", "--json=1",
                                    "--prompt", "--prompt=a\n--quiet\n--quiet", "--system=a\n--prompt=b", "--template-arg=a=b\n--prompt=c", "--chat\n--tokens=1",
                                    "--prompt=a\n--json\n--print-tokens", "--prompt=a\n--top-k=3", "--prompt=a\n--model=m\n--init=random:1", "-x", "x", ""],
                       "train": ["--lr=-1", "--beta1=1", "--beta1=0.99999999999", "--eps=0", "--schedule=x", "--data=", "--steps=0", "--trace-steps=3:1", "--data=x", "--data=x\n--steps=1\n--warmup=9",
                                 *("--data=x\n--steps=2\n" + more for more in ("--grads=g\n--resume=d", "--eval-every=1", "--trace-steps=1", "--trace=t\n--trace-steps=3", "--seed=1", "--overwrite",
                                                                               "--keep=1", "--save-every=1", "--resume=d\n--model=m", "--resume=d\n--init=random:1", "--schedule=wsd\n--decay-steps=9"))],
                       "bench": ["--peak-flops=0", "--decode=x"], "plot": ["", "a", "-o"], "chat": ["--tokens=1"], "chta": [""]}.items():
    for number, words in enumerate(wrong):
        seed("command-line", f"bad-{command}-{number:02}", f"{command}\n{words}".encode())
