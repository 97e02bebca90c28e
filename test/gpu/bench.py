"""On a machine with a GPU: speed beside PyTorch in the same run.

    bench.py FOLDER"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import Table, run, unpack
from programs import SHAPES, SPEED

folder = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))
whole = unpack(folder)
table = Table()
smollm2 = dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
               rope_theta=100000.0, tie_word_embeddings=True)
cases = []
weights = os.path.join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")
if os.path.basename(weights) in whole:
    cases.append(("smollm2-bf16", smollm2, 1, 512, 256, [f"--model={weights}"]))
for name, shape, flags, prompt, decode in SPEED:
    batch = next((int(flag.split("=")[1]) for flag in flags if flag.startswith("--batch")), 1)
    cases.append((name, SHAPES[shape], batch, prompt, decode, ["--init=random:1"]))
for name, shape, batch, prompt, decode, flags in cases:
    code, out, err = run(["python3", os.path.join(here, "torch_llama.py"), json.dumps(shape), "bfloat16", str(batch), str(prompt), str(decode)], timeout=240)
    theirs = json.loads(out.splitlines()[-1]) if code == 0 else None
    if theirs is None:
        table.row(f"{name}: torch", False, (err.strip().splitlines() or ["it says nothing"])[-1][:200])
    code, out, err = run([os.path.join(folder, "bin", name), "bench", "--json", f"--prompt-len={prompt}", f"--decode={decode}"] + flags, timeout=200)
    if code:
        table.row(name, False, (err.strip().splitlines() or ["it says nothing"])[-1][:200])
        continue
    ours = json.loads(out.splitlines()[-1])
    step, first = batch / ours["decode_tokens_per_s"], batch * prompt / ours["prefill_tokens_per_s"]
    figure = f"decode {step * 1e6:.0f} us a token, prefill of {prompt} {first * 1e3:.1f} ms"
    if theirs:
        # Bytes that a step has to read: weights once, and the caches of every row.
        layer = shape["hidden_size"] * (2 * shape["hidden_size"] + 3 * shape["intermediate_size"]) + \
            2 * shape["hidden_size"] ** 2 * shape["num_key_value_heads"] // shape["num_attention_heads"]
        numbers = shape["num_hidden_layers"] * layer + shape["vocab_size"] * shape["hidden_size"]
        size = shape["hidden_size"] // shape["num_attention_heads"]
        cache = 2 * shape["num_hidden_layers"] * batch * (prompt + decode // 2) * shape["num_key_value_heads"] * size
        flops = 2 * batch * prompt * shape["num_hidden_layers"] * layer
        figure += (f"; torch {theirs['torch']} {theirs['decode_s'] * 1e6:.0f} us, {theirs['prefill_s'] * 1e3:.1f} ms; ratios {theirs['decode_s'] / step:.2f}, "
                   f"{theirs['prefill_s'] / first:.2f}; {2 * (numbers + cache) / step / theirs['read_bytes_per_s']:.2f} of the read bandwidth "
                   f"({theirs['read_bytes_per_s'] / 1e12:.2f} TB/s), prefill {flops / first / theirs['bf16_flops_per_s']:.2f} of the rate of a product "
                   f"({theirs['bf16_flops_per_s'] / 1e12:.0f} TFLOP/s) on {theirs['device']}")
    table.row(name, True, figure)
table.close()
