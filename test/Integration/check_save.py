"""What the ranks of a compiled program save is the model's own file: the importer's maps, inverted on every mesh, give back each tensor.

    check_save.py --compiler LLM_COMPILE --resave RESAVE --models DIR --out PREFIX

The folder of the save is a model too: a program compiled from it, reading its weights through the index, makes the same tokens."""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys

from compiled_programs import manifest_of

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--resave", "--models", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr[-1000:]}")
    return done.stdout


def tensors(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(length)), file.read()
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def tokens(binary):
    return run([binary, "generate", "--tokens=5,6,7,8", "--max-new-tokens=12", "--print-tokens", "--threads=2"]).split("tokens:")[-1]


checked = 0
for model in ("tiny-llama", "tiny-gpt2"):
    folder = os.path.join(args.models, model)
    original = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith("model") and name.endswith(".safetensors"):
            original.update(tensors(os.path.join(folder, name)))
    first = None  # the file that the first mesh has written
    for mesh in ("", "tp=2", "tp=3", "fsdp=4", "dp=2,fsdp=2,tp=2", "sp=2,tp=2"):
        binary, saves = args.out + ".bin", args.out + ".saves"
        run([args.compiler, folder, "--max-seq-len=32", "-o", binary] + ([f"--mesh={mesh}"] if mesh else []))
        with open(args.out + ".manifest", "w") as file:
            file.write(manifest_of(binary))
        shutil.rmtree(saves, ignore_errors=True)
        run([args.resave, args.out + ".manifest", folder, saves])
        weights = os.path.join(saves, "step-1", "model.safetensors")
        saved = tensors(weights)
        for name in saved.keys() | original.keys():
            if saved.get(name) != original.get(name):
                sys.exit(f"{model} on {mesh or 'one rank'}: tensor {name} is another than the model's")
        checked += len(saved)
        with open(weights, "rb") as file:
            bytes_now = file.read()
        first = first or bytes_now
        if bytes_now != first:
            sys.exit(f"{model}: the file from {mesh} is another than the one from one rank")
    expected = tokens(binary)
    run([args.compiler, saves, "--max-seq-len=32", "-o", args.out + ".again"])
    if tokens(args.out + ".again") != expected:
        sys.exit(f"{model}: a program compiled from its save makes other tokens")
print(f"{checked} tensors saved as they were")
