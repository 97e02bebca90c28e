"""check_snippets.py RENDER_TEMPLATE [--random=N] [--seed=S]: small templates, by jinja2 and by our interpreter: the same text, or both refuse.

snippets.txt has one a line (\\n, \\r and \\t outside of {{ }} and {% %} are what they say in Python). What we refuse and jinja2 does not must say
`not supported` or stand in REFUSED. --random: N more, put together from pieces of those."""
import pathlib
import random
import re
import sys
import warnings

from reference import Ours, expected

CONTEXT = {
    "x": None, "user": {"name": "Ann", "age": 30, "items": 1}, "nested": {"b": [1, {"c": None}], "a": {"z": 1.5, "y": "é"}},
    "users": [{"name": "Ann", "age": 30, "tags": ["x", "y"], "admin": True}, {"name": "bob", "age": 20, "tags": [], "admin": False},
              {"name": "Cid", "age": 30, "tags": ["z"]}],
}
# What Python can and we cannot, on purpose: texts that hold addresses, integers beyond 64 bits.
REFUSED = ("would be an address in Python", "beyond 64 bits", "text of a range", "does not go with a tuple", "neither text, nor a number",
           "nest deeper", "steps", "docs/ChatTemplates.md lists", "more than 268435456 bytes", "more than 16777216 bytes", "marked as safe", "cannot be sliced",
           "a list has no order with a list", "'a' twice")
# jinja2 refuses these while it compiles, or its own optimizer stumbles; we run them.
COMPILED = ("No filter named", "No test named", "name 'nan' is not defined", "name 'inf' is not defined")


def outside(line):
    pieces = re.split(r"(\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\})", line)
    return "".join(piece if i % 2 else piece.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t") for i, piece in enumerate(pieces))


def main():
    tool = sys.argv[1]
    options = dict(word[2:].split("=") for word in sys.argv[2:])
    lines = pathlib.Path(__file__).with_name("snippets.txt").read_text(encoding="utf-8").splitlines()
    cases = [outside(line) for line in lines]
    draw = random.Random(int(options.get("seed", 1)))
    expressions = [e for line in lines for e in re.findall(r"\{\{[-+]?(.*?)[-+]?\}\}", line) if len(e) < 80]
    atoms = [e.strip() for e in expressions if len(e) < 25] + ["x", "user", "users", "nested", "''", "[]", "{}", "none", "0", "-1", "2.5", "'a b'", "range(3)"]
    operators = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", "in", "not in", "and", "or", "if true else", "if x else"]
    filters = sorted({f for line in lines for f in re.findall(r"\|\s*([a-z]+(?:\([^()|]*\))?)", line)})
    methods = sorted({m for line in lines for m in re.findall(r"(\.[a-z]+\([^()]*\))", line)}) + ["[0]", "[-1]", "[1:]", "[::-1]", ".name", "['a']"]
    tests = sorted({t for line in lines for t in re.findall(r"\bis (?:not )?[a-z]+", line)})
    blocks = [line for line in lines if line.startswith("{%")]

    def expression(depth):
        kind = draw.randrange(7) if depth else 0
        if kind == 0:
            return draw.choice(atoms)
        inner = expression(depth - 1)
        if kind == 1:
            return f"({inner} {draw.choice(operators)} {expression(depth - 1)})"
        if kind == 2:
            return f"{inner} {draw.choice(operators)} {expression(depth - 1)}"
        if kind in (3, 4):
            return f"({inner})|{draw.choice(filters)}"
        return f"({inner}) {draw.choice(tests)}" if kind == 5 else f"({inner}){draw.choice(methods)}"

    for _ in range(int(options.get("random", 0))):
        if draw.randrange(5):
            cases.append("{{ " + expression(draw.randrange(1, 5)) + " }}")
        else:
            tokens = re.findall(r"\{[{%#][-+]?|[-+]?[}%#]\}|\w+|\s+|.", draw.choice(blocks) + draw.choice(lines))
            for _ in range(draw.randrange(1, 4)):
                at = draw.randrange(len(tokens))
                tokens[at : at + draw.randrange(2)] = draw.choice([[], [draw.choice(tokens)], ["\n"], [" "]])
            cases.append(outside("".join(tokens)))
    ours, both, refused, wrong = Ours(tool), 0, 0, 0
    warnings.simplefilter("ignore")  # of Python, about what it compiles
    for case in cases:
        if re.search(r"\d{5}|\*\*|\* *\d{3}", case) and not case + "\n" in "\n".join(lines) + "\n":
            continue  # no astronomic powers for Python
        text, why = expected(case, CONTEXT)
        own, own_why = ours.render(case, CONTEXT)
        if text is not None and re.search(r"0x[0-9a-f]{8}", text):
            continue  # an address
        if text == own:
            both += own is None
        elif own is None and ("not supported" in own_why or any(part in own_why for part in REFUSED)):
            refused += 1
        elif text is None and any(part in why for part in COMPILED):
            refused += 1
        else:
            wrong += 1
            print(f"wrong: {case!r}\n  jinja2: {text!r} {why or ''}\n  ours:   {own!r} {own_why or ''}")
    print(f"{len(cases)} snippets, {both} refused by both, {refused} by one alone and known, {wrong} wrong")
    sys.exit(wrong > 0)


main()
