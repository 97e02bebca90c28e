"""Decoding on a GPU, greedy or drawn, is one graph launch and one download a token, and the host waits for no single one: counted by the stand-in.

    check_resident.py --compiler LLM_COMPILE --model MODEL --out OUT [--batch N] [--stages N]

With --stages the rows go through a pipeline in as many groups. There a token is a launch of each stage (of the last one more where it is drawn), a
message to the next one, and tokens that the host hands on; nothing is launched alone, recorded, made or waited for by a call that waits.

Runs the program twice, for a few tokens and for more, and compares the calls of the driver (TESSERA_STANDIN_TRACE): what the additional tokens cost."""
import argparse
import collections
import os
import subprocess
import sys

FEW, MANY = 12, 28


def calls(args, new, how):
    trace = args.out + f".{new}.trace"
    if os.path.exists(trace):
        os.unlink(trace)
    prompts = [f"--tokens={5 + row},{6 + row},7" for row in range(args.batch)]
    done = subprocess.run([args.out, "generate", "--print-tokens", f"--max-new-tokens={new}"] + how + prompts, capture_output=True, text=True, errors="replace",
                          env=dict(os.environ, TESSERA_STANDIN_TRACE=trace))
    if done.returncode:
        sys.exit(done.stderr)
    made = [line.count(",") + 1 for line in done.stdout.splitlines() if line.startswith("tokens: ")]
    if made != [new] * args.batch:
        if how:  # an end token was drawn
            return None
        sys.exit(f"{made} new tokens, expected {new} a prompt: {done.stdout}")
    counts = collections.Counter()
    with open(trace) as file:
        for line in file:
            words = line.split()[2:]
            counts[words[0] + (" " + words[1] if words[0] in ("copy", "work") else "")] += 1
    os.unlink(trace)
    return counts


parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--stages", type=int, default=1)
args = parser.parse_args()
done = subprocess.run([args.compiler, args.model, "--target=cuda", "--max-seq-len=64", f"--batch={args.batch}", "-o", args.out] + [f"--mesh=pp={args.stages}"] * (args.stages > 1), capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)
calls(args, FEW, [])  # products are measured once, by the first run
more = MANY - FEW
groups, stages = min(args.batch, args.stages), args.stages


def wanted(draws):
    if stages == 1:
        return {"graph-launch": more, "copy DtoH": more}
    calls, messages = more * groups, more * groups * (stages - 1)
    return {
        "graph-launch": calls * (stages + draws),
        "copy DtoH": calls * stages,  # tokens, to each host
        "copy HtoD": calls * (stages + 1 + draws),  # positions, of the first stage the token too; where the last one draws
        "copy DtoD": calls + 2 * messages,  # tokens to where they are sent from; into the message and out of it
        "work ncclSend": 2 * messages,  # values to the next stage, tokens from the last one
        "work ncclRecv": 2 * messages,
        "memset": 2 * 4 * messages,  # marks for the watch: around each wait for a receipt, and for a buffer of a send
    }


for how in [], ["--temperature=1.5"], ["--temperature=2", "--top-k=50", "--top-p=0.9"]:
    for seed in range(20):
        if many := calls(args, MANY, how + [f"--seed={seed}"] * bool(how)):
            break
    else:
        sys.exit(f"{' '.join(how)}: all texts end early")
    few = calls(args, FEW, how + [f"--seed={seed}"] * bool(how))
    cost = {kind: many[kind] - few[kind] for kind in set(few) | set(many) if many[kind] != few[kind]}
    if cost != wanted(bool(how)):
        sys.exit(f"{' '.join(how)}: {more} more tokens cost {cost}, expected {wanted(bool(how))} and nothing else")
print(f"ok: {more} more tokens cost {wanted(False)}")
