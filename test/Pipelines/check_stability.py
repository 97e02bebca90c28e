#!/usr/bin/env python3
"""Renaming values and permuting independent ops or function arguments changes no collective: the multiset of collectives (kind, axes, dimension, local type) in
the program of one rank is the same for every variant of a program.

    check_stability.py --llm-opt LLM_OPT [--variants=N] [--seed=S] --flags=OPTIONS FILE.mlir..."""
import argparse
import collections
import random
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--llm-opt", required=True)
parser.add_argument("--variants", type=int, default=8)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--flags", action="append", required=True, help="options of tessera-shard")
parser.add_argument("files", nargs="+")
args = parser.parse_args()
VALUE = re.compile(r"%[A-Za-z0-9_$.-]+")


def run(flags, text):
    done = subprocess.run([args.llm_opt, "-"] + flags, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, text=True)
    if done.returncode != 0:
        sys.exit(f"llm-opt {flags} failed: {done.stderr[:500]}")
    return done.stdout


def collectives(text):
    """Every collective as text without names of values and reasons, with the region depth it stands at."""
    found = collections.Counter()
    for line in text.splitlines():
        if match := re.search(r"= (dist\.(?:all_|reduce_|collective_)\w+) %\S+(.*)", line):
            rest = re.sub(r"\{why = \"[^\"]*\"\} ?", "", match[2])
            found[(len(line) - len(line.lstrip()), match[1] + rest)] += 1
    return found


def items(lines):
    """Ops of a block: lists of lines, an op with regions as one."""
    result, depth = [], 0
    for line in lines:
        if depth == 0:
            result.append([])
        result[-1].append(line)
        # A closing brace and an opening one may share a line; attributes balance.
        depth += line.count("{") - line.count("}")
    return result


def shuffled(lines, rng):
    """The block's ops in another order that dependencies allow; blocks inside, too."""
    ops = items(lines)
    if not ops:
        return lines
    blocks = []
    for op in ops:
        if len(op) > 1:
            # The region: header line(s), `^bb0`, ops, closing line.
            start = next((i for i, line in enumerate(op) if line.lstrip().startswith("^bb")), 0) + 1
            op = op[:start] + shuffled(op[start:-1], rng) + op[-1:]
        blocks.append(op)
    last = blocks.pop()  # the terminator
    made = {}
    for i, op in enumerate(blocks):
        if " = " in op[0]:
            for name in VALUE.findall(op[0].split(" = ")[0]):
                made[name] = i
    needs = []
    for i, op in enumerate(blocks):
        used = {re.sub(r"#\d+$", "", name) for line in op for name in VALUE.findall(line)}
        needs.append({made[name] for name in used if name in made and made[name] != i})
    order, left = [], set(range(len(blocks)))
    while left:
        ready = sorted(i for i in left if not needs[i] & left)
        pick = rng.choice(ready)
        left.remove(pick)
        order.append(pick)
    return [line for i in order for line in blocks[i]] + last


def split(text, separator=","):
    """At separators outside of brackets and strings."""
    parts, depth, quoted, part = [], 0, False, ""
    for c in text:
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "([{<") - (c in ")]}>")
        if c == separator and depth == 0 and not quoted:
            parts.append(part)
            part = ""
        else:
            part += c
    return parts + [part] if part.strip() else parts


def permuted_arguments(header, rng):
    begin = header.index("(")
    depth = 0
    for end in range(begin, len(header)):
        depth += (header[end] == "(") - (header[end] == ")")
        if depth == 0:
            break
    arguments = [part.strip() for part in split(header[begin + 1:end])]
    rng.shuffle(arguments)
    return header[:begin + 1] + ", ".join(arguments) + header[end:]


def variant(text, rng):
    lines, out, body = text.splitlines(), [], None
    for line in lines:
        if line.lstrip().startswith("func.func ") and line.rstrip().endswith("{"):
            out.append(permuted_arguments(line, rng))
            body, indent = [], len(line) - len(line.lstrip())
        elif body is not None and line.rstrip() == " " * indent + "}":
            out += shuffled(body, rng) + [line]
            body = None
        elif body is not None:
            body.append(line)
        else:
            out.append(line)
    names = {}
    keep = "\n".join(out)
    return re.sub(r"%([A-Za-z0-9_$.-]+)", lambda m: names.setdefault(m[0], f"%r{rng.randrange(10**9)}x{len(names)}"), keep)


failures = count = seen = 0
for path in args.files:
    with open(path) as file:
        plain = run([], file.read())  # one op a line
    for flags in args.flags:
        want = collectives(run([f"--tessera-shard={flags}"], plain))
        seen += sum(want.values())
        for i in range(args.variants):
            rng = random.Random(args.seed * 1000 + i)
            changed = variant(plain, rng)
            count += 1
            have = collectives(run([f"--tessera-shard={flags}"], changed))
            if have != want:
                failures += 1
                print(f"{path}, {flags}, variant {i}: gone {list((want - have).items())[:3]}, new {list((have - want).items())[:3]}")
print(f"{count} variants, {failures} with other collectives; {seen} collectives in the originals")
sys.exit(1 if failures or not seen else 0)
