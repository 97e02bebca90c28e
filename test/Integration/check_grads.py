"""--grads against the expected gradients of the given models (test/Inputs/models), on meshes and with micro-batches.

    check_grads.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh M [--mesh M ...] [--micro-batches K ...] [--optimizer NAME] [--dtype T]

The expected loss is the mean over two rows of 15 targets; each row stands twice in the data here, so that four micro-batches have a row each. Every tensor of the checkpoint, within 1e-4 of its largest entry (f16: 2e-2, bf16: 1e-1).
Clipping is as small as can be and the rate large: neither may show. The run that writes gradients ends with the same bytes as one that does not. Needs numpy."""
import argparse
import os
import shutil
import sys

import numpy as np

from compiled_programs import flags_of, fresh, read_bytes, read_safetensors, run, write_safetensors

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", required=True)
parser.add_argument("--micro-batches", type=int, action="append")
parser.add_argument("--optimizer", default="adamw")
parser.add_argument("--dtype", default="f32")
args = parser.parse_args()
path = fresh(args.out)


expected = read_safetensors(os.path.join(args.model, "expected.safetensors"), gradients=True)
write_safetensors(path("tokens.safetensors"), {"tokens": np.repeat(expected["tokens"].astype(np.int32), 2, axis=0)})
wanted = {name[5:]: tensor.astype(np.float64) for name, tensor in expected.items() if name.startswith("grad.")}
bound = {"f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}[args.dtype]

for micro in args.micro_batches or [1]:
    for mesh in args.mesh:
        out = path(f"{mesh}-{micro}")
        run([args.compiler, args.model, "--task=train", "--batch=4", "--max-seq-len=15", f"--micro-batches={micro}", f"--optimizer={args.optimizer}",
             f"--dtype={args.dtype}", "-o", out] + flags_of(mesh))
        train = [out, "train", f"--data={path('tokens.safetensors')}", "--steps=1", "--lr=0.5", "--clip=1e-3"]
        run(train + [f"--grads={path('grads.safetensors')}", f"--save={path('with')}"])
        got = read_safetensors(path("grads.safetensors"))
        if set(got) != set(wanted):
            sys.exit(f"{mesh}: other tensors: {sorted(set(got) ^ set(wanted))}")
        worst = 0.0
        # A gradient that is zero, of a key bias, has rounding noise instead: it is held to the largest of all.
        largest = max(np.abs(tensor).max() for tensor in wanted.values())
        for name, tensor in wanted.items():
            if got[name].shape != tensor.shape:
                sys.exit(f"{mesh}: {name} is {got[name].shape}, not {tensor.shape}")
            scale = max(np.abs(tensor).max(), 1e-4 * largest)
            difference = np.abs(got[name] - tensor).max() / scale
            worst = max(worst, difference)
            if not difference <= bound:
                sys.exit(f"{mesh}, {micro} micro-batches: the gradient of {name} differs by {difference:.2g} of its largest entry")
        run(train + [f"--save={path('without')}"])
        for kind in sorted(os.listdir(path("with/step-1"))):
            if kind.endswith(".safetensors"):
                if read_bytes(path(f"with/step-1/{kind}")) != read_bytes(path(f"without/step-1/{kind}")):
                    sys.exit(f"{mesh}: {kind} is another with --grads")
        shutil.rmtree(path("with"))
        shutil.rmtree(path("without"))
        print(f"{mesh}, {micro} micro-batches: gradients within {worst:.1e}")
