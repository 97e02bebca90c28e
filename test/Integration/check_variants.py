"""check_generate.py for every variant that make_variants.py made of a model.

    check_variants.py --compiler LLM_COMPILE --inputs DIR --out PREFIX [--mesh M]... 

Every variant is checked without a mesh and on one of the meshes given, in turn. Needs numpy."""
import argparse
import itertools
import os
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--inputs", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--mesh", action="append", default=[])
args = parser.parse_args()

variants = sorted(name for name in os.listdir(args.inputs) if os.path.isdir(os.path.join(args.inputs, name)))
if len(variants) < 6:
    sys.exit(f"only {variants} in {args.inputs}; run `ninja test-inputs`")
meshes = itertools.cycle(args.mesh or [None])
failed = 0
for name in variants:
    folder = os.path.join(args.inputs, name)
    gguf = os.path.join(folder, "model.gguf")
    for mesh in dict.fromkeys([None, next(meshes)]):
        command = [sys.executable, os.path.join(os.path.dirname(__file__), "check_generate.py"), "--compiler", args.compiler,
                   "--model", gguf if os.path.exists(gguf) else folder, "--expected", folder, "--out", args.out]
        done = subprocess.run(command + ([f"--mesh={mesh}"] if mesh else []), capture_output=True, text=True)
        print(f"{name}, mesh {mesh or 'none'}: {(done.stdout + done.stderr).strip()}")
        failed += done.returncode != 0
sys.exit(failed != 0)
