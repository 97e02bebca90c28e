#!/usr/bin/env python3
"""Makes test/Inputs/models/families: a tiny random model of each family, and the results it must give.

    make_families.py OUT [--converter DIR] [FAMILY...]

Needs torch, transformers, safetensors and gguf. DIR holds llama.cpp's convert_hf_to_gguf.py (PyPI's source package of llama-cpp-python has
it); with it each model is written as GGUF too, by that converter, without a vocabulary. What a test takes from here was computed by
transformers in float64 (norms, softmax and rotary tables as it has them: in float32), from weights that are exact in bfloat16, so
that both files hold the same ones. Sequences are longer than windows and original contexts; `short` holds results of a model whose
original context is longer than the sequence, `gguf` those of what a GGUF file says, where that makes a difference.

Experts' weights of some are exact in MXFP4, too: the folder `mxfp4` holds them in blocks, as the file in GGUF does.

In OUT/FAMILY: config.json as transformers writes it now, `older`/config.json as before version 5, model.safetensors, model.gguf,
expected.json (`generate`: greedy tokens by full passes, without a cache), expected.safetensors (`tokens`, `logits`, of some `loss` and `grad.NAME`).
"""
import argparse
import copy
import json
import os
import shutil
import subprocess
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

VOCABULARY = 157
SIZES = dict(vocab_size=VOCABULARY, hidden_size=36, intermediate_size=52, num_hidden_layers=3, num_attention_heads=6,
             max_position_embeddings=128, bos_token_id=0, eos_token_id=1, pad_token_id=None, initializer_range=0.02)
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
FACTORS = {"short_factor": [1.0, 1.25, 1.5], "long_factor": [1.5, 4.25, 9.5]}
GPT_OSS_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 100, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}

# Family: its class, its settings, what config.json called otherwise before version 5, which names are left out there, and the prompts' lengths.
FAMILIES = {
    "mistral": ("MistralForCausalLM", dict(SIZES, num_key_value_heads=2, head_dim=10, sliding_window=7, rope_parameters=PLAIN),
                dict(rope_theta=10000.0), ["rope_parameters"]),
    "qwen2": ("Qwen2ForCausalLM",
              dict(SIZES, num_key_value_heads=2, hidden_size=48, tie_word_embeddings=True, use_sliding_window=False,
                   rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 16}),
              dict(rope_theta=10000.0, rope_scaling={"type": "yarn", "factor": 8.0, "original_max_position_embeddings": 16}),
              ["rope_parameters", "layer_types"]),
    # The window of all layers, which the converter to GGUF leaves out.
    "qwen2-window": ("Qwen2ForCausalLM",
                     dict(SIZES, num_key_value_heads=3, use_sliding_window=True, sliding_window=9, max_window_layers=0,
                          rope_parameters=PLAIN),
                     dict(rope_theta=10000.0), ["rope_parameters", "layer_types"]),
    # Of some layers: at the end, and in turn.
    "qwen2-upper": ("Qwen2ForCausalLM",
                    dict(SIZES, num_hidden_layers=5, num_key_value_heads=2, use_sliding_window=True, sliding_window=7, max_window_layers=3,
                         rope_parameters=PLAIN),
                    dict(rope_theta=10000.0), ["rope_parameters", "layer_types"]),
    "qwen3-window": ("Qwen3ForCausalLM",
                     dict(SIZES, num_hidden_layers=5, num_key_value_heads=2, head_dim=10, use_sliding_window=True, sliding_window=9,
                          layer_types=["sliding_attention", "full_attention"] * 2 + ["sliding_attention"], rope_parameters=PLAIN),
                     dict(rope_theta=10000.0, rope_scaling=None), ["rope_parameters"]),
    "qwen3": ("Qwen3ForCausalLM", dict(SIZES, num_key_value_heads=2, head_dim=10, rope_parameters=dict(PLAIN, rope_theta=1e6)),
              dict(rope_theta=1000000.0, rope_scaling=None), ["rope_parameters", "layer_types"]),
    "phi3": ("Phi3ForCausalLM",
             dict(SIZES, num_key_value_heads=2, sliding_window=7, original_max_position_embeddings=128, rope_parameters=dict(PLAIN, partial_rotary_factor=1.0)),
             dict(rope_theta=10000.0, rope_scaling=None), ["rope_parameters"]),
    "phi4-mini": ("Phi3ForCausalLM",
                  dict(SIZES, hidden_size=48, num_key_value_heads=2, tie_word_embeddings=True, original_max_position_embeddings=32,
                       rope_parameters=dict(FACTORS, rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75)),
                  dict(rope_theta=10000.0, partial_rotary_factor=0.75, rope_scaling=dict(FACTORS, type="longrope")),
                  ["rope_parameters"]),
    "granite": ("GraniteForCausalLM",
                dict(SIZES, num_key_value_heads=2, tie_word_embeddings=True, embedding_multiplier=12.0, residual_multiplier=0.22,
                     attention_multiplier=0.3, logits_scaling=3.0, rope_parameters=PLAIN),
                dict(rope_theta=10000.0, rope_scaling=None), ["rope_parameters"]),
    "olmo2": ("Olmo2ForCausalLM", dict(SIZES, num_key_value_heads=2, rope_parameters=dict(PLAIN, rope_theta=500000.0)),
              dict(rope_theta=500000.0, rope_scaling=None), ["rope_parameters"]),
    "gpt-neox": ("GPTNeoXForCausalLM",
                 dict(SIZES, hidden_size=48, rope_parameters=dict(PLAIN, partial_rotary_factor=0.5), use_parallel_residual=True),
                 dict(rotary_emb_base=10000.0, rotary_pct=0.5, rope_scaling=None), ["rope_parameters"]),
    "gpt-neox-serial": ("GPTNeoXForCausalLM",
                        dict(SIZES, rope_parameters=dict(PLAIN, partial_rotary_factor=0.34), use_parallel_residual=False),
                        dict(rotary_emb_base=10000.0, rotary_pct=0.34, rope_scaling=None), ["rope_parameters"]),
    "smollm3": ("SmolLM3ForCausalLM",
                dict(SIZES, num_hidden_layers=5, num_key_value_heads=2, tie_word_embeddings=True, rope_parameters=PLAIN),
                dict(rope_theta=10000.0, rope_scaling=None), ["rope_parameters", "layer_types"]),
    "mixtral": ("MixtralForCausalLM",
                dict(SIZES, num_key_value_heads=2, num_local_experts=5, num_experts_per_tok=2, sliding_window=None, rope_parameters=PLAIN),
                dict(rope_theta=10000.0), ["rope_parameters"]),
    # Shares that do not add up to 1, which the converter to GGUF leaves out.
    "qwen3-moe": ("Qwen3MoeForCausalLM",
                  dict(SIZES, num_key_value_heads=2, head_dim=10, num_experts=7, num_experts_per_tok=3, moe_intermediate_size=22,
                       norm_topk_prob=False, rope_parameters=dict(PLAIN, rope_theta=1e6)),
                  dict(rope_theta=1000000.0, rope_scaling=None, num_experts=7), ["rope_parameters", "layer_types", "num_local_experts"]),
    # Layers without experts: the first one; every other one, so that an order of two comes twice and a half.
    "qwen3-moe-dense-first": ("Qwen3MoeForCausalLM",
                              dict(SIZES, num_hidden_layers=5, num_key_value_heads=2, head_dim=10, num_experts=7, num_experts_per_tok=3,
                                   moe_intermediate_size=22, norm_topk_prob=True, mlp_only_layers=[0], rope_parameters=dict(PLAIN, rope_theta=1e6)),
                              dict(rope_theta=1000000.0, rope_scaling=None, num_experts=7), ["rope_parameters", "layer_types", "num_local_experts"]),
    "qwen3-moe-in-turn": ("Qwen3MoeForCausalLM",
                          dict(SIZES, num_hidden_layers=5, num_key_value_heads=2, head_dim=10, num_experts=5, num_experts_per_tok=2,
                               moe_intermediate_size=22, norm_topk_prob=True, decoder_sparse_step=2, rope_parameters=dict(PLAIN, rope_theta=1e6)),
                          dict(rope_theta=1000000.0, rope_scaling=None, num_experts=5), ["rope_parameters", "layer_types", "num_local_experts"]),
    # Gates are clamped, sinks take much of the weight, and yarn's ramp ends between two pairs.
    "gpt-oss": ("GptOssForCausalLM",
                dict(SIZES, hidden_size=64, intermediate_size=32, num_key_value_heads=2, head_dim=12, num_local_experts=5, num_experts_per_tok=3,
                     sliding_window=7, rope_parameters=dict(GPT_OSS_YARN, rope_theta=150000.0)),
                dict(rope_theta=150000.0, rope_scaling=GPT_OSS_YARN, experts_per_token=3), ["rope_parameters", "layer_types"]),
    # The root of the width is no round number; caps are low enough to bend what they are given.
    "gemma": ("GemmaForCausalLM", dict(SIZES, hidden_size=42, num_key_value_heads=1, head_dim=10, rope_parameters=PLAIN),
              dict(rope_theta=10000.0, rope_scaling=None, hidden_act="gelu", hidden_activation=None), ["rope_parameters"]),
    "gemma2": ("Gemma2ForCausalLM",
               dict(SIZES, hidden_size=42, num_hidden_layers=5, num_key_value_heads=2, head_dim=10, sliding_window=7, query_pre_attn_scalar=13,
                    attn_logit_softcapping=2.0, final_logit_softcapping=1.5, rope_parameters=PLAIN),
               dict(rope_theta=10000.0, rope_scaling=None), ["rope_parameters", "layer_types"]),
    # A period of six and two layers more.
    "gemma3": ("Gemma3ForCausalLM",
               dict(SIZES, hidden_size=42, num_hidden_layers=8, num_key_value_heads=3, head_dim=10, sliding_window=7, query_pre_attn_scalar=10,
                    rope_parameters={"sliding_attention": dict(PLAIN, rope_theta=5000.0),
                                     "full_attention": {"rope_type": "linear", "rope_theta": 200000.0, "factor": 4.0}}),
               dict(rope_theta=200000.0, rope_local_base_freq=5000.0, rope_scaling={"rope_type": "linear", "factor": 4.0},
                    sliding_window_pattern=6), ["rope_parameters", "layer_types"]),
    # The text of a model that takes images, too.
    "gemma3-vision": ("Gemma3ForConditionalGeneration",
                      dict(text_config=dict(SIZES, hidden_size=42, num_key_value_heads=3, head_dim=10, sliding_window=7, query_pre_attn_scalar=10,
                                            layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
                           vision_config=dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=8, patch_size=4),
                           mm_tokens_per_image=4),
                      {}, []),
}
IN_BLOCKS = {"gpt-oss"}  # experts' weights as MXFP4 in the folder `mxfp4`, and in GGUF
WITH_GRADIENTS = {"gemma2", "granite", "gpt-neox", "olmo2", "phi4-mini", "qwen3-moe-in-turn"}  # of all parts that other models do not train
SHORT = {"phi4-mini"}  # two sets of frequencies
NO_GGUF = {"qwen2-window", "qwen2-upper", "qwen3-window", "qwen3-moe-dense-first", "qwen3-moe-in-turn", "gemma3-vision", "gpt-neox-serial"}
GGUF_LEAVES_OUT = {"mistral": dict(sliding_window=None), "gemma2": dict(query_pre_attn_scalar=10), "qwen3-moe": dict(norm_topk_prob=True)}  # results of the model that is left stand in the folder `gguf`


def blocks_of(weight):
    """What MXFP4 makes of weight [expert, in, out]: blocks and scales along the inputs as transformers writes them, and the numbers that they are."""
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    rows = weight.transpose(1, 2).unflatten(-1, (-1, 32))
    exponents = (rows.abs().amax(-1, keepdim=True) / 6).log2().ceil().clamp(-127, 127)
    nibbles = (rows[..., None] / 2 ** exponents[..., None] - values).abs().argmin(-1)
    blocks = (nibbles[..., 0::2] | nibbles[..., 1::2] << 4).to(torch.uint8)
    rounded = (values[nibbles] * 2**exponents).flatten(-2).transpose(1, 2)
    return blocks, (exponents[..., 0] + 127).to(torch.uint8), rounded


def make_model(name, seed, other={}):
    """A model whose every weight matters, the same numbers in bfloat16 as in float64. `other`: settings in place of the family's."""
    architecture, settings, _, _ = FAMILIES[name]
    kind = getattr(transformers, architecture)
    config = kind.config_class(**dict(settings, **other))
    config._attn_implementation = config._experts_implementation = "eager"  # which float64 goes through
    torch.manual_seed(seed)
    model = kind(config).float()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if key.endswith("norm.weight"):
                weight.copy_(1 + 0.4 * torch.randn(weight.shape))
                if name.startswith("gemma"):  # 1 less; the converter adds it in bfloat16, where both shall be exact
                    weight.copy_(weight.clamp(min=0.5).bfloat16().float() - 1)
            elif name in IN_BLOCKS and key.endswith("sinks"):
                weight.copy_(1 + torch.randn(weight.shape))
            elif name in IN_BLOCKS and weight.dim() == 3:  # gates beyond the clamp, and sums that are not much larger for it
                weight.copy_(blocks_of(torch.randn(weight.shape) * (0.7 if "gate" in key else 0.03))[2])
            elif weight.dim() == 1:
                weight.copy_(0.3 * torch.randn(weight.shape))
            elif "embed" in key:
                weight.copy_(torch.randn(weight.shape) * (0.03 if name == "granite" else 0.1 if name.startswith("gemma") else 0.6))
            else:
                weight.copy_(torch.randn(weight.shape) * 1.4 / weight.shape[-1] ** 0.5)
            weight.copy_(weight.bfloat16().float())
    return model.eval()


def logits_of(model, rows):
    with torch.no_grad():
        return model(torch.tensor(rows), use_cache=False).logits


def generate(model, prompt, count):
    ids, margin = [], float("inf")
    for _ in range(count):
        scores = logits_of(model, [prompt + ids])[0, -1]
        best = torch.topk(scores, 2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        ids.append(int(best.indices[0]))
    return {"prompt_tokens": prompt, "generated": ids, "min_margin": margin}


def by_expert(name, tensor):
    """The tensor by the checkpoint's names, which has one for each expert where the class has one for all."""
    prefix, _, kind = name.rpartition(".")
    kinds = {"gate_up_proj": ["gate_proj", "up_proj"], "down_proj": ["down_proj"]}.get(kind)
    if not kinds or not prefix.endswith(".experts"):
        return {name: tensor}
    return {f"{prefix}.{expert}.{one}.weight": piece for expert, whole in enumerate(tensor) for one, piece in zip(kinds, whole.chunk(len(kinds)))}


def gradients_of(model, rows):
    """The mean cross entropy of predicting the next token, and its gradients by the checkpoint's names."""
    tokens = torch.tensor(rows)
    logits = model(tokens, use_cache=False).logits[:, :-1]
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
    loss.backward()
    # The class calls GPT-NeoX's head otherwise than the checkpoints do.
    names = {"lm_head.weight": "embed_out.weight"} if model.config.model_type == "gpt_neox" else {}
    found = {}
    for name, weight in model.named_parameters():
        found.update({"grad." + names.get(key, key): gradient.float().contiguous() for key, gradient in by_expert(name, weight.grad).items()})
    model.zero_grad()
    return {"loss": loss.detach().float().reshape(1), **found}


def write_expected(folder, model, lengths, seq, new, with_gradients=False):
    random = torch.Generator().manual_seed(7)

    def tokens(count):
        return torch.randint(2, VOCABULARY, (count,), generator=random).tolist()

    os.makedirs(folder, exist_ok=True)
    rows = [tokens(seq), tokens(seq)]
    logits = logits_of(model, rows)
    tensors = {"tokens": torch.tensor(rows, dtype=torch.int32), "logits": logits.float().contiguous()}
    if with_gradients:
        tensors.update(gradients_of(model, rows))
    save_file(tensors, os.path.join(folder, "expected.safetensors"))
    runs = [generate(model, tokens(length), new) for length in lengths]
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump({"generate": runs}, file)
    top = float(logits.abs().max())
    return min(run["min_margin"] for run in runs) / top


def write_older_config(folder, name):
    """config.json as before transformers 5: rotary settings at the top, `torch_dtype`."""
    _, _, other, absent = FAMILIES[name]
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    for key in absent:
        config.pop(key, None)
    config["torch_dtype"] = config.pop("dtype", "bfloat16")
    config.update(other)
    os.makedirs(os.path.join(folder, "older"), exist_ok=True)
    with open(os.path.join(folder, "older", "config.json"), "w") as file:
        json.dump(config, file, indent=2)


def write_in_blocks(folder):
    """The model in `folder` again in the folder `mxfp4`, the experts' weights in blocks."""
    tensors = {}
    for key, weight in load_file(os.path.join(folder, "model.safetensors")).items():
        if weight.dim() == 3:
            blocks, scales, numbers = blocks_of(weight.float())
            assert torch.equal(numbers, weight.float()), key
            tensors.update({key + "_blocks": blocks, key + "_scales": scales})
        else:
            tensors[key] = weight
    os.makedirs(os.path.join(folder, "mxfp4"), exist_ok=True)
    save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, os.path.join(folder, "mxfp4", "model.safetensors"))
    with open(os.path.join(folder, "older", "config.json")) as file:  # as published files have it
        config = json.load(file)
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router",
                                                                                         "model.embed_tokens", "lm_head"]}
    with open(os.path.join(folder, "mxfp4", "config.json"), "w") as file:
        json.dump(config, file, indent=2)


# The converter's own but for the vocabulary, which the tiny models lack, and a setting of GPT-NeoX that it wants and transformers 5 drops.
CONVERT = """
import json
import sys
sys.path.insert(0, sys.argv[1])
import convert_hf_to_gguf as converter
class_of = converter.get_model_class
def without_vocabulary(*args, **kwargs):
    kind = class_of(*args, **kwargs)
    kind.set_vocab = lambda self: self._set_vocab_none()
    return kind
converter.get_model_class = without_vocabulary
load = converter.ModelBase.load_hparams
def with_older_settings(folder, *args, **kwargs):
    settings = load(folder, *args, **kwargs)
    older = json.loads((folder / "config.json").read_text())
    return settings | {key: older[key] for key in ("rotary_pct",) if key in older}
converter.ModelBase.load_hparams = staticmethod(with_older_settings)
sys.argv = ["convert_hf_to_gguf.py"] + sys.argv[2:]
converter.main()
"""


def convert(converter, folder):
    """model.gguf by llama.cpp's converter, from the older config.json, which all its versions read."""
    scratch = os.path.join(folder, "scratch")
    os.makedirs(scratch)
    blocks = os.path.join(folder, "mxfp4")
    shutil.copy(os.path.join(blocks if os.path.exists(blocks) else os.path.join(folder, "older"), "config.json"), scratch)
    shutil.copy(os.path.join(blocks if os.path.exists(blocks) else folder, "model.safetensors"), scratch)
    with open(os.path.join(scratch, "tokenizer.json"), "w") as file:  # of Gemma 3's table rows without a token are left out
        json.dump({"model": {"vocab": {str(i): i for i in range(VOCABULARY)}}, "added_tokens": []}, file)
    subprocess.run([sys.executable, "-c", CONVERT, converter, scratch, "--outtype", "bf16", "--outfile",
                    os.path.join(folder, "model.gguf")], check=True)
    shutil.rmtree(scratch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--converter")
    args = parser.parse_args()
    for name in args.families or FAMILIES:
        folder = os.path.join(args.out, name)
        shutil.rmtree(folder, ignore_errors=True)
        lengths = [33, 39] if name in SHORT else [8, 21]
        for seed in range(100):
            model = make_model(name, seed)
            # As saved: what later stands in config.json is what was computed.
            copy.deepcopy(model).bfloat16().save_pretrained(folder)
            margin = write_expected(folder, model.double(), lengths, 48, 24, name in WITH_GRADIENTS)
            if name in SHORT:
                margin = min(margin, write_expected(os.path.join(folder, "short"), model, [7, 8], 32, 24))
            if name in GGUF_LEAVES_OUT:
                left = make_model(name, seed, GGUF_LEAVES_OUT[name])
                margin = min(margin, write_expected(os.path.join(folder, "gguf"), left.double(), lengths, 48, 24))
            if margin > 2e-3:  # tokens must not hang on rounding
                break
        for other in ("short", "gguf"):
            if os.path.isdir(os.path.join(folder, other)):
                shutil.copy(os.path.join(folder, "config.json"), os.path.join(folder, other))
        if FAMILIES[name][2]:
            write_older_config(folder, name)
        if name in IN_BLOCKS:
            write_in_blocks(folder)
        for left_over in ("generation_config.json",):
            if os.path.exists(os.path.join(folder, left_over)):
                os.unlink(os.path.join(folder, left_over))
        if args.converter and name not in NO_GGUF:
            convert(args.converter, folder)
        print(f"{name}: seed {seed}, margin {margin:.3g} of the largest logit")


if __name__ == "__main__":
    main()
