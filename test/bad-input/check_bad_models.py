#!/usr/bin/env python3
"""Every bad model gives exit status 1 and exactly one line on stderr, `error: ...`, that says what is wrong; within a time
limit, without a crash, and leaving no output behind. Good models are accepted.

    check_bad_models.py --inputs DIR --tool info|compile [--seconds 600] COMMAND...

COMMAND holds {path} and may hold {out}, a file that must not exist after an error. DIR is what make_bad_models.py made.
"""
import argparse
import json
import os
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--inputs", required=True)
parser.add_argument("--tool", required=True, choices=["info", "compile"])
parser.add_argument("--seconds", type=float, default=600)
parser.add_argument("--out", default="bad-models.out")
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()


def problem_of(case):
    """What is wrong with the tool's behaviour on this case; None if nothing."""
    path = os.path.join(args.inputs, case["path"])
    command = [word.replace("{path}", path).replace("{out}", args.out) for word in args.command]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=args.seconds)
    except subprocess.TimeoutExpired:
        return f"no end within {args.seconds:g} s"
    text = done.stderr.decode(errors="replace")
    if case["needles"] is None:
        if os.path.exists(args.out):
            os.unlink(args.out)
        return None if done.returncode == 0 else f"a good model gave exit status {done.returncode}: {text[-300:]!r}"
    if done.returncode != 1:
        return f"exit status {done.returncode}: {text[-600:]!r}"
    if not text.startswith("error: ") or text.count("\n") != 1 or not text.endswith("\n"):
        return f"not one error line: {text[:600]!r}"
    if not text.isprintable() and not text[:-1].isprintable():
        return f"unprintable: {text!r}"
    missing = [needle for needle in case["needles"] if needle not in text]
    if missing:
        return f"{text.strip()!r} does not say {missing}"
    if os.path.exists(args.out):
        os.unlink(args.out)
        return "an output file was left behind"
    return None


with open(os.path.join(args.inputs, "cases.json")) as file:
    cases = [case for case in json.load(file) if args.tool in case["tools"]]
problems = [(case["name"], problem_of(case)) for case in cases]
failed = [(name, problem) for name, problem in problems if problem]
for name, problem in failed:
    print(f"{name}: {problem}")
print(f"{len(cases) - len(failed)} passed, {len(failed)} failed")
sys.exit(bool(failed))
