"""Ends of rows while tokens are drawn: by what is drawn, never by what would have been the likeliest.

    check_ended_rows.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M] [--flag=FLAG]

Three prompts go through a batch of two, drawn without end tokens. Then every list of up to 8 of the likeliest ids that were not drawn must change nothing, and with
an id that was drawn a text is cut behind its first one while the others stay as they were."""
import argparse
import json
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh")
parser.add_argument("--flag", action="append", default=[], help="one more flag for the compiler")
args = parser.parse_args()
model = args.out + ".model"
shutil.rmtree(model, ignore_errors=True)
shutil.copytree(args.model, model)
PROMPTS = [[5, 17, 80, 3], [200], [9, 9, 31, 44, 250, 7, 8, 120, 6]]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def drawn(prompts, ends, how=("--temperature=1.5", "--seed=3"), new=10):
    with open(os.path.join(model, "generation_config.json"), "w") as file:
        json.dump({"eos_token_id": ends}, file)
    out = run([args.out, "generate", "--print-tokens", f"--max-new-tokens={new}", *how] + ["--tokens=" + ",".join(map(str, prompt)) for prompt in prompts])
    return [[int(id) for id in line[8:].split(",")] for line in out.splitlines() if line.startswith("tokens: ")]


run([args.compiler, model, "--batch=2", "--max-seq-len=64", "-o", args.out] + ([f"--mesh={args.mesh}"] if args.mesh else []) + args.flag)
whole = drawn(PROMPTS, [])
if [len(answer) for answer in whole] != [10] * 3:
    sys.exit(f"without end tokens: {whole}")
# What is likeliest behind each place of the first two texts: what @decode chooses there.
likeliest = [drawn([prompt + answer[:n]], [], how=(), new=1)[0][0] for prompt, answer in zip(PROMPTS, whole[:2]) for n in range(9)]
never = sorted(set(likeliest) - {id for answer in whole for id in answer})
if len(never) < 3:
    sys.exit(f"only {never} were likeliest and not drawn: nothing is shown")
for at in range(0, len(never), 8):
    if drawn(PROMPTS, never[at:at + 8]) != whole:
        sys.exit(f"end tokens {never[at:at + 8]}, none of which is drawn: {drawn(PROMPTS, never[at:at + 8])}, expected {whole}")
for end in whole[0][2], whole[1][0], whole[2][5]:
    cut = [answer[:answer.index(end) + 1] if end in answer else answer for answer in whole]
    if drawn(PROMPTS, [end]) != cut or drawn(PROMPTS, [388, end]) != cut:
        sys.exit(f"end token {end}: {drawn(PROMPTS, [end])}, expected {cut}")
print(f"ok: {len(never)} ids that were likeliest and not drawn")
