"""No C++ source is longer than 500 lines: what is longer holds two subjects.

    check_lines.py ROOT [LINES]"""
import os
import sys

root, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
long = 0
for top in ("bench", "include", "lib", "runtime", "test", "tools"):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith((".cpp", ".h", ".c", ".td")):
                path = os.path.join(folder, name)
                with open(path) as file:
                    count = sum(1 for _ in file)
                if count > most:
                    long += 1
                    print(f"{os.path.relpath(path, root)}: {count} lines; split it by subject")
sys.exit(1 if long else 0)
