"""The types of a training step, read off `info --json`: all collectives, products and stored values.

    check_types.py --compiler LLM_COMPILE --model MODEL --out DIR [--precision T[:GRADIENTS] ...] [--print] MESH...

Each MESH is compiled with one micro-batch and with two, in every precision: what is computed in and, behind a colon, what gradients of weights are kept and
exchanged in. The policy is that of docs/Precision.md. What a collective carries is told from why it is there."""
import argparse
import json
import os
import sys

from compiled_programs import run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--precision", action="append", help="T or T:GRADIENTS; default: all")
parser.add_argument("--print", action="store_true", help="all that is found")
parser.add_argument("meshes", nargs="+")
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
BATCH, SEQ = 8, 16
with open(os.path.join(args.model, "config.json")) as file:
    config = json.load(file)
NUMBERS = 4 * BATCH * SEQ * (config.get("num_attention_heads") or config["n_head"])  # bytes of a float32 a row and head
wrong = []


def carries(collective, weights):
    """What it is that a collective moves, by its names and by who makes it."""
    kind, values, why = collective["kind"], ", ".join(collective["values"]), collective["why"]
    if collective["dtype"] == "i32":
        return "numbers of rows"
    if kind not in ("all_reduce", "reduce_scatter"):
        # Gradients of weights that change places, sums of them too, where they get their names; statistics of rows, and scales that an op reads in float32.
        gradient = values.startswith("grad.") or (values.startswith("gradient of") and why.startswith("grad."))
        wide = gradient or collective["bytes_per_rank"] <= NUMBERS * collective["executions"]
        return "no sum, of float32" if collective["dtype"] == "f32" and wide else "no sum"
    if collective["bytes_per_rank"] <= 16 * collective["executions"]:
        return "loss or norm"
    # One rank has the row that is looked up, the others zeros.
    if "embedding reduces over vocab" in why and "gradient" not in values:
        return "lookup"
    of = {value.removeprefix("gradient of ").removeprefix("grad.") for value in values.split(", ")}
    return "gradient of a weight" if "grad" in values and of <= weights else "another sum"


def check(holds, *what):
    if not holds:
        wrong.append(" ".join(str(one) for one in what))


def check_collectives(what, entry, weights, compute, gradients):
    """Sums of gradients as asked, others float32, what is moved as it is computed."""
    policy = {"numbers of rows": {"i32"}, "no sum": {compute}, "loss or norm": {"f32"}, "no sum, of float32": {"f32"}, "lookup": {compute},
              "gradient of a weight": {gradients}, "another sum": {"f32"}}
    sent = 0
    for one in entry["collectives"]:
        kind = carries(one, weights)
        if args.print:
            print(what, one["kind"], one["dtype"], f"{kind}:", one["values"], one["executions"], one["bytes_per_rank"], one["why"][:100])
        check(one["dtype"] in policy[kind], what, f"{kind}:", one)
        sent += one["bytes_per_rank"] if kind == "gradient of a weight" else 0
    return sent


def check_stored(what, info, compute, gradients, k):
    check(all(weight["stored"] == "f32" for weight in info["weights"]), what, "masters and moments are", info["weights"])
    # Which of a product's operands is a gradient is not said: results are as they are computed, or sums that nobody rounds.
    for product in info["products"]:
        check({product["x"], product["weight"]} == {compute} and product["accumulated"] == "f32" and product["result"] in (compute, "f32"), what, product)
    elements = lambda value: value["bytes"] / {"f32": 4, "i32": 4, "i64": 8}.get(value["stored"], 2)
    most = max(elements(value) for value in info["saved"])
    for value in info["saved"]:
        # What is float32 or an integer is a number a row, or a row and head.
        check(value["stored"] == compute or (value["stored"] in ("f32", "i32", "i64") and 4 * elements(value) <= most), what, "saved", value)
    memory = info["memory"]
    check(set(memory["moments"]) == {"f32"}, what, memory)
    check(compute == "f32" or set(memory["masters"]) == {"f32"}, what, memory)
    gathered = memory.get("gathered", {})
    check(not gathered or sum(gathered.values()) <= 1.1 * gathered.get(compute, 0), what, "gathered", gathered)
    kept = memory["gradients"]
    check(kept.get("f32", 0) > 0 if gradients == "f32" or k > 1 else kept.get(gradients, 0) > kept.get("f32", 0), what, "gradients are kept as", kept)


for mesh in args.meshes:
    sent = {}
    for precision in args.precision or ("f32", "bf16", "f16", "bf16:bf16"):
        compute, _, gradients = precision.partition(":")
        for k in (1, 2):
            out, what = os.path.join(args.out, "program"), f"{mesh}, {precision}, {k} micro-batches"
            run([args.compiler, args.model, "--task=train", f"--mesh={mesh}", f"--dtype={compute}", f"--micro-batches={k}", f"--batch={BATCH}", f"--max-seq-len={SEQ}",
                 *([f"--grad-dtype={gradients}"] if gradients else []), "-o", out])
            info = json.loads(run([out, "info", "--json"]).stdout)
            check_stored(what, info, compute, gradients or "f32", k)
            for step, entry in info["steps"].items():
                weights = {weight["name"] for weight in info["weights"]}
                bytes = check_collectives(f"{what}, {step}", entry, weights, compute, gradients or "f32")
                if step == "train":
                    sent[precision, k] = bytes
            if args.print:
                print(what, info["products"], info["memory"], [(value["value"], value["stored"], value["shape"]) for value in info["saved"]])
        # What is exchanged is half of that in float32, but for vectors: a bias's gradient may be made of what is gathered anyhow, as prices say.
        if precision == "bf16:bf16":
            for k in (1, 2):
                whole = sent.get(("f32", k), 2 * sent[precision, k])
                check(abs(2 * sent[precision, k] - whole) <= 0.02 * whole, mesh, "bytes of gradients", sent)
    print(f"{mesh}: bytes of gradients exchanged, by precision and micro-batches: {sent}")
sys.exit("\n".join(wrong) or 0)
