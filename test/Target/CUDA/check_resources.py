"""Compiles models for GPUs and reads what ptxas says of every kernel: no spill, no stack frame, nothing serialized.

    check_resources.py LLM_COMPILE SCRATCH
"""
import json
import os
import re
import subprocess
import sys

compiler, scratch = sys.argv[1:3]
models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs", "models")
os.makedirs(scratch, exist_ok=True)


def shape(name, **settings):
    folder = os.path.join(scratch, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_act="silu", rms_norm_eps=1e-5, bos_token_id=1,
                       eos_token_id=2, **settings), file)
    return folder


cases = [os.path.join(models, "tiny-llama"), os.path.join(models, "tiny-gpt2"),
         shape("SmolLM2-135M", hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
               vocab_size=49152, max_position_embeddings=8192, rope_theta=100000.0, tie_word_embeddings=True),
         shape("Llama-3-8B", hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
               vocab_size=128256, max_position_embeddings=8192, rope_theta=500000.0, tie_word_embeddings=False)]
environment = {key: value for key, value in os.environ.items() if key != "TESSERA_PTXAS"}
line = re.compile(r"kernel (\S+) for (\S+): (\d+) registers, (\d+) bytes of static shared memory, stack (\d+), spilled (\d+)(.*)")
failures, count, most = [], 0, 0
for model in cases:
    for dtype in ("f32", "bf16", "f16"):
        done = subprocess.run([compiler, model, "--target=cuda", f"--dtype={dtype}", "--explain", "-o", os.path.join(scratch, "out")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=600)
        where = f"{os.path.basename(model)} {dtype}"
        if done.returncode != 0:
            failures.append(f"{where}: exit status {done.returncode}: {done.stdout[-500:]}")
            continue
        chips = set()
        for name, chip, registers, _, stack, spilled, more in line.findall(done.stdout):
            count, most = count + 1, max(most, int(registers))
            chips.add(chip)
            if int(stack) or int(spilled) or more:
                failures.append(f"{where}: {name} for {chip}: {registers} registers, stack {stack}, spilled {spilled}{more}")
        if chips != {"sm_80", "sm_90a", "sm_100"}:
            failures.append(f"{where}: assembled for {sorted(chips)}")
print("\n".join(failures))
print(f"{count} kernels assembled, at most {most} registers, {len(failures)} wrong")
sys.exit(bool(failures))
