"""Every flag that an explanation suggests removes its collective, and changes what a step moves by exactly what was predicted.

check_explain.py FILE.mlir MESH [SHARD] -- LLM_OPT    explains FILE, applies each suggested flag by running the sharding pipeline itself, and
    counts the collectives of both rungs spmd from their text, not by the compiler's own sums.
check_explain.py --info FILE    the bytes of each function in what --explain wrote to FILE are those of `OUT info --json` on standard input.
check_explain.py DIR -- LLM_OPT    the same for each shard-*.mlir and T*.mlir of DIR and each mesh and shard of its RUN lines.
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
AXES = re.compile(r"axes = \{([^}]*)\}")


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
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


def check(opt, file, mesh, shard):
    """The number of collectives checked."""
    options = f"mesh={mesh}" + (f" shard={shard}" if shard else "")
    before = collectives(run(*opt, file, f"--tessera-shard={options}").stdout)
    text = run(*opt, file, f"--tessera-explain={options}", "-o", os.devnull).stderr
    paragraphs = [p for p in re.split(r"^(?=\w+ )", text, flags=re.M) if p.startswith("collective ")]
    assert len(paragraphs) == len(before), f"{file} {options}: {len(paragraphs)} paragraphs for {len(before)} collectives"
    for paragraph, (kind, axes, sent) in zip(paragraphs, before):
        head = re.match(r"collective \d+ of \d+ \(\w+\): (\w+) over \{([^}]*)\}", paragraph)
        assert head and (head.groups() == (kind, axes) or kind == "grouped_send" == head[1]), f"{kind} over {axes} is called\n{paragraph}"
        assert int(re.search(r"times a step: (\d+) bytes", paragraph)[1]) == sent, f"{sent} bytes are sent\n{paragraph}"
        assert re.search(r"between: \S.* and \S|within: \S", paragraph) and re.search(r"disagree on: \w", paragraph), paragraph
        flag = re.search(r"removed by: --shard=(\S+) \(new: \S+\)", paragraph)
        assert flag, f"{file} {options}: no flag is suggested\n{paragraph}"
        after = collectives(run(*opt, file, f"--tessera-shard=mesh={mesh} shard={flag[1]}").stdout)
        count = lambda program: sum(c[:2] == (kind, axes) for c in program)
        assert count(after) < count(before), f"--shard={flag[1]} does not remove it\n{paragraph}"
        predicted = int(re.search(r"collective bytes ([+-]\d+)", paragraph)[1])
        change = sum(c[2] for c in after) - sum(c[2] for c in before)
        assert change == predicted, f"{file} {options}: the change is {change}\n{paragraph}"
        print(f"{os.path.basename(file)} {options}: {kind} over {{{axes}}}: {flag[1]} removes it, {change:+d} bytes")
    return len(before)


def runs(directory):
    """Programs, meshes and shards of the tests beside this one. What a program annotates itself, no flag overrides."""
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not re.fullmatch(r"(shard-|T\d).*\.mlir", name) or re.search(r"^[^/]*dist\.(sharding|constraint)\b", open(path).read(), re.M):
            continue
        seen = set()
        for mesh, shard in re.findall(r'RUN: llm-opt %s --tessera-shard="mesh=(\S+?)(?: shard=(\S+?))?"', open(path).read()):
            if (mesh, shard) not in seen:
                seen.add((mesh, shard))
                yield path, mesh, shard


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
