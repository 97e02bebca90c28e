"""Drawn tokens of a compiled model against a script that knows only docs/Runtime.md: logits by test/Inputs/reference.py in float64, a number for each
(seed, prompt, token), softmax(logits / T) cut to the nucleus, behind a penalty on tokens that the text has; at T = 0 the likeliest token behind it.

    check_sampling.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M] [--batch 2] [--launcher "mpirun -np 2"] [--flag=--target=cuda]

Five prompts of different lengths go through a batch of two: three rounds. Every token must be the one that its number says; where the number
lies within 1e-4 of the border of two tokens, either."""
import argparse
import glob
import json
import os
import shlex
import subprocess
import sys

import numpy as np

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh")
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--launcher", default="")
parser.add_argument("--flag", action="append", default=[], help="for the compiler")
args = parser.parse_args()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs"))
import modelio
import reference

PROMPTS = [[5, 17, 80, 3], [200], [9, 9, 31, 44, 250, 7, 8, 120, 6], [301, 2], [64, 65, 66]]
WORD = (1 << 64) - 1


def random_bits(seed, stream, index):
    """splitmix64's finalizer over three inputs, as docs/Runtime.md says."""
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
        return z ^ (z >> 31)
    gamma = 0x9E3779B97F4A7C15
    z = mix((seed + gamma) & WORD)
    z = mix(z ^ ((stream + gamma) & WORD))
    return mix((z + index * gamma) & WORD)


def penalized(logits, text, penalty):
    """With tokens of `text` less likely: X of --repeat-penalty is `penalty`."""
    logits = np.array(logits, dtype=np.float64)
    seen = sorted(set(text))
    logits[seen] = np.where(logits[seen] > 0, logits[seen] / penalty, logits[seen] * penalty)
    return logits


def likeliest(logits):
    """The token of T = 0, as candidates() gives them."""
    first, second = np.argsort(-logits, kind="stable")[:2]
    return None if logits[first] - logits[second] < 1e-4 else {int(first)}


def candidates(logits, temperature, top_k, top_p, min_p, u):
    """The token that `u` in [0, 1) draws, and those within reach of rounding."""
    weights = np.exp((np.array(logits) - max(logits)) / temperature)
    order = np.arange(len(weights))
    if top_p < 1 or top_k or min_p:
        order = np.array(sorted(order, key=lambda i: (-weights[i], i)))
        if top_k:
            if weights[order[top_k - 1]] - weights[order[top_k]] < 1e-5 * weights[order[top_k]]:
                return None
            order = order[:top_k]
            weights = np.where(np.isin(np.arange(len(weights)), order), weights, 0)
    if top_p < 1:
        sums = np.cumsum(weights[order])
        order = order[:int(np.searchsorted(sums, top_p * weights.sum())) + 1]
    if min_p:
        if np.abs(weights - min_p).min() < 1e-5:  # the largest weight is 1
            return None
        order = order[weights[order] >= min_p]
    borders = np.cumsum(weights[order]) / weights[order].sum()
    near = {int(order[min(int(np.searchsorted(borders, x, side="right")), len(order) - 1)]) for x in (u, max(u - 1e-4, 0), u + 1e-4)}
    if top_p < 1:  # the nucleus itself may end one token earlier or later
        sums = np.cumsum(np.sort(weights)[::-1]) / weights.sum()
        if np.abs(sums - top_p).min() < 1e-5:
            return None
    return near


with open(os.path.join(args.model, "config.json")) as file:
    config = json.load(file)
tensors = {}
for path in glob.glob(os.path.join(args.model, "model*.safetensors")):
    tensors.update(modelio.read_safetensors(path))
model = reference.make_model(config, tensors)
done = subprocess.run([args.compiler, args.model, f"--batch={args.batch}", "--max-seq-len=64", "-o", args.out] + ([f"--mesh={args.mesh}"] if args.mesh else []) + args.flag,
                      capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)

checked = surprising = changed = 0
for temperature, top_k, top_p, min_p, penalty, seed in [(0.7, 0, 1, 0, 1, 0), (1.5, 0, 0.8, 0, 1, 12345678901234567890), (3.0, 0, 0.95, 0, 1, 7), (2.0, 5, 1, 0, 1, 8),
                                                        (3.0, 40, 0.7, 0, 1, 9), (2.0, 0, 1, 0.4, 1, 10), (3.0, 40, 0.9, 0.3, 1.5, 11), (0, 0, 1, 0, 2.5, 0), (0, 0, 1, 0, 0.5, 0)]:
    command = shlex.split(args.launcher) + [args.out, "generate", "--print-tokens", "--max-new-tokens=8", f"--repeat-penalty={penalty}"] + ([
        f"--temperature={temperature}", f"--top-p={top_p}", f"--top-k={top_k}", f"--min-p={min_p}", f"--seed={seed}"] if temperature else []) + ["--tokens=" + ",".join(map(str, prompt)) for prompt in PROMPTS]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stderr}")
    lines = [line[len("tokens: "):] for line in done.stdout.splitlines() if line.startswith("tokens: ")]
    if len(lines) != len(PROMPTS):
        sys.exit(f"{len(lines)} `tokens:` lines for {len(PROMPTS)} prompts")
    for number, (prompt, line) in enumerate(zip(PROMPTS, lines)):
        got = [int(token) for token in line.split(",")]
        if len(got) != 8 and got[-1] != config["eos_token_id"]:
            sys.exit(f"prompt {number}: ends early: {got}")
        model.reset()
        for token in prompt:
            logits = model.step(token)
        for step, token in enumerate(got):
            u = (random_bits(seed, number, step) >> 11) * 2.0 ** -53
            scores = penalized(logits, prompt + got[:step], penalty)
            near = candidates(scores, temperature, top_k, top_p, min_p, u) if temperature else likeliest(scores)
            if near is not None and token not in near:
                sys.exit(f"T={temperature} K={top_k} P={top_p} at least {min_p} penalty {penalty} seed {seed}, prompt {number}, token {step}: {token}; its number {u:.6f} says {sorted(near)}")
            checked += 1
            changed += temperature == 0 and token != int(np.argmax(logits))
            surprising += temperature > 0 and token != max(range(len(logits)), key=lambda i: logits[i])
            logits = model.step(token)
if surprising < checked // 4:
    sys.exit(f"only {surprising} of {checked} tokens are not the most likely: nothing is shown")
if not changed:
    sys.exit("no token of T = 0 is another one because of a penalty: nothing is shown")
print(f"ok: {checked} tokens, {surprising} of them not the most likely")
