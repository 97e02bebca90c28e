"""What processes of a pipeline take at their peak, beside what `info` says: GPT-2 of 124 million parameters, a stage a process, 16 micro-batches.

    check_pipeline_peak.py --compiler LLM_COMPILE --out DIR

A process takes at most its rank's bytes and 64 MiB, saving too. Rank 0 holds 16 micro-batches in gpipe's order and 4 in 1f1b's, and takes as much less.

    check_pipeline_peak.py --measure FOLDER COMMAND...

is what mpirun starts: runs the command and leaves its peak (VmHWM) in FOLDER."""
import json
import os
import resource
import shutil
import subprocess
import sys

if sys.argv[1] == "--measure":  # before numpy, whose pages would count until the command begins
    status = subprocess.call(sys.argv[3:])
    with open(os.path.join(sys.argv[2], os.environ["OMPI_COMM_WORLD_RANK"]), "w") as file:
        file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
    sys.exit(status)

import argparse

import numpy as np
from compiled_programs import fresh, launcher, run, write_safetensors

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--out"):
    parser.add_argument(flag, required=True)
args = parser.parse_args()
at = fresh(args.out)
MIB, MICRO_BATCHES, POSITIONS, VOCABULARY = 2**20, 16, 64, 50257
MESH = "pp=4"

os.makedirs(at("gpt2"))
with open(at("gpt2/config.json"), "w") as file:
    json.dump({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "n_ctx": 1024,
               "vocab_size": VOCABULARY, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "bos_token_id": 0, "eos_token_id": 0,
               "tie_word_embeddings": True}, file)
tokens = np.random.default_rng(1).integers(VOCABULARY, size=(MICRO_BATCHES, POSITIONS + 1)).astype(np.int32)
data = write_safetensors(at("data.safetensors"), {"tokens": tokens})


def peaks(schedule, *more):
    """Of each rank: slots of its stage, bytes that `info` says, bytes at the peak."""
    program, folder = at(schedule), at(f"{schedule}-peaks")
    os.makedirs(folder)
    run([args.compiler, at("gpt2"), "--task=train", f"--mesh={MESH}", f"--pipeline={schedule}", "--stages=3,3,3,3", f"--micro-batches={MICRO_BATCHES}",
         f"--batch={MICRO_BATCHES}", f"--max-seq-len={POSITIONS}", "-o", program])
    pipeline = json.loads(run([program, "info", "--json"]).stdout)["pipeline"]
    run([*launcher(MESH), sys.executable, __file__, "--measure", folder, program, "train", f"--data={data}", "--steps=2", "--epochs=2", "--init=random:1",
         "--threads=1", f"--log={at(schedule)}.jsonl", *more])
    os.remove(program)
    of_ranks = []
    for rank, (stage, said) in enumerate(zip(pipeline["stages"], pipeline["ranks"])):
        with open(os.path.join(folder, str(rank))) as file:
            peak = int(file.read())
        print(f"{schedule}, rank {rank}: {stage['slots']} slots of {stage['slot_bytes'] / MIB:.1f} MiB, {said['device_bytes'] / MIB:.1f} MiB by info, "
              f"peak {peak / MIB:.1f} MiB", flush=True)
        if peak > said["device_bytes"] + 64 * MIB:
            sys.exit(f"{schedule}, rank {rank}: more than info says and 64 MiB")
        of_ranks.append((stage["slots"], said["device_bytes"], peak))
    return of_ranks


saved = at("saved")
gpipe, one = peaks("gpipe")[0], peaks("1f1b", f"--save={saved}")[0]
shutil.rmtree(saved)
if (gpipe[0], one[0]) != (16, 4):
    sys.exit(f"rank 0 holds {gpipe[0]} micro-batches in gpipe's order, {one[0]} in 1f1b's")
said, taken = gpipe[1] - one[1], gpipe[2] - one[2]
print(f"12 micro-batches of rank 0: {said / MIB:.1f} MiB by info, {taken / MIB:.1f} MiB at the peak")
if abs(taken - said) > 0.2 * said:
    sys.exit("the peak does not show them")
