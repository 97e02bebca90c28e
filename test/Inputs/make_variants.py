#!/usr/bin/env python3
"""Makes variants of a tiny model, each with the results it must give. Standard library only.

    make_variants.py SOURCE OUT       SOURCE: a folder of test/Inputs/models (llama or gpt2)
    make_variants.py --quantized OUT  a random llama whose rows are whole blocks of 32, with llama3 rotary scaling
    make_variants.py --kquants OUT    the same with rows of whole blocks of 256, in a mixture of K-quants that differs between layers
    make_variants.py --experts OUT    random Mixtrals of 5 experts, of which each token chooses 2, in blocks: rows of 32 (Q8_0, Q4_0) and of 256 (Q6_K)
    make_variants.py --uneven OUT     random llamas with sizes that little divides, as Hugging Face directories

Folders made in OUT: `f16`, `bf16` (Hugging Face directories), `gguf-f32`, `gguf-f16`, `gguf-bf16`, `gguf-q8_0`, `gguf-q4_1`
(model.gguf; a quantized one only where a row is whole blocks; one-dimensional tensors stay F32), and for --quantized also
`f32`, and `gptq` and `awq` (Hugging Face directories in 4 bits); for --kquants only `mixed`, and of Hugging Face `fp8`, `fp8-rows` and `gptq-128`; for --experts only `q8_0`, `q4_0` and `q6_k`, whose router stays F32, as converters leave it; for --uneven only `nine` (9 query heads on 3 KV heads, hidden 42, ffn 53, vocabulary 389) and `few` (one head, 2 layers, ffn 5,
vocabulary 7). Of gpt2 also `hub`: named as on the hub, without the prefix `transformer.`, with the mask buffers. Of llama also `older`: config.json as
before transformers 5. Beside each model stand config.json, tokenizer.json, expected.safetensors (tokens, logits) and expected.json
(generate): computed in float64 from the weights *as the variant holds them*.
"""
import json
import math
import os
import random
import shutil
import sys

import modelio
import quantized_parts
import reference
from modelio import Tensor


def permute_rows(tensor, heads, inverse=False):
    """GGUF's llama rotates adjacent pairs of rows of a head, Hugging Face's the row i with the row i + size / 2."""
    rows = reference.rows(tensor)
    size = len(rows) // heads
    half = size // 2
    order = [head * size + half * (i % 2) + i // 2 for head in range(heads) for i in range(size)]
    if inverse:
        moved = [None] * len(rows)
        for to, source in enumerate(order):
            moved[source] = rows[to]
    else:
        moved = [rows[source] for source in order]
    return Tensor(tensor.shape, [x for row in moved for x in row])


def transpose(tensor):
    return Tensor(tensor.shape[::-1], [x for column in reference.columns(tensor) for x in column])


def same(tensor):
    return tensor


def llama_names(config, tensors):
    """[(Hugging Face name, GGUF name, to GGUF, back)]"""
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]

    def rotary(count):
        return lambda t: permute_rows(t, count), lambda t: permute_rows(t, count, inverse=True)

    names = [("model.embed_tokens.weight", "token_embd.weight", same, same),
             ("model.norm.weight", "output_norm.weight", same, same)]
    if "lm_head.weight" in tensors:
        names.append(("lm_head.weight", "output.weight", same, same))
    mlp = [("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"), ("mlp.down_proj", "ffn_down")]
    if "num_local_experts" in config:
        moe = "block_sparse_moe."
        mlp = [(moe + "gate", "ffn_gate_inp"), (moe + "experts.w1", "ffn_gate_exps"), (moe + "experts.w3", "ffn_up_exps"),
               (moe + "experts.w2", "ffn_down_exps")]
    for i in range(config["num_hidden_layers"]):
        for theirs, ours, there, back in [
                ("input_layernorm", "attn_norm", same, same),
                ("self_attn.q_proj", "attn_q", *rotary(heads)), ("self_attn.k_proj", "attn_k", *rotary(kv_heads)),
                ("self_attn.v_proj", "attn_v", same, same), ("self_attn.o_proj", "attn_output", same, same),
                ("post_attention_layernorm", "ffn_norm", same, same), *((*names, same, same) for names in mlp)]:
            names.append((f"model.layers.{i}.{theirs}.weight", f"blk.{i}.{ours}.weight", there, back))
    return names


def gpt2_names(config, tensors):
    names = [("transformer.wte.weight", "token_embd.weight", same, same),
             ("transformer.wpe.weight", "position_embd.weight", same, same)]
    names += [(f"transformer.ln_f.{kind}", f"output_norm.{kind}", same, same) for kind in ("weight", "bias")]
    for i in range(config["n_layer"]):
        for theirs, ours in [("ln_1", "attn_norm"), ("attn.c_attn", "attn_qkv"), ("attn.c_proj", "attn_output"),
                             ("ln_2", "ffn_norm"), ("mlp.c_fc", "ffn_up"), ("mlp.c_proj", "ffn_down")]:
            turn = transpose if ".c_" in theirs else same  # stored input-major
            names.append((f"transformer.h.{i}.{theirs}.weight", f"blk.{i}.{ours}.weight", turn, turn))
            names.append((f"transformer.h.{i}.{theirs}.bias", f"blk.{i}.{ours}.bias", same, same))
    return names


def gguf_metadata(config, tokenizer, vocabulary):
    meta = {"general.architecture": config["model_type"], "general.alignment": 32}
    arch = config["model_type"] + "."
    if config["model_type"] == "llama":
        size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
        meta.update({
            arch + "block_count": config["num_hidden_layers"], arch + "context_length": config["max_position_embeddings"],
            arch + "embedding_length": config["hidden_size"], arch + "feed_forward_length": config["intermediate_size"],
            arch + "attention.head_count": config["num_attention_heads"],
            arch + "attention.head_count_kv": config["num_key_value_heads"],
            arch + "attention.key_length": size, arch + "attention.value_length": size,
            arch + "attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]), arch + "vocab_size": vocabulary,
            arch + "rope.dimension_count": size, arch + "rope.freq_base": float(config["rope_parameters"]["rope_theta"])})
        if "num_local_experts" in config:
            meta.update({arch + "expert_count": config["num_local_experts"], arch + "expert_used_count": config["num_experts_per_tok"]})
    else:
        meta.update({
            arch + "block_count": config["n_layer"], arch + "context_length": config["n_positions"],
            arch + "embedding_length": config["n_embd"], arch + "feed_forward_length": config["n_inner"] or 4 * config["n_embd"],
            arch + "attention.head_count": config["n_head"],
            arch + "attention.layer_norm_epsilon": float(config["layer_norm_epsilon"])})
    # Ids without a string get a made-up one and the type "unused", as in llama.cpp's converter.
    tokens, types = [f"[PAD{i}]" for i in range(vocabulary)], [5] * vocabulary
    for token, i in tokenizer["model"]["vocab"].items():
        tokens[i], types[i] = token, 1
    for token in tokenizer["added_tokens"]:
        tokens[token["id"]], types[token["id"]] = token["content"], 3
    meta.update({
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": [" ".join(m) for m in tokenizer["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": config["bos_token_id"], "tokenizer.ggml.eos_token_id": config["eos_token_id"],
        "tokenizer.ggml.add_bos_token": False})
    return meta


class Source:
    def __init__(self, config, tokenizer, tensors, tokens, prompts):
        self.config, self.tokenizer, self.tensors = config, tokenizer, tensors
        self.tokens, self.prompts = tokens, prompts  # tokens: rows for the logits; prompts: for greedy decoding

    def vocabulary(self):
        return self.config["vocab_size"]

    def write_hugging_face(self, folder, dtype, hub_names=False, config=None):
        self.begin(folder, dtype, config)
        entries, held = [], {}
        for name, tensor in self.tensors.items():
            data = modelio.encode(dtype, tensor.values)
            entries.append((name.removeprefix("transformer.") if hub_names else name, dtype, tensor.shape, data))
            held[name] = Tensor(tensor.shape, modelio.decode(dtype, data))
        if hub_names:  # buffers of the causal mask, no weights
            side = self.config["n_positions"]
            mask = bytes(column <= row for row in range(side) for column in range(side))
            for i in range(self.config["n_layer"]):
                entries.append((f"h.{i}.attn.bias", "BOOL", [1, 1, side, side], mask))
                entries.append((f"h.{i}.attn.masked_bias", "F32", [], modelio.encode("F32", [-1e4])))
        modelio.write_safetensors(os.path.join(folder, "model.safetensors"), entries)
        self.write_expected(folder, held)

    def write_quantized_parts(self, folder, method):
        entries, held, config = quantized_parts.quantize(method, self.tensors)
        self.begin(folder, config=dict(self.config, quantization_config=config))
        modelio.write_safetensors(os.path.join(folder, "model.safetensors"), entries)
        self.write_expected(folder, held)

    def write_gguf(self, folder, dtype, types=None):
        """types: of single tensors, which have it whatever the rest has."""
        names = (llama_names if self.config["model_type"] == "llama" else gpt2_names)(self.config, self.tensors)
        block = modelio.GGML[dtype][1]

        def type_of(tensor, name):
            if types and name in types:
                return types[name]
            return dtype if len(tensor.shape) > 1 and tensor.shape[-1] % block == 0 else "F32"

        entries, held = [], {}
        for theirs, ours, there, back in names:
            tensor = there(self.tensors[theirs])
            kind = type_of(tensor, ours)
            data = modelio.encode(kind, tensor.values)
            entries.append((ours, kind, tensor.shape, data))
            held[theirs] = back(Tensor(tensor.shape, modelio.decode(kind, data)))
        assert set(held) == set(self.tensors), set(held) ^ set(self.tensors)
        if dtype != "F32" and all(entry[1] == "F32" for entry in entries):
            return  # no row is whole blocks
        if self.config.get("rope_parameters", {}).get("rope_type") == "llama3":
            scaled = reference.Llama(self.config, self.tensors).frequencies
            plain_config = dict(self.config, rope_parameters={"rope_theta": self.config["rope_parameters"]["rope_theta"]})
            plain = reference.Llama(plain_config, self.tensors).frequencies
            factors = [p / s for p, s in zip(plain, scaled)]
            entries.append(("rope_freqs.weight", "F32", [len(factors)], modelio.encode("F32", factors)))
        self.begin(folder)
        metadata = gguf_metadata(self.config, self.tokenizer, self.vocabulary())
        modelio.write_gguf(os.path.join(folder, "model.gguf"), metadata, entries)
        self.write_expected(folder, held)

    def older_config(self):
        """Spelled as before transformers 5: rope_theta and torch_dtype at the top, scaling apart, nothing for the head's size."""
        config = dict(self.config)
        rope = dict(config.pop("rope_parameters"))
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
        config["torch_dtype"] = "float32"
        if config["head_dim"] * config["num_attention_heads"] == config["hidden_size"]:
            config["head_dim"] = None
        return config

    def begin(self, folder, dtype="F32", config=None):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        config = config or dict(self.config, dtype={"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[dtype])
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file, indent=1)
        with open(os.path.join(folder, "tokenizer.json"), "w") as file:
            json.dump(self.tokenizer, file)

    def write_expected(self, folder, held):
        model = reference.make_model(self.config, held)
        logits = [x for row in self.tokens for scores in reference.logits(model, row) for x in scores]
        shape = [len(self.tokens), len(self.tokens[0])]
        modelio.write_safetensors(os.path.join(folder, "expected.safetensors"), [
            ("tokens", "I32", shape, modelio.encode("I32", [t for row in self.tokens for t in row])),
            ("logits", "F32", shape + [self.vocabulary()], modelio.encode("F32", logits))])
        runs = []
        for prompt in self.prompts:
            ids, margin = reference.generate(model, prompt, 24)
            runs.append({"prompt_tokens": prompt, "generated": ids, "min_margin": margin})
        with open(os.path.join(folder, "expected.json"), "w") as file:
            json.dump({"generate": runs}, file)


def read_source(folder):
    def load(name):
        with open(os.path.join(folder, name)) as file:
            return json.load(file)

    tensors = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith("model") and name.endswith(".safetensors"):
            tensors.update(modelio.read_safetensors(os.path.join(folder, name)))
    expected = modelio.read_safetensors(os.path.join(folder, "expected.safetensors"))
    prompts = [run["prompt_tokens"] for run in load("expected.json")["generate"]]
    source = Source(load("config.json"), load("tokenizer.json"), tensors, reference.rows(expected["tokens"]), prompts)
    check_reference(source, expected["logits"].values)
    return source


def check_reference(source, expected):
    """The judge itself is judged by results from elsewhere."""
    model = reference.make_model(source.config, source.tensors)
    ours = [x for row in source.tokens for scores in reference.logits(model, row) for x in scores]
    error = max(abs(a - b) for a, b in zip(ours, expected)) / max(map(abs, expected))
    if not error < 1e-6:
        sys.exit(f"error: bad reference ({source.config['model_type']}): off by {error:.3g} of the largest logit; mend reference.py")


def make_random_llama(tokenizer, hidden=64, ffn=96, heads=8, kv_heads=2, size=16, layers=3, vocabulary=389, end=0, length=16, experts=0):
    """experts: so many in place of each MLP, the matrices of all of them in one tensor, as GGUF has them."""
    rng = random.Random(10)
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": ffn,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": size, "num_hidden_layers": layers,
        "vocab_size": vocabulary, "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": True,
        "attention_bias": False, "mlp_bias": False, "bos_token_id": 0, "eos_token_id": end,
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 32}}
    if experts:
        config.update(num_local_experts=experts, num_experts_per_tok=2)
    q, kv, ids = heads * size, kv_heads * size, min(vocabulary, 384)

    def matrix(*shape):
        return Tensor(list(shape), modelio.to_f32(rng.gauss(0, 1.5 / shape[-1] ** 0.5) for _ in range(math.prod(shape))))

    def norm():
        return Tensor([hidden], modelio.to_f32(1 + 0.2 * rng.random() for _ in range(hidden)))

    def mlp():
        if not experts:
            return [("mlp.gate_proj", matrix(ffn, hidden)), ("mlp.up_proj", matrix(ffn, hidden)), ("mlp.down_proj", matrix(hidden, ffn))]
        return [("block_sparse_moe.gate", matrix(experts, hidden)), ("block_sparse_moe.experts.w1", matrix(experts, ffn, hidden)),
                ("block_sparse_moe.experts.w3", matrix(experts, ffn, hidden)), ("block_sparse_moe.experts.w2", matrix(experts, hidden, ffn))]

    tensors = {"model.embed_tokens.weight": matrix(vocabulary, hidden), "model.norm.weight": norm()}
    for i in range(layers):
        for name, tensor in [("input_layernorm", norm()), ("post_attention_layernorm", norm()),
                             ("self_attn.q_proj", matrix(q, hidden)), ("self_attn.k_proj", matrix(kv, hidden)),
                             ("self_attn.v_proj", matrix(kv, hidden)), ("self_attn.o_proj", matrix(hidden, q)), *mlp()]:
            tensors[f"model.layers.{i}.{name}.weight"] = tensor
    tokens = [[rng.randrange(ids) for _ in range(length)] for _ in range(2)]
    prompts = [[rng.randrange(ids) for _ in range(8)] for _ in range(3)]
    return Source(config, tokenizer, tensors, tokens, prompts)


def with_tokens(tokenizer, count):
    """The first so many tokens of a tokenizer, none of them merged."""
    few = json.loads(json.dumps(tokenizer))
    few["model"]["vocab"] = {token: i for token, i in tokenizer["model"]["vocab"].items() if i < count}
    few["model"]["merges"] = []
    few["added_tokens"] = [token for token in tokenizer["added_tokens"] if token["id"] < count]
    return few


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    out = sys.argv[2]
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "models", "tiny-llama", "tokenizer.json")) as file:
        tokenizer = json.load(file)
    if sys.argv[1] == "--uneven":
        nine = make_random_llama(tokenizer, hidden=42, ffn=53, heads=9, kv_heads=3, size=6, layers=2, length=17)
        nine.write_hugging_face(os.path.join(out, "nine"), "F32")
        few = make_random_llama(with_tokens(tokenizer, 7), hidden=6, ffn=5, heads=1, kv_heads=1, size=4, layers=2, vocabulary=7,
                                end=6, length=17)
        few.write_hugging_face(os.path.join(out, "few"), "F32")
        return
    if sys.argv[1] == "--experts":
        for dtype, size in ("Q8_0", 32), ("Q4_0", 32), ("Q6_K", 256):
            wide = size == 256
            source = make_random_llama(tokenizer, hidden=256 if wide else 64, ffn=256 if wide else 96, heads=8, kv_heads=2,
                                       size=32 if wide else 16, layers=2, length=12 if wide else 40, experts=5)
            if wide:
                source.tokens, source.prompts = source.tokens[:1], source.prompts[:1]
            source.write_gguf(os.path.join(out, dtype.lower()), dtype, {f"blk.{i}.ffn_gate_inp.weight": "F32" for i in range(2)})
        return
    if sys.argv[1] == "--kquants":
        # Few tokens: these are no small matrices, and this is plain Python. The second layer has other types than the first.
        source = make_random_llama(tokenizer, hidden=256, ffn=512, heads=8, kv_heads=2, size=32, layers=2, vocabulary=389, length=12)
        source.tokens, source.prompts = source.tokens[:1], source.prompts[:1]
        kinds = ["Q6_K", "Q4_K", "Q5_K"]
        mixed = {f"blk.{layer}.{name}.weight": kinds[(number + layer * (number % 2 + 1)) % 3] for layer in range(2) for number, name in
                 enumerate(["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"])}
        source.write_gguf(os.path.join(out, "mixed"), "Q6_K", mixed)
        for method in ("fp8", "fp8-rows", "gptq-128"):
            source.write_quantized_parts(os.path.join(out, method), method)
        return
    if sys.argv[1] == "--quantized":
        source = make_random_llama(tokenizer)
        source.write_hugging_face(os.path.join(out, "f32"), "F32")
        for method in ("gptq", "awq"):
            source.write_quantized_parts(os.path.join(out, method), method)
    else:
        source = read_source(sys.argv[1])
        for dtype in ("F16", "BF16"):
            source.write_hugging_face(os.path.join(out, dtype.lower()), dtype)
    if source.config["model_type"] == "gpt2":
        source.write_hugging_face(os.path.join(out, "hub"), "F32", hub_names=True)
    else:
        source.write_hugging_face(os.path.join(out, "older"), "F32", config=source.older_config())
    for dtype in modelio.GGML:
        source.write_gguf(os.path.join(out, "gguf-" + dtype.lower()), dtype)


if __name__ == "__main__":
    main()
