"""CPU seconds and memory of compilations, and bounds on them: what check_scaling.py and check_large.py share."""
import argparse
import os
import subprocess
import sys


def arguments(about, runs):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--config", required=True, help="folder with a config.json")
    parser.add_argument("--out", required=True)
    parser.add_argument("--runs", type=int, default=runs)
    return parser.parse_args()


def cost(command):
    """CPU seconds and peak bytes of one run."""
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen(command, stdout=nothing)
        _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def least(commands, runs, enough=lambda seconds: False):
    """The least CPU seconds of each command, and the peak bytes of any. Interleaved, so that a noisy minute hits all; the least only gets
    truer, so that after ten rounds `enough` may end it."""
    seconds, peak = [float("inf")] * len(commands), 0
    for run in range(runs):
        if run >= 10 and enough(seconds):
            break
        for i, command in enumerate(commands):
            took, held = cost(command)
            seconds[i], peak = min(seconds[i], took), max(peak, held)
    return seconds, peak


failed = False


def judge(what, value, bound):
    global failed
    failed |= value > bound
    print(f"{what}: {value:.3f}, bound {bound:.3f}: {'ok' if value <= bound else 'TOO MUCH'}")


def finish():
    sys.exit(1 if failed else 0)
