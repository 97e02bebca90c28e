"""check_end_tokens.py LLM_COMPILE MODEL OUT: makes each new id in turn the end token of MODEL's config.json, and expects OUT to stop behind its first one."""
import json
import pathlib
import subprocess
import sys

compiler, model, out = sys.argv[1:]
config = pathlib.Path(model, "config.json")
pathlib.Path(model, "generation_config.json").unlink(missing_ok=True)


def tokens(end):
    settings = json.loads(config.read_text())
    settings["eos_token_id"] = end
    config.write_text(json.dumps(settings))
    done = subprocess.run([out, "generate", "--tokens=5,6,7", "--max-new-tokens=6", "--print-tokens"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"end token {end}: {done.stderr}")
    return [int(id) for id in done.stdout.partition(":")[2].split(",")]


subprocess.run([compiler, model, "--max-seq-len=64", "-o", out], check=True)
whole = tokens([])
if len(whole) != 6:
    sys.exit(f"without an end token: {whole}")
for end in whole:
    expected = whole[:whole.index(end) + 1]
    if tokens(end) != expected or tokens([end, 388]) != expected:
        sys.exit(f"end token {end}: {tokens(end)}, expected {expected}")
