"""Every ```mlir example in the descriptions of ops and passes and in docs/ is parsed and verified by llm-opt.

    check_examples.py LLM_OPT ROOT

An example is a module, functions and symbols, or some ops. Ops are put into a function; values that they take from elsewhere are declared in a first
line `// given %x: tensor<4xf32>, %i: index`, symbols stand in the example. A line `// to` begins a second program (what a pass makes of the
first), with what was given and the symbols that it does not define again."""
import glob
import os
import re
import subprocess
import sys
import textwrap

tool, root = sys.argv[1:3]
SYMBOLS = ("graph.parameter", "dist.mesh", "func.func", "exec.device_kernel", "exec.device_sibling", "exec.image")


def statements(text):
    """Top-level statements: a line with all that is indented more, or closes what it opened."""
    result = []
    for line in text.splitlines():
        if result and (line.startswith((" ", "}", "^")) or not line.strip()):
            result[-1] += "\n" + line
        else:
            result.append(line)
    return [s for s in result if s.strip()]


def program(given, symbols, text):
    parts = statements(text)
    if any(p.startswith("module") for p in parts):
        return text
    own = [p for p in parts if p.startswith(SYMBOLS)]
    names = set(re.findall(r"@[\w.$]+", " ".join(p.split("=")[0].split("(")[0] for p in own)))
    own += [s for s in symbols if not names & set(re.findall(r"@[\w.$]+", s.split("(")[0].split("=")[0]))]
    ops = [p for p in parts if not p.startswith(SYMBOLS)]
    body = "\n".join(ops)
    return "\n".join(own) + f"\nfunc.func @example({given}) {{\n{body}\nreturn\n}}\n" if ops else "\n".join(own) + "\n"


def programs(text):
    text = textwrap.dedent(text)
    given = ", ".join(re.findall(r"^// given (.*)$", text, re.M))
    text = re.sub(r"^// given .*\n", "", text, flags=re.M)
    symbols = []
    for part in re.split(r"^// to\b.*\n", text, flags=re.M):
        yield program(given, symbols, part)
        symbols = [s for s in statements(part) if s.startswith(("graph.parameter", "dist.mesh", "func.func private"))]


files = sorted(glob.glob(os.path.join(root, "include/**/*.td"), recursive=True)) + sorted(glob.glob(os.path.join(root, "docs/*.md")))
count, failures = 0, []
for path in files:
    with open(path) as f:
        content = f.read()
    for match in re.finditer(r"^ *```mlir\n(.*?)^ *```", content, re.S | re.M):
        where = f"{os.path.relpath(path, root)}:{content[:match.start()].count(chr(10)) + 1}"
        for text in programs(match.group(1)):
            count += 1
            done = subprocess.run([tool, "-"], input=text, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                failures.append(f"{where}: {done.stderr.splitlines()[0] if done.stderr else done.returncode}\n{text}")
print(f"{count} programs")
for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(1 if failures or count < 40 else 0)
