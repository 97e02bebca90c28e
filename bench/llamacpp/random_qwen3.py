"""Writes a GGUF file of the architecture of Qwen3 with made-up weights in Q8_0: with experts, or a dense model that reads as many
bytes for a token. It has no tokenizer.

    python bench/llamacpp/random_qwen3.py OUT.gguf experts|dense

12 layers, hidden 1024, 16 heads and 4 of keys x 64; experts: 64 of 384, 4 used; dense: 1536. Needs the package gguf (PyPI) and numpy."""
import sys

import gguf
import numpy as np

LAYERS, HIDDEN, HEADS, KEYS, HEAD, VOCABULARY = 12, 1024, 16, 4, 64, 32000
EXPERTS, USED, FFN = 64, 4, 384


def main(target, kind):
    experts = {"experts": True, "dense": False}[kind]
    arch = "qwen3moe" if experts else "qwen3"
    writer = gguf.GGUFWriter(target, arch)
    writer.add_context_length(4096)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(USED * FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("none")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    if experts:
        writer.add_expert_count(EXPERTS)
        writer.add_expert_used_count(USED)
        writer.add_expert_feed_forward_length(FFN)
    random = np.random.default_rng(1)

    def blocks(name, *shape):
        values = (random.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(shape[-1])))
        writer.add_tensor(name, gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0), raw_dtype=gguf.GGMLQuantizationType.Q8_0)

    def floats(name, *shape, ones=True):
        values = np.ones(shape) if ones else random.standard_normal(shape) / np.sqrt(shape[-1])
        writer.add_tensor(name, values.astype(np.float32))

    blocks("token_embd.weight", VOCABULARY, HIDDEN)
    blocks("output.weight", VOCABULARY, HIDDEN)
    floats("output_norm.weight", HIDDEN)
    for i in range(LAYERS):
        at = f"blk.{i}."
        for norm, size in (("attn_norm", HIDDEN), ("ffn_norm", HIDDEN), ("attn_q_norm", HEAD), ("attn_k_norm", HEAD)):
            floats(at + norm + ".weight", size)
        blocks(at + "attn_q.weight", HEADS * HEAD, HIDDEN)
        blocks(at + "attn_k.weight", KEYS * HEAD, HIDDEN)
        blocks(at + "attn_v.weight", KEYS * HEAD, HIDDEN)
        blocks(at + "attn_output.weight", HIDDEN, HEADS * HEAD)
        if experts:
            floats(at + "ffn_gate_inp.weight", EXPERTS, HIDDEN, ones=False)
        wide = (EXPERTS, FFN) if experts else (USED * FFN,)
        tail = "_exps.weight" if experts else ".weight"
        blocks(at + "ffn_gate" + tail, *wide, HIDDEN)
        blocks(at + "ffn_up" + tail, *wide, HIDDEN)
        blocks(at + "ffn_down" + tail, *wide[:-1], HIDDEN, wide[-1])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
