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


header = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]}}
seed("safetensors", "two", json.dumps(header).encode() + bytes(range(26)))
seed("safetensors", "metadata", json.dumps({"__metadata__": {"format": "pt"}, "c": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]}}).encode())
seed("safetensors", "raw", b"!" + struct.pack("<Q", 2) + b"{}")

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
          "tokenizer__ggml__remove_extra_whitespaces": True, "tokenizer__ggml__precompiled_charsmap": [8, 0, 0, 0, 0, 4, 0, 0, 65, 1, 0, 0, 97, 0]}
for model in ("llama", "t5"):
    seed("gguf", model, gguf({}, tokenizer__ggml__model=model, **scored))
seed("gguf", "raw", b"!GGUF" + struct.pack("<I", 2) + bytes(16))

for kind in range(13):  # types that can be widened
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
    seed("text", f"case-{number:02}", bytes([number]) + pipelines["texts"][number % len(pipelines["texts"])].encode())

for number, case in enumerate(json.loads((tests / "tokenizer_sentencepiece.json").read_text())):
    data = base64.b64decode(case["model"])
    cut = data.index(b"\x12", 600)
    seed("sentencepiece", f"small-{number}", b"\n\x09\n\x05<unk>\x18\x02\n\x0a\n\x01a\x15\x00\x00\x80\xbf\x18\x01\x12\x02\x18\x02\0{}")
    seed("sentencepiece", f"begin-{number}", data[:cut])
seed("sentencepiece", "settings", b"\n\x09\n\x05<unk>\x18\x02\n\x05\n\x03<s>\n\x0a\n\x01a\x15\x00\x00\x80\xbf\x18\x01\x12\x02\x18\x02\0" +
     json.dumps({"add_bos_token": False, "legacy": False, "added_tokens_decoder": {"9": {"content": "<m>", "rstrip": True}}}).encode())

for path in sorted((tests / "models").glob("*/config.json")):
    seed("config", path.parent.name, path.read_bytes())
seed("config", "index", b'{"eos_token_id": [1, 2]}\0{"weight_map": {"a": "x/model.safetensors", "b": "y.safetensors"}}')

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
seed("template", "named", {"chat_template": [{"name": "default", "template": "d{{ eos_token }}"}, {"name": "tool_use", "template": "{{ tools }}"}]})

for name, text in {"lists": "# two ranks\nr0 0F0 0F1 0B0 0B1\nr1 1F0 1B0 1F1 1B1\n",
                   "messages": "r0 0F0 0SEND_F0 0RECV_B0 0B0\nr1 1RECV_F0 1F0 1B0 1SEND_B0\n",
                   "split": "r1 1F0 1I0 1W0\nr0 0F0 0I0 0W0 0REDUCE_GRAD 0WAIT_REDUCE_GRAD\n",
                   "pairs": "r0 0F0 (0F1;0B0) 0B1\n", "gathered": "r0 0UNSHARD 0F0 0B0 0RESHARD\n",
                   "csv": "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "far": "r0 0F0 9F9 1F0\n"}.items():
    seed("schedule", name, text.encode())

for name, words in {"generate": ["generate", "--prompt=a b", "--tokens=1,2,3", "--max-new-tokens=7", "--temperature=0.5", "--top-p=0.9", "--seed=5"],
                    "chat": ["chat", "--system=x y", "--template-arg=a=[1]", "--top-k", "5"],
                    "all": ["generate", "--prompt-file=-", "--chat", "--stop=a", "--stop=b", "--json", "--quiet", "--logits=x.safetensors", "--init=random:3"],
                    "plot": ["plot", "a.jsonl", "b=c.jsonl", "-o", "x.html"], "wrong": ["generate", "--promt=a", "--temperature=nan", "--tokens=1,,2"],
                    "finetune": ["train", "--data", "x.safetensors", "--steps=4", "--warmup=2", "--schedule=wsd", "--decay-steps=1", "--betas", "--beta2=1",
                                 "--eval=y", "--eval-every=2", "--log=l", "--resume=d/step-2", "--shuffle=3", "--epochs=2"],
                    "train": ["train", "--data=x.bin", "--steps=4", "--lr=1e-3", "--save=y"], "bench": ["bench", "--threads=2"],
                    "info": ["info"]}.items():
    seed("command-line", name, "\n".join(words).encode())
