"""How compile time and memory grow with depth, mesh and model, as ratios (CPU seconds, the least of N interleaved runs; what somebody waits for besides).

    python3 bench/compile_cost.py [--compiler build/bin/llm-compile] [--models test/Inputs/models] [--runs 10]

No test holds a time: tests count ops, plans and bytes (test/Integration/check_scaling.py, check_large.py)."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new", "vocab_size": 50257, "n_positions": 1024, "n_ctx": 1024,
        "n_embd": 768, "n_layer": 12, "n_head": 12, "layer_norm_epsilon": 1e-5, "bos_token_id": 50256, "eos_token_id": 50256}


def cost(command):
    """CPU seconds, seconds and peak bytes of one run."""
    began = time.perf_counter()
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen(command, stdout=nothing)
        _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss * 1024


def compare(what, commands, runs):
    """The second command against the first: interleaved, so that a noisy minute hits both."""
    least, peak = [float("inf")] * 2, [0, 0]
    for _ in range(runs):
        for i, command in enumerate(commands):
            took, _, held = cost(command)
            least[i], peak[i] = min(least[i], took), max(peak[i], held)
    print(f"{what}: {least[1] / least[0]:.2f} x the time ({least[1]:.3f} s against {least[0]:.3f}), {peak[1] / 2**20:.0f} MiB against {peak[0] / 2**20:.0f}", flush=True)


def layer(what, compiler, folder, flags, out, runs):
    """What sharding takes a layer, with all that is around it: what the flags cost from rung step to spmd, by the loops of layers that it places. Functions are laid out side by side, so somebody waits for less than the CPUs work."""
    command = [compiler, folder, *flags, "-o", f"{out}/x.mlir"]
    cost(command + ["--compile-to=step"])
    with open(f"{out}/x.mlir") as file:
        loops = file.read().count(" graph.repeat ")
    cpu, waited = [float("inf")] * 2, [float("inf")] * 2
    for _ in range(runs):
        for i, rung in enumerate(("step", "spmd")):
            took = cost(command + [f"--compile-to={rung}"])
            cpu[i], waited[i] = min(cpu[i], took[0]), min(waited[i], took[1])
    each = [1000 * (least[1] - least[0]) / loops for least in (waited, cpu)]
    print(f"{what}: {each[0]:.0f} ms a layer on {os.cpu_count()} cores, {each[1]:.0f} ms of CPU ({waited[1]:.3f} s in all, {waited[0]:.3f} of it to rung step; {loops} loops of layers)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="build/bin/llm-compile")
    parser.add_argument("--models", default="test/Inputs/models")
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        folders = []
        for layers in (4, 400):
            folders.append(f"{out}/{layers}")
            os.mkdir(folders[-1])
            with open(f"{args.models}/tiny-llama/config.json") as file:
                config = dict(json.load(file), num_hidden_layers=layers)
            with open(f"{folders[-1]}/config.json", "w") as file:
                json.dump(config, file)
        train = ["--task=train"]
        for task, flags in (("generate", []), ("train", train), ("train in four micro-batches on fsdp=2", train + ["--batch=8", "--micro-batches=4", "--mesh=fsdp=2"])):
            compare(f"{task}, to a binary, 400 layers against 4", [[args.compiler, folder, *flags, "-o", folder + ".bin"] for folder in folders], args.runs)
        gpt2 = f"{out}/gpt2"
        os.mkdir(gpt2)
        with open(f"{gpt2}/config.json", "w") as file:
            json.dump(GPT2, file)
        for dtype in ("f32", "bf16"):
            took, _, held = zip(*(cost([args.compiler, gpt2, *train, "--max-seq-len=1024", f"--dtype={dtype}", "-o", f"{out}/gpt2.bin"]) for _ in range(min(args.runs, 3))))
            print(f"GPT-2 124M, train, {dtype}, to a binary: {min(took):.2f} CPU s, {max(held) / 2**20:.0f} MiB", flush=True)
        spmd = [args.compiler, folders[0], "--batch=64", "--compile-to=spmd", "-o", f"{out}/x.mlir"]
        compare("tiny-llama to spmd, dp=64,tp=8 against tp=2", [spmd + ["--mesh=tp=2"], spmd + ["--mesh=dp=64,tp=8"]], args.runs)
        for name, flags in (("tiny-llama", ["--batch=4"]), ("smollm2-135m-config", ["--batch=8", "--max-seq-len=2048"]),
                            ("llama-405b", ["--dtype=bf16", "--batch=2048", "--max-seq-len=8192"])):
            for mesh in ("dp=2,fsdp=2,cp=2,sp=2,tp=2", "tp=2,sp=2,cp=2,fsdp=2,dp=2"):
                layer(f"{name} on {mesh}", args.compiler, f"{args.models}/{name}", flags + [f"--mesh={mesh}"], out, args.runs)
        large = [args.compiler, f"{args.models}/llama-405b", "--dtype=bf16", "--batch=2048", "--max-seq-len=8192", "--compile-to=spmd", "-o", f"{out}/x.mlir"]
        compare("405B to spmd, dp=64,fsdp=16,tp=16 against fsdp=8",
                [large + ["--mesh=fsdp=8"], large + ["--mesh=dp=64,fsdp=16,tp=16", "--shard=residual:seq=tp"]], args.runs)
        for parts in (1, 4):
            step = large + train + [f"--micro-batches={parts}"]
            wide = step + ["--mesh=dp=64,fsdp=16,tp=16"]
            compare(f"405B, train, {parts} micro-batches, to spmd, dp=64,fsdp=16,tp=16 against fsdp=8", [step + ["--mesh=fsdp=8"], wide], args.runs)
            compare("the same with --template=megatron against without", [wide, wide + ["--template=megatron"]], args.runs)


if __name__ == "__main__":
    main()
