"""scripts/mutants [--applies] [--since=COMMIT] [--within=SECONDS] [--tree=DIR] [NAME...]: applies each mutant of test/mutants/ and runs the tests that can see it.

A mutant is `# why`, `file: PATH`, if its author knows it `test: KIND NAME[: FILTER]` (what should catch it: it comes first), the lines `- old`, which must stand in the file exactly once (whatever their indentation and breaks),
and the lines `+ new`; one old and one new line may also be a part of a line. It is applied in a copy, build/mutants/tree or DIR; this tree is never touched. Where the system lets us
(unshare), the copy is mounted over this tree's own path, so that the build folder it was copied with is warm.

What a mutant can reach is what ninja builds from its file: unit tests, and lit tests by the tools they name; of a script under test/, the
lit tests beside it. The likely ones come first: what caught it last time, then those whose folder shares words with the file and those that took little time so far; random programs
and whole models come last. Only what the next test needs is built. The first failure ends it, and must be gone without the mutant.
A mutant that does not build proves nothing and counts as missed.

docs/Mutants.md keeps the verdicts: the rows of what was tried are written anew after every mutant. --since tries only those that the table
has no verdict for, or one older than COMMIT. --within gives up a mutant that no test has caught after SECONDS of tests: it is left open and gets no
row. Two runs at a time, in two trees, write one table. --applies runs nothing: it names mutants whose lines no longer stand in this tree.
Closes with `N caught, N missed`; exit status 1 if one is missed or no longer applies.
"""
import fcntl
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

LIT = "/usr/lib/llvm-22/bin/lit"
TOOLS = ["llm-opt", "llm-judge", "llm-compile", "sharding-facts", "reshard-facts", "schedule-facts", "model-info", "run-program",
         "run-program-checked", "barrier-check", "nccl-conformance", "order-mutants", "render-template", "resave", "standin-conformance",
         "standin-faults"]
# What is no program of build/bin: the archive that executables are linked with, and the libraries of the stand-in.
LIBRARIES = {"runtime": ["tessera_runtime"], "standin": ["standin_cuda", "standin_cublaslt", "standin_nccl"]}
TABLE = pathlib.Path("docs/Mutants.md")
HEAD = """# Mutants

Small faults, one at a time, in a copy of the tree: does a test fail? `scripts/mutants` writes this page (see [Judge.md](Judge.md)). A verdict is a test that
fails with the mutant and passes without it, at the commit named. Nothing here is written by hand.

| mutant | in | the fault | caught by | at |
|---|---|---|---|---|
"""


def die(message):
    sys.exit(f"error: {message}")


class Mutant:
    def __init__(self, path):
        self.name = path.stem
        self.file, self.why, self.test, self.old, self.new = "", "", "", [], []
        for line in path.read_text().splitlines():
            if line.startswith("# "):
                self.why += (" " if self.why else "") + line[2:]
            elif line.startswith("file: "):
                self.file = line[6:]
            elif line.startswith("test: "):
                self.test = line[6:]
            elif line.startswith("- "):
                self.old.append(line[2:].strip())
            elif line.startswith("+ "):
                self.new.append(line[2:])

    def apply(self, tree):
        """The mutated text, or None if the old lines do not stand there exactly once. Where they break, and how far they are indented, is the
        formatter's business: they are compared without blanks, and replaced as whole lines."""
        lines = (tree / self.file).read_text().split("\n") if self.file and (tree / self.file).exists() else []
        plain, begins, ends = "", {}, {}  # the text without blanks; where lines begin and end in it
        for number, line in enumerate(lines):
            if word := "".join(line.split()):
                begins[len(plain)] = number
                plain += word
                ends[len(plain)] = number
        old = "".join("".join(self.old).split())
        found = [at.start() for at in re.finditer(f"(?={re.escape(old)})", plain)] if old else []
        places = [(begins[at], ends[at + len(old)]) for at in found if at in begins and at + len(old) in ends]
        text = "\n".join(lines)
        if not places and len(self.old) == len(self.new) == 1 and text.count(self.old[0]) == 1:  # a part of a line
            return text.replace(self.old[0], self.new[0].strip())
        if len(places) != 1:
            return None
        first, last = places[0]
        return "\n".join(lines[:first] + self.new + lines[last + 1:])


class Tree:
    """The copy, and how to run something in it."""

    def __init__(self, folder):
        self.home, self.folder = pathlib.Path.cwd(), folder.resolve()
        self.mounts = subprocess.run(self.inside(["true"], folder=self.home), capture_output=True).returncode == 0
        if not self.mounts:
            print("no mounts here: the copy is built in its own folder, from nothing", file=sys.stderr)

    def inside(self, command, folder=None):
        """`command` with the copy in the place of this tree."""
        root = [] if os.geteuid() == 0 else ["--map-root-user"]
        mount = 'mount --bind "$1" "$2" && cd "$2" && shift 2 && exec "$@"'
        return ["unshare", "--mount", *root, "--propagation=private", "sh", "-c", mount, "sh", str(folder or self.folder), str(self.home), *command]

    def run(self, *command, seconds=900):
        env = dict(os.environ, CCACHE_SLOPPINESS="pch_defines,time_macros", ASAN_OPTIONS="detect_leaks=0")
        words = self.inside(command) if self.mounts else list(command)
        try:
            return subprocess.run(words, cwd=self.home if self.mounts else self.folder, env=env, capture_output=True, text=True,
                                  errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, 124, "", f"no end after {late.timeout:.0f} s")

    def ninja(self, *words):
        return self.run("ninja", "-C", "build", *words, seconds=7200)

    def build(self, targets):
        """Whether they are up to date now. Without a target ninja would build all."""
        return not targets or self.ninja(*targets).returncode == 0

    def prepare(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True).stdout.splitlines()
        for name in files:
            source, target = pathlib.Path(name), self.folder / name
            if not source.is_file() or (target.exists() and target.read_bytes() == source.read_bytes()):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            if (self.folder / "build/build.ninja").exists():
                target.touch()  # later than what was built from the older text
        warm = pathlib.Path("build/build.ninja")
        if self.mounts and warm.exists() and not (self.folder / "build/build.ninja").exists():
            (self.folder / "build").mkdir(exist_ok=True)
            for part in pathlib.Path("build").iterdir():
                if part.name not in ("mutants", "test-results"):  # what nothing writes to is linked
                    subprocess.run(["cp", "-al" if part.name in ("models", "venv") else "-a", str(part), str(self.folder / "build")], check=True)
        if not (self.folder / "build/build.ninja").exists():
            done = self.run("cmake", "--preset", "release")
            if done.returncode:
                die(f"cannot configure ({self.folder}): {done.stderr.strip().splitlines()[-1:]}; run scripts/build first")
        self.ninja("build.ninja")  # new tests are listed after that only
        listed = self.ninja("-t", "targets", "all").stdout
        self.units = sorted(set(re.findall(r"^unittests/([\w-]+): ", listed, re.M)))
        self.tools = [tool for tool in TOOLS if re.search(rf"^bin/{tool}: ", listed, re.M)]
        # The folders of the tests' own sources, by unit test.
        self.beside = {unit: " ".join(re.findall(r"^    (\S+)/CMakeFiles", self.ninja("-t", "query", f"unittests/{unit}").stdout, re.M)[:1])
                       for unit in self.units}
        targets = {**LIBRARIES, **{tool: [tool] for tool in self.tools}, **{unit: [f"unittests/{unit}"] for unit in self.units}}
        fakes = re.findall(r"^(\S+/fake_\w+): ", listed, re.M)[:1]
        self.inputs = {name: set(self.ninja("-t", "inputs", *wanted, *(fakes if name == "runtime_app_test" else [])).stdout.split("\n"))
                       for name, wanted in targets.items()}

    def seconds(self, check=None, took=0):
        """What checks took when they passed, by name; remembers it of `check`."""
        path = self.folder / "build/mutants.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        if check:
            known[f"{check.kind} {check.name}"] = round(took, 1)
            path.write_text(json.dumps(known, indent=1))
        return known

    def seen_by(self, file):
        """Unit tests, tools and libraries made from `file`."""
        path = str(self.home / file)
        paths = {path}
        if not any(path in inputs for inputs in self.inputs.values()):  # a header: what was compiled with it
            paths, output = set(), None
            for line in self.ninja("-t", "deps").stdout.splitlines():
                output = line.split(":")[0] if line[:1] not in ("", " ") else output
                if line.strip() == path:
                    paths.add(output)
        return {name for name, inputs in self.inputs.items() if paths & inputs}


def words_of(path):
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", str(path))
    return {word.lower() for word in words} - {"lib", "test", "tests", "runtime", "include", "tessera", "cpp", "h", "td", "to"}


class Check:
    """Something that can fail: name, what must be built, and how to run it."""

    def __init__(self, kind, name, targets, words, likely):
        self.kind, self.name, self.targets, self.words, self.likely = kind, name, targets, words, likely

    def run(self, tree, only=None, seconds=math.inf):
        """'' if all is well, else the first test that fails; None if it has not ended after `seconds`."""
        if self.kind == "unit":
            names = [f"--gtest_filter={only}"] if only else []
            command = [f"build/unittests/{self.name}", "--gtest_brief=1", "--gtest_fail_fast", *names]
            if self.name.endswith("_mpi_test"):
                command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "4", *command]
            if self.name.endswith("_cuda_device_test"):
                build = tree.home / "build"
                command = ["env", f"LD_LIBRARY_PATH={build}/lib/standin", f"TESSERA_STANDIN_IR={build}/runtime/test/cuda/ir",
                           "TESSERA_STANDIN_ALGORITHMS=3", *command]
            done = tree.run(*command, seconds=min(400, seconds))
            if done.returncode == 124 and seconds < 400:
                return None
            failed = re.search(r"^\[  FAILED  \] ([\w/.]+)", done.stdout, re.M)
            return (failed.group(1) if failed else "it ends without a word") if done.returncode else ""
        if self.kind == "random":
            draws = [[f"--random={count}", f"--seed={seed}", "--time-limit=60"] for count, seed in ((300, 1), (2000, 100000))]
            for draw in [only.partition(": ")[0].split()] if only else draws:
                done = tree.run("build/bin/llm-judge", *draw, "--max-failures=1")
                if done.returncode:
                    line = next((l for l in done.stdout.splitlines() if "FAILED" in l), "")
                    return "--random=1" + line.partition("--random=1")[2]
            return ""
        done = tree.run("env", "TESSERA_SAMPLE=all", LIT, "-q", "-j2", "--max-failures=1", *([f"build/test/{only}"] if only else self.words), seconds=min(3600, seconds))
        if done.returncode == 124 and seconds < 3600:
            return None
        failed = re.search(r"^(?:FAIL|TIMEOUT|XPASS|UNRESOLVED): \S+ :: (\S+)", done.stdout, re.M)
        return (failed.group(1) if failed else "lit itself") if done.returncode else ""


def checks_for(tree, mutant, seen):
    """Every check that can see `seen`, the likely ones first."""
    mine = words_of(mutant.file) | words_of(mutant.name)
    checks = [Check("unit", unit, [f"unittests/{unit}"], [], 2 * len(mine & words_of(unit.replace("_", " "))) + 1)
              for unit in tree.units if unit in seen]
    for unit in checks:  # the tests that lie beside the code
        unit.likely += len(mine & words_of(tree.beside[unit.name]))
        unit.likely += 2 * (mutant.file.startswith("runtime/") and tree.beside[unit.name].startswith("runtime/"))
        unit.targets += ["tessera_runtime"] if unit.name == "runtime_app_test" else []
    root = tree.folder / "test"
    groups = {}
    for path in sorted([*root.rglob("*.mlir"), *root.rglob("*.test")]):
        text, where = path.read_text(errors="replace"), path.relative_to(root)
        if "Inputs" in where.parts or re.search(r"REQUIRES:.*\bslow", text) or "unit" == where.parts[0]:
            continue
        # Only tests that read a model come near import and the runtime.
        if mutant.file.startswith(("lib/Import", "runtime")) and not re.search(r"[Ii]nputs|%models|%\{model\}|standin", text):
            continue
        tools = {tool for tool in tree.tools if re.search(rf"(?<![\w-]){tool}(?![\w-])", text)}
        if where.parts[0] == "Integration" or ("llm-compile" in tools and "compile-to" not in text):
            tools |= {"llm-compile", "runtime"}
        if re.search(r"%standin|scripts/standin", text):
            tools.add("standin")
        # Nothing is built from a script: the tests beside it run it.
        beside = mutant.file.endswith(".py") and pathlib.Path(mutant.file).parent == "test" / where.parent
        if tools & seen or beside:
            # Whole models take long: each test by itself, in an order of ours.
            group = groups.setdefault(where.with_suffix("") if where.parts[0] == "Integration" else where.parent, (set(), []))
            group[0].update(tools)
            group[1].append(f"build/test/{where}")
    for folder, (tools, paths) in groups.items():
        targets = [target for tool in sorted(tools) for target in LIBRARIES.get(tool, [tool])]
        likely = 1.5 * len(mine & words_of(folder)) - (2 if folder.parts[0] == "Integration" else 0)
        checks.append(Check("lit", str(folder), targets, paths, likely))
    if "llm-judge" in seen and mutant.file.startswith(("lib/Dialect", "lib/Analysis", "lib/AutoParallel", "lib/Interfaces", "lib/Reference", "include")):
        checks.append(Check("random", "programs", ["llm-judge"], [], 1.2))
    times = tree.seconds()
    return sorted(checks, key=lambda check: math.log2(1 + times.get(f"{check.kind} {check.name}", 0)) / 4 - check.likely)


def judge(tree, mutant, text, before, good, within):
    """('caught', by), ('missed', ''), ('open', '') after `within` seconds, or ('broken', why). `good`: tests known to pass without any mutant."""
    path = tree.folder / mutant.file
    original = path.read_text()
    path.write_text(text)
    caught = None
    try:
        spent = 0  # in tests, without building
        checks = checks_for(tree, mutant, tree.seen_by(mutant.file))
        # What caught it last time, and what should, by itself.
        hints = [(check, only or None) for name, _, only in (hint.partition(": ") for hint in (before, mutant.test)) for check in checks
                 if name == f"{check.kind} {check.name}" and (not only or check.kind != "lit" or (tree.folder / "test" / only).is_file())]
        for check, only in [*hints, *((check, None) for check in checks)]:
            if spent > within:
                return "open", ""
            if not tree.build(check.targets):
                return "broken", "it does not build"
            start = time.monotonic()
            failed = check.run(tree, only, max(5, within - spent))
            spent += time.monotonic() - start
            if failed:
                caught = check, failed
                break
            if failed is None:
                return "open", ""
            if not only:
                tree.seconds(check, time.monotonic() - start)
    finally:
        path.write_text(original)
    if caught is None:
        return "missed", ""
    check, failed = caught
    by = f"{check.kind} {check.name}: {failed}"
    if by not in good:
        alone = {"unit": "." in failed, "lit": "/" in failed, "random": True}[check.kind]
        only = failed if alone else None
        tree.build(check.targets)
        if check.run(tree, only) != "":
            return "broken", f"{by} fails without the mutant, too"
        good.add(by)
    return "caught", by


def read_table():
    rows = {}
    for line in TABLE.read_text().splitlines() if TABLE.exists() else []:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 5:
            rows[cells[0].strip("`")] = (cells[3].strip("`"), cells[4])
    return rows


def write_row(mutants, name, row):
    """The table with this row, among all that others have written meanwhile."""
    with open(TABLE, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = read_table()
        rows[name] = row
        write_table(rows, mutants)


def write_table(rows, mutants):
    lines = [f"| `{m.name}` | `{m.file}` | {m.why.replace('|', '/')} | {rows[m.name][0]} | {rows[m.name][1]} |\n" for m in mutants if m.name in rows]
    tried = sum(1 for m in mutants if m.name in rows and not rows[m.name][0].startswith("**"))
    left = len(mutants) - len(lines)
    TABLE.write_text(HEAD + "".join(lines) + f"\n{tried} of {len(lines)} caught" + (f"; {left} not tried yet.\n" if left else ".\n"))


def commit_of_tree():
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True).stdout.strip()
    dirty = subprocess.run(["git", "status", "--porcelain", "--", "lib", "runtime", "include", "tools", "test", ":!test/mutants"], capture_output=True, text=True).stdout
    return commit + ("+" if dirty.strip() else "")


def is_older(commit, than):
    return subprocess.run(["git", "merge-base", "--is-ancestor", than, commit.rstrip("+")], capture_output=True).returncode != 0


def main(argv):
    folder, names, applies, since, within = pathlib.Path("build/mutants/tree"), [], False, None, math.inf
    for word in argv:
        if word.startswith("--tree="):
            folder = pathlib.Path(word[7:])
        elif word.startswith("--since="):
            since = word[8:]
        elif word.startswith("--within=") and word[9:].isdigit():
            within = int(word[9:])
        elif word == "--applies":
            applies = True
        elif word.startswith("-"):
            die(f"unknown argument ({word}): scripts/mutants [--applies] [--since=COMMIT] [--within=SECONDS] [--tree=DIR] [NAME...]; try that")
        else:
            names.append(word)
    if folder.resolve() == pathlib.Path.cwd().resolve():
        die(f"tree ({folder}): mutants are applied in a copy only; name another folder")
    mutants = [Mutant(path) for path in sorted(pathlib.Path("test/mutants").glob("*.mutant"))]
    unknown = set(names) - {m.name for m in mutants}
    if unknown:
        die(f"unknown mutants ({', '.join(sorted(unknown))}): test/mutants has none of these names; list it")
    if applies:
        stale = [m for m in mutants if (not names or m.name in names) and m.apply(pathlib.Path(".")) is None]
        for mutant in stale:
            print(f"{mutant.name}: its lines do not stand in {mutant.file} exactly once")
        return 1 if stale else 0
    rows, good, commit = read_table(), set(), commit_of_tree()
    chosen = [m for m in mutants if (not names or m.name in names) and
              (since is None or m.name not in rows or rows[m.name][0].startswith("**") or is_older(rows[m.name][1], since))]
    tree = Tree(folder)
    tree.prepare()
    caught = missed = 0
    for mutant in sorted(chosen, key=lambda m: m.file):  # what is built stays warm
        text = mutant.apply(tree.folder)
        before = rows.get(mutant.name, ("", ""))[0]
        verdict, how = judge(tree, mutant, text, before, good, within) if text is not None else ("broken", "it no longer applies")
        caught, missed = caught + (verdict == "caught"), missed + (verdict != "caught")
        if verdict != "open":
            write_row(mutants, mutant.name, (how if verdict == "caught" else f"**{verdict}** {how}".strip(), commit))
        print(f"{mutant.name}: " + (f"caught by {how}" if verdict == "caught" else f"MISSED {verdict} {how}"), flush=True)
    print(f"{caught} caught, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
