"""Reads `info --json` of a model with experts whose tokens lie over ep: each step has exchanges of rows, there and back in every layer, and says for each bytes at even routing and, not below these, at most."""
import json
import sys

failed = 0
for name, step in json.load(sys.stdin)["steps"].items():
    rows = [one for one in step["collectives"] if "most_bytes_per_rank" in one]
    if name == "head":
        failed += bool(rows)
        continue
    good = (sum(one["executions"] for one in rows) == 2 * 3  # layers
            and all(one["kind"] == "all_to_all" and 0 < one["bytes_per_rank"] <= one["most_bytes_per_rank"] for one in rows)
            and any(one["bytes_per_rank"] < one["most_bytes_per_rank"] for one in rows))
    print(name, [(one["executions"], one["bytes_per_rank"], one["most_bytes_per_rank"]) for one in rows], "" if good else "<- not there and back in 3 layers")
    failed += not good
sys.exit(failed != 0)
