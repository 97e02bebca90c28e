#!/usr/bin/env python3
"""A step of GPT-2 124M (B=1, T=1024 a rank; AdamW, clipping) on this machine's CPU, ours beside PyTorch and llm.c in one run.

    bench/train/measure.py [--rows=f32,bf16,dp,fsdp,tp] [--pairs=N] [--python=PATH] [--llmc=DIR] [--work=DIR]

| row | ours | beside it |
|---|---|---|
| f32, bf16 | one rank of two threads | torch, the fastest of eager and compiled (in bf16: with autocast, and with bf16 weights and float32 masters); llm.c (float32) |
| dp, fsdp | two ranks of one thread, a sequence each | torch DDP, FSDP2 over gloo, two processes of one thread |
| tp | two ranks of one thread | one rank of two threads of ours |

Sides take turns: a pair is one run of `OUT bench` (the median of 5 steps) and as many steps of the peer, which waits in between. What is printed are medians over pairs of
seconds a step and of the ratio within a pair; beside wall time the CPU seconds of all threads, which say more where others use the machine (what waits busily counts, too).
--python has torch; without it build/bench-train-venv is made from PyPI. --llmc is a clone of karpathy/llm.c, whose train_gpt2.c is compiled by clang; without it its row is left out.
A row names what it wants, and fails by saying so; the exit status is 0 all the same."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new", "vocab_size": 50257, "n_positions": 1024, "n_ctx": 1024,
          "n_embd": 768, "n_layer": 12, "n_head": 12, "layer_norm_epsilon": 1e-5, "initializer_range": 0.02, "bos_token_id": 50256, "eos_token_id": 50256}
STEPS = 5  # of a peer in a pair; ours takes the median of as many


def environment(threads):
    """Both sides get the same number of threads, which sleep while they wait; what names another CPU to OpenBLAS goes."""
    result = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    return {**result, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}


class Ours:
    def __init__(self, work, name, flags):
        self.name, self.program = name, os.path.join(work, name)
        compiler = os.path.join(ROOT, "build/bin/llm-compile")
        subprocess.run([compiler, os.path.join(work, "gpt2"), "--task=train", "--max-seq-len=1024", *flags, "-o", self.program], check=True)

    def measure(self, steps):
        command = [self.program, "bench", "--json", "--init=random:1", "--threads=2"]
        result = json.loads(subprocess.run(command, env=environment(2), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
        return result["step_s"], result["cpu_s"]

    def close(self):
        pass


class Peer:
    """A process that takes a step for each line it is given."""

    def __init__(self, name, command, threads=2):
        self.name = name
        self.process = subprocess.Popen(command, env=environment(threads), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                result = json.loads(line)
                return result["step_s"], result["cpu_s"]
        raise RuntimeError(f"{self.name} ended")

    def measure(self, steps):
        seconds, cpu = zip(*(self.step() for _ in range(steps)))
        return statistics.median(seconds), statistics.median(cpu)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def fastest(makers, steps):
    """The fastest of several peers after two steps that count for nothing; the others are ended."""
    best = None
    for make in makers:
        peer = make()
        peer.measure(2)
        seconds, cpu = peer.measure(min(steps, 2))
        print(f"  {peer.name}: {seconds:.2f} s, {cpu:.2f} CPU s", flush=True)
        if best is None or seconds < best[0]:
            if best:
                best[1].close()
            best = (seconds, peer)
        else:
            peer.close()
    return best[1]


def compare(row, ours, peer, wanted, pairs, steps):
    """Prints the ratio of `peer`'s time to ours."""
    rows = []
    for _ in range(pairs):
        rows.append((ours.measure(steps), peer.measure(steps)))
        print("  " + json.dumps({"row": row, "ours": rows[-1][0], peer.name: rows[-1][1]}), flush=True)
    peer.close()
    for what, i in (("wall", 0), ("CPU", 1)):
        mine, theirs = (statistics.median(r[side][i] for r in rows) for side in (0, 1))
        ratio = statistics.median(r[1][i] / r[0][i] for r in rows)
        verdict = "ok" if ratio >= wanted else "BELOW"
        print(f"{row}, {what} s a step: ours {mine:.2f}, {peer.name} {theirs:.2f}, median ratio of pairs {ratio:.2f} (wanted {wanted}: {verdict})", flush=True)


def python_with_torch(given):
    if given:
        return given
    folder = os.path.join(ROOT, "build/bench-train-venv")
    python = os.path.join(folder, "bin/python")
    if not os.path.exists(python):
        venv.create(folder, with_pip=True)
        # The build without CUDA where its index can be reached, else PyPI's.
        pip = [python, "-m", "pip", "-q", "install", "numpy"]
        if subprocess.run(pip + ["--index-url", "https://download.pytorch.org/whl/cpu", "torch"]).returncode != 0:
            subprocess.run(pip + ["torch"], check=True)
    return python


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="f32,bf16,dp,fsdp,tp")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=STEPS, help="of a peer in a pair")
    parser.add_argument("--python")
    parser.add_argument("--llmc")
    parser.add_argument("--work", default=os.path.join(ROOT, "build/bench-train"))
    a = parser.parse_args()
    os.makedirs(os.path.join(a.work, "gpt2"), exist_ok=True)
    with open(os.path.join(a.work, "gpt2/config.json"), "w") as f:
        json.dump(CONFIG, f)
    rows = a.rows.split(",")
    python = python_with_torch(a.python) if set(rows) & {"f32", "bf16", "dp", "fsdp"} else None
    torch = lambda name, *flags, threads=2: lambda: Peer(name, [python, os.path.join(HERE, "torch_gpt2.py"), *flags, f"--threads={threads}"], threads)
    single = {}
    for row in ("f32", "bf16"):
        if row in rows or (row == "f32" and "tp" in rows) or "bf16" in rows:
            single[row] = Ours(a.work, f"gpt2-{row}", [f"--dtype={row}"])
    if "f32" in rows:
        peer = fastest([torch("torch", "f32"), torch("torch-compile", "f32", "--compile")], a.steps)
        compare("f32", single["f32"], peer, 2, a.pairs, a.steps)
        if a.llmc:
            program = os.path.join(a.work, "llmc")
            subprocess.run(["clang", "-O3", "-march=native", "-ffast-math", "-fopenmp", "-w", "-I", a.llmc, os.path.join(HERE, "llmc_steps.c"), "-o", program, "-lm"], check=True)
            peer = Peer("llm.c", [program, "1", "1024"])
            peer.measure(1)
            compare("f32", single["f32"], peer, 5, a.pairs, 1)
    if "bf16" in rows:
        compare("bf16 over f32", single["bf16"], single["f32"], 1.4, a.pairs, a.steps)
        peer = fastest([torch("torch-autocast", "bf16-autocast"), torch("torch-autocast-compile", "bf16-autocast", "--compile"), torch("torch-masters", "bf16-masters")], a.steps)
        compare("bf16", single["bf16"], peer, 1.5, a.pairs, a.steps)
    for row, peer in (("dp", "ddp"), ("fsdp", "fsdp2")):
        if row in rows:
            ours = Ours(a.work, f"gpt2-{row}", [f"--mesh={row}=2", "--batch=2"])
            theirs = torch(f"torch-{peer}", peer, "--batch=2", threads=1)()
            theirs.measure(2)
            compare(f"{row}=2", ours, theirs, 2, a.pairs, a.steps)
    if "tp" in rows:
        compare("tp=2", Ours(a.work, "gpt2-tp", ["--mesh=tp=2"]), single["f32"], 0.85, a.pairs, a.steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
