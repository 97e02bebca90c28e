"""A model of which there is only config.json is trained from made-up weights, the same ones on any mesh, in any precision and in any number of micro-batches.

    check_init.py --compiler LLM_COMPILE --models DIR --out DIR

DIR has tiny-gpt2 and tiny-llama. A step at rate 0 saves what the run began with: biases 0, scales of norms 1, all else with the standard deviation of the family. Needs numpy."""
import argparse
import os
import shutil
import sys

import numpy as np

from compiled_programs import fresh, read_safetensors, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--models", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
path = fresh(args.out)


def begin(model, name, *flags, seed=7, steps=1, lr=0.0):
    """The weights that a run begins with, as its save at rate 0 has them."""
    out, folder = path(f"{model}-{name}"), path(f"{model}-{name}-save")
    run([args.compiler, path(model), "--task=train", "--batch=4", "--max-seq-len=16", *flags, "-o", out])
    tokens = os.path.join(args.models, model, "train_tokens.safetensors")
    command = [out, "train", f"--data={tokens}", f"--steps={steps}", f"--lr={lr}", f"--min-lr={lr}"]
    errors = run(command, status=1).stderr
    if "--init=random" not in errors or len(errors.splitlines()) != 1:
        sys.exit(f"{model}, no weights and no --init: {errors}")
    run(command + [f"--init=random:{seed}", f"--save={folder}"])
    return read_safetensors(os.path.join(folder, f"step-{steps}", "model.safetensors"))


def expected(model, name):
    """Mean and deviation of a tensor of the file."""
    if name.endswith("bias"):
        return 0, 0
    if "ln_" in name or "norm" in name:
        return 1, 0
    if model == "tiny-gpt2" and name.endswith("c_proj.weight"):
        return 0, 0.02 / np.sqrt(2 * 5)
    return 0, 0.02


for model in ("tiny-gpt2", "tiny-llama"):
    os.makedirs(path(model))
    shutil.copy(os.path.join(args.models, model, "config.json"), path(model))
    first = begin(model, "none")
    if set(first) != set(read_safetensors(os.path.join(args.models, model, "trained.safetensors"))):
        sys.exit(f"{model}: other tensors than the model's: {sorted(first)}")
    for name, tensor in first.items():
        mean, deviation = expected(model, name)
        if abs(tensor.mean() - mean) > 4 * deviation / np.sqrt(tensor.size) or abs(tensor.std() - deviation) > 0.06 * deviation:
            sys.exit(f"{model}, {name}: mean {tensor.mean()}, deviation {tensor.std()}; expected {mean}, {deviation}")
    for name, *flags in (("tp", "--mesh=tp=3"), ("fsdp", "--mesh=fsdp=2,tp=2", "--micro-batches=2"), ("bf16", "--mesh=sp=2", "--dtype=bf16")):
        other = begin(model, name, *flags)
        for tensor, values in first.items():
            if not np.array_equal(other[tensor].view(np.uint32), values.view(np.uint32)):
                sys.exit(f"{model} {flags}: {tensor} begins with other numbers")
    changed = begin(model, "seed", seed=8)
    alike = [name for name in first if expected(model, name)[1] and np.array_equal(first[name], changed[name])]
    if alike:
        sys.exit(f"{model}: another seed gives the same {alike}")
    trained = begin(model, "steps", steps=3, lr=1e-3)
    if not all(np.isfinite(tensor).all() for tensor in trained.values()) or any(np.array_equal(trained[name], first[name]) for name in first):
        sys.exit(f"{model}: nothing was learned")
    print(f"{model}: begins alike everywhere")
