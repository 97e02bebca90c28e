"""Eight prompts of different lengths in three places, from a file, against each of them alone: tokens, text and the bits of the first one's logits.

    check_places.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M] [--window N] [--flag F]...

With --window the copy of the model that runs is a Mistral, whose caches are rings: what a place holds of a prompt before goes round with the next one's. Answers differ in length, for the copy of the model that runs has an end token that comes up in some of them."""
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
parser.add_argument("--window", type=int)
args = parser.parse_args()
PROMPTS = ["the quick brown fox jumps", "a", "def f(n): return n", "x y z " * 6, "1, 2, 3", "once upon a time", "of", "it was the best of times"]
model, listed = args.out + ".model", args.out + ".txt"
shutil.rmtree(model, ignore_errors=True)
shutil.copytree(args.model, model)
flags = [f"--mesh={args.mesh}"] if args.mesh else []
if args.window:
    with open(os.path.join(model, "config.json")) as file:
        config = json.load(file)
    with open(os.path.join(model, "config.json"), "w") as file:
        json.dump({**config, "architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": args.window}, file)
    flags.append("--chunk=4")


def run(*words, text=None):
    done = subprocess.run(words, input=text and text.encode(), capture_output=True, timeout=300)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr.decode()}")
    return done.stdout.decode()


def ends(ids):
    with open(os.path.join(model, "generation_config.json"), "w") as file:
        json.dump({"eos_token_id": ids}, file)


def generate(*words, text=None):
    return [json.loads(line) for line in run(args.out, "generate", "--json", "--quiet", "--max-new-tokens=20", *words, text=text).splitlines()]


ends([388])
run(args.compiler, model, "--batch=3", "--max-seq-len=80", "-o", args.out, *flags, *args.flag)
free = [generate(f"--prompt={prompt}")[0]["tokens"] for prompt in PROMPTS]
seen = [token for answer in free for token in set(answer[2:])]
ends([388, max(sorted(set(seen)), key=seen.count)])
alone = [generate(f"--prompt={prompt}", *([f"--logits={args.out}.alone"] if prompt is PROMPTS[0] else []))[0] for prompt in PROMPTS]
wanted = [{**answer, "index": index} for index, answer in enumerate(alone)]
lengths = sorted({len(answer["tokens"]) for answer in alone})
if len(lengths) < 3 or {answer["finish"] for answer in alone} != {"end", "length"}:
    sys.exit(f"answers have {lengths} tokens: little is shown")
with open(listed, "w") as file:
    file.write("\n".join(PROMPTS))
for words, text in (([f"--prompt-file={listed}"], None), (["--prompt-file=-"], "\r\n".join(PROMPTS) + "\r\n"), ([f"--logits={args.out}.beside"] + [f"--prompt={p}" for p in PROMPTS], None)):
    got = generate(*words, text=text)
    if got != wanted:
        sys.exit(f"{words}: {got}\nexpected {wanted}")
with open(args.out + ".alone", "rb") as one, open(args.out + ".beside", "rb") as other:
    if one.read() != other.read():
        sys.exit("the logits of the first prompt are others beside the other prompts")
print(f"ok: answers of {lengths} tokens")
