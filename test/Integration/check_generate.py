"""Compiles a model for a mesh, runs it and compares with the expected results of test/Inputs/models.

    check_generate.py --compiler LLM_COMPILE --model MODEL --expected DIR --out OUT [--mesh M] [--launcher "mpirun -np 3"] [--text]
        [--prompts N] [--batch N] [--max-seq-len N] [--logits-within X] [--checked ARCHIVE --orders N]

With --checked it is linked with the runtime of the driver `checked` (docs/Drivers.md) and generates once for each of N seeds.
Token for token over all prompts (as one batch), and logits within 1e-4 of the largest, or X (single prompts).
Needs numpy."""
import argparse
import json
import os
import shlex
import subprocess
import sys

import numpy as np

from compiled_programs import read_safetensors


def run(command, **kwargs):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=500, **kwargs)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--model", "--expected", "--out"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--mesh")
    parser.add_argument("--launcher", default="")
    parser.add_argument("--text", action="store_true", help="also send prompts as text and compare the text")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for the compiler")
    parser.add_argument("--prompts", type=int, help="take the first N only: that is the batch")
    parser.add_argument("--batch", type=int, help="places; default: one for each prompt")
    parser.add_argument("--max-seq-len", type=int, default=128)
    parser.add_argument("--logits-within", type=float, default=1e-4)
    parser.add_argument("--checked", metavar="ARCHIVE", help="libtessera_runtime_checked.a: link with it")
    parser.add_argument("--orders", type=int, default=1, help="with --checked: how many orders of streams")
    args = parser.parse_args()
    if args.checked:
        os.environ["TESSERA_RUNTIME_ARCHIVE"] = args.checked

    expected = json.load(open(os.path.join(args.expected, "expected.json")))
    prompts = expected["generate"] if isinstance(expected, dict) else expected
    prompts = [dict(p, generated=p["generated"][:args.max_seq_len - len(p["prompt_tokens"])]) for p in prompts[:args.prompts]]
    mesh = [f"--mesh={args.mesh}"] if args.mesh else []
    run([args.compiler, args.model, f"--batch={args.batch or len(prompts)}", f"--max-seq-len={args.max_seq_len}", "-o", args.out] + mesh + args.flag)
    start = shlex.split(args.launcher) + [args.out, "generate"]
    new = max(len(p["generated"]) for p in prompts)

    # All prompts at once, of different lengths.
    lists = ["--tokens=" + ",".join(map(str, p["prompt_tokens"])) for p in prompts]
    for order in range(args.orders):
        os.environ["TESSERA_CHECKED_SEED"] = str(order)
        lines = [line for line in run(start + lists + [f"--max-new-tokens={new}", "--print-tokens"]).decode(errors="replace").splitlines()
                 if line.startswith("tokens: ")]
        got = [[int(t) for t in line[len("tokens: "):].split(",")] for line in lines]
        check_tokens(got, prompts, expected_ends(args.expected), f"order {order}: " if args.checked else "")
    # Logits, prompt by prompt.
    tensors = read_safetensors(os.path.join(args.expected, "expected.safetensors"))
    if "logits" in tensors:
        cases = [(row, logits) for row, logits in zip(tensors["tokens"], tensors["logits"])]
    else:
        cases = [(p["prompt_tokens"], tensors[f"logits_{i}"]) for i, p in enumerate(prompts)]
    worst = 0.0
    for number, (tokens, logits) in enumerate(cases):
        if len(tokens) >= args.max_seq_len:  # one more token must fit
            tokens, logits = tokens[:args.max_seq_len - 1], logits[:args.max_seq_len - 1]
        path = args.out + ".logits.safetensors"
        run(start + ["--tokens=" + ",".join(map(str, tokens)), "--max-new-tokens=1", f"--logits={path}"])
        ours = read_safetensors(path)["logits"]
        os.unlink(path)
        if ours.shape != (len(tokens), logits.shape[-1]):
            sys.exit(f"case {number}: logits have shape {ours.shape}")
        error = float(np.abs(ours[-len(logits):] - logits).max() / np.abs(logits).max())
        worst = max(worst, error)
        if not error <= args.logits_within:
            sys.exit(f"case {number}: logits differ by {error:.3g} of the largest")

    if args.text:
        for prompt in prompts[:2]:
            text = run(start + ["--prompt=" + prompt["prompt"], f"--max-new-tokens={len(prompt['generated'])}"]).decode()
            want = prompt["text"].replace("<|im_end|>", "")
            if want.strip() not in text:
                sys.exit(f"text {text!r}\nexpected {want!r}")
    print(f"ok: {len(prompts)} prompts, logits within {worst:.2g} of the largest")


def check_tokens(got, prompts, ends, where):
    if len(got) != len(prompts):
        sys.exit(f"{where}{len(got)} `tokens:` lines for {len(prompts)} prompts")
    for number, (prompt, tokens) in enumerate(zip(prompts, got)):
        want = prompt["generated"]
        # A tiny model's list runs on after its end token; the program stops there.
        if len(tokens) < len(want) and want[:len(tokens)] == tokens and tokens[-1] in ends:
            continue
        if tokens != want:
            sys.exit(f"{where}prompt {number}: tokens {tokens}\nexpected {want}")


def expected_ends(folder):
    try:
        end = json.load(open(os.path.join(folder, "config.json"))).get("eos_token_id")
    except OSError:
        return [2]
    return end if isinstance(end, list) else [end]


if __name__ == "__main__":
    main()
