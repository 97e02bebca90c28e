"""scripts/fuzz sharding|binary|checked|mpi [N] [--seed=S] [--jobs=J] [--judge=build/bin/llm-judge]: N random programs, judged (docs/Judge.md).

sharding: partitioned and interpreted; prints a table op x factor kind x collective of what the programs held. binary: compiled and run by all ranks with
the real runtime; prints which pairs of op, element type, collective and loop form never reached the machine, each with its reason. checked, mpi: the
same, and once more by the driver `checked` in 50 orders (docs/Drivers.md), or by processes of mpirun; the bits must be the same. Exit status 1 if a
program fails (each is shrunk into build/fuzz/), or of sharding and binary if an op of the dialect was in none of them, or a pair is empty without a reason.
"""
import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
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


# Of `binary`: how many programs, rung, element types.
BINARY = ["--rung=binary", "--types=f32"]
# Who runs programs of the machine once more, seen from the folder of the judge.
RUNNERS = {"checked": "env TESSERA_CHECKED_ORDERS=50 {}/run-program-checked",
           "mpi": "mpirun --allow-run-as-root --oversubscribe -np {{ranks}} {}/run-program"}
TYPES = ["f32", "i32", "i1", "i64", "f64"]
LOOPS = ["none", "forward", "reverse", "period", "remainder", "reverse period", "reverse remainder", "nested"]
COLLECTIVES = ["all_gather", "all_slice", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute", "grouped_send", "contribute"]
# Why a pair cannot be: patterns of `table: a|b`, first match counts.
REASONS = [
    (r"op x type: (iota|arg_max_index)\|(f|i1|i64)", "its result is i32"),
    (r"op x type: arg_max_key\|", "its result is i64"),
    (r"op x type: compare\|", "its result is i1"),
    (r"op x type: (?!cast|constant|select|broadcast|reshape|transpose|slice|concat|mask_padding|name|constraint|reverse)\w+\|(i1|i32|i64)", "it computes floats; integers are drawn as ids and places only"),
    (r"op x type: \w+\|(i1|i32|i64|f64)", "the generator draws this type for ids, places and casts only"),
    (r"collective x type: \w+\|(i1|f64)", "values of this type stand beside their reader, where nothing moves"),
    (r"collective x type: (reduce_scatter|contribute|all_reduce|all_to_all|grouped_send|collective_permute)\|(i32|i64)", "integers are ids and keys: never summed, seldom moved"),
    (r"type x loop: (i64|f64|i1)\|", "the generator draws this type seldom in bodies"),
    (r"op x loop: (arg_max_key|arg_max_index)\|(?!none)", "drawn as results of functions only"),
    (r"op x loop: repeat\|nested", "two levels are the deepest drawn"),
    (r"op x loop: \w+\|(reverse period|reverse remainder|nested)", "a rare draw in a rare loop: more programs reach it"),
    (r"collective x loop: \w+\|", "the planner moves it out of loops, or a rare loop"),
    (r"op x collective: ", "the planner never had a reason to put the two side by side in these programs"),
]


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
        elif word in ("sharding", "binary", *RUNNERS) and not words:
            words.append(word)
        else:
            die(f"unknown argument ({word}): scripts/fuzz sharding|binary|checked|mpi [N] [--seed=S] [--jobs=J] [--judge=PATH]; try that")
    if not words:
        die("nothing to fuzz (no argument): sharding, binary, checked and mpi are what there is; try scripts/fuzz sharding")
    if not pathlib.Path(judge).exists():
        die(f"no judge ({judge}): it is not built; run scripts/build")
    return words[0], count or {"checked": 1000, "mpi": 200}.get(words[0], 20000), seed, jobs, judge


def run_chunk(judge, first, count, flags):
    coverage = OUT / f"coverage-{first}.json"
    coverage.unlink(missing_ok=True)
    done = subprocess.run([judge, f"--random={count}", f"--seed={first}", f"--coverage={coverage}", f"--shrink={OUT}/case", *flags],
                          capture_output=True, text=True, errors="replace")
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


def print_pairs(pairs, dialect):
    """Counts of the pairs that reached the machine, and the empty ones by reason; those without one are returned."""
    made = {"mask_padding"}
    ops = [op.split(".")[1] for op in dialect if op not in ("graph.repeat", "graph.yield")] + sorted(made)
    wanted = {"op x type": (ops, TYPES), "op x loop": (ops, LOOPS), "collective x type": (COLLECTIVES, TYPES),
              "collective x loop": (COLLECTIVES, LOOPS), "type x loop": (TYPES, LOOPS), "op x collective": (ops, COLLECTIVES)}
    empty, unexplained = collections.defaultdict(list), []
    for name, (rows, columns) in wanted.items():
        all_pairs = [f"{name}: {a}|{b}" for a in dict.fromkeys(rows) for b in columns]
        print("%-18s %4d of %4d pairs, %d programs' ops in the rarest" % (name, sum(pairs[p] > 0 for p in all_pairs), len(all_pairs),
                                                                         min((pairs[p] for p in all_pairs if pairs[p]), default=0)))
        for pair in all_pairs:
            if not pairs[pair]:
                reason = next((text for pattern, text in REASONS if re.match(pattern, pair)), None)
                (empty[reason] if reason else unexplained).append(pair)
    for reason, list_ in empty.items():
        print(f"\n{len(list_)} empty pairs: {reason}\n  " + ", ".join(list_))
    return unexplained


def main(argv):
    what, count, seed, jobs, judge = arguments(argv)
    flags, size = ([], CHUNK) if what == "sharding" else (BINARY, 100)
    if what in RUNNERS:
        flags = flags + ["--runner=" + RUNNERS[what].format(pathlib.Path(judge).parent)]
    OUT.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    ops, cells, pairs, dialect = collections.Counter(), collections.Counter(), collections.Counter(), []
    good = failed_chunks = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        chunks = [pool.submit(run_chunk, judge, first, min(size, seed + count - first), flags) for first in range(seed, seed + count, size)]
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
            dialect = covered.get("dialect", dialect)
    unexplained = []
    if what == "binary":
        unexplained = print_pairs(pairs, dialect)
    elif what == "sharding":
        table(cells)
    uncovered = [op for op in dialect if not ops[op]] if what not in RUNNERS else []  # they are about runs, a few programs may do
    print(f"\n{len(dialect) - len(uncovered)} of {len(dialect)} ops covered, " + str(sum(ops.values())) + " ops in all")
    print(f"{good} of {count} cases kept their numbers, {time.monotonic() - begin:.0f} s")
    if unexplained:
        die(f"pairs without a reason ({', '.join(unexplained)}): no program held them; draw them, or say in {pathlib.Path(__file__).name} why they cannot be")
    if uncovered:
        die(f"ops never covered ({', '.join(uncovered)}): no program held them; draw more, or teach the generator")
    if failed_chunks or good != count or not dialect:
        die(f"{count - good} cases fail (seeds {seed}..{seed + count - 1}): see above; shrunk programs are in {OUT}/")


if __name__ == "__main__":
    main(sys.argv[1:])
