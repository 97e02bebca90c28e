"""What a step of training sends: as counted when it ran, as `info` says, and at most as the formulas say.

    check_bytes.py --compiler LLM_COMPILE --model MODEL --out DIR [--seq=N] [CELL...]

A CELL is TEMPLATE:MESH. Each is compiled with 1 and 4 micro-batches, and `bench` runs it. For every kind of collective the bytes that the rank
sent that sent most must be those of `info --json`, and all together at most what the strategy is known to take (Psi: all parameters, with the padding
of pieces that do not divide; N ranks; ring collectives; docs/Bytes.md). Each collective says which values it makes, and why."""
import argparse
import json
import os
import sys

from compiled_programs import run

CELLS = ("ddp:dp=4", "zero1:dp=4", "zero2:dp=4", "fsdp:fsdp=4", "hsdp:dp=2,fsdp=2", "tp:tp=2", "megatron:tp=2", "2d:fsdp=2,tp=2")
BATCH, MICRO_BATCHES, FLOAT = 16, (1, 4), 4
parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--seq", type=int, default=64)
parser.add_argument("cells", nargs="*", default=CELLS)
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
with open(os.path.join(args.model, "config.json")) as file:
    config = json.load(file)
layers = config.get("num_hidden_layers") or config["n_layer"]
hidden = config.get("hidden_size") or config["n_embd"]


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def formula(template, mesh, k, info):
    """Bytes at most. `piece`: elements of the moments that a rank holds."""
    piece = small = 0
    for weight in info["weights"]:
        if weight["name"].startswith("exp_avg."):
            count = elements(weight["shape"]) * max(1, weight["layers"])
            piece += count
            small += count if "norm" in weight["name"] or "bias" in weight["name"] else 0
    dp, fsdp, tp = (mesh.get(axis, 1) for axis in ("dp", "fsdp", "tp"))
    data = {"ddp": 2 * piece * (dp - 1) / dp, "zero1": 2 * piece * (dp - 1), "zero2": (k + 1) * piece * (dp - 1),
            "fsdp": 3 * k * piece * (fsdp - 1), "2d": 3 * k * piece * (fsdp - 1),
            "hsdp": 3 * k * piece * (fsdp - 1) + 2 * piece * (dp - 1) / dp}.get(template, 0)
    tokens = BATCH * args.seq / (dp * fsdp)
    halves = 0
    if tp > 1:  # of each layer; of the table of tokens and of the head, whose vocabulary tp splits, too
        halves = (10 * layers + 5 if template == "megatron" else 8 * layers + 4) * (tp - 1) / tp
    # Statistics of the rows of logits that tp splits, and gradients of what it replicates where it splits rows.
    statistics = 2 * 2 * tokens * (tp - 1) / tp + (2 * k * small * (tp - 1) / tp if template == "megatron" else 0)
    scalars = 16  # the loss and the norm, over every axis
    return FLOAT * (data + halves * tokens * hidden + statistics + scalars)


wrong = False
for cell in args.cells:
    template, mesh = cell.split(":")
    sizes = {axis: int(size) for axis, size in (item.split("=") for item in mesh.split(","))}
    for k in MICRO_BATCHES:
        out = os.path.join(args.out, "program")
        run([args.compiler, args.model, "--task=train", f"--template={template}", f"--mesh={mesh}", f"--batch={BATCH}", f"--max-seq-len={args.seq}",
             f"--micro-batches={k}", "-o", out])
        info = json.loads(run([out, "info", "--json"]).stdout)
        said = {}
        nameless = [one for step in info["steps"].values() for one in step["collectives"] if not one["values"] or not one["why"]]
        for one in info["steps"]["train"]["collectives"]:
            if one["bytes_per_rank"]:
                said[one["kind"]] = said.get(one["kind"], 0) + one["bytes_per_rank"]
        sent = json.loads(run([out, "bench", "--json", "--threads=1"]).stdout)["sent_bytes"]
        most = formula(template, sizes, k, info)
        fails = (["more than the formula"] if sum(said.values()) > most else []) + (["not as said"] if sent != said else [])
        fails += [f"no name: {one}" for one in nameless]
        print(f"{cell} k={k}: {sum(sent.values())} of {most:.0f} bytes {sent}{': ' + ', '.join(fails) + f', info {said}' if fails else ''}", flush=True)
        wrong |= bool(fails)
sys.exit(wrong)
