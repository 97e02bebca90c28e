"""The trace of a training run: what the program's calls say, on every rank, without overlaps.

    check_trace.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh M [--mesh M ...] [--micro-batches K] [--mpi]

Each rank's slices are the calls of the manifest, in their order and by their names, once a traced step; each collective of `info` is there as often as its `executions` say; slices of one row do not overlap, and lie within
their step. Also: MFU and memory in the log, what is refused, and that a run with a trace ends with the bytes of one without."""
import argparse
import collections
import json
import os
import shutil
import sys

from compiled_programs import fresh, launcher, manifest_of, read_bytes, read_log, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", required=True)
parser.add_argument("--micro-batches", type=int, default=1)
parser.add_argument("--mpi", action="store_true")
args = parser.parse_args()
path = fresh(args.out)
hyper = json.load(open(os.path.join(args.model, "expected.json")))["train"]["hyper"]
STEPS, PEAK = (2, 3), 1e12


def calls_of(calls, indices=()):
    """(do, operation, value, at) of each call, in the order of the program."""
    for call in calls:
        if "loop" in call:
            for index in range(0, call["loop"], call["step"]):
                yield from calls_of(call["calls"], indices + (index,))
            continue
        inner, places = list(indices), []
        for loop, scale, offset in call.get("at", []):
            places.append(f"{loop} {offset + (scale * inner.pop() if scale and inner else 0)}")
        operation = call.get("kernel", call["do"])
        if call["do"] in ("collective", "start"):
            operation = MANIFEST["collectives"][call["id"]]["kind"]
        yield call["do"], operation, call.get("value", ""), ", ".join(places)


def ns(microseconds):
    return round(microseconds * 1000)


def check_rows(slices, what):
    rows = collections.defaultdict(list)
    for one in slices:
        rows[one["tid"]].append((ns(one["ts"]), ns(one["ts"]) + ns(one["dur"]), one["name"]))
    for tid, row in rows.items():
        row.sort()
        for before, after in zip(row, row[1:]):
            if before[1] > after[0]:
                sys.exit(f"{what}, row {tid}: {before} and {after} overlap")
        kinds = {one["cat"] for one in slices if one["tid"] == tid}
        if len(kinds) != 1:
            sys.exit(f"{what}, row {tid}: slices of {kinds}")


def check_rank(slices, info, wanted, what):
    check_rows(slices, what)
    steps = {one["args"]["step"]: one for one in slices if one["cat"] == "step"}
    if sorted(steps) != list(range(STEPS[0], STEPS[1] + 1)):
        sys.exit(f"{what}: steps {sorted(steps)}")
    for number, step in steps.items():
        within = [one for one in slices if one["args"]["step"] == number and one["cat"] != "step"]
        begin, end = ns(step["ts"]), ns(step["ts"]) + ns(step["dur"])
        for one in within:
            if ns(one["ts"]) < begin or ns(one["ts"]) + ns(one["dur"]) > end:
                sys.exit(f"{what}: {one} lies outside of its step {begin} to {end}")
        # What is begun and waited for is a call each, and both are on the row of waits.
        called = [one for one in within if one["cat"] == "compute" or one["cat"] == "wait"]
        called.sort(key=lambda one: ns(one["ts"]))
        got = [(one["args"]["do"], one["args"]["operation"], one["args"].get("value", ""), one["args"].get("at", "")) for one in called]
        # A wait has the name of what it waits for.
        if [one if one[0] != "wait" else "wait" for one in got] != [one if one[0] != "wait" else "wait" for one in wanted]:
            at = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]), min(len(got), len(wanted)))
            sys.exit(f"{what}, step {number}: {len(got)} calls, expected {len(wanted)}; call {at} is {got[at:at + 1]}, expected {wanted[at:at + 1]}")
        counted = collections.Counter()
        for one in within:
            if one["cat"] == "collective":
                counted[one["args"]["operation"], one["args"]["why"], one["args"]["bytes"]] += 1
        expected = collections.Counter()
        for one in info["steps"]["train"]["collectives"]:
            expected[one["kind"], one["why"], one["bytes_per_rank"] // one["executions"]] += one["executions"]
        if counted != expected:
            sys.exit(f"{what}, step {number}: collectives {counted - expected} too often, {expected - counted} missing")


def flops_of_a_token():
    """Three times what forward multiplies: every matrix but tables that are only looked up, and attention with its softmax."""
    config = json.load(open(os.path.join(args.model, "config.json")))
    matrices = 0
    for name, shape in shapes_of_weights().items():
        looked_up = name.startswith(("wte", "wpe", "transformer.wte", "transformer.wpe", "model.embed_tokens"))
        if len(shape) == 2 and not (looked_up and not (config["tie_word_embeddings"] and "wpe" not in name)):
            matrices += shape[0] * shape[1]
    heads = config.get("n_head") or config["num_attention_heads"]
    width = config.get("n_embd") or heads * (config.get("head_dim") or config["hidden_size"] // heads)
    layers = config.get("n_layer") or config["num_hidden_layers"]
    return 3 * (2 * matrices + layers * hyper["seq_len"] * (4 * width + 5 * heads))


def shapes_of_weights():
    shapes = {}
    for name in os.listdir(args.model):
        if name.startswith("model") and name.endswith(".safetensors"):
            with open(os.path.join(args.model, name), "rb") as file:
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            shapes.update({key: one["shape"] for key, one in header.items() if key != "__metadata__"})
    return shapes


def check_utilization(flops, mesh):
    if flops != flops_of_a_token():
        sys.exit(f"{mesh}: {flops} FLOPs a token, expected {flops_of_a_token()}")
    for line in read_log(path("log")):
        if abs(line["mfu"] / (line["tokens_per_s"] * flops / PEAK) - 1) > 1e-9 or not 1e6 < line["memory_bytes"] < 1e11:
            sys.exit(f"{mesh}: {line}")


def check_refused(command, flags, why):
    done = run(command + flags, status=1)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if len(errors) != 1 or why not in errors[0]:
        sys.exit(f"{flags}: {done.stderr}")


for mesh in args.mesh:
    out = path(mesh)
    run([args.compiler, args.model, "--task=train", f"--batch={hyper['batch']}", f"--max-seq-len={hyper['seq_len']}", f"--micro-batches={args.micro_batches}", f"--mesh={mesh}", "-o", out])
    info = json.loads(run([out, "info", "--json"]).stdout)
    MANIFEST = json.loads(manifest_of(out))
    entry = next(one for one in MANIFEST["entries"] if one["name"] == "train")
    wanted = list(calls_of(entry["calls"]))
    data = os.path.join(args.model, "train_tokens.safetensors")
    command = [out, "train", f"--data={data}", "--steps=4"]
    launched = launcher(mesh) if args.mpi else []
    run(launched + command + [f"--trace={path('trace.json')}", f"--trace-steps={STEPS[0]}:{STEPS[1]}", f"--save={path('traced')}", f"--log={path('log')}",
                              f"--peak-flops={PEAK}"])
    check_utilization(info["train"]["flops_per_token"], mesh)
    with open(path("trace.json")) as file:
        events = json.load(file)["traceEvents"]
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    if names != {rank: f"rank {rank}" for rank in range(info["ranks"])}:
        sys.exit(f"{mesh}: processes {names}")
    for rank in range(info["ranks"]):
        check_rank([one for one in events if one["ph"] == "X" and one["pid"] == rank], info, wanted, f"{mesh}, rank {rank}")
    print(f"{mesh}: {len(wanted)} calls, {sum(one['executions'] for one in info['steps']['train']['collectives'])} collectives a step")
    if args.mpi:
        continue
    run(command + [f"--save={path('plain')}"])
    if read_bytes(path("traced/step-4/model.safetensors")) != read_bytes(path("plain/step-4/model.safetensors")):
        sys.exit(f"{mesh}: a traced run has other weights")
    # A trace of the first steps by default, however few they are.
    run([out, "train", f"--data={data}", "--steps=1", f"--trace={path('one.json')}"])
    with open(path("one.json")) as file:
        if {one["name"] for one in json.load(file)["traceEvents"] if one.get("cat") == "step"} != {"step 1"}:
            sys.exit(f"{mesh}: other steps than the one that there is")
    check_refused(command, [f"--trace={path('no')}/trace.json"], "no/trace.json")
    check_refused(command, [f"--trace={data}"], "it is a file of the model, which would be lost")
    shutil.copy(data, path("tokens"))
    check_refused([out, "train", f"--data={path('tokens')}", "--steps=4"], [f"--trace={path('tokens')}"], "this run reads that file")
    check_refused(command, ["--trace-steps=1:2"], "nothing is traced; add --trace=FILE.json")
    check_refused(command, [f"--trace={path('x')}", "--trace-steps=3:5"], "the run ends with step 4")
    check_refused(command, [f"--trace={path('x')}", "--trace-steps=3:2"], "it ends before it begins")
    check_refused([out, "train", f"--data={data}", "--steps=5", f"--resume={path('plain')}", f"--trace={path('x')}"], ["--trace-steps=4:5"], "4 steps are done")
    check_refused([out, "info"], ["--trace=x"], "--trace")
