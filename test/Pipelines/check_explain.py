"""Every change that an explanation suggests, a flag or a sharding less in the program, removes its collective, and changes what a step moves by
exactly what was predicted.

check_explain.py FILE.mlir MESH [SHARD] -- LLM_OPT    explains FILE, applies each suggested change by running the sharding pipeline itself, and
    counts the collectives of both rungs spmd from their text, not by the compiler's own sums. MESH `-`: the program has one.
check_explain.py --info FILE    the bytes of each function in what --explain wrote to FILE are those of `OUT info --json` on standard input.
check_explain.py DIR -- LLM_OPT    the same for each shard-*.mlir and T*.mlir of DIR and each mesh and shard of its RUN lines; of one that has its
    mesh and shardings itself, for those.
"""
import json
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/bytes"))
from count import moved as busiest

WIDTH = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i8": 1, "i1": 1}
COLLECTIVE = re.compile(r"dist\.(all_gather|all_reduce|reduce_scatter|all_to_all|collective_permute|grouped_send) .*? : tensor<((?:\d+x)*)(\w+).* -> tensor<((?:\d+x)*)")
ROWS = re.compile(r"dist\.exchange_rows .*? axes = \{([^}]*)\}.*? : \(tensor<((?:\d+x)+\w+), .*?>>, tensor<((?:\d+x)+)\w+, .*?>>, tensor<((?:\d+x)+)\w+, ")
AXES = re.compile(r"axes = \{([^}]*)\}")


def run(*command, text=None):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, input=text)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr}")
    return result


def collectives(program):
    """(kind, axes, bytes a rank sends in a step) of each collective, loops counted."""
    found, loops, mesh = [], [], {}

    def times():
        """Of what stands here: a function, to be called when it is known how many bodies the loops around have; they take turns."""
        here = [(loop, loop["body"]) for loop in loops]
        return lambda: math.prod(-(-(loop["count"] - body) // (loop["body"] + 1)) for loop, body in here)

    for line in program.splitlines():
        if "dist.mesh" in line:
            mesh = {name: int(size) for name, size in re.findall(r'"([^"]+)"=(\d+)', line)}
        indent = len(line) - len(line.lstrip())
        while loops and indent <= loops[-1]["indent"] and line.strip().startswith("}"):
            if line.strip().startswith("}, {") and indent == loops[-1]["indent"]:
                loops[-1]["body"] += 1
                break
            loops.pop()
        if match := re.search(r"graph\.repeat (\d+)", line):
            loops.append({"indent": indent, "count": int(match[1]), "body": 0})
        if match := ROWS.search(line):  # a rank's tokens have so many choices, of which each is on any rank alike
            choices = min(math.prod(map(int, ids.split("x")[:-1])) for ids in match.groups()[2:])
            ranks = math.prod(mesh[name] for name in re.findall(r'"(\w+)"', match[1]))
            row = int(match[2].split("x")[-2]) * WIDTH[match[2].split("x")[-1]]
            found.append(("exchange_rows", ", ".join(re.findall(r'"(\w+)"', match[1])), choices * row * (ranks - 1) // ranks, times()))
        if not (match := COLLECTIVE.search(line)):
            continue
        kind, shape, element, after = match.groups()
        shape, after = ([int(n) for n in text.split("x") if n] for text in (shape, after))
        size, result = (math.prod(dims) * WIDTH[element] for dims in (shape, after))
        piece = math.prod(map(min, shape, after)) * WIDTH[element]  # of an exchange: split where axes come, not yet joined where they leave
        axes, ranks = [], 1
        for moved in AXES.findall(line):
            for name, sub, part in re.findall(r'"([^"]+)"(:\(\d+\)(\d+))?', moved):
                axes.append(name + sub)
                ranks *= int(part) if part else mesh[name]
        if kind == "grouped_send":
            found.append((kind, "", busiest(line, mesh) * WIDTH[element], times()))
            continue
        sent = {"all_gather": (ranks - 1) * size, "all_reduce": 2 * (ranks - 1) * size // ranks, "collective_permute": size,
                "reduce_scatter": (ranks - 1) * result, "all_to_all": (ranks - 1) * piece}[kind]
        found.append((kind, ", ".join(axes), sent, times()))
    return [(kind, axes, sent * count()) for kind, axes, sent, count in found]


SAID = re.compile(r"\S+(?: U\w*\{\S+\}| R\{\S+\})* of (argument|result|the pin of) (\S+) \[\S+?:(\d+):(\d+)\]")


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    depth, quoted = 0, False
    for i in range(at, len(text)):
        quoted ^= text[i] == '"'
        depth += 0 if quoted else (text[i] in "([{<") - (text[i] in ")]}" or text[i] == ">" and text[i - 1] != "-")
        if depth == 0 and text[i] in ")]}>":
            return i + 1
    raise ValueError("no end")


def without(text, what, name, line, column):
    """The program without the sharding that `what` at the place has, found by reading its text."""
    starts = [0]
    for row in text.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    at = starts[int(line) - 1] + int(column) - 1
    if what == "the pin of":
        pin = re.compile(r"\s*(%\w+) = dist\.constraint (%\w+)\b[^\n]*").match(text, starts[int(line) - 1])
        text = text[:pin.start()] + text[pin.end():]
        return re.sub(re.escape(pin[1]) + r"\b", pin[2], text)
    if what == "result":
        at = text.index("->", closing(text, text.index("(", at)))
        number = int(name.split("#")[-1]) if name.isdigit() else None
        begin = re.compile(r"dist\.sharding = #dist\.sharding<").search(text, at) if number is None else None
        assert begin, "results by number are not told apart here"
    else:
        begin = re.compile(r"dist\.sharding = #dist\.sharding<").search(text, at)
    end = closing(text, begin.end() - 1)
    start = begin.start()
    if text[end:end + 2] == ", ":
        end += 2
    elif text[start - 2:start] == ", ":
        start -= 2
    return text[:start] + text[end:]


def check(opt, file, mesh, shard):
    """The number of collectives checked."""
    options = " ".join([f"mesh={mesh}"] * (mesh != "-") + [f"shard={shard}"] * bool(shard))
    before = collectives(run(*opt, file, f"--tessera-shard={options}").stdout)
    text = run(*opt, file, f"--tessera-explain={options}", "-o", os.devnull).stderr
    paragraphs = [p for p in re.split(r"^(?=\w+ )", text, flags=re.M) if p.startswith("collective ")]
    assert len(paragraphs) == len(before), f"{file} {options}: {len(paragraphs)} paragraphs for {len(before)} collectives"
    for paragraph, (kind, axes, sent) in zip(paragraphs, before):
        head = re.match(r"collective \d+ of \d+ \(\w+\): (\w+) over \{([^}]*)\}", paragraph)
        assert head and (head.groups() == (kind, axes) or kind == "grouped_send" == head[1]), f"{kind} over {axes} is called\n{paragraph}"
        assert int(re.search(r"times a step: (\d+) bytes", paragraph)[1]) == sent, f"{sent} bytes are sent\n{paragraph}"
        assert re.search(r"between: \S.* and \S|within: \S", paragraph) and re.search(r"disagree on: \w", paragraph), paragraph
        change = re.search(r"removed by: (.*)", paragraph)[1]
        flag = re.match(r"(?:--shard=(\S+)|neither --shard nor --template) \((?:new|without): \S+\)", change)
        said = SAID.findall(change)
        assert flag or said, f"{file} {options}: no change is suggested\n{paragraph}"
        program = open(file).read()
        for one in sorted(said, key=lambda one: (-int(one[2]), -int(one[3]))):
            program = without(program, *one)
        suggested = (flag[1] or "") if flag else shard
        given = " ".join([f"mesh={mesh}"] * (mesh != "-") + [f"shard={suggested}"] * bool(suggested))
        after = collectives(run(*opt, "-", f"--tessera-shard={given}", text=program).stdout)
        count = lambda program: sum(c[:2] == (kind, axes) for c in program)
        assert count(after) < count(before), f"{change} does not remove it\n{paragraph}"
        predicted = int(re.search(r"collective bytes ([+-]\d+)", paragraph)[1])
        bytes = sum(c[2] for c in after) - sum(c[2] for c in before)
        assert bytes == predicted, f"{file} {options}: the change is {bytes}\n{paragraph}"
        print(f"{os.path.basename(file)} {options}: {kind} over {{{axes}}}: {change} removes it, {bytes:+d} bytes")
    return len(before)


def runs(directory):
    """Programs, meshes and shards of the tests beside this one."""
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not re.fullmatch(r"(shard-|T\d).*\.mlir", name):
            continue
        text, seen = open(path).read(), set()
        for mesh, shard in re.findall(r'RUN: llm-opt %s --tessera-shard="mesh=(\S+?)(?: shard=(\S+?))?"', text):
            if (mesh, shard) not in seen:
                seen.add((mesh, shard))
                yield path, mesh, shard
        if re.search(r"^[^/]*dist\.mesh\b", text, re.M) and not seen and "split-file" not in text:
            yield path, "-", ""


def compare_with_info(path):
    text, info = open(path).read(), json.load(sys.stdin)
    for name, step in info["steps"].items():
        explained = int(re.search(rf"^step \({name}\): per rank (\d+) collective bytes", text, re.M)[1])
        counted = sum(c["bytes_per_rank"] for c in step["collectives"])
        assert explained == counted > 0, f"{name}: {explained} bytes explained, info counts {counted}"
        print(f"{name}: {counted} bytes")


def main():
    if sys.argv[1] == "--info":
        return compare_with_info(sys.argv[2])
    end = sys.argv.index("--")
    opt = sys.argv[end + 1:]
    file, mesh, shard = (sys.argv[1:end] + ["", ""])[:3]
    cases = list(runs(file)) if os.path.isdir(file) else [(file, mesh, shard)]
    checked = sum(check(opt, *case) for case in cases)
    print(f"{checked} collectives of {len(cases)} programs")
    assert checked > 0


main()
