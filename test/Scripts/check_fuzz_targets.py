"""check_fuzz_targets.py ROOT: the targets that C++ has, those that scripts/fuzz knows, and those whose coverage is measured are the same, and their files exist."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
sys.argv[1:] = []
problems = []


def names(path):
    return sorted(re.findall(r'\{"([a-z-]+)", run', (root / path).read_text()))


script = (root / "scripts/fuzz").read_text()
table = (root / "scripts/lib/fuzz_coverage.py").read_text()
scope = {}
exec(table[table.index("COMPILER ="):table.index("def run(")], scope)  # what it measures, without measuring
measured = {target for group, _ in scope["READERS"] for target in group}
for path, variable in (("runtime/fuzz/RuntimeTargets.cpp", "runtime_targets"), ("test/fuzz/CompilerTargets.cpp", "compiler_targets")):
    known = re.search(rf'^{variable}="(.*)"$', script, re.M)[1].split()
    if names(path) != sorted(known):
        problems.append(f"{path} has {names(path)}, scripts/fuzz {sorted(known)}")
    if missing := set(known) - measured:
        problems.append(f"scripts/lib/fuzz_coverage.py measures nothing of {sorted(missing)}")
    page = (root / "docs/Fuzzing.md").read_text()
    problems += [f"docs/Fuzzing.md says nothing of {name}" for name in known if f"| `{name}` |" not in page]
if sorted(scope["COMPILER"]) != names("test/fuzz/CompilerTargets.cpp"):
    problems.append("scripts/lib/fuzz_coverage.py has other targets of the compiler")
for _, files in scope["READERS"]:
    problems += [f"scripts/lib/fuzz_coverage.py: there is no {file}" for file in files if not (root / file).exists()]
print("\n".join(problems) or "the same everywhere")
sys.exit(bool(problems))
