"""Holds the tables of functions that the runtime asks libraries for to what it calls: a driver must not be refused for one that nobody calls.

    check_functions.py ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
api = root / "runtime/cuda/api"
code = "\n".join(path.read_text() for path in sorted((root / "runtime").rglob("*.cpp")) + sorted((root / "runtime").rglob("*.h"))
                 if api not in path.parents and "test" not in path.relative_to(root).parts)
code = re.sub(r"//.*", "", code)
names = [name for header in sorted(api.glob("*.h")) for name in re.findall(r"X\((cu[A-Z]\w*|cublasLt\w*|nccl\w*), (?!-?\d)", header.read_text())]
unused = [name for name in names if not re.search(rf"\b{name}\b", code)]
for name in unused:
    print(f"runtime/cuda/api: {name} is asked for and never called; move it to the stand-in's MoreFunctions.h")
print(f"{len(names)} functions, {len(unused)} of them never called")
sys.exit(bool(unused))
