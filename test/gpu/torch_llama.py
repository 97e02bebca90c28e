"""A Llama of a given shape in PyTorch, as its users run it for speed: compiled, static cache, next token on the device, a CUDA graph a step.

    torch_llama.py '{"hidden_size": ...}' DTYPE BATCH PROMPT DECODE [--decode-only]      one JSON line: medians, compile time left out; and what the machine can do

With --decode-only the caches hold random numbers in place of a prompt."""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

shape, dtype, batch, prompt, decode = json.loads(sys.argv[1]), getattr(torch, sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
hidden, heads, kv = shape["hidden_size"], shape["num_attention_heads"], shape["num_key_value_heads"]
size, layers, context = hidden // heads, shape["num_hidden_layers"], prompt + decode + 8
torch.manual_seed(1)
torch.set_float32_matmul_precision("highest")


def weight(*dims):
    return torch.randn(*dims, device="cuda", dtype=dtype) * 0.02


embed = weight(shape["vocab_size"], hidden)
head = embed if shape["tie_word_embeddings"] else weight(shape["vocab_size"], hidden)
blocks = [dict(qkv=weight((heads + 2 * kv) * size, hidden), o=weight(hidden, heads * size), gate_up=weight(2 * shape["intermediate_size"], hidden),
               down=weight(hidden, shape["intermediate_size"]), n1=torch.ones(hidden, device="cuda", dtype=dtype),
               n2=torch.ones(hidden, device="cuda", dtype=dtype)) for _ in range(layers)]
keys = torch.zeros(layers, batch, kv, context, size, device="cuda", dtype=dtype)
values = torch.zeros_like(keys)
angles = torch.outer(torch.arange(context, device="cuda").float(), shape["rope_theta"] ** (-torch.arange(0, size, 2, device="cuda").float() / size))
cosines, sines = angles.cos(), angles.sin()
last = torch.ones(hidden, device="cuda", dtype=dtype)


def rope(x, at):
    c, s = cosines[at][None, None].to(x.dtype), sines[at][None, None].to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat((a * c - b * s, b * c + a * s), -1)


# Compiled a layer at a time, which is the same code for all of them: a whole model takes minutes. What a layer adds last is added by the next one, so
# that it can become part of its norm. `mask` null: a prompt, which sees itself.
@torch.compile(dynamic=False)
def layer(x, given, at, mask, keys, values, qkv, o, gate_up, down, n1, n2):
    x = x + given
    n = F.rms_norm(x, (hidden,), n1, 1e-5)
    q, k, v = (n @ qkv.T).split((heads * size, kv * size, kv * size), -1)
    q, k, v = (t.view(batch, -1, h, size).transpose(1, 2) for t, h in ((q, heads), (k, kv), (v, kv)))
    q, k = rope(q, at), rope(k, at)
    keys.index_copy_(2, at, k)
    values.index_copy_(2, at, v)
    ks, vs = (k, v) if mask is None else (keys, values)
    y = F.scaled_dot_product_attention(q, ks, vs, attn_mask=mask, is_causal=mask is None, enable_gqa=True)
    x = x + y.transpose(1, 2).reshape(batch, -1, heads * size) @ o.T
    gate, up = (F.rms_norm(x, (hidden,), n2, 1e-5) @ gate_up.T).chunk(2, -1)
    return x, (F.silu(gate) * up) @ down.T


@torch.compile(dynamic=False)
def tail(x, given):
    return (F.rms_norm(x[:, -1:] + given[:, -1:], (hidden,), last, 1e-5) @ head.T).argmax(-1)


def forward(tokens, at, causal):
    x = F.embedding(tokens, embed)
    given = torch.zeros_like(x)
    mask = None if causal else (torch.arange(context, device="cuda")[None, None, None] <= at[None, None, :, None])
    for number, w in enumerate(blocks):
        x, given = layer(x, given, at, mask, keys[number], values[number], *(w[name] for name in ("qkv", "o", "gate_up", "down", "n1", "n2")))
    return tail(x, given)


def recorded(function):
    """One CUDA graph of a call, as reduce-overhead makes it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


def seconds(function, times):
    taken = []
    for _ in range(times):
        torch.cuda.synchronize()
        began = time.perf_counter()
        function()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


with torch.no_grad():
    tokens = torch.randint(0, shape["vocab_size"], (batch, prompt), device="cuda")
    if "--decode-only" in sys.argv:
        prefill = None
        keys.normal_()
        values.normal_()
    else:
        everything = torch.arange(prompt, device="cuda")
        first = recorded(lambda: forward(tokens, everything, True))
        prefill = seconds(first.replay, 5)
    token, at = tokens[:, :1].clone(), torch.tensor([prompt], device="cuda")

    def step():
        token.copy_(forward(token, at, False))
        at.add_(1)

    graph = recorded(step)

    def run():
        at.fill_(prompt)
        for _ in range(decode):
            graph.replay()

    decoding = seconds(run, 4) / decode
    # What the machine can do, in the same run.
    big = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    read = big.numel() / seconds(lambda: big.view(torch.int64).sum(), 10)
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    rate = 2 * 8192**3 / seconds(lambda: a @ b, 10)
print(json.dumps({"prefill_s": prefill, "decode_s": decoding, "read_bytes_per_s": read, "bf16_flops_per_s": rate, "device": torch.cuda.get_device_name(),
                  "torch": torch.__version__}))
