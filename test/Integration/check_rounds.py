"""More prompts than the batch: each answers as it does alone, in order, and ends at any of the model's end tokens.

    check_rounds.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M] [--batches=2,3] [--flag=FLAG]

Greedy tokens are those of expected.json. The copy of the model that runs names two end tokens, of which the second comes up in the answers."""
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
parser.add_argument("--batches", default="2,3", help="each is a program of its own")
parser.add_argument("--flag", action="append", default=[], help="one more flag for the compiler")
args = parser.parse_args()
with open(os.path.join(args.model, "expected.json")) as file:
    expected = json.load(file)["generate"]
# Lengths differ: a beginning of an answer is a prompt, too.
prompts = [p["prompt_tokens"] + p["generated"][:n] for p, n in zip(expected * 3, (0, 3, 1, 5, 0, 2, 4))]
answers = [p["generated"][n:n + 12] for p, n in zip(expected * 3, (0, 3, 1, 5, 0, 2, 4))]
end = answers[1][4]

model = args.out + ".model"
shutil.rmtree(model, ignore_errors=True)
shutil.copytree(args.model, model)
with open(os.path.join(model, "generation_config.json"), "w") as file:
    json.dump({"eos_token_id": [0, end]}, file)
for batch in map(int, args.batches.split(",")):
    command = [args.compiler, model, f"--batch={batch}", "--max-seq-len=64", "-o", args.out] + ([f"--mesh={args.mesh}"] if args.mesh else []) + args.flag
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    for ids, wanted in ((prompts, answers), (prompts[:1], answers[:1])):
        command = [args.out, "generate", "--print-tokens", "--max-new-tokens=12"] + ["--tokens=" + ",".join(map(str, prompt)) for prompt in ids]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            sys.exit(done.stderr)
        got = [[int(id) for id in line[8:].split(",")] for line in done.stdout.splitlines() if line.startswith("tokens: ")]
        cut = []
        for answer in wanted:
            stop = next((i for i, id in enumerate(answer) if id in (0, end)), len(answer) - 1)
            cut.append(answer[:stop + 1])
        if got != cut:
            sys.exit(f"batch {batch}: {got}\nexpected {cut}, end tokens 0 and {end}")
        if len(ids) > 1 and not any(answer[-1] == end and len(answer) < 12 for answer in cut):
            sys.exit("no answer ends at the second end token: nothing is shown")
print(f"ok: {len(prompts)} prompts, end token {end}")
