"""scripts/fuzz sharding [N] [--seed=S] [--jobs=J] [--judge=build/bin/llm-judge]: N random programs, partitioned and judged (docs/Judge.md).

Prints a table op x factor kind x collective of what the programs held. Exit status 1 if a program fails (each is shrunk
into build/fuzz/), or an op of the dialect was in none of them.
"""
import collections
import concurrent.futures
import json
import pathlib
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


def die(message):
    sys.exit(f"error: {message}")


def arguments(argv):
    count, seed, jobs, words, judge = 20000, 1, 2, [], "build/bin/llm-judge"
    for word in argv:
        name, _, value = word.partition("=")
        if name in ("--seed", "--jobs") and value.isdigit() and (name == "--seed" or int(value) > 0):
            seed, jobs = (int(value), jobs) if name == "--seed" else (seed, int(value))
        elif name == "--judge" and value:
            judge = value
        elif word.isdigit() and words and int(word) > 0:
            count = int(word)
        elif word == "sharding" and not words:
            words.append(word)
        else:
            die(f"unknown argument ({word}): scripts/fuzz sharding [N] [--seed=S] [--jobs=J] [--judge=PATH]; try that")
    if not words:
        die("nothing to fuzz (no argument): sharding is what there is; try scripts/fuzz sharding")
    if not pathlib.Path(judge).exists():
        die(f"no judge ({judge}): it is not built; run scripts/build")
    return count, seed, jobs, judge


def run_chunk(judge, first, count):
    coverage = OUT / f"coverage-{first}.json"
    coverage.unlink(missing_ok=True)
    done = subprocess.run([judge, f"--random={count}", f"--seed={first}", f"--coverage={coverage}", f"--shrink={OUT}/case"],
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


def main(argv):
    count, seed, jobs, judge = arguments(argv)
    OUT.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    ops, cells, dialect = collections.Counter(), collections.Counter(), []
    good = failed_chunks = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        chunks = [pool.submit(run_chunk, judge, first, min(CHUNK, seed + count - first)) for first in range(seed, seed + count, CHUNK)]
        for chunk in chunks:
            status, text, covered = chunk.result()
            if status != 0:
                failed_chunks += 1
                print(text, end="")
            last = [line for line in text.splitlines() if line.endswith("random programs kept their numbers")]
            good += int(last[0].split()[0]) if last else 0
            ops.update(covered.get("ops", {}))
            cells.update(covered.get("cells", {}))
            dialect = covered.get("dialect", dialect)
    table(cells)
    uncovered = [op for op in dialect if not ops[op]]
    print(f"\n{len(dialect) - len(uncovered)} of {len(dialect)} ops covered, " + str(sum(ops.values())) + " ops in all")
    print(f"{good} of {count} cases kept their numbers, {time.monotonic() - begin:.0f} s")
    if uncovered:
        die(f"ops never covered ({', '.join(uncovered)}): no program held them; draw more, or teach the generator")
    if failed_chunks or good != count or not dialect:
        die(f"{count - good} cases fail (seeds {seed}..{seed + count - 1}): see above; shrunk programs are in {OUT}/")


if __name__ == "__main__":
    main(sys.argv[1:])
