"""check_little_memory.py PROGRAM: runs it with less and less memory. Each run gives the right tokens or ends with status 1 and one line."""
import resource
import subprocess
import sys

program = sys.argv[1]
command = [program, "generate", "--init=random:1", "--tokens=1,2,3", "--max-new-tokens=2", "--threads=1", "--print-tokens"]
most = 16 << 30


def run(limit):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    # libgomp tells of its own last allocations beside ours.
    errors = [line for line in done.stderr.splitlines() if line and not line.startswith(("made up", "prefill: ", "libgomp: "))]
    return done.returncode, done.stdout, errors


status, right, errors = run(most)
if status != 0 or "tokens: " not in right:
    sys.exit(f"with all memory: status {status}, {errors}")
refused = 0
limits = [(200 + 300 * i) << 20 for i in range(16)]
for limit in limits:
    status, out, errors = run(limit)
    if status == 0 and out == right:
        continue
    if status != 1 or len(errors) != 1 or not errors[0].startswith("error: cannot ") or "; " not in errors[0]:
        sys.exit(f"{limit >> 20} MiB: status {status}, {errors}")
    refused += 1
print(f"{len(limits)} limits: {refused} refused with one line, the others right")
