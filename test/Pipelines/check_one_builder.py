"""Passes are put in order in one place only: lib/Pipelines/Phases.cpp (and lib/Target/*/Pipeline.cpp for kernels).

Called with the root of the tree. Every constructor of a pass of ours may be called there alone, and no source, script or test names two of our passes
in a row as a pipeline, except lit tests of single passes (test/Dialect, test/Conversion, test/Target), which make their input with passes before theirs.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
BUILDERS = re.compile(r"lib/Pipelines/Phases\.cpp|lib/Target/\w+/Pipeline\.cpp")
# Called by name alone: tests and people differentiate programs of their own.
BY_NAME = {"graph-differentiate"}
SINGLE_PASS_TESTS = ("test/Dialect/", "test/Conversion/", "test/Target/")


def sources():
    for folder in ("include", "lib", "tools", "test", "scripts", "bench"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and path.suffix in (".cpp", ".h", ".py", ".mlir", ".test", ".sh", "") and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT)), path.read_text(errors="replace")


def main():
    passes = {}  # name -> constructor
    for td in (ROOT / "include").rglob("Passes.td"):
        passes.update((name, "create" + symbol) for symbol, name in re.findall(r'^def (\w+) : Pass<"([\w-]+)"', td.read_text(), re.M))
    if len(passes) < 15:
        sys.exit(f"only {len(passes)} passes found: the pattern no longer reads Passes.td")
    call = re.compile(r"\b(" + "|".join(passes.values()) + r")\(")
    in_a_row = re.compile("(%s)(\\{[^}]*\\})?,(%s)\\b" % ("|".join(passes), "|".join(name for name in passes if name != "verify-rung")))
    wrong, seen = [], set()
    for path, text in sources():
        for match in call.finditer(text):
            if BUILDERS.fullmatch(path):
                seen.add(match[1])
            else:
                wrong.append(f"{path}: calls {match[1]}; let buildPhase do it")
        if not path.startswith(SINGLE_PASS_TESTS) and path != "test/Pipelines/check_one_builder.py":
            wrong += [f"{path}: names a pipeline, {match[0]}; use tessera-shard or another phase" for match in in_a_row.finditer(text)]
    wrong += [f"{name} is in no phase" for name, constructor in passes.items() if constructor not in seen and name not in BY_NAME]
    wrong += [f"{name} is in a phase: take it out of BY_NAME" for name in BY_NAME if passes.get(name) in seen]
    sys.exit("\n".join(wrong) or 0)


main()
