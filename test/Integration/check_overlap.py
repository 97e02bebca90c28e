"""Communication beside computation changes neither a bit of the numbers nor a byte of what ranks send, and holds at most a layer's values ahead and a layer's behind.

    check_overlap.py --compiler LLM-COMPILE --model DIR --out DIR [--mpi] --mesh=MESH..."""
import argparse
import json
import re

import numpy as np

from compiled_programs import fresh, launcher, read_log, run

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--mesh", action="append")
parser.add_argument("--mpi", action="store_true")
args = parser.parse_args()
path = fresh(args.out)
data = path("tokens.bin")
np.random.default_rng(3).integers(0, 300, 12 * 17 * 4, dtype=np.uint16).tofile(data)


def starts(text):
    """Of collectives that are started in loops of @train: how many, and behind how many a launch or product follows before the wait."""
    train = text.split("func.func @train")[1].split("func.func @evaluate")[0].split("\n")
    count = hidden = 0
    for i, line in enumerate(train):
        start = re.match(r"      +(%\S+) = exec.collective_start", line)
        if not start:
            continue
        count += 1
        for later in train[i + 1 :]:
            if f"exec.wait {start[1]}" in later:
                break
            if "exec.launch" in later or "exec.matmul" in later:
                hidden += 1
                break
    return count, hidden


for mesh in args.mesh:
    info, logs = {}, {}
    compile = [args.compiler, args.model, "--task=train", f"--mesh={mesh}", "--batch=12", "--max-seq-len=16", "--micro-batches=2"]
    for overlap in ("on", "off"):
        program, log = path(overlap), path(overlap + ".jsonl")
        run(compile + [f"--overlap={overlap}", "-o", program])
        info[overlap] = json.loads(run([program, "info", "--json"]).stdout)
        # A slow network: what should wait and does not would find old bytes.
        run((launcher(mesh) if args.mpi else []) + [program, "train", f"--data={data}", "--steps=3", f"--log={log}"], TESSERA_COMM_DELAY="500,2e7")
        logs[overlap] = [[step["loss"], step["grad_norm"]] for step in read_log(log)]
    assert logs["on"] == logs["off"], f"{mesh}: {logs}"
    sent = {overlap: sorted(json.dumps(c, sort_keys=True) for c in info[overlap]["steps"]["train"]["collectives"]) for overlap in info}
    assert sent["on"] == sent["off"], f"{mesh}: {set(sent['on']) ^ set(sent['off'])}"
    arena = {overlap: max(info[overlap]["arena_bytes"]) for overlap in info}
    layer = sum(w for w in info["on"]["weight_bytes"]) // 3 // 4  # all ranks' parameters without moments, of four layers (and tables)
    assert arena["on"] - arena["off"] <= 4 * layer, f"{mesh}: {arena}, a layer has {layer}"
    count, hidden = starts(run(compile + ["--compile-to=exec"]).stdout)
    assert count > 0 and hidden >= 0.75 * count, f"{mesh}: {hidden} of {count} starts have work behind them"
    print(f"{mesh}: equal; {hidden} of {count} starts in loops have work behind them")
