"""Leaves out one wait for an event after another: what it ordered must be found, or it was not needed.

    check_waits.py STANDIN SEED MOST COMMAND...

STANDIN: scripts/standin. MOST: so many waits, drawn by SEED, where there are more. Prints how many were named. Most are needed (20 of 24 drawn of
the 374 of a program on two ranks): fewer than two in five, and the stand-in does not see what it should."""
import os
import random
import re
import subprocess
import sys
import tempfile

standin, seed, most, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]


def run(drop):
    with tempfile.NamedTemporaryFile() as trace:
        environment = dict(os.environ, TESSERA_STANDIN_DROP_WAIT=str(drop), TESSERA_STANDIN_TRACE=trace.name)
        done = subprocess.run([standin] + command, env=environment, capture_output=True, text=True)
        lines = trace.read().decode()
    tokens = re.findall(r"^tokens: .*", done.stdout, re.M)
    said = [line for line in done.stderr.split("\n") if line.startswith("stand-in: ")]
    return done.returncode, tokens, said, lines


status, expected, said, trace = run(0)
assert status == 0 and expected and not said, (status, expected, said)
waits = max(int(count) for count in re.findall(r"release waits=(\d+)", trace))
drawn = range(1, waits + 1)
if waits > most:
    drawn = sorted(random.Random(seed).sample(drawn, most))
named = unneeded = 0
for drop in drawn:
    status, tokens, said, trace = run(drop)
    assert f"dropped wait {drop}\n" in trace, f"wait {drop} of {waits} never came"
    if said:
        named += 1
    elif status == 0 and tokens == expected:
        unneeded += 1
    else:
        sys.exit(f"without wait {drop} of {waits} nothing is named, and it ends with {status}: {tokens}, not {expected}")
print(f"{waits} waits; of {len(drawn)} left out {named} were named, {unneeded} were not needed")
# Of all waits two in five are needed; a few drawn ones may have less.
sys.exit(0 if 5 * named >= (2 if len(drawn) == waits else 1) * len(drawn) else 1)
