"""What the ranks of a pipeline share, and what they do not: nothing but sends goes over its axis; weights and caches of all stages are those of one rank, and a tied table once more; a process
needs no tensors but those of its stages.

    check_pipeline_stages.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh M [--mesh M ...] [--mpi]

Each mesh has an axis pp. Equal tokens would prove none of this: with all weights gathered on every rank they are the same. Needs numpy."""
import argparse
import glob
import json
import os
import re
import shutil
import sys

from compiled_programs import fresh, read_safetensors, run, write_safetensors

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", required=True)
parser.add_argument("--mpi", action="store_true", help="with files that lack the tensors of other stages, of meshes of pp alone")
args = parser.parse_args()
path = fresh(args.out)
with open(os.path.join(args.model, "config.json")) as file:
    config = json.load(file)
FLAGS = {"generate": ["--batch=4", "--max-seq-len=32"], "train": ["--task=train", "--batch=4", "--max-seq-len=16"]}
weights = {name: tensor for name_of in glob.glob(os.path.join(args.model, "model*.safetensors")) for name, tensor in read_safetensors(name_of).items()}
[table] = [tensor for name, tensor in weights.items() if name.endswith(("wte.weight", "embed_tokens.weight"))]


def compiled(task, mesh, *flags):
    out = path(f"{task}-{mesh}")
    groups = ["--micro-batches=2"] if task == "generate" and mesh else []  # of two rows each: as many rows as one rank has
    run([args.compiler, args.model, *FLAGS[task], *flags, *groups, *([f"--mesh={mesh}"] if mesh else []), "-o", out])
    return out


def info(program):
    return json.loads(run([program, "info", "--json"]).stdout)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got}, expected {wanted}")


def check_axis(task, mesh):
    """A collective names its axes; the axis of stages stands in the table, and in meshes that have it with size 1."""
    out = path("program.mlir")
    run([args.compiler, args.model, *FLAGS[task], f"--mesh={mesh}", "--compile-to=spmd", "-o", out])
    with open(out) as file:
        lines = file.read().splitlines()
    for line in lines:
        if '"pp"' in line and not re.match(r'\s*dist\.(pipeline @\w+ over "pp"|mesh @mesh = <\[.*"pp"=1)', line):
            sys.exit(f"{task}, {mesh}: {line}")
    if "tp" in mesh and not any(" axes = {" in line and '"tp"' in line for line in lines):
        sys.exit(f"{task}, {mesh}: no collective at all")


def check_bytes(mesh):
    """Of meshes of pp alone. Masters and moments of a tied table are twice there, too."""
    for task in FLAGS:
        one, stages = info(path(f"{task}-")), info(compiled(task, mesh))["pipeline"]["stages"]
        twice = table.nbytes * (config.get("tie_word_embeddings", False)) * (3 if task == "train" else 1)
        expect(f"{task}, {mesh}: bytes of weights", sum(stage["weight_bytes"] for stage in stages), one["weight_bytes"][0] + twice)
        if task == "generate":
            expect(f"{task}, {mesh}: bytes of caches", sum(stage["cache_bytes"] for stage in stages),
                   sum(state["bytes"] for state in one["states"] if state["name"].endswith("_cache")))


def layer_of(name):
    found = re.search(r"\.(?:h|layers)\.(\d+)\.", "." + name)
    return int(found[1]) if found else None


def check_own_tensors(mesh):
    """Each process has a file of its own, in which what its stage does not have is missing."""
    program = path(f"generate-{mesh}")
    stages = info(program)["pipeline"]["stages"]
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe"]
    wanted = ["generate", "--print-tokens", "--tokens=5,6,7", "--tokens=8,9", "--max-new-tokens=8"]
    left_out = 0
    for number, stage in enumerate(stages):
        own = {}
        for name, tensor in weights.items():
            layer = layer_of(name)
            is_own = stage["first_layer"] <= layer < stage["first_layer"] + stage["layers"] if layer is not None else number in (0, len(stages) - 1)
            if is_own:
                own[name] = tensor
        left_out += len(weights) - len(own)
        folder = path(f"own-{mesh}-{number}")
        shutil.copytree(args.model, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.index.json"))
        write_safetensors(os.path.join(folder, "model.safetensors"), own)
        command += ([":"] if number else []) + ["-np", "1", program, *wanted, f"--model={folder}"]
    if not left_out:
        sys.exit(f"{mesh}: every stage has all tensors")
    tokens = [line for line in run(command).stdout.splitlines() if line.startswith("tokens: ")]
    expect(f"{mesh}: tokens", tokens, [line for line in run([path("generate-"), *wanted]).stdout.splitlines() if line.startswith("tokens: ")])


for task in FLAGS:
    compiled(task, "")
for mesh in args.mesh:
    for task in FLAGS:
        check_axis(task, mesh)
    if re.fullmatch(r"pp=\d+", mesh):
        check_bytes(mesh)
        if args.mpi:
            check_own_tensors(mesh)
    print(f"{mesh}: as expected")
