"""llm-judge for every variant that make_variants.py made, on every rung.

    check_variants.py LLM_JUDGE DIR     DIR: build/test-inputs, one folder per model, in it one per variant
"""
import os
import subprocess
import sys

RUNGS = ["--rung=graph", "--rung=step", "--rung=sharded --mesh=tp=2", "--rung=spmd --mesh=tp=3", "--rung=spmd --mesh=dp=2,tp=2"]

judge, root = sys.argv[1:]
runs = failed = 0
for model in sorted(os.listdir(root)):
    if not os.path.isfile(os.path.join(root, model + ".stamp")):
        continue
    for variant in sorted(os.listdir(os.path.join(root, model))):
        folder = os.path.join(root, model, variant)
        gguf = os.path.join(folder, "model.gguf")
        for rung in RUNGS:
            command = [judge, gguf if os.path.exists(gguf) else folder,
                       "--expected=" + os.path.join(folder, "expected.safetensors")] + rung.split()
            done = subprocess.run(command, capture_output=True, text=True)
            runs += 1
            if done.returncode:
                failed += 1
                print(f"{model}/{variant} {rung}: {(done.stdout + done.stderr).strip()}")
print(f"{runs - failed} of {runs} variants on rungs have the expected logits")
sys.exit(failed != 0 or runs < 5 * 15)
