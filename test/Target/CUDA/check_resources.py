"""Compiles models for GPUs and reads what ptxas says of every kernel: no spill, no stack frame, nothing serialized.

    check_resources.py LLM_COMPILE SCRATCH SEED MOST

Of the cases beyond three models as they are (wide heads, a window, batches, pages) MOST are taken, drawn by SEED.
"""
import json
import os
import random
import re
import subprocess
import sys

compiler, scratch, seed, most_drawn = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs", "models")
os.makedirs(scratch, exist_ok=True)


def shape(name, **settings):
    folder = os.path.join(scratch, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(dict(dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_act="silu", rms_norm_eps=1e-5, bos_token_id=1,
                            eos_token_id=2), **settings), file)
    return folder


tiny_llama, tiny_gpt2 = (os.path.join(models, name) for name in ("tiny-llama", "tiny-gpt2"))
smollm2 = shape("SmolLM2-135M", hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                vocab_size=49152, max_position_embeddings=8192, rope_theta=100000.0, tie_word_embeddings=True)
large = dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
             max_position_embeddings=8192, rope_theta=500000.0, tie_word_embeddings=False)
llama = shape("Llama-3-8B", **large)
cases = [(model, dtype, []) for model in (tiny_llama, tiny_gpt2, smollm2, llama) for dtype in ("f32", "bf16", "f16")]
cases += [(llama, dtype, ["--page=128"]) for dtype in ("f32", "bf16")]
wide = shape("heads-of-256", **dict(large, hidden_size=2048, intermediate_size=8192, num_attention_heads=8, num_key_value_heads=4, head_dim=256))
further = [(wide, dtype, []) for dtype in ("f32", "bf16", "f16")] + [(llama, dtype, ["window"]) for dtype in ("f32", "bf16", "f16")]
further += [(model, dtype, [f"--batch={batch}"]) for model in (smollm2, llama) for dtype in ("f32", "bf16", "f16") for batch in (8, 32)]
further += [(model, dtype, ["--page=128"]) for model in (tiny_llama, smollm2, wide) for dtype in ("f32", "bf16")]
cases += further if len(further) <= most_drawn else random.Random(seed).sample(further, most_drawn)
environment = {key: value for key, value in os.environ.items() if key != "TESSERA_PTXAS"}
line = re.compile(r"kernel (\S+) for (\S+): (\d+) registers, (\d+) bytes of static shared memory, stack (\d+), spilled (\d+)(.*)")
failures, count, most = [], 0, 0


def compiled(model, dtype, flags):
    """What llm-compile says. No family has a window yet: it is written into the program."""
    command = [compiler, model, f"--dtype={dtype}", *flags]
    if flags == ["window"]:
        program = os.path.join(scratch, f"{os.path.basename(model)}-{dtype}.mlir")
        subprocess.run(command[:-1] + ["--compile-to=graph", "-o", program], check=True, env=environment)
        with open(program) as file:
            text, count = re.subn(r"(graph\.attention .*? scale = [-+.eE\d]+)", r"\1 {window = 1000 : i64}", file.read())
        assert count, program
        with open(program, "w") as file:
            file.write(text)
        command = [compiler, program]
    return subprocess.run(command + ["--target=cuda", "--explain", "-o", os.path.join(scratch, "out")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment, timeout=600)


for model, dtype, flags in cases:
    done = compiled(model, dtype, flags)
    where = " ".join([os.path.basename(model), dtype, *flags])
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
