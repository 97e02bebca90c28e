#!/usr/bin/env python3
"""A real step in stages: beside the same step on one rank, and beside the step that is simulated from its own trace.

    bench/pipeline/step.py MODEL [--batch=8] [--seq=128] [--micro-batches=8] [--pipeline=1f1b] [--ranks=2] [--steps=6] [--mpi]

One thread a rank against one rank of as many threads, pairs in turn, the best of the steps behind the first; wanted are 0.8 x for GPT-2 and 8 micro-batches. The trace of a run gives what each stage's actions take (means over micro-batches and
steps); schedule-facts says how long the lists last with them, and the run how long they did: wanted within 5 %. Weights are made up: they change no time. Needs a machine that has nothing else to do."""
import argparse
import collections
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ACTION = re.compile(r"(\d+)([FBIW])(\d+)")


def run(words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stdout


def write_tokens(path, rows, columns, vocabulary):
    ids = [(row * 104729 + column * 7919 + 1) % vocabulary for row in range(rows) for column in range(columns)]
    header = json.dumps({"tokens": {"dtype": "I32", "shape": [rows, columns], "data_offsets": [0, 4 * len(ids)]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + struct.pack(f"<{len(ids)}i", *ids))


def seconds_of(log, tokens):
    """Of each step behind the first two, which load and warm up."""
    with open(log) as file:
        return [tokens / json.loads(line)["tokens_per_s"] for line in file][2:]


def durations(events, steps):
    """Seconds of each stage's actions by kind, and of the lists of each step from the first action to the last."""
    took, ends = collections.defaultdict(list), collections.defaultdict(lambda: [1e99, 0])
    for one in events:
        if one.get("cat") == "part" and (found := ACTION.fullmatch(one["name"])) and "step" in one["args"] and one["args"]["step"] in steps:
            took[int(found[1]), found[2]].append(one["dur"] / 1e6)
            span = ends[one["args"]["step"]]
            span[0], span[1] = min(span[0], one["ts"] / 1e6), max(span[1], (one["ts"] + one["dur"]) / 1e6)
    return {key: statistics.mean(all) for key, all in took.items()}, [end - begin for begin, end in ends.values()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    for flag, value in (("--batch", 8), ("--seq", 128), ("--micro-batches", 8), ("--ranks", 2), ("--steps", 6), ("--pairs", 3)):
        parser.add_argument(flag, type=int, default=value)
    parser.add_argument("--pipeline", default="1f1b")
    parser.add_argument("--mpi", action="store_true")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        flags = [os.path.join(ROOT, "build/bin/llm-compile"), a.model, "--task=train", f"--batch={a.batch}", f"--max-seq-len={a.seq}", f"--micro-batches={a.micro_batches}"]
        run(flags + [f"--mesh=pp={a.ranks}", f"--pipeline={a.pipeline}", "-o", path("stages")])
        run(flags + ["-o", path("whole")])
        info = json.loads(run([path("stages"), "info", "--json"]))
        write_tokens(path("tokens.safetensors"), a.batch * a.steps, a.seq + 1, info["train"]["vocab"])
        launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(a.ranks)] if a.mpi else []
        train = lambda program, more: run((launcher if program == "stages" else []) + [path(program), "train", "--init=random:1", f"--data={path('tokens.safetensors')}", f"--steps={a.steps}", f"--log={path('log')}", "--peak-flops=1e12", *more])
        ratios = []
        for _ in range(a.pairs):
            best = {}
            for program in ("stages", "whole"):
                train(program, [] if program == "stages" and a.mpi else [f"--threads={a.ranks}"])
                best[program] = min(seconds_of(path("log"), a.batch * a.seq))
            ratios.append(best["whole"] / best["stages"])
            print(f"stages {best['stages']:.3f} s, one rank of {a.ranks} threads {best['whole']:.3f} s: {ratios[-1]:.2f} x", flush=True)
        print(f"median {statistics.median(ratios):.2f} x")
        steps = list(range(3, a.steps + 1))
        train("stages", ([] if a.mpi else [f"--threads={a.ranks}"]) + [f"--trace={path('trace')}", f"--trace-steps={steps[0]}:{steps[-1]}"])
        with open(path("trace")) as file:
            took, real = durations(json.load(file)["traceEvents"], steps)
        pipeline = info["pipeline"]
        stages = range(len(pipeline["stages"]))
        whole = {stage: took[stage, "B"] for stage in stages if (stage, "B") in took}
        of = lambda kind: ",".join(f"{took.get((stage, kind), whole.get(stage, 0) if kind == 'I' else 0):.9f}" for stage in stages)
        case = f"case file p={a.ranks} m={a.micro_batches} v={len(pipeline['stages']) // a.ranks} recv=posted sends={pipeline['send_buffers']} F={of('F')} I={of('I')} W={of('W')}\n"
        case += "".join(f"r{at} {actions}\n" for at, actions in enumerate(pipeline["lists"]))
        with open(path("case"), "w") as file:
            file.write(case)
        simulated = float(run([os.path.join(ROOT, "build/bin/schedule-facts"), path("case")]).splitlines()[-1].split()[1])
        middle = statistics.median(real)
        print(f"lists: simulated from the trace {simulated:.3f} s, real {middle:.3f} s: {100 * (middle / simulated - 1):+.1f} %")


if __name__ == "__main__":
    main()
