"""What a compilation does, counted: ops a rung, searches for shardings, bytes held. What check_scaling.py and check_large.py share.

Counts are the same on every machine, busy or not; seconds are measured by bench/compile_cost.py."""
import argparse
import os
import re
import subprocess
import sys

SEARCHED = re.compile(r"searched (\d+) steps of (\d+) reshards and (\d+) table entries")


def arguments(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--config", required=True, help="folder with a config.json")
    parser.add_argument("--out", required=True)
    parser.add_argument("--target", default="cpu", help="what the executables are for")
    parser.add_argument("--task", default="generate", help="what they do")
    return parser.parse_args()


def work(command, out):
    """Counts of one compilation: lines of text of each rung (an op is a line), what placement searched, the peak of memory in bytes."""
    folder, log = out + ".rungs", out + ".log"
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    with open(os.devnull, "w") as nothing, open(log, "wb") as errors:
        subprocess.run(command + [f"--dump-rungs={folder}", "--explain"], stdout=nothing, stderr=errors, check=True)
    # The peak is that of a run without --dump-rungs, whose texts are memory of its own. It comes second: pages of libraries count only where they are in the
    # file cache, which the first run fills.
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen(command, stdout=nothing, stderr=nothing)
        _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    counts = {"bytes at the peak": usage.ru_maxrss * 1024}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as file:
            counts["lines of " + name] = sum(1 for line in file if " = " in line)
    with open(log, errors="replace") as file:
        found = SEARCHED.findall(file.read())
    counts["steps of reshards looked at"] = sum(int(steps) for steps, _, _ in found)
    counts["table entries compared"] = sum(int(entries) for _, _, entries in found)
    return counts


failed = False


def judge(what, value, bound):
    global failed
    failed |= value > bound
    print(f"{what}: {value:.0f}, bound {bound:.0f}: {'ok' if value <= bound else 'TOO MUCH'}")


def finish():
    sys.exit(1 if failed else 0)
