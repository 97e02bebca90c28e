"""--embed-weights: the executable answers alone, with the model gone and itself moved; its bytes hold the files unchanged.

    check_embed.py --compiler LLM_COMPILE --inputs TEST_INPUTS --models DIR --out PREFIX"""
import argparse
import json
import os
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--inputs", "--models", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()


def run(command, expect=0):
    done = subprocess.run(command, capture_output=True, timeout=600)
    if done.returncode != expect:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')[-1000:]}")
    return done


# A directory with shards, and a quantized GGUF file.
for folder, file in [(os.path.join(args.models, "tiny-llama"), ""), (os.path.join(args.inputs, "quantized", "gguf-q4_1"), "model.gguf")]:
    copy, binary, moved = args.out + ".model", args.out + ".bin", args.out + ".moved"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    model = os.path.join(copy, file) if file else copy
    run([args.compiler, model, "--max-seq-len=64", "--mesh=tp=2", "-o", binary])
    plain = os.path.getsize(binary)
    run([args.compiler, model, "--max-seq-len=64", "--mesh=tp=2", "--embed-weights", "-o", binary])
    for name in os.listdir(copy):
        if name.endswith(".gguf") or (name.startswith("model") and name.endswith(".safetensors")):
            with open(os.path.join(copy, name), "rb") as weights, open(binary, "rb") as out:
                at = out.read().find(weights.read())
            if at < plain or at % 4096 != 0:
                sys.exit(f"{name} is at {at} of the executable: not behind its {plain} bytes, on a page")
    shutil.rmtree(copy)
    os.replace(binary, moved)
    with open(os.path.join(folder, "expected.json")) as expected:
        prompt = json.load(expected)["generate"][0]
    done = run([moved, "generate", "--tokens=" + ",".join(map(str, prompt["prompt_tokens"])), "--max-new-tokens=24", "--print-tokens"])
    line = next(line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("tokens: "))
    got = [int(token) for token in line[len("tokens: "):].split(",")]
    if got != prompt["generated"][:len(got)] or (len(got) < 24 and got[-1] != 0):
        sys.exit(f"{folder}: tokens {got}\nexpected {prompt['generated']}")
    # Text needs the tokenizer, which travels too.
    run([moved, "generate", "--prompt=the quick", "--max-new-tokens=3"])
    # A copy that broke off does not look elsewhere for weights.
    size = os.path.getsize(moved)
    for lost in (1, 24, (size - plain) // 2):
        os.truncate(moved, size - lost)
        cut = run([moved, "generate", "--tokens=1"], expect=1).stderr.decode()
        if cut.count("\n") != 1 or "it ends within the model that it carries; copy it again" not in cut:
            sys.exit(f"{folder}, {lost} bytes lost: {cut}")
    os.unlink(moved)
print("ok")
