"""Reads `info --json` of a model with experts whose tokens lie over ep: prompts have exchanges of rows, there and back in every layer, steps of single tokens at least the way back, drawing
has none; each says bytes at even routing and, not below these, at most."""
import json
import sys

failed = 0
for name, step in json.load(sys.stdin)["steps"].items():
    rows = [one for one in step["collectives"] if "most_bytes_per_rank" in one]
    wanted = {"prefill": (2,), "prefill_short": (2,), "decode": (1, 2)}.get(name, (0,))  # exchanges in each of 3 layers
    if wanted == (0,):
        failed += bool(rows)
        continue
    good = (sum(one["executions"] for one in rows) in [3 * ways for ways in wanted]
            and all(one["kind"] == "all_to_all" and 0 < one["bytes_per_rank"] <= one["most_bytes_per_rank"] for one in rows)
            and any(one["bytes_per_rank"] < one["most_bytes_per_rank"] for one in rows))
    print(name, [(one["executions"], one["bytes_per_rank"], one["most_bytes_per_rank"]) for one in rows], "" if good else "<- not so")
    failed += not good
sys.exit(failed != 0)
