"""Every flag that a --help lists is taken with a value and without `=`; a flag of another command is refused; completions are scripts that name them all.

    check_flags.py --compiler LLM_COMPILE --model DIR --out OUT"""
import argparse
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
COMMANDS = ["generate", "chat", "train", "bench", "plot", "info"]
VALUES = {"--tokens": "1,2", "--beta1": "0", "--beta2": "0", "--momentum": "0", "--dropout": "0", "--template-arg": "a=1", "--init": "random:1", "--schedule": "linear", "--completion": "fish", "--trace-steps": "1:2", "--task": "train",
          "--dtype": "f32", "--cache": "bf16", "--target": "cpu", "--template": "tp", "--mesh": "tp=2", "--shard": "heads=tp", "--cpu": "any", "--optimizer": "sgd", "--overlap": "on", "--memory": "1G",
          "--grad-dtype": "bf16", "--compile-to": "spmd", "--pipeline": "1f1b", "--recompute": "full", "--dump-rungs": args.out + ".rungs"}
count = 0


def run(*words):
    global count
    count += 1
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


def listed(text):
    return [(name, bool(value), optional) for name, optional, value in re.findall(r"^  (--?[a-z0-9-]+)(\[?)(=\S+| [A-Z]\S*)?", text, re.M)]


def help_of(*words):
    done = run(*words, "--help")
    if done.returncode or done.stderr:
        sys.exit(f"{words} --help: {done.stderr}")
    if ("Examples:\n  " in done.stdout) == (words[1:] == ("train",)):  # which this program refuses
        sys.exit(f"{words} --help has no example, or one that cannot be run")
    same = [run(*words, "-h").stdout, run(*words, "help").stdout] + ([run(words[0], word, *words[1:]).stdout for word in ("help", "--help", "-h")] if words[0] == args.out else [])
    if any(text != done.stdout for text in same):
        sys.exit(f"{words}: -h and help say something else")
    return listed(done.stdout)


done = run(args.compiler, args.model, "--max-seq-len=32", "-o", args.out)
if done.returncode:
    sys.exit(done.stderr)
flags = {command: help_of(args.out, command) for command in COMMANDS}
everything = {name for command in COMMANDS for name, _, _ in flags[command]}
if len(everything) < 50 or not {"--prompt", "--lr", "-o"} <= everything:
    sys.exit(f"the flags are read as {everything}")
for command in COMMANDS:
    own = {name for name, _, _ in flags[command]}
    for name, value, optional in flags[command]:
        given = VALUES.get(name, "1")
        spellings = [[name]] if not value or optional else [[f"{name}={given}"], [name, given]]
        for spelling in spellings:
            done = run(args.out, command, *spelling, *([] if name in ("--help", "--version", "--completion") else ["--help"]))
            if done.returncode or not done.stdout:
                sys.exit(f"{command} {spelling} is not taken: {done.stderr}")
    for name in everything - own:
        if not re.search("has no such flag|was chosen when the program was compiled", run(args.out, command, f"{name}=1").stderr):
            sys.exit(f"{command} takes {name}, which its help does not list")

of_compiler = help_of(args.compiler)
for name, value, optional in of_compiler:
    if name in ("--help", "--version", "--completion"):
        continue
    given = VALUES.get(name, "1")
    for spelling in [[name]] if not value else [[name, given]] + ([[f"{name}={given}"]] if name != "-o" else []):
        # Read, and refused for a reason of its own: there is no such model.
        done = run(args.compiler, "/nonexistent/model", *spelling)
        if done.returncode != 1 or "unknown flag" in done.stderr or "takes no value" in done.stderr or "has no value" in done.stderr:
            sys.exit(f"llm-compile {spelling} is not taken: {done.stderr}")
for name in everything - {name for name, _, _ in of_compiler}:
    if "unknown flag" not in run(args.compiler, "/nonexistent/model", f"{name}=1").stderr:
        sys.exit(f"llm-compile takes {name}, which its help does not list")

for program, names in ((args.out, everything), (args.compiler, {name for name, _, _ in of_compiler})):
    version = run(program, "--version")
    if version.returncode or not version.stdout.startswith("Tessera "):
        sys.exit(f"{program} --version: {version.stdout!r}")
    page = run(program, "--help=man").stdout
    for shell in ("bash", "zsh", "fish"):
        script = run(program, f"--completion={shell}").stdout
        lacking = [name for name in names if not re.search(rf"{name.lstrip('-')}\b", script) or name.replace("-", r"\-") not in page]
        if lacking:
            sys.exit(f"{program}: {shell} or the man page lack {lacking}")
        if shutil.which(shell) and subprocess.run([shell, "-n"], input=script, text=True).returncode:
            sys.exit(f"{program}: {shell} cannot read its completions")
script = run(args.out, "--completion=bash").stdout
word = args.out.rsplit("/", 1)[1]
done = subprocess.run(["bash", "-c", script + f"\nCOMP_WORDS=({word} generate --max-n) COMP_CWORD=2\n_{re.sub('[^A-Za-z0-9]', '_', word)} 2>/dev/null; echo \"${{COMPREPLY[*]}}\""], capture_output=True, text=True)
if done.stdout != "--max-new-tokens=\n":
    sys.exit(f"bash completes --max-n to {done.stdout!r}: {done.stderr}")
print(f"ok: {sum(map(len, flags.values()))} flags of OUT, {len(of_compiler)} of llm-compile, {count} runs")
