"""What the compiler predicts of the plan that it chose is what `info` predicts of the executable, whatever links take.

    check_pipeline_times.py --compiler LLM_COMPILE --model MODEL --tied GPT2 --out DIR

Slow links make sends wait for buffers: the search and the program must have as many of them, and so must the same plan if it is pinned. Also: what the gradient of a table that two
stages have takes between two ranks, and the times of stages that generate."""
import argparse
import json
import os
import re
import sys

from compiled_programs import fresh, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--tied", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
path = fresh(args.out)
for latency, bandwidth in ((1e-8, 1e9), (1e-3, 1e6)):
    with open(path("machine.json"), "w") as file:
        json.dump({"flops": 2e10, "axes": {"pp": {"latency": latency, "bandwidth": bandwidth}}}, file)
    said = run([args.compiler, args.model, "--task=train", "--batch=8", "--max-seq-len=16", "--mesh=pp=2", f"--machine={path('machine.json')}", "--explain", "-o", path("program")]).stderr
    planned = float(re.search(r"remark: pipeline: .*?: ([\d.]+) us planned", said)[1]) / 1e6
    seconds = float(re.search(r"remark: pipeline: a step ([\d.]+) us predicted", said)[1]) / 1e6
    pipeline = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]
    told = pipeline["predicted"]["step_seconds"]
    if abs(told / planned - 1) > 0.05 or abs(told / seconds - 1) > 1e-3:
        sys.exit(f"latency {latency}, {bandwidth} bytes a second: the compiler planned {planned} s and says {seconds} s, info {told} s, with {pipeline['send_buffers']} send buffers")
    # The same plan, pinned: the same program, with as many buffers.
    def text(*flags):
        run([args.compiler, args.model, "--task=train", "--batch=8", "--max-seq-len=16", "--mesh=pp=2", f"--machine={path('machine.json')}", *flags, "--compile-to=spmd", "-o", path("program.mlir")])
        with open(path("program.mlir")) as file:
            return file.read()

    micro, cut = re.search(r"remark: pipeline: \S+, (\d+) micro-batches, cut ([\d,]+):", said).groups()
    if text() != text(f"--pipeline={pipeline['schedule']}", f"--micro-batches={micro}", f"--stages={cut}"):
        sys.exit(f"{pipeline['schedule']}, {micro}, {cut}: another program than the one that was chosen")
    print(f"{seconds} s, {pipeline['schedule']}, {pipeline['send_buffers']} send buffers")
# Stages that generate: the messages with tokens, the tokens' way to all, and what is said of both before and behind.
latency, bandwidth, rows = 1e-3, 1e6, 2
with open(path("machine.json"), "w") as file:
    json.dump({"flops": 2e10, "axes": {"pp": {"latency": latency, "bandwidth": bandwidth}}}, file)
said = run([args.compiler, args.model, "--mesh=pp=2", f"--batch={rows}", "--micro-batches=1", f"--machine={path('machine.json')}", "--explain", "-o", path("program")]).stderr
pipeline = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]
predicted = pipeline["predicted"]
wanted = [latency + bytes / bandwidth for bytes in (pipeline["stages"][0]["sends_bytes_of_token"], 4 * rows)]
if any(abs(got / want - 1) > 1e-6 for got, want in zip(predicted["token_link"], wanted)):
    sys.exit(f"messages with tokens: {predicted['token_link']}, expected {wanted}")
told = [sum(predicted[what]) + sum(predicted[link]) for what, link in (("chunk", "link"), ("token", "token_link"))]
for word in ("planned", "predicted"):
    numbers = [float(number) / 1e6 for number in re.search(rf"a chunk of a prompt ([\d.]+) us, a token ([\d.]+) us {word}", said).groups()]
    if any(abs(number / of - 1) > 0.05 for number, of in zip(numbers, told)):
        sys.exit(f"generating: {numbers} s {word}, info tells {told}")
run([args.compiler, args.model, "--mesh=pp=2", "-o", path("program")])
predicted = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]["predicted"]
names = ["chunk", "token", "link", "token_link"]
if sorted(predicted) != sorted(names) or [len(predicted[name]) for name in names] != [2, 2, 1, 2] or not all(a > b > 0 for a, b in zip(predicted["chunk"], predicted["token"])):
    sys.exit(f"generating: {predicted}")
if "predicted" not in run([path("program"), "info"]).stdout:
    sys.exit("info of a pipeline that generates says no times")
run([args.compiler, args.tied, "--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", "--mesh=pp=3", "--pipeline=1f1b", "--stages=2,2,1", "-o", path("program")])
with open(os.path.join(args.tied, "config.json")) as file:
    config = json.load(file)
table = 4 * config["vocab_size"] * config["n_embd"]
pipeline = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]
# The nominal machine: 10 ns and a byte each ns.
if [round(seconds * 1e9) for seconds in pipeline["predicted"]["shared"]] != [table + 10, 0, table + 10]:
    sys.exit(f"a table of {table} bytes: {pipeline['predicted']}")
# Both ends of a V lie on one rank.
run([args.compiler, args.tied, "--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", "--mesh=pp=2", "--pipeline=zbv", "--stages=2,1,1,1", "-o", path("program")])
shared = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]["predicted"]["shared"]
if shared != [0, 0, 0, 0]:
    sys.exit(f"a V: {shared}")
# Where the link is slow, that is what is chosen.
with open(path("machine.json"), "w") as file:
    json.dump({"flops": 2e10, "axes": {"pp": {"latency": 1e-5, "bandwidth": 1e7}}}, file)
run([args.compiler, args.tied, "--task=train", "--batch=8", "--max-seq-len=16", "--micro-batches=4", "--mesh=pp=2", f"--machine={path('machine.json')}", "-o", path("program")])
pipeline = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]
if max(pipeline["predicted"]["shared"]) > 0:
    sys.exit(f"{pipeline['schedule']} sends the table over a slow link: {pipeline['predicted']}")
