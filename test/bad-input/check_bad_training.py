"""What is wrong with a training run is one error line, exit status 1, before or without harm to any save.

    check_bad_training.py --compiler LLM_COMPILE --models DIR --out DIR [--mpi]

Real executables of tiny-llama and tiny-gpt2 on two ranks (threads, or with --mpi processes): data, flags, saves, and a file system that is full while a save is written (where this user may mount one).
Needs numpy."""
import argparse
import json
import os
import shutil
import subprocess
import sys

import numpy as np

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--models", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mpi", action="store_true")
args = parser.parse_args()
args.compiler, args.models = os.path.abspath(args.compiler), os.path.abspath(args.models)
shutil.rmtree(args.out, ignore_errors=True)
os.makedirs(args.out)
os.chdir(args.out)
SEQ, BATCH = 16, 4
problems = []


def compiled(model, name, *flags):
    subprocess.run([args.compiler, os.path.join(args.models, model), "--task=train", f"--batch={BATCH}", f"--max-seq-len={SEQ}", "--mesh=fsdp=2", "-o", name, *flags],
                   check=True, timeout=300)
    return name


def launched(words):
    return (["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"] if args.mpi else []) + words


def train(program, data, steps, *flags):
    return launched([f"./{program}", "train", f"--data={data}", f"--steps={steps}", *flags])


def write_tokens(name, tokens, dtype="I32"):
    tokens = np.ascontiguousarray(tokens)
    header = json.dumps({"tokens": {"dtype": dtype, "shape": list(tokens.shape), "data_offsets": [0, tokens.nbytes]}}).encode()
    with open(name, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + tokens.tobytes())
    return name


def held(folder):
    """Every file below, with its bytes."""
    files = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                files[os.path.relpath(os.path.join(place, name), folder)] = file.read()
    return files


def refused(what, command, *parts, keeps=()):
    before = {folder: held(folder) for folder in keeps}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if done.returncode in (0, None) or done.returncode < 0 or (not args.mpi and done.returncode != 1):
        problems.append(f"{what}: exit status {done.returncode}\n{done.stderr[-800:]}")
    elif len(errors) != 1 or any(part not in errors[0] for part in parts):
        problems.append(f"{what}: expected one error with {parts}\n{done.stderr[-800:]}")
    else:
        print(f"{what}: {errors[0]}")
    for folder in keeps:
        if held(folder) != before[folder]:
            problems.append(f"{what}: {folder} has changed")


def went(what, command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{what}: exit status {done.returncode}\n{done.stderr[-800:]}")


def copied(save, name):
    shutil.rmtree(name, ignore_errors=True)
    return shutil.copytree(save, name, symlinks=True)


def flipped(path, from_end=5):
    with open(path, "r+b") as file:
        file.seek(-from_end, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def cut(path):
    os.truncate(path, os.path.getsize(path) - 4)


llama, gpt2 = compiled("tiny-llama", "llama"), compiled("tiny-gpt2", "gpt2")
vocabulary = json.loads(subprocess.run(["./llama", "info", "--json"], check=True, capture_output=True).stdout)["train"]["vocab"]
random = np.random.default_rng(5)
rows = random.integers(0, vocabulary, (12, SEQ + 1), dtype=np.int32)
good = write_tokens("good.safetensors", rows)

# Data.
refused("no data", train(llama, "none.safetensors", 1), "none.safetensors")
refused("too short", train(llama, good, 4), "a step takes 4 rows, and 1 pass over the data has 12; use --epochs=2, or --steps=3")
refused("empty", train(llama, write_tokens("empty.safetensors", rows[:0]), 1), "empty.safetensors")
refused("of another width", train(llama, write_tokens("wide.safetensors", np.zeros((8, 33), np.int32)), 1), "--max-seq-len=32")
refused("of another type", train(llama, write_tokens("long.safetensors", rows.astype(np.int64), "I64"), 1), "long.safetensors")
bad = rows.copy()
bad[3, 5] = vocabulary
refused("an id outside", train(llama, write_tokens("outside.safetensors", bad), 1), "row 3, column 5")
bad[3, 5] = -7
refused("a negative id", train(llama, write_tokens("negative.safetensors", bad), 1), "row 3, column 5")
open("none.bin", "wb").close()
refused("an empty stream", train(llama, "none.bin", 1), "none.bin")
np.arange(10, dtype=np.uint16).tofile("short.bin")
refused("a short stream", train(llama, "short.bin", 1), "short.bin")
(np.arange(200) + vocabulary).astype(np.uint16).tofile("outside.bin")
refused("a stream of other ids", train(llama, "outside.bin", 1), "outside.bin")
open("empty.txt", "w").close()
refused("an empty text", train(llama, "empty.txt", 1), "empty.txt")
refused("a folder", train(llama, "/", 1), "cannot")
refused("evaluation of another width", train(llama, good, 1, "--eval=wide.safetensors"), "wide.safetensors")

# Flags.
refused("no steps", train(llama, good, 0), "(--steps=0): it is out of range")
refused("a rate that is none", train(llama, good, 1, "--lr=nan"), "(--lr=nan): it is no number")
refused("an endless rate", train(llama, good, 1, "--lr=inf"), "(--lr=inf): it is no number")
refused("a number of another optimizer", train(llama, good, 1, "--momentum=0.5"), "has no such number")
refused("weights that are none", train(llama, good, 1, f"--model={good}"), "good.safetensors")
refused("weights of another model", train(llama, good, 1, f"--model={os.path.join(args.models, 'tiny-gpt2')}"), "cannot")

# Saves.
went("a run that saves", train(llama, good, 2, "--save=save", "--save-every=1"))
went("of another model", train(gpt2, good, 1, "--save=other"))
refused("all steps are done", train(llama, good, 2, "--resume=save"), "2 steps are done", keeps=["save"])
refused("fewer steps", train(llama, good, 1, "--resume=save"), "2 steps are done", keeps=["save"])
refused("a save of another model", train(llama, good, 3, "--resume=other", "--save=save"), "other/step-1", keeps=["save", "other"])
refused("a save over another model's", train(llama, good, 3, f"--save={os.path.join(args.models, 'tiny-llama')}"), "it holds a model that is no save of a run")
os.mkdir("bare")
shutil.copy(os.path.join(args.models, "tiny-llama", "config.json"), "bare")
subprocess.run([args.compiler, "bare", "--task=train", f"--batch={BATCH}", f"--max-seq-len={SEQ}", "--mesh=fsdp=2", "-o", "made-up"], check=True, timeout=300)
refused("a save into MODEL, config.json alone", train("made-up", good, 1, "--init=random:1", "--save=bare"), "(bare): it is the model's own folder", keeps=["bare"])
refused("moments as weights", train(llama, good, 1, "--model=save/step-2/exp_avg.safetensors"), "it holds exp_avg of a training run")
refused("no save", train(llama, good, 3, "--resume=nothing"), "nothing")
refused("no such step", train(llama, good, 3, "--resume=save/step-9"), "save/step-9")
for name in ("model.safetensors", "exp_avg.safetensors", "checkpoint.json"):
    for what, harm in (("is missing", os.remove), ("is cut", cut), ("has a flipped byte", flipped)):
        harm(os.path.join(copied("save", "harmed"), "step-2", name))
        refused(f"{name} {what}", train(llama, good, 3, "--resume=harmed", "--save=harmed"), "step-2", keeps=["harmed"])
went("an earlier save of the same run", train(llama, good, 3, "--resume=harmed/step-1", "--save=again"))

# A file system that is full in the midst of a save: all is as it was, and the run goes on once there is room.
FULL = """mount -t tmpfs -o size=$1 none full && cp -r save full/save && shift || exit 70
"$@"; status=$?
diff -r save full/save >&2 || exit 71
mount -o remount,size=64m none full && "$@" 2>/dev/null && test -e full/save/step-3/checkpoint.json || exit 72
exit $status"""
os.mkdir("full")
if not args.mpi and subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs none full"], capture_output=True).returncode == 0:
    size = sum(len(data) for data in held("save").values())
    refused("a full file system", ["unshare", "-m", "sh", "-c", FULL, "sh", str(size * 5 // 4), *train(llama, good, 3, "--resume=full/save", "--save=full/save")],
            "cannot save checkpoint", "No space left on device; free some space; earlier saves are whole")
if problems:
    sys.exit("\n".join(problems))
