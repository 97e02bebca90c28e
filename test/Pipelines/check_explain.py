"""Every flag that an explanation suggests removes its collective, and changes what a step moves by exactly what was predicted.

check_explain.py FILE.mlir MESH [SHARD] -- LLM_OPT    explains FILE, applies each suggested flag by running the sharding pipeline itself, and
    counts the collectives of both rungs spmd from their text, not by the compiler's own sums.
check_explain.py DIR -- LLM_OPT    the same for each shard-*.mlir and T*.mlir of DIR and each mesh and shard of its RUN lines.
"""
import math
import os
import re
import subprocess
import sys

WIDTH = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i8": 1, "i1": 1}
COLLECTIVE = re.compile(r"dist\.(all_gather|all_reduce|reduce_scatter|all_to_all|collective_permute) [^\n]*? : tensor<((?:\d+x)*)(\w+)")
AXES = re.compile(r"axes = \{([^}]*)\}")


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr}")
    return result


def collectives(program):
    """(kind, axes, bytes a rank sends in a step) of each collective, loops counted."""
    found, loops, mesh = [], [], {}
    for line in program.splitlines():
        if "dist.mesh" in line:
            mesh = {name: int(size) for name, size in re.findall(r'"([^"]+)"=(\d+)', line)}
        indent = len(line) - len(line.lstrip())
        while loops and indent <= loops[-1][0] and line.strip().startswith("}"):
            loops.pop()
        if match := re.search(r"graph\.repeat (\d+)", line):
            loops.append((indent, int(match[1])))
        if not (match := COLLECTIVE.search(line)):
            continue
        kind, shape, element = match.groups()
        size = math.prod(int(n) for n in shape.split("x") if n) * WIDTH[element]
        axes, ranks = [], 1
        if at := AXES.search(line):
            for name, sub, part in re.findall(r'"([^"]+)"(:\(\d+\)(\d+))?', at[1]):
                axes.append(name + sub)
                ranks *= int(part) if part else mesh[name]
        sent = {"all_gather": (ranks - 1) * size, "all_reduce": 2 * (ranks - 1) * size // ranks,
                "collective_permute": size}.get(kind, (ranks - 1) * size // ranks)
        found.append((kind, ", ".join(axes), sent * math.prod(n for _, n in loops)))
    return found


def check(opt, file, mesh, shard):
    """The number of collectives checked."""
    options = f"mesh={mesh}" + (f" shard={shard}" if shard else "")
    before = collectives(run(*opt, file, f"--tessera-shard={options}").stdout)
    text = run(*opt, file, f"--tessera-explain={options}", "-o", os.devnull).stderr
    paragraphs = [p for p in re.split(r"^(?=\w+ )", text, flags=re.M) if p.startswith("collective ")]
    assert len(paragraphs) == len(before), f"{file} {options}: {len(paragraphs)} paragraphs for {len(before)} collectives"
    for paragraph, (kind, axes, sent) in zip(paragraphs, before):
        head = re.match(r"collective \d+ of \d+ \(\w+\): (\w+) over \{([^}]*)\}", paragraph)
        assert head and head.groups() == (kind, axes), f"{kind} over {axes} is called\n{paragraph}"
        assert int(re.search(r"times a step: (\d+) bytes", paragraph)[1]) == sent, f"{sent} bytes are sent\n{paragraph}"
        assert re.search(r"between: \S.* and \S", paragraph) and re.search(r"disagree on: \w", paragraph), paragraph
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


def main():
    end = sys.argv.index("--")
    opt = sys.argv[end + 1:]
    file, mesh, shard = (sys.argv[1:end] + ["", ""])[:3]
    cases = list(runs(file)) if os.path.isdir(file) else [(file, mesh, shard)]
    checked = sum(check(opt, *case) for case in cases)
    print(f"{checked} collectives of {len(cases)} programs")
    assert checked > 0


main()
