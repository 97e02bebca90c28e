"""Prompts of lengths about the borders of pieces: the answers of a program with an entry for short prompts are those of one without.

    check_short_prompts.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M]

They go through a batch of three, which prompts of all kinds share, the likeliest tokens and drawn ones."""
import argparse
import json
import sys

from compiled_programs import flags_of, fresh, manifest_of, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", default="none")
args = parser.parse_args()
path = fresh(args.out)
LENGTHS = [1, 40, 15, 16, 100, 17, 31, 32, 33, 2, 48, 90]
PROMPTS = [",".join(str((n * 31 + i * 17) % 389) for i in range(n)) for n in LENGTHS]
answers = {}
for name, context, sizes in ("short", 128, [16, 128]), ("long", 120, [120]):
    out = path(name)
    run([args.compiler, args.model, "--batch=3", f"--max-seq-len={context}", "-o", out] + flags_of(args.mesh))
    entries = [entry for entry in json.loads(manifest_of(out))["entries"] if entry["role"] == "prompt"]
    found = sorted(next(one for one in entry["inputs"] if one.get("fill") == "token_ids")["shape"][1] for entry in entries)
    if found != sizes:
        sys.exit(f"context {context}: prompts in pieces of {found}, expected {sizes}")
    command = [out, "generate", "--print-tokens", "--max-new-tokens=6"] + [f"--tokens={prompt}" for prompt in PROMPTS]
    answers[name] = [run(command + how).stdout for how in ([], ["--temperature=1.5", "--seed=3"])]
    if not all(len(text.split("tokens: ")) == len(PROMPTS) + 1 for text in answers[name]):
        sys.exit(f"{name}: {answers[name]}")
if answers["short"] != answers["long"]:
    sys.exit(f"{args.mesh}: short {answers['short']}, long {answers['long']}")
print(f"ok: {len(PROMPTS)} prompts, {args.mesh}")
