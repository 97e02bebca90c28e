"""A compiled model whose ranks die: the run ends, fails, and says once which rank and why.

    check_rank_death.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M] [--flag=--target=cuda]

Two ranks under Open MPI make more tokens than anybody waits for; when the first text comes, one of them gets a signal. Also as threads: a crash of the
process is one line."""
import argparse
import os
import signal
import subprocess
import sys

from mpi_processes import process_of

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", default="tp=2", help="of two ranks")
parser.add_argument("--flag", action="append", default=[], help="one more flag for the compiler")
args = parser.parse_args()
done = subprocess.run([args.compiler, args.model, f"--mesh={args.mesh}", "--max-seq-len=128", "-o", args.out, *args.flag], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)
# As many prompts as a command line takes: the run would last minutes.
GENERATE = [args.out, "generate", "--temperature=1", "--print-tokens", *["--tokens=1,2,3"] * 3000]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]

failures = []
for rank, number, what in [(1, signal.SIGKILL, "rank 1 ended"), (0, signal.SIGKILL, "rank 0 ended"), (1, signal.SIGSTOP, "rank 1 stands still"),
                           (1, signal.SIGSEGV, "crashed"), (None, signal.SIGSEGV, "crashed")]:
    child = subprocess.Popen((MPIRUN if rank is not None else []) + GENERATE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.read(1)
    victim = child.pid if rank is None else process_of(rank, child.pid)
    os.kill(victim, number)
    try:
        _, errors = child.communicate(timeout=300)  # a hang; the run itself takes longer, too
    except subprocess.TimeoutExpired:
        os.kill(victim, signal.SIGKILL)
        child.kill()
        failures.append(f"{what}: the run goes on")
        continue
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.startswith("error: ")]
    if child.returncode == 0 or len(lines) != 1 or what not in lines[0]:
        failures.append(f"{what}: exit status {child.returncode}, {lines or errors[-500:]}")
for failure in failures:
    print(failure)
print("ok" if not failures else "failed")
sys.exit(1 if failures else 0)
