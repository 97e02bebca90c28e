"""Placement of every block is proven: what it found takes at most GAP % more than a lower bound, and little is searched for it.

    check_placement.py --compiler LLM_COMPILE --opt LLM_OPT --models DIR --out PREFIX [--gap 2] [--steps N] [--entries N]

Reads the remarks `placement` of the sharding passes, for every family and some meshes."""
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
parser.add_argument("--steps", type=int, default=100_000, help="steps of reshards that are looked at for a block")
parser.add_argument("--entries", type=int, default=20_000_000, help="table entries that are compared for a block")
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
REMARK = re.compile(r"block of (\S+) \((\d+) ops\): time (\S+) us, bound (\S+) us, gap (\S+) % to (the best of the options that ops were offered|all assignments of axes that something lies over), searched (\d+) steps of \d+ reshards and (\d+) table entries")
failed = False
for model, flags in FLAGS.items():
    program = args.out + ".mlir"
    subprocess.run([args.compiler, f"{args.models}/{model}", *flags, "--compile-to=step", "-o", program], check=True, timeout=600)
    for mesh in MESHES + MORE.get(model, []):
        for shard in ["", "residual:seq=tp"] if "tp" in mesh else [""]:
            command = [args.opt, program, f"--tessera-shard=mesh={mesh} {'shard=' + shard if shard else ''}", "--remarks-filter=dist",
                       "--remark-format=emitRemark", "-o", "/dev/null"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            if done.returncode:
                sys.exit(f"{command}: {done.stderr[-1000:]}")
            found = REMARK.findall(done.stderr)
            if not found:
                sys.exit(f"{command}: no remark `placement`")
            layers = sum(1 for block in found if block[0] == "graph.repeat")
            # Of all assignments one that saves less than a tenth by more messages is left alone.
            gap, alone = [max((100 * (float(time) - float(bound)) / float(time) for _, _, time, bound, _, to, *_ in found if to.startswith("all") == all_), default=0)
                          for all_ in (False, True)]
            steps, entries = max(int(block[6]) for block in found), max(int(block[7]) for block in found)
            bad = gap > args.gap or alone > 10 or steps > args.steps or entries > args.entries or layers < 2
            failed |= bad
            print(f"{model} {mesh} {shard}: {layers} layers, gap {gap:.2f} %, {steps} steps, {entries} entries{': TOO MUCH' if bad else ''}")
sys.exit(1 if failed else 0)
