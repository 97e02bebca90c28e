"""What run.py and bench.py share: unpacking, running, one table."""
import json
import os
import subprocess
import sys
import tarfile
import time

BEGAN = time.time()
BUDGET = 8.5 * 60  # seconds of a command, so that it ends within nine minutes


def unpack(folder):
    """Puts pieces together as far as they are there; returns the names of what is whole."""
    with open(os.path.join(folder, "parts.json")) as file:
        pieces = json.load(file)["pieces"]
    whole = set()
    for name in sorted({piece.rsplit(".", 1)[0] for piece in pieces}):
        mine = [os.path.join(folder, piece) for piece in pieces if piece.rsplit(".", 1)[0] == name]
        if not all(os.path.exists(piece) for piece in mine):
            print(f"{name}: {sum(map(os.path.exists, mine))} of {len(mine)} pieces are here", file=sys.stderr)
            continue
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            with open(path + ".new", "wb") as out:
                for piece in mine:
                    with open(piece, "rb") as file:
                        out.write(file.read())
            os.rename(path + ".new", path)
            if name.endswith(".tar.xz"):
                with tarfile.open(path) as tar:
                    tar.extractall(folder)
        whole.add(name)
    return whole


def run(command, timeout=300, **environment):
    """Exit status, stdout, stderr; what does not end in time has status 124."""
    left = BUDGET - (time.time() - BEGAN)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=max(1, min(timeout, left)),
                              env=dict(os.environ, **environment))
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return 124, "", "it did not end in time"


class Table:
    """Rows of a name, a verdict and a figure; printed as they come, counted at the end."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def row(self, name, ok, figure):
        word = "ok" if ok else "skipped" if ok is None else "FAILED"
        self.passed += ok is True
        self.skipped += ok is None
        self.failed += ok is False
        print(f"| {name} | {word} | {figure} |", flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped in {time.time() - BEGAN:.0f} s")
        sys.exit(bool(self.failed))
