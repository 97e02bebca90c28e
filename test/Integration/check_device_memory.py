"""What `info` says of a GPU program's memory is what a run on the stand-in asks of the GPU, byte by byte, at its peak.

    check_device_memory.py OUT SCRATCH      under scripts/standin

The code of the image is not seen there: the stand-in gives no memory for it."""
import collections
import json
import os
import subprocess
import sys

out, scratch = sys.argv[1:]
info = json.loads(subprocess.run([out, "info", "--json"], stdout=subprocess.PIPE, check=True).stdout)
trace = os.path.join(scratch, "memory-trace")
bad = 0


def run(*flags):
    """Most bytes of each rank at a time, of the GPU and pinned."""
    if os.path.exists(trace):
        os.unlink(trace)
    subprocess.run([out, "generate", "--tokens=5,6,7,8,9", "--max-new-tokens=6", *flags], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, TESSERA_STANDIN_TRACE=trace))
    held, peak, pinned, most = (collections.Counter() for _ in range(4))
    with open(trace) as file:
        for line in file:
            _, device, call, *more = line.split()
            for name, count, top in (("", held, peak), ("-host", pinned, most)):
                if call in ("allocate" + name, "free" + name):
                    count[device] += int(more[0]) * (1 if call.startswith("allocate") else -1)
                    top[device] = max(top[device], count[device])
    return peak, most


# With --logits an output is kept.
runs = {"output_bytes": run("--logits=" + os.path.join(scratch, "logits")), None: run()}
for rank in range(info["ranks"]):
    for kept, (peak, _) in runs.items():
        said = info["device_bytes"][rank] - info["code_bytes"][rank] + (info[kept][rank] if kept else 0)
        bad += said != peak[str(rank)]
        print(f"rank {rank}: info says {said} bytes beside its code, the run took {peak[str(rank)]}; staging {info['staging_bytes'][rank]}")
    parts = sum(info[name][rank] for name in ("weight_bytes", "arena_bytes", "workspace_bytes", "staging_bytes", "code_bytes"))
    bad += parts != info["device_bytes"][rank] or info["code_bytes"][rank] <= 0
    most = runs["output_bytes"][1]
    if most[str(rank)] > info["pinned_bytes"] + (1 << 20):  # and small change: inputs, tokens
        bad += 1
        print(f"rank {rank}: {most[str(rank)]} bytes of host memory were pinned, info says {info['pinned_bytes']}")
print(f"{bad} differences")
sys.exit(bool(bad))
