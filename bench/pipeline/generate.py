#!/usr/bin/env python3
"""Generating in stages: a long prompt and its decoding beside one rank of one thread; and groups of rows under given durations.

    bench/pipeline/generate.py SMOLLM2 [--tiny=MODEL] [--pairs=3] [--mpi]

SmolLM2 on pp=2, one thread a rank: a prompt of 512 tokens goes through in four chunks (wanted 1.4 x; at best 1.6), 32 tokens of one row one after another (wanted 0.9 x). Pairs in turn, medians. Then TINY (tiny-llama) on pp=4, where
every stage takes 10 ms a token: g groups are to be min(g, 4) x as fast as one, within 5 %. Needs a machine that has nothing else to do."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(words, **variables):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables})
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stderr


def speeds(text):
    """Tokens a second of prefill and decode."""
    found = re.search(r"prefill: (\d+) tokens in ([\d.]+) s; decode: (\d+) tokens in ([\d.]+) s", text)
    return int(found[1]) / float(found[2]), int(found[3]) / float(found[4])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--tiny", default=os.path.join(ROOT, "test/Inputs/models/tiny-llama"))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--mpi", action="store_true")
    a = parser.parse_args()
    compiler = os.path.join(ROOT, "build/bin/llm-compile")
    launcher = lambda ranks: ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)] if a.mpi else []
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        run([compiler, a.model, "--mesh=pp=2", "-o", path("stages")])
        run([compiler, a.model, "-o", path("whole")])
        prompt = "--tokens=" + ",".join(str(id * 7919 % 49000 + 20) for id in range(512))
        ratios = []
        for _ in range(a.pairs):
            stages = speeds(run(launcher(2) + [path("stages"), "generate", prompt, "--max-new-tokens=33", "--print-tokens"] + ([] if a.mpi else ["--threads=2"])))
            whole = speeds(run([path("whole"), "generate", prompt, "--max-new-tokens=33", "--print-tokens", "--threads=1"]))
            ratios.append((stages[0] / whole[0], stages[1] / whole[1]))
            print(f"prefill {stages[0]:.0f} against {whole[0]:.0f} tokens/s: {ratios[-1][0]:.2f} x; decode {stages[1]:.1f} against {whole[1]:.1f}: {ratios[-1][1]:.2f} x", flush=True)
        print("medians: prefill %.2f x (wanted 1.4), decode %.2f x (wanted 0.9)" % tuple(statistics.median(column) for column in zip(*ratios)))
        with open(path("delays"), "w") as file:
            file.write("F=10\n")
        first = None
        for groups in (1, 2, 3, 4, 6):
            run([compiler, a.tiny, "--mesh=pp=4", f"--batch={groups}", f"--micro-batches={groups}", "-o", path("tiny")])
            prompts = [f"--tokens={5 + row},9,14" for row in range(groups)]
            rate = speeds(run(launcher(4) + [path("tiny"), "generate", *prompts, "--max-new-tokens=41", "--print-tokens"], TESSERA_PIPELINE_DELAYS=path("delays")))[1]
            first = first or rate
            wanted = min(groups, 4)
            print(f"{groups} groups: {rate:.1f} tokens/s, {rate / first:.2f} x one (wanted {wanted}, {100 * (rate / first / wanted - 1):+.1f} %)", flush=True)


if __name__ == "__main__":
    main()
