"""Prefill by torch, for compare.py --torch: answers each line on stdin with tokens/s of one prompt.

    torch_prefill.py GGUF TYPE TOKENS THREADS

transformers reads the file, every weight widened to TYPE (bfloat16, float32), with scaled_dot_product_attention and the logits of the last
token alone. The model runs as it is and by torch.compile, twice each after a warm-up; the best counts."""
import os
import sys
import time

import torch
from transformers import AutoModelForCausalLM, GgufConfig

path, kind, tokens, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(os.path.dirname(path), gguf_file=os.path.basename(path), dtype=getattr(torch, kind),
                                             quantization_config=GgufConfig(dequantize=True)).eval()
prompt = torch.randint(0, model.config.vocab_size, (1, tokens), generator=torch.Generator().manual_seed(1))


def rate(run):
    begin = time.perf_counter()
    run(prompt, use_cache=True, logits_to_keep=1)
    return tokens / (time.perf_counter() - begin)


with torch.no_grad():
    ways = [model, torch.compile(model)]
    for way in ways:
        rate(way)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(max(rate(way) for way in ways for _ in range(2)), flush=True)
