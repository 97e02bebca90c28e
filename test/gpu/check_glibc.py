"""Says which C library programs need, and that they need no C++ library; exit status 1 where it is newer than docs/Performance.md promises.

    check_glibc.py FILE_OR_FOLDER..."""
import os
import re
import subprocess
import sys

NEWEST = (2, 35)
files = []
for path in sys.argv[1:]:
    files += [os.path.join(path, name) for name in sorted(os.listdir(path))] if os.path.isdir(path) else [path]
bad = 0
for path in files:
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    dynamic = subprocess.run(["readelf", "-W", "-d", path], stdout=subprocess.PIPE, check=True, text=True).stdout
    newest, whose = max((tuple(map(int, version.split("."))), name) for name, version in re.findall(r"UND (\S+)@GLIBC_([0-9.]+)", symbols))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*?)\]", dynamic))
    others = sorted(needed - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})
    wrong = newest > NEWEST or bool(others)
    bad += wrong
    print(f"{os.path.basename(path)}: glibc {'.'.join(map(str, newest))} ({whose})" + (f", {', '.join(others)}" if others else "") + (": TOO NEW" if wrong else ""))
print(f"{len(files)} programs, {bad} that need more than glibc {'.'.join(map(str, NEWEST))}")
sys.exit(bool(bad))
