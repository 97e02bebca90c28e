"""Placement of every block is proven: what it found takes at most GAP % more than a lower bound, and it is found soon.

    check_placement.py --compiler LLM_COMPILE --opt LLM_OPT --models DIR --out PREFIX [--gap 2] [--ms 200]

Reads the remarks `placement` of the sharding passes, for every family and some meshes; the least time of a few runs counts."""
import argparse
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--opt", required=True)
parser.add_argument("--models", required=True, help="folder with one folder a model")
parser.add_argument("--out", required=True)
parser.add_argument("--gap", type=float, default=2, help="per cent")
parser.add_argument("--ms", type=float, default=200, help="milliseconds of the processor a block")
args = parser.parse_args()

FLAGS = {
    "tiny-llama": ["--batch=4"],
    "tiny-gpt2": ["--batch=4"],
    "smollm2-135m-config": ["--batch=8", "--max-seq-len=2048"],
    "llama-405b": ["--dtype=bf16", "--batch=2048", "--max-seq-len=8192"],
}
MESHES = ["tp=4", "dp=2,tp=2", "fsdp=8", "sp=2,tp=2", "cp=2,tp=2", "dp=2,fsdp=2,tp=3"]
# Models that fill larger ones, and one of many axes.
MORE = {"llama-405b": ["dp=64,fsdp=16,tp=16", "dp=8,fsdp=8,cp=4,tp=8"], "smollm2-135m-config": ["dp=2,fsdp=2,cp=2,sp=2,tp=2"]}
REMARK = re.compile(r"block of (\S+) \((\d+) ops\): time (\S+) us, bound (\S+) us, gap (\S+) %, found in (\S+) ms")
failed = False
for model, flags in FLAGS.items():
    program = args.out + ".mlir"
    subprocess.run([args.compiler, f"{args.models}/{model}", *flags, "--compile-to=step", "-o", program], check=True, timeout=120)
    for mesh in MESHES + MORE.get(model, []):
        for shard in ["", "residual:seq=tp"] if "tp" in mesh else [""]:
            command = [args.opt, program, f"--tessera-shard=mesh={mesh} {'shard=' + shard if shard else ''}", "--remarks-filter=dist",
                       "--remark-format=emitRemark", "-o", "/dev/null"]
            gap, least, layers = 0.0, float("inf"), 0
            for _ in range(3):
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                if done.returncode:
                    sys.exit(f"{command}: {done.stderr[-1000:]}")
                found = REMARK.findall(done.stderr)
                if not found:
                    sys.exit(f"{command}: no remark `placement`")
                layers = sum(1 for block in found if block[0] == "graph.repeat")
                gap = max(100 * (float(time) - float(bound)) / float(time) for *_, time, bound, _, _ in found)
                least = min(least, max(float(ms) for *_, ms in found))
            bad = gap > args.gap or least > args.ms or layers < 2
            failed |= bad
            print(f"{model} {mesh} {shard}: {layers} layers, gap {gap:.2f} %, {least:.1f} ms{': TOO MUCH' if bad else ''}")
sys.exit(1 if failed else 0)
