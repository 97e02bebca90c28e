"""check_generate.py for one of test/Inputs/models/families, on some meshes.

    check_families.py --compiler LLM_COMPILE --model FOLDER --out PREFIX --meshes few|all

Hugging Face, GGUF and MXFP4 of Hugging Face, if the family has them, without a mesh and on the others: `few` takes one of them for each, by the family's name. A model with experts
has more meshes, of which `few` takes two. Where `short` holds results for sequences within the original context, those too. Needs numpy."""
import argparse
import json
import os
import subprocess
import sys
import zlib

MESHES = ["tp=2", "tp=3", "fsdp=2", "cp=2", "sp=2,tp=2"]
# Behind a space more flags.
WITH_EXPERTS = ["ep=2", "ep=3", "ep=2,tp=2", "dp=2,ep=2", "dp=2,ep=2 --batch=4 --shard=batch=dp+ep"]

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--meshes", required=True, choices=["few", "all"])
args = parser.parse_args()

config = json.load(open(os.path.join(args.model, "config.json")))
has_experts = "num_experts_per_tok" in config
turn = zlib.crc32(os.path.basename(args.model).encode())
models = [path for path in (args.model, os.path.join(args.model, "model.gguf"), os.path.join(args.model, "mxfp4")) if os.path.exists(path)]
rows = []
for number, model in enumerate(models):
    lists = [MESHES, WITH_EXPERTS] if has_experts else [MESHES]
    meshes = [mesh for list in lists for mesh in (list if args.meshes == "all" else [list[(turn + number) % len(list)]])]
    left = os.path.join(args.model, "gguf")  # what the converter does not leave out
    expected = left if model.endswith(".gguf") and os.path.exists(left) else args.model
    rows += [(model, expected, mesh, 80) for mesh in [None, *meshes]]
    if os.path.exists(os.path.join(args.model, "short")):
        rows.append((model, os.path.join(args.model, "short"), None, 32))
failed = 0
for model, expected, mesh, longest in rows:
    command = [sys.executable, os.path.join(os.path.dirname(__file__), "check_generate.py"), "--compiler", args.compiler, "--model", model,
               "--expected", expected, "--out", args.out, f"--max-seq-len={longest}"]
    if mesh:
        mesh, *flags = mesh.split()
        command += [f"--mesh={mesh}"] + [flag if flag.startswith("--batch=") else f"--flag={flag}" for flag in flags]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{os.path.relpath(model, args.model)}, {os.path.basename(expected)}, mesh {' '.join([mesh, *flags]) if mesh else 'none'}: {(done.stdout + done.stderr).strip()}")
    failed += done.returncode != 0
sys.exit(failed != 0)
