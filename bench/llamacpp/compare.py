"""Prefill and decode beside llama.cpp, in interleaved pairs of one run.

    python bench/llamacpp/compare.py [KIND...] [--pairs=3] [--prompt=512] [--decode=32] [--threads=2] [--dtype=TYPE] [--cache=TYPE] [--torch=PYTHON]

KIND: F32, BF16, Q8_0, Q4_0, Q4_1, Q4_K_M of SmolLM2-135M (all are made of its Q4_1 file), or experts, dense: made-up Qwen3 shapes in
Q8_0 (random_qwen3.py). llama.cpp is built for this CPU (build-peer) and takes the better of flash attention on and off in each
pair; its caches are its own choice, float16. Ours are float16 too (bfloat16 with --dtype=bf16) unless --cache says another type.
--dtype is of our executables: BF16 has bf16, all others float32 unless it is given. --torch is a Python with torch, transformers, accelerate and gguf: prefill of F32 and BF16
is then compared with torch's in the same pairs, too (torch_prefill.py). A line for each kind: medians of tokens/s, the
median of the pairs' ratios, and the bytes that a step reads over its time, as a share of the read bandwidth beside it (a median, too)."""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
PEER = os.path.join(BUILD, "llamacpp")
MODELS = os.path.join(PEER, "models")
SOURCE = os.path.join(BUILD, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
ENVIRONMENT = dict(os.environ, PYTHONPATH=os.path.join(PEER, "vendor", "llama.cpp", "gguf-py"))


def run(*command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def model(kind):
    """The file of `kind`, made if it is not there."""
    if kind == "Q4_1":
        return SOURCE
    path = os.path.join(MODELS, kind + ".gguf")
    if os.path.exists(path):
        return path
    part = path + ".part"
    if kind in ("experts", "dense"):
        run(sys.executable, os.path.join(HERE, "random_qwen3.py"), part, kind, env=ENVIRONMENT)
    elif kind in ("F32", "BF16"):
        run(sys.executable, os.path.join(HERE, "gguf_as.py"), SOURCE, part, kind.lower(), env=ENVIRONMENT)
    else:
        run(os.path.join(PEER, "out", "bin", "llama-quantize"), model("F32"), part, kind, stderr=subprocess.DEVNULL)
    os.rename(part, path)
    return path


def compiled(kind, arguments):
    dtype = arguments.dtype or ("bf16" if kind == "BF16" else "f32")
    cache = arguments.cache or ("bf16" if dtype == "bf16" else "f16")
    path = os.path.join(MODELS, f"{kind}-{dtype}-{cache}")
    length = 4096 if kind in ("experts", "dense") else 8192
    run(os.path.join(BUILD, "bin", "llm-compile"), model(kind), "--dtype=" + dtype, "--cache=" + cache,
        "--max-seq-len=" + str(min(length, max(2048, arguments.prompt + arguments.decode))), "-o", path, stderr=subprocess.DEVNULL)
    return path


def ours(path, arguments):
    answer = json.loads(run(path, "bench", "--json", f"--prompt-len={arguments.prompt}", f"--decode={arguments.decode}",
                            f"--threads={arguments.threads}", stderr=subprocess.DEVNULL))
    return answer["prefill_tokens_per_s"], answer["decode_tokens_per_s"]


def theirs(kind, arguments):
    def rate(flash, *shape):
        answer = run(os.path.join(PEER, "out", "bin", "llama-bench"), "-m", model(kind), "-t", str(arguments.threads), "-fa", flash,
                     "-r", "1", "-o", "json", *shape, stderr=subprocess.DEVNULL)
        return json.loads(answer)[0]["avg_ts"]

    return [max(rate(flash, *shape) for flash in "01")
            for shape in (("-p", str(arguments.prompt), "-n", "0"), ("-p", "0", "-n", str(arguments.decode), "-d", str(arguments.prompt)))]


def torch_of(kind, arguments):
    """A process that answers each line with torch's tokens/s of a prompt, and is otherwise idle; None unless there is one for `kind`."""
    if not arguments.torch or kind not in ("F32", "BF16"):
        return None
    if arguments.dtype:
        sys.exit("--dtype and --torch (command line): torch computes in the file's type; give one")
    process = subprocess.Popen([arguments.torch, os.path.join(HERE, "torch_prefill.py"), model(kind), {"F32": "float32", "BF16": "bfloat16"}[kind],
                                str(arguments.prompt), str(arguments.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    if process.stdout.readline() != "ready\n":
        sys.exit(f"{arguments.torch} torch_prefill.py: torch did not start; run it alone to see why")
    return process


def answer_of(process):
    print(file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        sys.exit("torch_prefill.py ended; run it alone to see why")
    return float(answer)


def bandwidth(threads):
    """Bytes a second that threads read from memory, the best of several tries."""
    return float(run(os.path.join(PEER, "read-bandwidth"), str(threads), stderr=subprocess.DEVNULL))


def bytes_of_step(path, arguments):
    """What a decode step has to read: all weights (its embedding is also its head), and the caches as far as they are filled."""
    info = json.loads(run(path, "info", "--json"))
    caches = sum(state["bytes"] for state in info["states"] if state["name"].endswith("_cache"))
    return info["weight_bytes"][0] + caches * (arguments.prompt + arguments.decode / 2) / info["max_seq_len"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=["F32", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q4_K_M"])
    for name, value in (("pairs", 3), ("prompt", 512), ("decode", 32), ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--dtype")
    parser.add_argument("--cache")
    parser.add_argument("--torch", metavar="PYTHON")
    arguments = parser.parse_args()
    run(os.path.join(HERE, "build-peer"))
    os.makedirs(MODELS, exist_ok=True)
    for kind in arguments.kinds:
        path = compiled(kind, arguments)
        # Experts read what is chosen: nobody knows how much that is.
        needed = bytes_of_step(path, arguments) if kind != "experts" else 0
        pairs, shares, torches = [], [], []
        torch = torch_of(kind, arguments)
        for _ in range(arguments.pairs):
            mine = ours(path, arguments)
            if needed:
                shares.append(needed * mine[1] / bandwidth(arguments.threads))
            pairs.append((mine, theirs(kind, arguments)))
            if torch:
                torches.append((mine[0], answer_of(torch)))
        words = []
        for which, name in enumerate(("prefill", "decode")):
            mine, other = (statistics.median(pair[side][which] for pair in pairs) for side in (0, 1))
            ratio = statistics.median(pair[0][which] / pair[1][which] for pair in pairs)
            words.append(f"{name} {mine:.1f} tokens/s, llama.cpp {other:.1f}, median ratio {ratio:.2f}")
        if torch:
            torch.communicate()
            words.append(f"prefill by torch {statistics.median(other for _, other in torches):.1f}, "
                         f"median ratio {statistics.median(mine / other for mine, other in torches):.2f}")
        if shares:
            words.append(f"{statistics.median(shares):.2f} of the read bandwidth")
        print(f"{kind}: " + "; ".join(words), flush=True)


if __name__ == "__main__":
    main()
