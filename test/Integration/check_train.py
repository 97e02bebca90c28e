"""Trains a given model on a mesh and compares with what is expected of it (test/Inputs/models).

    check_train.py --compiler LLM_COMPILE --model MODEL --out DIR --mesh M [--mesh M ...] [--micro-batches K] [--pipeline SCHEDULE ... [--stages SIZES] [--same-bytes]] [--recompute WHAT | --memory BYTES [--peak]] [--loss-chunks N] [--mpi] [--resume] [--dropout P] [--dtype T [--grad-dtype T] [--loss-bound X]]

Losses and norms of 20 steps within 1e-4, weights within 2e-4 of each tensor's largest entry, on every mesh. Entries whose true gradient is zero are exempt: a key bias cancels in the softmax, and Adam makes steps of
rounding noise. With --mpi the same under mpirun. With --resume the first mesh saves at step 10, is killed after it, and goes
on: on the same mesh to the same bytes, on the others to the same numbers. On meshes with an axis pp each --pipeline is tried; with --same-bytes
all runs end with the same bytes. In 16 bits the losses alone are compared, within 1.5e-3 (bf16; 2.5e-3 with gradients in it: one rank alone is 1.3e-3 off) or 3e-4 (f16), or within --loss-bound: of experts
rounding chooses others, where two are close.
With --dropout, which no expected result has, what is expected is what one device does, and runs evaluate between steps.
With --peak memory is watched in a run more. Needs numpy."""
import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

from compiled_programs import flags_of, fresh, launcher, read_bytes, read_log, read_safetensors, run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh", action="append", required=True, help="none: one rank; zero1:dp=4: with that template; pp=2@zbv: in that order")
parser.add_argument("--micro-batches", type=int, default=1)
parser.add_argument("--pipeline", action="append")
parser.add_argument("--same-bytes", action="store_true")
parser.add_argument("--stages")
parser.add_argument("--dtype", default="f32")
parser.add_argument("--grad-dtype")
parser.add_argument("--loss-bound", type=float)
parser.add_argument("--recompute")
parser.add_argument("--loss-chunks")
parser.add_argument("--memory", type=int)
parser.add_argument("--peak", action="store_true")
parser.add_argument("--mpi", action="store_true")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--dropout", help="the share that is dropped")
args = parser.parse_args()
path = fresh(args.out)
expected = json.load(open(os.path.join(args.model, "expected.json")))["train"]
hyper = expected["hyper"]
tokens = os.path.join(args.model, "train_tokens.safetensors")
FLAGS = [f"--data={tokens}", f"--lr={hyper['lr']}", f"--min-lr={hyper['min_lr']}", f"--warmup={hyper['warmup_steps']}",
         f"--weight-decay={hyper['weight_decay']}", f"--beta1={hyper['beta1']}", f"--beta2={hyper['beta2']}",
         f"--eps={hyper['eps']}", f"--clip={hyper['clip_grad_norm']}", "--steps=20"]
DROPOUT = [f"--dropout={args.dropout}", "--seed=7", f"--eval={tokens}", "--eval-every=3"] if args.dropout and args.dropout != "0" else []


def compiled(mesh, batch=hyper["batch"], pipeline=None):
    out = path(f"{mesh}-{batch}".replace("/", "_"))
    mesh, _, own = mesh.partition("@")
    flags = flags_of(mesh)
    pipeline = own or pipeline or (args.pipeline or [None])[0]
    flags += [f"--recompute={args.recompute}"] if args.recompute else []
    if "pp=" in mesh:
        flags += [f"--pipeline={pipeline}"] if pipeline else []
        flags += [f"--stages={args.stages}"] if args.stages else []
    flags += [f"--memory={args.memory}"] if args.memory else []
    flags += [f"--dtype={args.dtype}"] + ([f"--grad-dtype={args.grad_dtype}"] if args.grad_dtype else [])
    flags += [f"--loss-chunks={args.loss_chunks}"] if args.loss_chunks else []
    run([args.compiler, args.model, "--task=train", f"--batch={batch}", f"--max-seq-len={hyper['seq_len']}",
         f"--micro-batches={args.micro_batches}", "-o", out] + flags)
    return (launcher(mesh) if args.mpi else []) + [out]


def check_weights(folder, wanted, bound, what):
    """The largest difference, in parts of each tensor's largest entry."""
    got, gradients = read_safetensors(os.path.join(folder, "model.safetensors")), read_gradients()
    if set(got) != set(wanted):
        sys.exit(f"{what}: other tensors: {sorted(set(got) ^ set(wanted))}")
    worst = 0.0
    for name, tensor in wanted.items():
        gradient = np.abs(gradients[name])
        counts = gradient > 1e-7 * gradient.max()
        difference = np.abs(got[name].astype(np.float64) - tensor) / np.abs(tensor).max() * counts
        worst = max(worst, float(difference.max()))
        if difference.max() > bound:
            sys.exit(f"{what}: {name} differs by {difference.max():.2g} of its largest entry")
    return worst


def read_gradients():
    expected = read_safetensors(os.path.join(args.model, "expected.safetensors"), gradients=True)
    return {name[5:]: tensor for name, tensor in expected.items() if name.startswith("grad.")}


def check_log(log, wanted_log, what):
    if [line["step"] for line in log] != list(range(1, 21)):
        sys.exit(f"{what}: steps {[line['step'] for line in log]}")
    bounds = {"f32": (("loss", 1e-4), ("grad_norm", 1e-4), ("lr", 1e-12)), "bf16": (("loss", 2.5e-3 if args.grad_dtype == "bf16" else 1.5e-3), ("lr", 1e-12)),
              "f16": (("loss", 3e-4), ("lr", 1e-12))}
    if args.loss_bound:
        bounds[args.dtype] = (("loss", args.loss_bound), ("lr", 1e-12))
    for line, wanted in zip(log, wanted_log):
        for field, bound in bounds[args.dtype] + ((("eval_loss", bounds[args.dtype][0][1]),) if "eval_loss" in wanted else ()):
            if not abs(line[field] - wanted[field]) <= bound * abs(wanted[field]):
                sys.exit(f"{what}, step {line['step']}: {field} is {line[field]}, expected {wanted[field]}")


def check_peak(program, mesh):
    """Anonymous memory of a run at its peak: at most what `info` adds up to, and 64 MiB a rank."""
    done = run([sys.executable, os.path.join(os.path.dirname(__file__), "check_memory.py"), *program, "train", *FLAGS])
    print(f"{mesh}: {done.stdout.strip()}")


def check_numbers():
    wanted, wanted_log, first = read_safetensors(os.path.join(args.model, "trained.safetensors")), expected["log"], None
    if DROPOUT:
        run(compiled("none") + ["train", *FLAGS, *DROPOUT, f"--log={path('log')}", f"--save={path('one')}"])
        wanted, wanted_log = read_safetensors(path("one/step-20/model.safetensors")), read_log(path("log"))
    for mesh, pipeline in [(mesh, pipeline) for mesh in args.mesh for pipeline in (args.pipeline or [None])]:
        program, what = compiled(mesh, pipeline=pipeline), f"{mesh} {pipeline}" if pipeline else mesh
        if args.peak:
            check_peak(program, mesh)
        save = f"save-{mesh}" + (f"-{pipeline}" if pipeline else "").replace("/", "_")
        run(program + ["train", *FLAGS, *DROPOUT, f"--log={path('log')}", f"--save={path(save)}"])
        log = read_log(path("log"))
        check_log(log, wanted_log, what)
        if args.same_bytes and first:
            same_bytes(first, f"{save}/step-20")
        first = first or f"{save}/step-20"
        if args.dtype != "f32":
            worst = max(abs(line["loss"] - of["loss"]) / of["loss"] for line, of in zip(log, wanted_log))
            print(f"{what}: losses within {worst:.1e}")
            continue
        worst = check_weights(path(f"{save}/step-20"), wanted, 2e-4, what)
        print(f"{what}: weights within {worst:.1e}")


def same_bytes(one, other):
    for name in ("model", "exp_avg", "exp_avg_sq"):
        if read_bytes(path(f"{one}/{name}.safetensors")) != read_bytes(path(f"{other}/{name}.safetensors")):
            sys.exit(f"{name}.safetensors of {one} and {other} differ")


def killed(command, folder):
    """The run is killed once it has saved step 10; what it was at is lost."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not os.path.exists(path(f"{folder}/step-10")):
        time.sleep(0.001)
    process.kill()
    process.wait()


def check_resume():
    flags = FLAGS + ["--shuffle=3", f"--log={path('log')}"] + DROPOUT
    first = compiled(args.mesh[0])
    run(first + ["train", *flags, f"--save={path('whole')}"])
    log = read_log(path("log"))
    wanted = read_safetensors(path("whole/step-20/model.safetensors"))
    killed(first + ["train", *flags, f"--save={path('kept')}", "--save-every=5", "--keep=9"], "kept")
    for mesh in args.mesh:
        save = f"resumed-{mesh}"
        run(compiled(mesh) + ["train", *flags, f"--resume={path('kept/step-10')}", f"--save={path(save)}"])
        again = read_log(path("log"))
        if [line["step"] for line in again] != list(range(1, 21)):
            sys.exit(f"{mesh}: steps {[line['step'] for line in again]}")
        for line, before in zip(again[-10:], log[-10:]):
            if not abs(line["loss"] - before["loss"]) <= 1e-4 * before["loss"]:
                sys.exit(f"{mesh}, step {line['step']}: loss is {line['loss']}, and was {before['loss']}")
        if mesh == args.mesh[0]:
            same_bytes("whole/step-20", f"{save}/step-20")
        check_weights(path(f"{save}/step-20"), wanted, 2e-4, mesh)
        print(f"{mesh}: goes on")
    # Saves behind the step that a run begins at are of the run that it does not follow.
    run(first + ["train", *flags, f"--save={path('branch')}", "--save-every=5", "--keep=9"])
    run(first + ["train", *flags, f"--resume={path('branch/step-10')}", f"--save={path('branch')}", "--keep=9"])
    left = sorted(name for name in os.listdir(path("branch")) if name.startswith("step-"))
    if left != ["step-10", "step-20", "step-5"]:
        sys.exit(f"a run that began at step 10 left {left}")
    done = run(compiled(args.mesh[0], batch=4) + ["train", *flags, f"--resume={path('kept/step-10')}"], status=1)
    if "resume with the --batch that it was saved with" not in done.stderr:
        sys.exit(f"another batch: {done.stderr}")


check_resume() if args.resume else check_numbers()
