"""Runs a program in one order of streams and kernels after another: the same tokens each time, and nothing named.

    check_orders.py STANDIN FIRST COUNT TOKENS COMMAND...

STANDIN: scripts/standin. Seeds FIRST to FIRST + COUNT - 1. TOKENS: the numbers of each `tokens:` line, lines parted by semicolons."""
import os
import subprocess
import sys

standin, first, count, expected, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(";"), sys.argv[5:]
for seed in range(first, first + count):
    done = subprocess.run([standin] + command, env=dict(os.environ, TESSERA_STANDIN_SEED=str(seed)), capture_output=True, text=True, errors="replace")
    tokens = [line[len("tokens: "):] for line in done.stdout.split("\n") if line.startswith("tokens: ")]
    said = [line for line in done.stderr.split("\n") if line.startswith(("stand-in: ", "error: "))]
    if done.returncode or said or tokens != expected:
        sys.exit(f"seed {seed}: exit status {done.returncode}, {said}, tokens {tokens}, expected {expected}")
print(f"{count} orders gave the same tokens")
