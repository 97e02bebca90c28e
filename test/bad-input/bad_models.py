"""Models that are damaged one way each: (name, how, who reads it, the line it gives). Imported by check_bad_inputs.py.

`how` gets the folder of a good copy of the model that make_bad_models.py makes, and changes it; of a GGUF file it gets the bytes and returns others. Who reads:
`compile` (llm-compile), `info` (model-info --check), `chat` (OUT generate --chat)."""
import json
import os
import struct


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode() if isinstance(data, str) else json.dumps(data).encode())


def weights(change, data=b""):
    """Changes the header of model.safetensors, a dictionary, and adds to its data."""
    def how(folder):
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            good = file.read()
        length, = struct.unpack_from("<Q", good)
        header = json.loads(good[8:8 + length])
        text = change(header) or json.dumps(header)
        text = text if isinstance(text, bytes) else text.encode()
        write(folder, "model.safetensors", struct.pack("<Q", len(text)) + text + good[8 + length:] + data)
    return how


def entry(**change):
    def how(header):
        header["model.norm.weight"].update(change)
        for key in [key for key, value in change.items() if value is None]:
            del header["model.norm.weight"][key]
    return weights(how)


def config(**change):
    def how(folder):
        with open(os.path.join(folder, "config.json")) as file:
            write(folder, "config.json", {**json.load(file), **change})
    return how


def config_text(old, new):
    """A change that json.dumps would not write."""
    def how(folder):
        with open(os.path.join(folder, "config.json")) as file:
            write(folder, "config.json", json.dumps(json.load(file)).encode().replace(old, new))
    return how


def file(name, data):
    return lambda folder: write(folder, name, data)


def instead(name, make):
    """Something that is no regular file in place of one."""
    def how(folder):
        path = os.path.join(folder, name)
        os.path.exists(path) and os.unlink(path)
        make(path)
    return how


def index(data):
    def how(folder):
        os.unlink(os.path.join(folder, "model.safetensors"))
        os.mkdir(os.path.join(folder, "shard"))
        write(folder, "model.safetensors.index.json", data)
    return how


def index_folder(folder):
    os.unlink(os.path.join(folder, "model.safetensors"))
    os.mkdir(os.path.join(folder, "model.safetensors.index.json"))


def tokenizer(change):
    def how(folder):
        with open(os.path.join(folder, "tokenizer.json")) as file:
            whole = json.load(file)
        change(whole)
        write(folder, "tokenizer.json", whole)
    return how


def without(object_, key):
    del object_[key]


def replaced(old, new):
    return lambda data: data.replace(old, new, 1)


def key(name):
    return struct.pack("<Q", len(name)) + name.encode()


WEIGHTS = [
    ("metadata that is a number", weights(lambda h: h.update({"__metadata__": 5})), "both",
     "cannot read model (.../model.safetensors): the header is not a table of tensors; is the file whole? fetch it again"),
    ("metadata of lists", weights(lambda h: h.update({"__metadata__": {"a": [1]}})), "both",
     "cannot read model (.../model.safetensors): __metadata__ in the header holds more than texts; is the file whole? fetch it again"),
    ("a header of no bytes", lambda folder: write(folder, "model.safetensors", bytes(8)), "both",
     "cannot read model (.../model.safetensors): not valid JSON: parse error at line 1, column 1: syntax error while parsing value - unexpected end of input; is the file whole?"),
    ("a header that is a text", weights(lambda h: b'"model"'), "both",
     "cannot read model (.../model.safetensors): the header is not a table of tensors; is the file whole? fetch it again"),
    ("a header with a byte of zero", weights(lambda h: json.dumps(h).encode().replace(b"norm", b"no\0m")), "both",
     'cannot read model (.../model.safetensors): not valid JSON: parse error at line 1, column 106: syntax error while parsing object key - invalid string: control character U+0000 (NUL) must be escaped to \\u0000; is the file whole?'),
    ("no type", entry(dtype=None), "both",
     "cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry lacks dtype, shape or data_offsets; is the file whole? fetch it again"),
    ("no shape", entry(shape=None), "both",
     "cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry lacks dtype, shape or data_offsets; is the file whole? fetch it again"),
    ("no place", entry(data_offsets=None), "both",
     "cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry lacks dtype, shape or data_offsets; is the file whole? fetch it again"),
    ("a place below zero", entry(data_offsets=[-128, 0]), "both",
     'cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry is damaged at "data_offsets"; is the file whole? fetch it again'),
    ("a place between bytes", entry(data_offsets=[0.5, 128.5]), "both",
     'cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry is damaged at "data_offsets"; is the file whole? fetch it again'),
    ("a place in words", entry(data_offsets="0-128"), "both",
     'cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry is damaged at "data_offsets"; is the file whole? fetch it again'),
    ("a shape in words", entry(shape="32"), "both",
     'cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry is damaged at "shape"; is the file whole? fetch it again'),
    ("a shape of a hundred thousand ones", entry(shape=[1] * 100000), "both",
     'cannot read model (.../model.safetensors, tensor model.norm.weight): its header entry is damaged at "shape"; is the file whole? fetch it again'),
    ("a type in lower case", entry(dtype="f32"), "both",
     "cannot read model (.../model.safetensors, tensor model.norm.weight): its type f32 is not supported; convert it to F32, F16 or BF16"),
    ("a type that holds eight bits", entry(dtype="F8_E5M2"), "both",
     "cannot read model (.../model.safetensors, tensor model.norm.weight): its type F8_E5M2 is not supported; convert it to F32, F16 or BF16"),
    ("a gap", weights(lambda h: h["model.norm.weight"].update(data_offsets=[h["model.norm.weight"]["data_offsets"][0], h["model.norm.weight"]["data_offsets"][1] - 4], shape=[31])), "both",
     "cannot read model (.../model.safetensors): the tensors cover 99580 of the 99584 bytes of data; is the file whole? fetch it again"),
    ("a name without letters", weights(lambda h: h.update({"": h.pop("model.norm.weight")})), "compile",
     "cannot use weights (..., tensor model.norm.weight): it is missing, but .../config.json calls for it; download the model again, or correct the settings"),
    ("a name that ends the line", weights(lambda h: h.update({"a\nerror: b\x1b[2J": h.pop("model.norm.weight")})), "compile",
     "cannot use weights (..., tensor model.norm.weight): it is missing, but .../config.json calls for it; download the model again, or correct the settings"),
    ("a name of a million letters", weights(lambda h: h.update({"x" * 10**6: h.pop("model.norm.weight")})), "compile",
     "cannot use weights (..., tensor model.norm.weight): it is missing, but .../config.json calls for it; download the model again, or correct the settings"),
    ("weights that are a pipe", instead("model.safetensors", os.mkfifo), "both",
     "cannot read model (.../model.safetensors): not a regular file; give a Hugging Face directory or a .gguf file"),
]
# Only who wants the weights fails.
OTHER_FORMATS = [
    (f"weights in {name} alone", lambda folder, name=name: os.rename(os.path.join(folder, "model.safetensors"), os.path.join(folder, name)), "both", None)
    for name in ("pytorch_model.bin", "pytorch_model-00001-of-00002.bin", "consolidated.00.pth", "tf_model.h5", "flax_model.msgpack", "consolidated.safetensors")]
OTHER_FORMATS.append(("weights of PyTorch beside ours", file("pytorch_model.bin", b"pickle"), "both", None))
INDEX = [
    ("an index that is a number", index(5), "both",
     'cannot read model (.../model.safetensors.index.json): it has no "weight_map"; is the file whole? fetch it again'),
    ("an index whose shard is a folder", index({"weight_map": {"model.norm.weight": "shard"}}), "both",
     "cannot read model (.../shard): not a regular file; give a Hugging Face directory or a .gguf file"),
    ("an index whose shard has no name", index({"weight_map": {"model.norm.weight": ""}}), "both",
     'cannot read model (.../model.safetensors.index.json): tensor model.norm.weight is said to be in "", which is not the name of a file beside the index, or below it; is the file whole? fetch it again'),
    ("an index whose shard has a zero in its name", index({"weight_map": {"model.norm.weight": "a\0b"}}), "both",
     'cannot read model (.../model.safetensors.index.json): tensor model.norm.weight is said to be in "a\\x00b", which is not the name of a file beside the index, or below it; is the file whole? fetch it again'),
    ("an index of lists", index({"weight_map": {"model.norm.weight": ["a"]}}), "both",
     "cannot read model (.../model.safetensors.index.json): the file of tensor model.norm.weight is not a name; is the file whole? fetch it again"),
    ("an index that names nothing", index({"weight_map": {}}), "both",
     'cannot read model (.../model.safetensors.index.json): its "weight_map" names no tensor; is the file whole? fetch it again'),
    ("an index that is a folder", index_folder, "both",
     "cannot read model (.../model.safetensors.index.json): not a regular file; give a Hugging Face directory or a .gguf file"),
]
def gguf_folder(folder):
    os.unlink(os.path.join(folder, "config.json"))
    write(folder, "model-Q8_0.gguf", b"GGUF")
    write(folder, "model-Q4_0.gguf", b"GGUF")


CONFIG = [
    ("a folder of GGUF files", gguf_folder, "both",
     "cannot read model (...): there is no config.json in this directory, but model-Q4_0.gguf; name that file"),
    ("settings behind a zero", config_text(b"{", b"{\0"), "both",
     "cannot read JSON (.../config.json): not valid JSON: parse error at line 1, column 2: syntax error while parsing object key - unexpected end of input; is the file whole?"),
    ("settings in UTF-16", lambda folder: write(folder, "config.json", '{"hidden_size": 32}'.encode("utf-16")), "both",
     "cannot read JSON (.../config.json): not valid JSON: parse error at line 1, column 1: syntax error while parsing value - invalid literal; is the file whole?"),
    ("settings with a comma too many", config_text(b"}}", b"},}"), "both",
     "cannot read JSON (.../config.json): not valid JSON: parse error at line 1, column 428: syntax error while parsing object key - unexpected '}'; is the file whole?"),
    ("settings with a comment", config_text(b"{", b"{ // sizes\n"), "both",
     "cannot read JSON (.../config.json): not valid JSON: parse error at line 1, column 3: syntax error while parsing object key - invalid literal; is the file whole?"),
    ("settings of five million lists", config_text(b"{", b'{"lists": [' + b"[]," * 5_000_000 + b"[]],"), "both",
     "cannot read JSON (.../config.json): has more than 4194304 values"),
    ("settings that are a folder", instead("config.json", os.mkdir), "both",
     "cannot read model (.../config.json): not a regular file; give a Hugging Face directory or a .gguf file"),
    ("settings that are a pipe", instead("config.json", os.mkfifo), "both",
     "cannot read model (.../config.json): not a regular file; give a Hugging Face directory or a .gguf file"),
    ("settings that are a link to themselves", instead("config.json", lambda path: os.symlink("config.json", path)), "both",
     "cannot read model (.../config.json): Too many levels of symbolic links; check the path"),
    ("a number that is none", config_text(b'"rms_norm_eps": 1e-05', b'"rms_norm_eps": NaN'), "both",
     "cannot read JSON (.../config.json): not valid JSON: parse error at line 1, column 265: syntax error while parsing value - invalid literal; is the file whole?"),
    ("a number beyond all", config_text(b'"rms_norm_eps": 1e-05', b'"rms_norm_eps": 1e999'), "both",
     "cannot read JSON (.../config.json): not valid JSON: number overflow parsing '1e999'; is the file whole?"),
    ("a size of 400 digits", config_text(b'"hidden_size": 32', b'"hidden_size": 1' + b"0" * 400), "both",
     "cannot read JSON (.../config.json): not valid JSON: number overflow parsing '1...; is the file whole?"),
    ("a size beyond 64 bits", config(num_hidden_layers=2**64), "compile",
     "cannot read model (.../config.json, num_hidden_layers): is 1.8446744073709552e+19, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("layers without end", config(num_hidden_layers=2**62), "compile",
     "cannot read model (.../config.json, num_hidden_layers): is 4611686018427387904, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("a million layers", lambda folder: (config(num_hidden_layers=10**6)(folder), os.unlink(os.path.join(folder, "model.safetensors"))), "compile",
     "unsupported setting (.../config.json): it has 1000000 layers; implemented: 65536 at most"),
    ("a truth for a size", config(num_attention_heads=True), "compile",
     "cannot read model (.../config.json, num_attention_heads): is true, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("a list for a size", config(vocab_size=[389]), "compile",
     "cannot read model (.../config.json, vocab_size): is [389], must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("heads of no size", config(head_dim=0), "compile",
     "cannot read model (.../config.json, head_dim): is 0, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("a small number that vanishes", config(rms_norm_eps=1e-60), "compile",
     "cannot read model (.../config.json, rms_norm_eps): is 1e-60, must be a positive number; correct the setting, or take the files of the model afresh"),
    ("a base below zero", config(rope_parameters={"rope_type": "default", "rope_theta": -1e4}), "compile",
     "cannot read model (.../config.json, rope_parameters.rope_theta): is -10000.0, must be a positive number; correct the setting, or take the files of the model afresh"),
    ("a base that is too large for float32", config(rope_parameters={"rope_type": "default", "rope_theta": 1e39}), "compile",
     "cannot read model (.../config.json, rope_parameters.rope_theta): is 1e+39, must be a positive number; correct the setting, or take the files of the model afresh"),
    ("a factor of no number", config(rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": "two"}), "compile",
     'cannot read model (.../config.json, rope_parameters.factor): is the string "two", must be a positive number; correct the setting, or take the files of the model afresh'),
    ("a stretch of yarn without a context", config(rope_parameters={"rope_type": "yarn", "rope_theta": 1e4, "factor": 0}), "compile",
     "cannot read model (.../config.json, rope_parameters.factor): is 0, must be a positive number; correct the setting, or take the files of the model afresh"),
    ("positions beyond 64 bits", config(max_position_embeddings=2**63), "compile",
     "cannot read model (.../config.json, max_position_embeddings): is 9223372036854775808, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("an architecture that ends the line", config(architectures=["A\nerror: B"]), "compile",
     'unsupported architecture (.../config.json): "A\\x0Aerror: B" is not implemented; implemented: ...'),
    ("two architectures", config(architectures=["LlamaForCausalLM", "GPT2LMHeadModel"]), "compile",
     "cannot read model (.../config.json, architectures): must be a list with one string; take the files of the model afresh"),
    ("an activation that is a number", config(hidden_act=3), "compile",
     "cannot read model (.../config.json, hidden_act): is 3, must be a string; correct the setting, or take the files of the model afresh"),
    ("an end token far away", config(eos_token_id=2**40), "both",
     "cannot read model (.../config.json, eos_token_id): the end token is not a token id or a list of them; correct that file"),
    ("end tokens that are none", config(eos_token_id=[0, None]), "both",
     "cannot read model (.../config.json, eos_token_id): the end token is not a token id or a list of them; correct that file"),
    ("an end token behind the last", config(eos_token_id=[0, 389]), "compile",
     None),
    ("an end token that is the last", config(eos_token_id=388), "compile", None),
    ("settings of generation with an end token behind the last", file("generation_config.json", {"eos_token_id": 50256}), "compile", None),
    ("a head that is nowhere", config(tie_word_embeddings=False), "compile",
     "cannot use weights (..., tensor lm_head.weight): it is missing, and tie_word_embeddings in config.json is false or left out, so the embedding is not in its place; fetch all files of the model, or set tie_word_embeddings to true if it was trained so"),
    ("settings of generation that end early", file("generation_config.json", b'{"eos_token_id": 2'), "both",
     "cannot read JSON (.../generation_config.json): not valid JSON: parse error at line 1, column 19: syntax error while parsing object - unexpected end of input; is the file whole?"),
    ("settings of generation of no bytes", file("generation_config.json", b""), "both",
     "cannot read JSON (.../generation_config.json): not valid JSON: parse error at line 1, column 1: syntax error while parsing value - unexpected end of input; is the file whole?"),
    ("settings of generation that say one thing twice", file("generation_config.json", b'{"eos_token_id": 2, "eos_token_id": 3}'), "both",
     'cannot read JSON (.../generation_config.json): the name "eos_token_id" occurs twice in one object'),
    ("settings of generation that are a list", file("generation_config.json", b"[]"), "both",
     "cannot read model (.../generation_config.json): must hold a JSON object; take the files of the model afresh"),
    ("settings of generation with an end token in words", file("generation_config.json", {"eos_token_id": "</s>"}), "both",
     "cannot read model (.../generation_config.json, eos_token_id): the end token is not a token id or a list of them; correct that file"),
    ("settings of generation that are a folder", instead("generation_config.json", os.mkdir), "both",
     "cannot read model (.../generation_config.json): not a regular file; give a Hugging Face directory or a .gguf file"),
]
TOKENIZERS = [
    ("a tokenizer of no bytes", file("tokenizer.json", b""), "info",
     "cannot use the tokenizer (.../tokenizer.json): not valid JSON: parse error at line 1, column 1: syntax error while parsing value - unexpected end of input; is the file whole?"),
    ("a pointer in the place of a tokenizer", file("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 99\n"), "info",
     "cannot read model (.../tokenizer.json): a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"),
    ("a tokenizer that is a list", file("tokenizer.json", b"[]"), "info",
     'cannot use the tokenizer (.../tokenizer.json): its "model" is damaged; is the file whole?'),
    ("a tokenizer that is a folder", instead("tokenizer.json", os.mkdir), "info",
     "cannot read model (.../tokenizer.json): not a regular file; give a Hugging Face directory or a .gguf file"),
    ("a vocabulary of nine million tokens", lambda folder: write(folder, "tokenizer.json", b'{"model": {"type": "BPE", "vocab": {' + b'"a":0,' * 9_000_000 + b'"b":1}, "merges": []}}'), "info",
     "cannot use the tokenizer (.../tokenizer.json): one of its tables has more than 8388608 texts; is the file whole?"),
    ("pieces of nothing, five million", lambda folder: (os.unlink(os.path.join(folder, "tokenizer.json")), write(folder, "tokenizer.model", b"\x0a\x00" * 5_000_000)), "info",
     "cannot use the tokenizer (.../tokenizer.model): it has more than 4194304 pieces; is the file whole?"),
    ("a vocabulary that is a list", tokenizer(lambda t: t["model"].update(vocab=["a"])), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "vocab" is missing or damaged; is the file whole?'),
    ("an id below zero", tokenizer(lambda t: t["model"]["vocab"].update(a=-1)), "info",
     'cannot use the tokenizer (.../tokenizer.json): the id of token "a" is missing or damaged; is the file whole?'),
    ("an id between two", tokenizer(lambda t: t["model"]["vocab"].update(a=1.5)), "info",
     'cannot use the tokenizer (.../tokenizer.json): the id of token "a" is missing or damaged; is the file whole?'),
    ("an id in words", tokenizer(lambda t: t["model"]["vocab"].update(a="1")), "info",
     'cannot use the tokenizer (.../tokenizer.json): the id of token "a" is missing or damaged; is the file whole?'),
    ("merges that are numbers", tokenizer(lambda t: t["model"].update(merges=[1])), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "merges" is missing or damaged; is the file whole?'),
    ("a merge of three", tokenizer(lambda t: t["model"].update(merges=[["a", "b", "c"]])), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "merges" is missing or damaged; is the file whole?'),
    ("an added token without a text", tokenizer(lambda t: without(t["added_tokens"][0], "content")), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "added_tokens" is missing or damaged; is the file whole?'),
    ("an added token without an id", tokenizer(lambda t: without(t["added_tokens"][0], "id")), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "added_tokens" is missing or damaged; is the file whole?'),
    ("an added token below zero", tokenizer(lambda t: t["added_tokens"][0].update(id=-1)), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "added_tokens" is missing or damaged; is the file whole?'),
    ("an added token of no letters", tokenizer(lambda t: t["added_tokens"][0].update(content="")), "info",
     'cannot use the tokenizer (.../tokenizer.json): an entry of "added_tokens" is missing or damaged; is the file whole?'),
    ("a model without a type that is there", tokenizer(lambda t: t["model"].update(type="WordPiece")), "info",
     "cannot use the tokenizer (.../tokenizer.json): the tokenizer model WordPiece is not implemented; give prompts as token ids with --tokens"),
    ("a post-processor that names a stranger", tokenizer(lambda t: t.update(post_processor={
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<stranger>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {}})), "info",
     'cannot use the tokenizer (.../tokenizer.json): the token "<stranger>" of the post_processor TemplateProcessing is missing or damaged; is the file whole?'),
    ("a post-processor that says one thing a thousand times", tokenizer(lambda t: t.update(post_processor={
        "type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "a", "type_id": 0}}] * 1000 + [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"a": {"id": "a", "ids": [0] * 100000, "tokens": ["a"]}}})), "info",
     "cannot use the tokenizer (.../tokenizer.json): its post_processor puts more than 1024 tokens around a text; is the file whole?"),
    ("steps in steps without end", tokenizer(lambda t: t.update(normalizer=nested_normalizer(40))), "info",
     "cannot use the tokenizer (.../tokenizer.json): nested deeper than 64 levels"),
    ("a tokenizer of texts that are none", lambda folder: write(folder, "tokenizer.json", b'{"model": {"type": "BPE", "vocab": {"\xff": 0}, "merges": []}}'), "info",
     "cannot use the tokenizer (.../tokenizer.json): not valid JSON: parse error at line 1, column 38: syntax error while parsing object key - invalid string: ill-formed UTF-8 byte; is the file whole?"),
]


def nested_normalizer(depth):
    return {"type": "Sequence", "normalizers": [nested_normalizer(depth - 1)]} if depth else {"type": "NFC"}


def template(text):
    return file("chat_template.jinja", text)


DO_WITHOUT = "correct the template, or give the whole prompt to generate with --prompt=, without --chat"

TEMPLATES = [
    ("a block that does not end", template("{% for m in messages %}{{ m.content }}"), "chat",
     "cannot read the template (.../chat_template.jinja, line 1): the template ends within a block: endfor is missing; " + DO_WITHOUT),
    ("an end without a block", template("{% endfor %}"), "chat",
     "cannot read the template (.../chat_template.jinja, line 1): the block 'endfor' is unknown; " + DO_WITHOUT),
    ("a bracket that does not end", template("{{ messages[0"), "chat",
     "cannot read the template (.../chat_template.jinja, line 1): a tag has no end: }} is missing; " + DO_WITHOUT),
    ("a filter that is not there", template("{{ messages|frobnicate }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): the filter 'frobnicate' is not supported; docs/ChatTemplates.md lists those that are"),
    ("a test that is not there", template("{{ messages is frobnicated }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): the test 'frobnicated' is not supported; docs/ChatTemplates.md lists those that are"),
    ("a word that is not there", template("{% frobnicate %}"), "chat",
     "cannot read the template (.../chat_template.jinja, line 1): the block 'frobnicate' is unknown; " + DO_WITHOUT),
    ("a macro without end", template("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): macros and expressions nest deeper than 1000 levels; does a macro call itself without an end?"),
    ("loops without end", template("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): it takes more than 50000000 steps; is there a loop without an end in it?"),
    ("a text without end", template("{% for a in range(9999) %}{{ 'x' * 9999 }}{% endfor %}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): it prints more than 16777216 bytes; " + DO_WITHOUT),
    ("a value without end", template("{{ 'x' * 9223372036854775807 }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): its values take more than 268435456 bytes; " + DO_WITHOUT),
    ("a division by nothing", template("{{ 1 // 0 }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): a division by zero; " + DO_WITHOUT),
    ("what is not defined", template("{{ messages[0].nothing.more }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): a dictionary has no 'nothing'; give it, or test it with 'is defined'"),
    ("a template that refuses", template("{{ raise_exception('only one\nat a time') }}"), "chat",
     'cannot render the template (.../chat_template.jinja, line 1): the template itself says: only one\\x0Aat a time; change the messages or the arguments'),
    ("a template that is too long", template("x" * 300000), "chat",
     "cannot read the template (.../chat_template.jinja): it is larger than 256 KiB; " + DO_WITHOUT),
    ("a template that is no text", template(b"{{ '\xff\xfe' }}\x80"), "chat",
     "cannot read the template (.../chat_template.jinja): it is not valid UTF-8; " + DO_WITHOUT),
    ("a template of zeros", template(bytes(100)), "chat",
     "cannot generate (prompt 1): 100 prompt tokens and 1 new ones do not fit the longest context of 32; shorten the prompt, or compile with a larger --max-seq-len"),
    ("a template that imports", template("{% include '/etc/passwd' %}"), "chat",
     "cannot read the template (.../chat_template.jinja, line 1): 'include' is not supported in chat templates; write it without"),
    ("a template that looks inside", template("{{ ''.__class__.__mro__ }}"), "chat",
     "cannot render the template (.../chat_template.jinja, line 1): text has no '__class__'; give it, or test it with 'is defined'"),
    ("a template that is a number", file("tokenizer_config.json", {"chat_template": 5}), "chat",
     "cannot read the chat template (.../tokenizer_config.json, chat_template): it is neither a text nor a list of named ones; correct that file"),
    ("templates without names", file("tokenizer_config.json", {"chat_template": [{"template": "x"}]}), "chat",
     "cannot read the chat template (.../tokenizer_config.json, chat_template): it is neither a text nor a list of named ones; correct that file"),
    ("templates of which none is meant", file("tokenizer_config.json", {"chat_template": [{"name": n, "template": n} for n in ("a", "b")]}), "chat",
     "cannot read the chat template (.../tokenizer_config.json, chat_template): none of its templates is called default; choose one of: a, b"),
    ("no template", lambda folder: None, "chat",
     "cannot read the chat template (...): the model has no chat_template.jinja, and its tokenizer_config.json no chat_template; give the whole prompt to generate with --prompt=, without --chat"),
    ("settings of a tokenizer that end early", file("tokenizer_config.json", b'{"chat_template": "'), "chat",
     "cannot read JSON (.../tokenizer_config.json): not valid JSON: parse error at line 1, column 20: syntax error while parsing value - invalid string: missing closing quote; is the file whole?"),
]
# The architecture's key, and others of the good file's metadata.
GGUF = [
    ("no bytes behind the magic", lambda data: data[:4], "both",
     "cannot read model (...gguf, the header): the file ends inside it; is the file whole? fetch it again"),
    ("a key without letters", replaced(key("general.architecture"), key("")), "compile",
     "cannot read model (...gguf, general.architecture): is missing; correct the setting, or take the files of the model afresh"),
    ("a key twice", replaced(key("llama.rope.freq_base"), key("llama.context_length")), "both",
     "cannot read model (...gguf, metadata llama.context_length): the key is there twice or too long; is the file whole? fetch it again"),
    ("a count of layers in words", replaced(key("llama.block_count") + struct.pack("<II", 4, 2), key("llama.block_count") + struct.pack("<I", 8) + key("2")), "compile",
     'cannot read model (...gguf, llama.block_count): is the string "2", must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh'),
    ("a count of layers below zero", replaced(key("llama.block_count") + struct.pack("<II", 4, 2), key("llama.block_count") + struct.pack("<Ii", 5, -2)), "compile",
     "cannot read model (...gguf, llama.block_count): is -2, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("a count of layers that is a truth of two", replaced(key("llama.block_count") + struct.pack("<II", 4, 2), key("llama.block_count") + struct.pack("<IB", 7, 2)), "both",
     "cannot read model (...gguf, metadata llama.block_count): its value is damaged or the file ends inside it; is the file whole? fetch it again"),
    ("heads of each layer of too few layers", replaced(key("llama.attention.head_count") + struct.pack("<II", 4, 4), key("llama.attention.head_count") + struct.pack("<IIQi", 9, 5, 1, 4)), "compile",
     "cannot read model (...gguf, llama.attention.head_count): is a list, must be an integer from 1 to 1073741824; correct the setting, or take the files of the model afresh"),
    ("an architecture that is no text", replaced(key("llama"), struct.pack("<Q", 5) + b"ll\xff\x00\n"), "compile",
     'unsupported architecture (...gguf): "ll\\xFF\\x00\\x0A" is not implemented; implemented: ...'),
    ("a tensor's name that is no text", replaced(b"output_norm.weight", b"output_norm.\xff\n\x1b[1m"), "compile",
     "cannot use weights (...gguf, tensor output_norm.weight): it is missing, but its metadata calls for it; download the model again, or correct the settings"),
    ("a tensor's name without end", replaced(key("output_norm.weight"), struct.pack("<Q", 2**63) + b"output_norm.weight"), "both",
     "cannot read model (...gguf, the table of tensors): the file ends inside it; is the file whole? fetch it again"),
    ("an array of arrays", replaced(key("tokenizer.ggml.tokens") + struct.pack("<II", 9, 8), key("tokenizer.ggml.tokens") + struct.pack("<II", 9, 9)), "both",
     "cannot read model (...gguf, metadata tokenizer.ggml.tokens): an array of elements of type 9 is not supported; is the file whole? fetch it again"),
    ("an array of a type that is none", replaced(key("tokenizer.ggml.tokens") + struct.pack("<II", 9, 8), key("tokenizer.ggml.tokens") + struct.pack("<II", 9, 99)), "both",
     "cannot read model (...gguf, metadata tokenizer.ggml.tokens): an array of elements of type 99 is not supported; is the file whole? fetch it again"),
    ("tokens that are numbers", replaced(key("tokenizer.ggml.tokens") + struct.pack("<II", 9, 8), key("tokenizer.ggml.tokens") + struct.pack("<II", 9, 10)), "both",
     "cannot read model (...gguf, the metadata): the file ends inside it; is the file whole? fetch it again"),
]
FOLDERS = WEIGHTS + OTHER_FORMATS + INDEX + CONFIG + TOKENIZERS + TEMPLATES
