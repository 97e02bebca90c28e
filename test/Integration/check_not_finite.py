"""A step whose loss or norm is not finite: the error names step, rank, layer, value and call, and saves stay.

    check_not_finite.py --compiler LLM_COMPILE --model MODEL --out DIR [--dtype T]

MODEL is test/Inputs/models/tiny-llama. Half of the rows are short, so that places without a token are in every call: what is computed there is no reason to stop. Needs numpy."""
import argparse
import os
import re
import sys

import numpy as np

from compiled_programs import flags_of, fresh, read_log, read_safetensors, run, write_safetensors

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--dtype", default="f32")
args = parser.parse_args()
path = fresh(args.out)


weights = {}
for file in sorted(os.listdir(args.model)):
    if file.startswith("model-"):
        weights.update(read_safetensors(os.path.join(args.model, file)))


def spoiled(name, change):
    """A model in which some tensors are others."""
    tensors = {key: tensor.copy() for key, tensor in weights.items()}
    change(tensors)
    return write_safetensors(path(name), tensors)


# Rows 0 to 3 are those of rank 0 on dp=2; the id 7 stands in the last row of rank 1 alone.
tokens = np.random.default_rng(1).integers(8, 300, (16, 17)).astype(np.int32)
tokens[::2, 9:] = -1
tokens[7, 3] = 7
write_safetensors(path("tokens.safetensors"), {"tokens": tokens})


def compiled(mesh, micro, *flags):
    out = path(f"{mesh}-{micro}")
    run([args.compiler, args.model, "--task=train", "--batch=8", "--max-seq-len=16", f"--micro-batches={micro}", f"--dtype={args.dtype}", "-o", out] + flags_of(mesh) + list(flags))
    return [out, "train", f"--data={path('tokens.safetensors')}"]


def expect(command, pattern, hint="look at the weights that the run began with, and at the data"):
    """The error of a run: in its first step nothing has been updated, so rates are not to blame."""
    lines = run(command, 1).stderr.splitlines()
    if any(line.startswith("step ") and "-nan" in line for line in lines):
        sys.exit("what is no number has a sign:\n" + "\n".join(lines))
    errors = [line for line in lines if line.startswith("error: ")]
    if len(errors) != 1 or not re.fullmatch("error: cannot go on training " + pattern + f"; {hint}; no save was touched", errors[0]):
        sys.exit(f"expected one error that is /{pattern}/:\n" + "\n".join(errors))


def overflow(tensors):
    for which in ("gate", "up"):
        tensors[f"model.layers.2.mlp.{which}_proj.weight"] *= np.float32(1e25)


def overflow_of_a_product(tensors):
    gate = tensors["model.layers.1.mlp.gate_proj.weight"]
    gate[:] = np.where(gate < 0, np.float32(-3e38), np.float32(3e38))


def unknown_norm(tensors):
    tensors["model.layers.2.post_attention_layernorm.weight"][3] = np.nan


def unknown(tensors):
    tensors["model.embed_tokens.weight"][7, 5] = np.nan


not_finite = r"\(step 1\): the (loss|norm of the gradient) is (not a number|infinite); first on rank {rank}, {place}{value} \({call}\) is {what} at \d+ of \d+"
broken = spoiled("overflow.safetensors", overflow)
for mesh, micro in (("none", 1), ("fsdp=2", 2), ("tp=2", 1)):
    expect(compiled(mesh, micro) + ["--steps=1", f"--model={broken}"],
           not_finite.format(rank="[01]", place="layer 2, micro-batch 0: " if micro > 1 else "layer 2: ", value="mlp", call=r"\w*mul_[\dx_]+", what="-?(inf|nan)"))
expect(compiled("none", 1) + ["--steps=1", f"--model={spoiled('product.safetensors', overflow_of_a_product)}"],
       not_finite.format(rank="0", place="layer 1: ", value="gate", call="matmul", what="-?(inf|nan)"))
# In stages, whoever comes to it first in the order of the step: stage 1 has the layers 2 and 3.
for mesh, rank in (("pp=2", "1"), ("pp=2,tp=2", "[23]")):
    expect(compiled(mesh, 2, "--pipeline=1f1b", "--stages=2,2") + ["--steps=1", f"--model={broken}"],
           not_finite.format(rank=rank, place="1F0, layer 2: ", value="mlp", call=r"\w*mul_[\dx_]+", what="-?(inf|nan)"))
# What layers save for backward lies in stacks, a slice a layer. What a rank computes in bfloat16 is a copy of all weights: the first one has met a broken one before a row is read.
masters = args.dtype != "f32"
copied = dict(rank="0", place="", call=r"cast_[\dx_]+", what="nan")
met = dict(copied, value="layers.mlp_norm") if masters else dict(rank="0", place="layer 2: ", value="mlp_input", call=r"add_rms_norm_[\dx_]+", what="nan")
expect(compiled("none", 1) + ["--steps=1", f"--model={spoiled('norm.safetensors', unknown_norm)}"], not_finite.format(**met))
met = dict(copied, value="embedding") if masters else dict(rank="1", place="", value="residual", call=r"embedding_[\dx_]+", what="nan")
expect(compiled("dp=2", 1) + ["--steps=1", f"--model={spoiled('unknown.safetensors', unknown)}"], not_finite.format(**met))
# The second step breaks; what the first one saved is what it was.
train = compiled("dp=2", 1)
flags = ["--steps=2", f"--model={args.model}", "--lr=1e36", "--schedule=constant", "--save-every=1", f"--save={path('save')}", f"--log={path('log')}"]
expect(train + flags, r"\(step 2\): .*; first on rank [01], .*", "use a smaller --lr .*")
if os.listdir(path("save")).count("step-1") != 1 or "step-2" in os.listdir(path("save")):
    sys.exit(f"the folder holds {os.listdir(path('save'))}")
log = read_log(path("log"))
if [line["step"] for line in log] != [1, 2] or (log[1]["loss"] is not None and log[1]["grad_norm"] is not None):
    sys.exit(f"the log is {log}")
print("named")
