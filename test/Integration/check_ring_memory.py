"""What a longer context takes of a model most of whose layers have a window: the caches of the others, and nothing else.

    check_ring_memory.py --compiler LLM_COMPILE --model DIR --out OUT"""
import argparse
import json
import os
import sys

from compiled_programs import fresh, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
path = fresh(args.out)
with open(os.path.join(args.model, "config.json")) as file:
    config = json.load(file)
whole = config["num_hidden_layers"] // config["sliding_window_pattern"]
arenas, sizes = [], []
for context in (8192, 32768):
    out = path(str(context))
    run([args.compiler, args.model, f"--max-seq-len={context}", "-o", out])
    arenas.append(json.loads(run([out, "info", "--json"]).stdout)["arena_bytes"][0])
    sizes.append(os.path.getsize(out))
position = 2 * 4 * config["num_key_value_heads"] * config["head_dim"]  # keys and values, in float32
if arenas[1] - arenas[0] != (32768 - 8192) * whole * position:
    sys.exit(f"arenas of {arenas} bytes: the difference is not that of {whole} layers with {position} bytes a position")
if abs(sizes[1] - sizes[0]) > 65536:
    sys.exit(f"programs of {sizes} bytes")
print(f"ok: {arenas} bytes")
