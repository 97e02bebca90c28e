"""The trace of a pipeline's steps: what `info` lists, in that order, each call in its part, messages as often as they are sent.

    check_pipeline_trace.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh M --pipeline P [--stages S] [--mpi]

Also: which layers the calls of a rank are of, and that a run with a trace ends with the bytes of one without. What `info` predicts, and draws beside, is what schedule-facts makes of the same lists and times."""
import argparse
import collections
import json
import os
import re
import sys

from compiled_programs import fresh, launcher, read_bytes, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out", "--mesh", "--pipeline"):
    parser.add_argument(flag, required=True)
parser.add_argument("--stages")
parser.add_argument("--facts", required=True)
parser.add_argument("--mpi", action="store_true")
args = parser.parse_args()
path = fresh(args.out)
STEPS, MICRO = (2, 3), 4

out = path("program")
run([args.compiler, args.model, "--task=train", "--batch=8", "--max-seq-len=16", f"--micro-batches={MICRO}", f"--mesh={args.mesh}", f"--pipeline={args.pipeline}", "-o", out]
    + ([f"--stages={args.stages}"] if args.stages else []))
info = json.loads(run([out, "info", "--json"]).stdout)
pipeline = info["pipeline"]
command = (launcher(args.mesh) if args.mpi else []) + [out, "train", f"--model={args.model}", f"--data={os.path.join(args.model, 'train_tokens.safetensors')}", "--steps=4"]
run(command + [f"--save={path('plain')}"])
run(command + [f"--save={path('traced')}", f"--trace={path('trace.json')}", f"--trace-steps={STEPS[0]}:{STEPS[1]}"])
for name in ("model.safetensors",):
    if read_bytes(os.path.join(path("plain"), "step-4", name)) != read_bytes(os.path.join(path("traced"), "step-4", name)):
        sys.exit(f"{name}: a trace changes what is trained")
with open(path("trace.json")) as file:
    events = json.load(file)["traceEvents"]

COMPUTES = re.compile(r"\(?\d+[FBIW]\d+")
parts_in_action = lambda action: re.findall(r"\d+[FBIW]\d+", action) if action.startswith("(") else [action]
axes = list(info["mesh"])


def coordinate(rank):
    """Of a rank along the pipeline's axis; the last axis is the fastest."""
    for axis in reversed(axes):
        rank, at = divmod(rank, info["mesh"][axis])
        if axis == pipeline["axis"]:
            return at


def span(one):
    return round(one["ts"] * 1000), round((one["ts"] + one["dur"]) * 1000)


for rank in range(info["ranks"]):
    at = coordinate(rank)
    own = [one for one in events if one["ph"] == "X" and one["pid"] == rank]
    rows = collections.defaultdict(list)
    for one in own:
        rows[one["tid"]].append(one)
    for tid, row in rows.items():
        row.sort(key=span)
        if len({one["cat"] for one in row}) != 1:
            sys.exit(f"rank {rank}, row {tid}: slices of {({one['cat'] for one in row})}")
        for before, after in zip(row, row[1:]):
            if span(before)[1] > span(after)[0] + 1:  # both are rounded
                sys.exit(f"rank {rank}, row {tid}: {before} and {after} overlap")
    stages = [number for number, stage in enumerate(pipeline["stages"]) if stage["at"] == at]
    wanted = pipeline["lists"][at].split()
    layers = {f"layer {layer}" for number in stages for layer in range(pipeline["stages"][number]["first_layer"], pipeline["stages"][number]["first_layer"] + pipeline["stages"][number]["layers"])}
    for step in range(STEPS[0], STEPS[1] + 1):
        inside = sorted((one for one in own if one["args"]["step"] == step), key=span)
        parts = [one for one in inside if one["cat"] == "part"]
        actions = [one["name"] for one in parts if COMPUTES.fullmatch(one["name"]) or one["name"].startswith("(")]
        if actions != [one for one in wanted if COMPUTES.match(one) and "_" not in one]:
            sys.exit(f"rank {rank}, step {step}: {actions}, and the list is {wanted}")
        once = collections.Counter(one["name"].split(" of stage ")[0] for one in parts if one["name"] not in actions)
        if once["train_update"] != len(stages) or once["train_sum"] != len(stages):
            sys.exit(f"rank {rank}, step {step}: {once}, with the stages {stages}")
        messages = collections.Counter(one["name"] for one in inside if one["cat"] == "message")
        if messages != collections.Counter(one for one in wanted if "SEND" in one or "RECV" in one):
            sys.exit(f"rank {rank}, step {step}: messages {messages}, and the list is {wanted}")
        # Each call is in the part that it names.
        spans = {}
        for one in parts:
            for name in parts_in_action(one["name"]):
                spans[name] = span(one)
        for one in inside:
            if one["cat"] not in ("compute", "collective") or "do" not in one["args"]:
                continue
            name = one["args"]["at"].split(", ")[0]
            if name not in spans or not (spans[name][0] - 1 <= span(one)[0] and span(one)[1] <= spans[name][1] + 1):
                sys.exit(f"rank {rank}, step {step}: {one} is not in {name} {spans.get(name)}")
        named = {place for one in inside for place in one["args"].get("at", "").split(", ") if place.startswith("layer ")}
        if named != layers:
            sys.exit(f"rank {rank}, step {step}: calls of {sorted(named)}, and it has {sorted(layers)}")
    print(f"rank {rank}: {len(actions)} actions, {sum(messages.values())} messages")


# The lists with the times that are predicted, as a case of facts.
predicted = pipeline["predicted"]
words = [f"{word}=" + ",".join(map(repr, predicted[name])) for word, name in (("F", "forward"), ("I", "input_gradient"), ("W", "weight_gradient"), ("link", "link"), ("wire", "wire"))]
case = f"case file p={info['mesh'][pipeline['axis']]} m={MICRO} v={len(pipeline['stages']) // info['mesh'][pipeline['axis']]} recv=posted sends={pipeline['send_buffers']} {' '.join(words)}\n"
case += "".join(f"r{at} {actions}\n" for at, actions in enumerate(pipeline["lists"]))
with open(path("case"), "w") as file:
    file.write(case)
numbers = run([args.facts, path("case")]).stdout.splitlines()[-1].split()
makespan, busy = float(numbers[1]), [float(one) for one in numbers[3:numbers.index("peak")]]
ofRanks = lambda name: [sum(predicted[name][number] for number, stage in enumerate(pipeline["stages"]) if stage["at"] == at) for at in range(len(pipeline["lists"]))]
once, shared = ofRanks("once"), ofRanks("shared")
step = makespan + max(shared) + max(once)
idle = 1 - (sum(busy) + sum(once)) / step / len(busy)
if abs(predicted["step_seconds"] / step - 1) > 1e-4 or abs(predicted["bubble"] - idle) > 1e-3 or min(predicted["forward"]) < 0 or makespan <= 0:
    sys.exit(f"{predicted}, and facts say {numbers}, {once} and {shared}")
run([out, "info", f"--trace={path('predicted.json')}"])
with open(path("predicted.json")) as file:
    alone = json.load(file)["traceEvents"]
first = info["ranks"]
for events, first in ((events, info["ranks"]), (alone, 0)):
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name" and one["pid"] >= first}
    if names != {first + at: f"predicted: {pipeline['axis']} {at}" for at in range(len(pipeline["lists"]))}:
        sys.exit(f"processes {names}")
    for at, actions in enumerate(pipeline["lists"]):
        own = sorted((one for one in events if one["ph"] == "X" and one["pid"] == first + at), key=span)
        parts = [one for one in own if one["cat"] == "part" and one["name"] not in ("once a step", "shared gradients")]
        for tid in {one["tid"] for one in own}:
            row = [one for one in own if one["tid"] == tid]
            if any(span(before)[1] > span(after)[0] + 1 for before, after in zip(row, row[1:])):
                sys.exit(f"predicted at {at}, row {tid}: slices overlap: {row}")
        if [one["name"] for one in parts] != [one for one in actions.split() if "_" not in one]:
            sys.exit(f"predicted at {at}: {parts}")
        if sorted(one["name"] for one in own if one["cat"] == "message") != sorted(one for one in actions.split() if "SEND" in one):
            sys.exit(f"predicted at {at}: {own}")
        if abs(sum(one["dur"] for one in parts) / 1e6 / busy[at] - 1) > 1e-2:
            sys.exit(f"predicted at {at}: parts take {sum(one['dur'] for one in parts)} us, {busy[at]} s were predicted")
        end = max(span(one)[1] for one in own)
        if abs(end / 1e9 / (makespan + (max(shared) + once[at] if once[at] else shared[at])) - 1) > 1e-3:
            sys.exit(f"predicted at {at}: it ends at {end} ns, {step} s were predicted")
print(f"predicted: {predicted['step_seconds']} s, bubble {predicted['bubble']}")
