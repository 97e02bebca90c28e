"""check_generate.py for one of test/Inputs/models/families, on some meshes.

    check_families.py --compiler LLM_COMPILE --model FOLDER --out PREFIX --meshes few|all

Hugging Face and GGUF, if the family has one, without a mesh and on the others: `few` takes one of them for each, by the family's name. Where
`short` holds results for sequences within the original context, those too. Needs numpy."""
import argparse
import os
import subprocess
import sys
import zlib

MESHES = ["tp=2", "tp=3", "fsdp=2", "cp=2", "sp=2,tp=2"]

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--meshes", required=True, choices=["few", "all"])
args = parser.parse_args()

turn = zlib.crc32(os.path.basename(args.model).encode())
models = [path for path in (args.model, os.path.join(args.model, "model.gguf")) if os.path.exists(path)]
rows = []
for number, model in enumerate(models):
    meshes = MESHES if args.meshes == "all" else [MESHES[(turn + number) % len(MESHES)]]
    left = os.path.join(args.model, "gguf")  # what the converter does not leave out
    expected = left if model.endswith(".gguf") and os.path.exists(left) else args.model
    rows += [(model, expected, mesh, 80) for mesh in [None, *meshes]]
    if os.path.exists(os.path.join(args.model, "short")):
        rows.append((model, os.path.join(args.model, "short"), None, 32))
failed = 0
for model, expected, mesh, longest in rows:
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "check_generate.py"), "--compiler", args.compiler, "--model", model,
               "--expected", expected, "--out", args.out, f"--max-seq-len={longest}"]
    done = subprocess.run(command + ([f"--mesh={mesh}"] if mesh else []), capture_output=True, text=True)
    print(f"{os.path.relpath(model, args.model)}, {os.path.basename(expected)}, mesh {mesh or 'none'}: {(done.stdout + done.stderr).strip()}")
    failed += done.returncode != 0
sys.exit(failed != 0)
