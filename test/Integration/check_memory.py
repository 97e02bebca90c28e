"""Anonymous memory at its peak: at most what `info` adds up to, and 64 MiB a rank.

    check_memory.py OUT generate-arguments..."""
import json
import subprocess
import sys
import time

binary, arguments = sys.argv[1], sys.argv[2:]
info = json.loads(subprocess.run([binary, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=600).stdout)
ranks = info["ranks"]
if "pipeline" in info:  # as many ranks at each coordinate
    stages = info["pipeline"]["ranks"]
    taken = sum(rank["device_bytes"] for rank in stages) * ranks // len(stages)
else:
    taken = sum(info["weight_bytes"]) + sum(info["arena_bytes"])
allowed = taken + ranks * 64 * 2**20
process = subprocess.Popen([binary] + arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
peak = 0
while process.poll() is None:
    try:
        with open(f"/proc/{process.pid}/status") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    peak = max(peak, int(line.split()[1]) * 1024)
    except OSError:
        break
    time.sleep(0.002)
if process.wait() != 0:
    sys.exit(process.stderr.read().decode())
mib = 2**20
print(f"peak {peak / mib:.1f} MiB; {taken / mib:.1f} MiB by `info` over {ranks} ranks; allowed {allowed / mib:.1f} MiB")
sys.exit(0 if 0 < peak <= allowed else 1)
