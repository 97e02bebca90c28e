"""What the compiler predicts of the plan that it chose is what `info` predicts of the executable, whatever links take.

    check_pipeline_times.py --compiler LLM_COMPILE --model MODEL --out DIR

Slow links make sends wait for buffers: the search and the program must have as many of them. Also: the times of stages that generate."""
import argparse
import json
import re
import sys

from compiled_programs import fresh, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
path = fresh(args.out)
for latency, bandwidth in ((1e-8, 1e9), (1e-3, 1e6)):
    with open(path("machine.json"), "w") as file:
        json.dump({"flops": 2e10, "axes": {"pp": {"latency": latency, "bandwidth": bandwidth}}}, file)
    said = run([args.compiler, args.model, "--task=train", "--batch=8", "--max-seq-len=16", "--mesh=pp=2", f"--machine={path('machine.json')}", "--explain", "-o", path("program")]).stderr
    seconds = float(re.search(r"remark: pipeline: .*?: ([\d.]+) us predicted", said)[1]) / 1e6
    pipeline = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]
    told = pipeline["predicted"]["step_seconds"]
    if abs(told / seconds - 1) > 0.05:
        sys.exit(f"latency {latency}, {bandwidth} bytes a second: the compiler says {seconds} s, info {told} s, with {pipeline['send_buffers']} send buffers")
    print(f"{seconds} s, {pipeline['schedule']}, {pipeline['send_buffers']} send buffers")
run([args.compiler, args.model, "--mesh=pp=2", "-o", path("program")])
predicted = json.loads(run([path("program"), "info", "--json"]).stdout)["pipeline"]["predicted"]
if set(predicted) != {"chunk", "token", "link"} or [len(predicted[name]) for name in ("chunk", "token", "link")] != [2, 2, 1] or not all(a > b > 0 for a, b in zip(predicted["chunk"], predicted["token"])):
    sys.exit(f"generating: {predicted}")
if "predicted" not in run([path("program"), "info"]).stdout:
    sys.exit("info of a pipeline that generates says no times")
