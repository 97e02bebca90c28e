"""No choice of layouts that somebody could write takes fewer bytes than --memory says is the least.

    check_least_memory.py LLM_COMPILE --choice "ITEMS;ITEMS;..." [--choice ...] [--draw N --seed S] MODEL FLAG ...

A choice is between lists of --shard items or other flags (`--recompute=full`), `;` between them, one of which may be empty. With each combination of choices the
program takes some bytes, as the compiler measures where nothing limits it. The least that the error of --memory=1 names is no more than any of them, and the
program for it takes just so many. --draw: N of the combinations, by the seed."""
import argparse
import itertools
import os
import random
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("compiler")
parser.add_argument("--choice", action="append", required=True)
parser.add_argument("--draw", type=int, default=0)
parser.add_argument("--seed", default="1")
args, flags = parser.parse_known_args()


def compiled(*more):
    done = subprocess.run([args.compiler, *flags, *more, "--compile-to=step", "-o", os.devnull], stderr=subprocess.PIPE, text=True)
    return done.stderr


def taken(limit, chosen=()):
    items = ",".join(words for words in chosen if words and not words.startswith("--"))
    more = [words for words in chosen if words.startswith("--")] + ([f"--shard={items}"] if items else [])
    found = re.search(r"remark: (?:memory: |pipeline: [^\n]*?; )(\d+) of \d+ bytes", compiled(f"--memory={limit}", "--explain", *more))
    if not found:
        sys.exit(f"{chosen}: {compiled(f'--memory={limit}', *more)}")
    return int(found[1])


error = compiled("--memory=1")
least = re.search(r"needs at least (\d+) bytes a rank", error)
if not least:
    sys.exit(error)
least = int(least[1])
if taken(least) != least:
    sys.exit(f"the least is said to be {least}, the program for it takes {taken(least)}")
layouts = list(itertools.product(*(choice.split(";") for choice in args.choice)))
if 0 < args.draw < len(layouts):
    layouts = random.Random(args.seed).sample(layouts, args.draw)
programs = {chosen: taken(10**18, chosen) for chosen in layouts}
best = min(programs, key=programs.get)
print(f"{len(programs)} layouts take {programs[best]} ({' '.join(filter(None, best))}) to {max(programs.values())} bytes; the least is {least}")
if least > programs[best]:
    sys.exit("the least that is said is not the least there is")
