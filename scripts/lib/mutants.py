"""scripts/mutants [--applies] [--tree=DIR] [NAME...]: applies each mutant of test/mutants/ in a copy of the tree and runs the checks.

A mutant is `# why`, `file: PATH`, the lines `- old`, which must stand in the file exactly once (whatever their
indentation), and the lines `+ new`. The copy is build/mutants/tree, or DIR, a scratch copy that may be built already; this
tree itself is never touched. Checks run until one catches: random programs, lit, unit tests; a mutant that does not build
proves nothing and counts as missed. Closes with `N caught, N missed`; exit status 1 if one is missed or no longer applies. With --applies nothing runs: it names
those whose lines no longer stand in this tree.
"""
import pathlib
import re
import shutil
import subprocess
import sys

LIT = "/usr/lib/llvm-22/bin/lit"
FOLDERS = ["Facts", "Dialect", "Pipelines", "Semantics"]
UNIT = re.compile(r"sharding|auto[-_]?parallel|dist|graph", re.I)


def die(message):
    sys.exit(f"error: {message}")


class Mutant:
    def __init__(self, path):
        self.name = path.stem
        self.file, self.old, self.new = "", [], []
        for line in path.read_text().splitlines():
            if line.startswith("file: "):
                self.file = line[6:]
            elif line.startswith("- "):
                self.old.append(line[2:].strip())
            elif line.startswith("+ "):
                self.new.append(line[2:])

    def apply(self, tree):
        """The mutated text, or None if the old lines do not stand there exactly once."""
        lines = (tree / self.file).read_text().split("\n") if self.file and (tree / self.file).exists() else []
        flat, n = [line.strip() for line in lines], len(self.old)
        at = [i for i in range(len(flat) - n + 1) if n and flat[i:i + n] == self.old]
        if len(at) != 1:
            return None
        return "\n".join(lines[:at[0]] + self.new + lines[at[0] + n:])


def run(tree, *command, seconds=900):
    try:
        return subprocess.run(command, cwd=tree, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, "", f"no end after {late.timeout:.0f} s")


def build(tree, *targets):
    return run(tree, "ninja", "-C", "build", *targets, seconds=3600)


def unit_tests(tree):
    listed = run(tree, "ninja", "-C", "build", "-t", "targets", "all").stdout
    names = sorted(set(re.findall(r"^unittests/([\w-]+): ", listed, re.M)))
    return [name for name in names if UNIT.search(name)]


def lit_tests(tree):
    """Tests of passes: those that compile whole models need more built than passes."""
    tests = [path for folder in FOLDERS for path in sorted((tree / "test" / folder).rglob("*.*")) if path.suffix in (".mlir", ".test")]
    return [f"build/{path.relative_to(tree)}" for path in tests
            if not re.search(r"llm-compile|%python|^// REQUIRES", path.read_text(errors="replace"), re.M) and "Inputs" not in path.parts]


def prepare(tree):
    tree.mkdir(parents=True, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True).stdout.splitlines()
    for name in files:
        source, target = pathlib.Path(name), tree / name
        if not source.is_file() or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    if not (tree / "build/build.ninja").exists():
        done = run(tree, "cmake", "--preset", "release")
        if done.returncode:
            die(f"cannot configure ({tree}): {done.stderr.strip().splitlines()[-1:]}; run scripts/build first")
    done = build(tree, "llm-judge", "llm-opt")
    if done.returncode:
        die(f"cannot build ({tree}): {done.stdout.strip().splitlines()[-1:]}; run scripts/build first")


def caught_by(tree):
    """What catches the mutant that stands in `tree`, or None; a text that begins with '!' if it proves nothing."""
    done = build(tree, "llm-judge")
    if done.returncode:
        return "!it does not build: " + next((l for l in done.stdout.splitlines() if "error:" in l), "")
    for count, seed in ((300, 1), (2000, 100000)):
        done = run(tree, "build/bin/llm-judge", f"--random={count}", f"--seed={seed}", "--max-failures=1", "--time-limit=60")
        if done.returncode:
            line = next((l for l in done.stdout.splitlines() if "FAILED" in l), "")
            return "random program" + line.partition("--random=1")[2]
    build(tree, "llm-opt", "sharding-facts", "reshard-facts")
    done = run(tree, LIT, "-q", "--max-failures=1", *lit_tests(tree))
    if done.returncode:
        return "lit " + next((l.split()[3] for l in done.stdout.splitlines() if l.startswith("FAIL")), "")
    for name in unit_tests(tree):
        if build(tree, f"unittests/{name}").returncode:
            return "!it does not build"
        done = run(tree, f"build/unittests/{name}", "--gtest_brief=1")
        if done.returncode:
            return name + " " + next((l.split()[-1] for l in done.stdout.splitlines() if l.startswith("[  FAILED  ]")), "")
    return None


def main(argv):
    tree, names, applies = pathlib.Path("build/mutants/tree"), [], False
    for word in argv:
        if word.startswith("--tree="):
            tree = pathlib.Path(word[7:])
        elif word == "--applies":
            applies = True
        elif word.startswith("-"):
            die(f"unknown argument ({word}): scripts/mutants [--applies] [--tree=DIR] [NAME...]; try that")
        else:
            names.append(word)
    if tree.resolve() == pathlib.Path.cwd().resolve():
        die(f"tree ({tree}): mutants are applied in a copy only; name another folder")
    mutants = [Mutant(path) for path in sorted(pathlib.Path("test/mutants").glob("*.mutant"))]
    unknown = set(names) - {m.name for m in mutants}
    if unknown:
        die(f"unknown mutants ({', '.join(sorted(unknown))}): test/mutants has none of these names; list it")
    if applies:
        stale = [m for m in mutants if (not names or m.name in names) and m.apply(pathlib.Path(".")) is None]
        for mutant in stale:
            print(f"{mutant.name}: its lines do not stand in {mutant.file} exactly once")
        return 1 if stale else 0
    prepare(tree)
    how = caught_by(tree)
    if how is not None:
        die(f"the tree itself fails ({how.lstrip('!')}): mutants prove nothing then; fix that first")
    caught = missed = 0
    for mutant in mutants:
        if names and mutant.name not in names:
            continue
        text = mutant.apply(tree)
        how = "!it no longer applies"
        if text is not None:
            path = tree / mutant.file
            before = path.read_text()
            path.write_text(text)
            try:
                how = caught_by(tree)
            finally:
                path.write_text(before)
        good = how is not None and not how.startswith("!")
        caught, missed = caught + good, missed + (not good)
        print(f"{mutant.name}: " + (f"caught by {how}" if good else f"MISSED {(how or '').lstrip('!')}"), flush=True)
    print(f"{caught} caught, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
