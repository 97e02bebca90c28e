"""scripts/fuzz sharding|gradients|binary|gradients-binary|checked|mpi [N] [--seed=S] [--jobs=J] [--judge=build/bin/llm-judge]: N random programs, judged (docs/Judge.md).

sharding: partitioned and interpreted; prints a table op x factor kind x collective of what the programs held. binary: compiled and run by all ranks with
the real runtime; prints how many pairs of op, element type, collective and loop form reached the machine, and the reason of each that did not
(scripts/lib/fuzz_reasons.txt). checked, mpi: the same, and once more by the driver `checked` in 50 orders (docs/Drivers.md), or by processes of mpirun;
the bits must be the same. gradients, gradients-binary: programs with the gradients of all their arguments, interpreted or run. Exit status 1 if a program fails (each is shrunk into build/fuzz/), or of sharding and binary if an op of the dialect was in
none of them, or a pair is empty without a reason.
"""
import collections
import concurrent.futures
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

OUT = pathlib.Path("build/fuzz")
CHUNK = 500
COLUMNS = ["seen", "local", "uneven", "masked", "all_gather", "all_slice", "all_to_all", "collective_permute", "grouped_send",
           "all_reduce", "reduce_scatter", "contribute"]
# What can happen to a factor of a kind. A dimension may always be gathered or cut after the op that made it, so only what
# the op itself asks for is listed: values are never partial over a dimension that passes through, and so on.
REACHABLE = {
    "pass": ["local", "uneven", "all_gather", "all_slice", "all_to_all", "collective_permute", "grouped_send"],
    "sum": ["local", "uneven", "all_gather", "all_slice", "all_reduce", "reduce_scatter"],
    "max": ["local", "uneven", "all_gather", "all_slice", "all_reduce", "reduce_scatter"],
    "replicate": ["all_gather"],
    "permute": ["all_gather"],
}


# Of `binary`: rung, pairs and what programs are as a whole; fuzz_reasons.txt says of pairs that stay empty why.
BINARY = ["--rung=binary"]
# Who runs programs of the machine once more, seen from the folder of the judge.
RUNNERS = {"checked": "env TESSERA_CHECKED_ORDERS=50 {}/run-program-checked",
           "mpi": "mpirun --allow-run-as-root --oversubscribe -np {{ranks}} {}/run-program"}
GRADIENTS = {"gradients": [], "gradients-binary": BINARY}
DEFAULT_COUNT = {"sharding": 20000, "gradients": 10000, "binary": 5000, "gradients-binary": 300, "checked": 1000, "mpi": 200}
REASONS = pathlib.Path(__file__).with_name("fuzz_reasons.txt")
WRITTEN = pathlib.Path(__file__).parents[2] / "test/Reference/Inputs/pairs"
TYPES = ["f32", "bf16", "f16", "f64", "i32", "i64", "i1"]
LOOPS = ["none", "forward", "reverse", "period", "remainder", "reverse period", "reverse remainder", "nested"]
COLLECTIVES = ["all_gather", "all_slice", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute", "grouped_send", "contribute"]
TRAITS = {"ranks": [str(n) for n in range(1, 9)], "entries": ["one", "two"], "states": ["kept"], "weights": ["packed", "plain"],
          "parameter": ["as it is", "flat", "transposed", "rows of a larger one", "in parts", "layer by layer"],
          "arguments": ["of uneven pieces"], "attention": ["whole context", "window", "softcap", "sinks"],
          "loops": ["read stacks", "return stacks"], "floats": ["f32", "bf16", "f16", "mixed"]}


def die(message):
    sys.exit(f"error: {message}")


def arguments(argv):
    count, seed, jobs, words, judge = None, 1, 2, [], "build/bin/llm-judge"
    for word in argv:
        name, _, value = word.partition("=")
        if name in ("--seed", "--jobs") and value.isdigit() and (name == "--seed" or int(value) > 0):
            seed, jobs = (int(value), jobs) if name == "--seed" else (seed, int(value))
        elif name == "--judge" and value:
            judge = value
        elif word.isdigit() and words and int(word) > 0:
            count = int(word)
        elif word in DEFAULT_COUNT and not words:
            words.append(word)
        else:
            die(f"unknown argument ({word}): scripts/fuzz {'|'.join(DEFAULT_COUNT)} [N] [--seed=S] [--jobs=J] [--judge=PATH]; try that")
    if not words:
        die(f"nothing to fuzz (no argument): {', '.join(DEFAULT_COUNT)} are what there is; try scripts/fuzz sharding")
    if not pathlib.Path(judge).exists():
        die(f"no judge ({judge}): it is not built; run scripts/build")
    return words[0], count or DEFAULT_COUNT[words[0]], seed, jobs, judge


def judged(command):
    """(status, what it said, coverage) of a judge. Its coverage is a file of its own: other fuzzers may run beside this one with the same seeds."""
    with tempfile.TemporaryDirectory() as folder:
        coverage = pathlib.Path(folder, "coverage.json")
        done = subprocess.run([*command, f"--coverage={coverage}"], capture_output=True, text=True, errors="replace")
        covered = json.loads(coverage.read_text()) if coverage.exists() else {}
    return done.returncode, done.stdout + done.stderr, covered


def table(cells):
    rows = collections.defaultdict(dict)
    for key, count in cells.items():
        op, kind, column = key.split("|")
        rows[op, kind][column] = count
    print("%-16s %-9s" % ("op", "factor") + "".join("%9s" % c.replace("collective_", "").replace("grouped_", "").replace("reduce_", "red_")
                                                        .replace("scatter", "scat") for c in COLUMNS))
    missing = []
    for (op, kind), row in sorted(rows.items()):
        print("%-16s %-9s" % (op, kind) + "".join("%9s" % (row.get(c) or ".") for c in COLUMNS))
        missing += [f"{op} {kind} {c}" for c in REACHABLE[kind] if not row.get(c)]
    print(f"\n{len(missing)} zero cells that programs could reach" + (":" if missing else ""))
    for cell in missing:
        print("  " + cell)


def read_reasons():
    """Lines `TABLE: A|B: why it is empty`; A and B are names with commas between, or `*`. `#` begins a comment."""
    reasons = []
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"([\w ]+): ([^|:]+)\|([^|:]+): (.+)", line)
        if not match:
            die(f"reason ({REASONS.name}:{number}): it is not `TABLE: A|B: why`")
        table, a, b, why = match.groups()
        reasons.append((table, *({part.strip() for part in names.split(",")} for names in (a, b)), why))
    return reasons


def print_pairs(pairs, dialect):
    """Counts of the pairs that reached the machine, and the empty ones by reason; those without one are returned."""
    ops = [op.split(".")[1] for op in dialect if op not in ("graph.repeat", "graph.yield", "graph.if", "graph.branch_yield")] + ["mask_padding"]
    ops = list(dict.fromkeys(ops))
    wanted = {"op x type": (ops, TYPES), "op x loop": (ops, LOOPS), "op x collective": (ops, COLLECTIVES),
              "collective x type": (COLLECTIVES, TYPES), "collective x loop": (COLLECTIVES, LOOPS), "type x loop": (TYPES, LOOPS)}
    reasons, empty, unexplained = read_reasons(), collections.defaultdict(list), []
    for name, (rows, columns) in wanted.items():
        print(f"\n{name:<20}" + "".join("%10s" % c.replace("collective_", "").replace("grouped_", "").replace("reduce_", "red_")
                                        .replace("scatter", "scat").replace("remainder", "rest").replace("reverse ", "rev. ") for c in columns))
        for a in rows:
            print("%-20s" % a + "".join("%10s" % (pairs[f"{name}: {a}|{b}"] or ".") for b in columns))
            for b in columns:
                if not pairs[f"{name}: {a}|{b}"]:
                    why = next((why for table, left, right, why in reasons
                                if table == name and left & {a, "*"} and right & {b, "*"}), None)
                    (empty[why] if why else unexplained).append(f"{a}|{b}")
    print(f"\n{sum(map(len, empty.values())) + len(unexplained)} empty pairs")
    for why, list_ in empty.items():
        print(f"\n{len(list_)}: {why}\n  " + ", ".join(list_))
    return unexplained


def print_traits(traits):
    """What the programs were as a whole; what none of them was is returned."""
    missing = []
    for what, kinds in TRAITS.items():
        print("%-10s" % what + ", ".join(f"{kind} {traits[f'{what}|{kind}']}" for kind in kinds))
        missing += [f"{what} {kind}" for kind in kinds if not traits[f"{what}|{kind}"]]
    return missing


def main(argv):
    what, count, seed, jobs, judge = arguments(argv)
    flags, size = ([], CHUNK) if what in ("sharding", "gradients") else (BINARY, 100)
    if what in GRADIENTS:
        flags = flags + ["--gradients"]
    if what in RUNNERS:
        flags = flags + ["--runner=" + RUNNERS[what].format(pathlib.Path(judge).parent)]
    OUT.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    ops, cells, pairs, traits, dialect, redrawn = *(collections.Counter() for _ in range(4)), [], 0
    good = failed_chunks = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        chunks = [pool.submit(judged, [judge, f"--random={min(size, seed + count - first)}", f"--seed={first}", f"--shrink={OUT}/case", *flags])
                  for first in range(seed, seed + count, size)]
        for chunk in chunks:
            status, text, covered = chunk.result()
            if status != 0:
                failed_chunks += 1
                print(text, end="")
            last = [line for line in text.splitlines() if line.endswith("random programs kept their numbers")]
            good += int(last[0].split()[0]) if last else 0
            ops.update(covered.get("ops", {}))
            cells.update(covered.get("cells", {}))
            pairs.update(covered.get("pairs", {}))
            traits.update(covered.get("traits", {}))
            redrawn += covered.get("redrawn", 0)
            dialect = covered.get("dialect", dialect)
    unexplained, missing = [], []
    if what == "binary":
        for path in sorted(WRITTEN.glob("*.mlir")):  # what is seldom drawn
            status, text, covered = judged([judge, str(path), *flags])
            if status != 0 or not covered:
                failed_chunks += 1
                print(text, end="")
            pairs.update(covered.get("pairs", {}))
        print(f"{len(list(WRITTEN.glob('*.mlir')))} programs by hand, for pairs that are seldom drawn")
        unexplained = print_pairs(pairs, dialect)
        missing = print_traits(traits)
        print(f"{redrawn} programs drawn again: rounding alone spoils their numbers")
    elif what == "sharding":
        table(cells)
    # What no random program has, whatever its types, says why among the reasons.
    never = set().union(*(left for table, left, right, _ in read_reasons() if table == "op x type" and right == {"*"}))
    uncovered = [op for op in dialect if not ops[op] and op.split(".")[1] not in never]
    print(f"\n{len(dialect) - len(uncovered)} of {len(dialect)} ops covered, " + str(sum(ops.values())) + " ops in all")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{good} of {count} cases kept their numbers, {time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors")
    if unexplained:
        die(f"pairs without a reason ({', '.join(unexplained)}): no program held them; draw more, or say in {REASONS.name} why they are empty")
    if missing:
        die(f"programs of a kind ({', '.join(missing)}): there was none; draw more")
    if uncovered and what in ("sharding", "binary"):  # the others are about runs and gradients: a few programs may do
        die(f"ops never covered ({', '.join(uncovered)}): no program held them; draw more, or teach the generator")
    if failed_chunks or good != count or not dialect:
        die(f"{count - good} cases fail (seeds {seed}..{seed + count - 1}): see above; shrunk programs are in {OUT}/")


if __name__ == "__main__":
    main(sys.argv[1:])
