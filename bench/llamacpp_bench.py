"""One measurement of llama.cpp (PyPI's llama-cpp-python): prefill of P tokens, then D decode steps from position P.

    python bench/llamacpp_bench.py MODEL.gguf PROMPT_LEN DECODE THREADS      prints one JSON line"""
import ctypes
import json
import sys
import time

import llama_cpp


def main(model, prompt_len, decode, threads):
    prompt_len, decode, threads = int(prompt_len), int(decode), int(threads)
    silent = llama_cpp.llama_log_callback(lambda *args: None)  # must outlive the model
    llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
    llm = llama_cpp.Llama(model, n_ctx=prompt_len + decode + 8, n_batch=prompt_len, n_ubatch=prompt_len, n_threads=threads,
                          n_threads_batch=threads, verbose=False)
    tokens = [(i * 7919) % 49000 + 1 for i in range(prompt_len)]
    llm.eval(tokens)  # warm-up: pages and caches
    llm.reset()
    start = time.perf_counter()
    llm.eval(tokens)
    prefill = time.perf_counter() - start
    start = time.perf_counter()
    for i in range(decode):
        llm.eval([(i * 104729) % 49000 + 1])
    seconds = time.perf_counter() - start
    print(json.dumps({"prefill_tokens_per_s": prompt_len / prefill, "decode_tokens_per_s": decode / seconds}), flush=True)
    llm.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
