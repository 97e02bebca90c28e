"""What is wrong with a pipeline is one error line that says what, where, why and what to try, at compile time where it can be seen there; a rank that is killed is named with what the others wait for.

    check_bad_pipelines.py --compiler LLM_COMPILE --models DIR --out DIR [--mpi]"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Integration"))
from mpi_processes import process_of

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--models", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mpi", action="store_true", help="kill a process, too")
args = parser.parse_args()
args.compiler, args.models = os.path.abspath(args.compiler), os.path.abspath(args.models)
shutil.rmtree(args.out, ignore_errors=True)
os.makedirs(args.out)
os.chdir(args.out)
problems, cases = [], 0


def write(name, text):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return name


def refused(what, command, pattern, status=1, **variables):
    """One line that begins with `error: `, all of which is /pattern/; lines before it may be a grid."""
    global cases
    cases += 1
    begin = time.time()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120, env={**os.environ, **variables})
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if done.returncode != status or len(errors) != 1 or not re.fullmatch("error: " + pattern, errors[0]):
        problems.append(f"{what}: status {done.returncode}, {time.time() - begin:.1f} s\n  expected /{pattern}/\n  {(done.stderr + done.stdout)[-700:]}")
    return done.stderr


LLAMA = os.path.join(args.models, "tiny-llama")
TRAIN = [args.compiler, LLAMA, "--task=train", "--batch=8", "--max-seq-len=16", "-o", "out"]
STEP = TRAIN + ["--micro-batches=4"]
GENERATE = [args.compiler, LLAMA, "-o", "out"]


def bad(what, flags, pattern, base=STEP):
    refused(what, base + flags, pattern)
    if os.path.exists("out"):
        problems.append(f"{what}: there is an executable")
        os.remove("out")


# Stages.
bad("too few layers", ["--mesh=pp=2", "--stages=1,2"], r"cannot cut layers into stages \(--stages=1,2\): the stages have 3 layers, the model 4; give sizes that add up to 4")
bad("too many layers", ["--mesh=pp=2", "--stages=3,2"], r"cannot cut .*\(--stages=3,2\): the stages have 5 layers, the model 4; .*")
bad("a stage too many", ["--mesh=pp=2", "--pipeline=1f1b", "--stages=1,2,1"], r"cannot compile \(--stages=1,2,1\): .*3 stages.*")
bad("no number", ["--mesh=pp=2", "--stages=1,x"], r"cannot .*\(--stages=1,x\): .*")
bad("negative", ["--mesh=pp=2", "--stages=5,-1"], r"cannot .*\(--stages=5,-1\): .*")
bad("nothing", ["--mesh=pp=2", "--stages="], r"cannot compile \(--stages\): has an empty value; .*")
bad("empty place", ["--mesh=pp=2", "--stages=2,,2"], r"cannot .*\(--stages=2,,2\): .*")
bad("beyond 64 bits", ["--mesh=pp=2", "--stages=99999999999999999999,2"], r"cannot .*\(--stages=9+,2\): .*")
bad("stages without pp", ["--mesh=dp=2", "--stages=2,2"], r"cannot compile \(--stages=2,2\): the mesh has no axis pp.*give --mesh=pp=2.*")
bad("generating: too few layers", ["--mesh=pp=2", "--stages=1,2"], r"cannot cut .*the stages have 3 layers, the model 4; .*", GENERATE)
bad("generating: a stage too few", ["--mesh=pp=3", "--stages=2,2"], r"cannot compile \(--stages=2,2\): it names 2 stages, and the axis pp has 3 ranks; .*", GENERATE)
refused("two runs of layers", [args.compiler, os.path.join(args.models, "families", "qwen3-moe-dense-first"), "-o", "out", "--mesh=pp=2"],
        r"cannot compile \(--mesh=pp=2\): the model's layers are 2 runs of different kinds, and stages are cut from one; use another axis than pp")
# Schedules.
bad("no such schedule", ["--mesh=pp=2", "--pipeline=2f2b"], r"cannot .*2f2b.*gpipe.*")
bad("V of what has one stage", ["--mesh=pp=2", "--pipeline=1f1b:2"], r"cannot .*1f1b:2.*1f1b has one stage a rank; .*")
bad("V of a V", ["--mesh=pp=2", "--pipeline=zbv:3"], r"cannot .*zbv:3.*zbv has two stages a rank; .*")
bad("no stage a rank", ["--mesh=pp=2", "--pipeline=interleaved:0"], r"cannot .*interleaved:0.*")
bad("no number of stages", ["--mesh=pp=2", "--pipeline=interleaved:two"], r"cannot .*interleaved:two.*")
bad("dualpipev below 2p", ["--mesh=pp=3", "--pipeline=dualpipev"], r"cannot choose a pipeline schedule \(--pipeline=dualpipev\): dualpipev on 3 ranks needs at least 6 micro-batches, .*")
bad("pipeline without pp", ["--mesh=tp=2", "--pipeline=1f1b"], r"cannot compile \(--pipeline=1f1b\): the mesh has no axis pp.*")
bad("pipeline, and an axis of other letters too", ["--mesh=app=2", "--shard=ffn=app", "--pipeline=1f1b"], r"cannot compile \(--pipeline=1f1b\): the mesh has no axis pp.*")
bad("pipeline, and pp of one rank", ["--mesh=pp=1,dp=2", "--pipeline=1f1b"], r"cannot compile \(--pipeline=1f1b\): the axis pp of the mesh has one rank; .*")
bad("pp shards layers alone", ["--mesh=pp=2,tp=2", "--shard=ffn=tp+pp"], r"cannot compile \(--shard=ffn=tp\+pp\): pp cuts layers into stages, and nothing else lies along it; .*")
bad("no stage has it", ["--mesh=pp=2,tp=2", "--stages=2,2", "--pipeline=1f1b", "--shard=nothing=-"], r"cannot compile .*--shard item 'nothing=-': no stage has a value or a dimension of this name; .*")
bad("generating in an order", ["--mesh=pp=2", "--pipeline=gpipe"], r"cannot compile \(--pipeline=gpipe\): stages that generate text take groups of rows in turn; leave it out, or give --task=train as well", GENERATE)
bad("more groups than rows", ["--mesh=pp=2", "--batch=2", "--micro-batches=3"], r"cannot compile \(--micro-batches=3\): .*2 rows.*", GENERATE)
bad("groups without stages", ["--mesh=tp=2", "--batch=4", "--micro-batches=2"], r"cannot .*--micro-batches.*", GENERATE)
bad("more micro-batches than rows", ["--mesh=pp=2", "--micro-batches=9"], r"cannot compile \(--micro-batches=9\): a step has 8 rows; .*", TRAIN)
bad("--check", ["--mesh=pp=2", "--check"], r"cannot compile \(--check\): it is not implemented for pipelines; leave it out")
bad("no memory", ["--mesh=pp=2", "--pipeline=1f1b", "--stages=2,2", "--memory=1000"], r"does not fit \(--memory=1000\): needs at least \d+ bytes a rank: .*; give --memory=\d+.*")
bad("generating: no memory", ["--mesh=pp=2", "--memory=1000"], r"does not fit \(--memory=1000\): needs at least \d+ bytes a rank: .*", GENERATE)
# Files of schedules.
good = "r0 0F0 0F1 0B0 0B1\nr1 1F0 1B0 1F1 1B1\n"
TWO = TRAIN + ["--micro-batches=2", "--mesh=pp=2"]
bad("no such file", ["--pipeline=./nowhere"], r"cannot .*nowhere.*", TWO)
os.mkdir("folder.schedule")
bad("a folder", ["--pipeline=folder.schedule"], r"cannot .*folder.schedule.*", TWO)
bad("an empty file", ["--pipeline=" + write("empty.schedule", "")], r"cannot .*empty.schedule.*", TWO)
bad("bytes", ["--pipeline=" + write("bytes.schedule", bytes(range(256)) * 64)], r"cannot .*bytes.schedule.*", TWO)
bad("no action", ["--pipeline=" + write("word.schedule", good.replace("0B1", "0Q1"))], r"cannot .*word.schedule.*0Q1.*", TWO)
bad("an action twice", ["--pipeline=" + write("twice.schedule", good.replace("0B1", "0B1 0B1"))], r"cannot .*twice.schedule.*r0.*0B1.*", TWO)
bad("an action missing", ["--pipeline=" + write("missing.schedule", good.replace(" 1B1", ""))], r"cannot .*missing.schedule.*1B1.*", TWO)
bad("backward first", ["--pipeline=" + write("order.schedule", good.replace("1F1 1B1", "1B1 1F1"))], r"cannot .*order.schedule.*r1 at 1B1: .*1F1.*", TWO)
bad("a deadlock", ["--pipeline=" + write("stalled.schedule", "r0 0F0 0B0 0F1 0B1\nr1 1F1 1B1 1F0 1B0\n")], r"cannot .*stalled.schedule.*deadlock.*r0.*r1.*", TWO)
bad("one rank", ["--pipeline=" + write("one.schedule", "r0 0F0 0B0\n")], r"cannot .*one.schedule.*lists of 1 ranks.*pp has 2; give a list for each of them", TRAIN + ["--mesh=pp=2"])
bad("other ranks", ["--pipeline=" + write("good.schedule", good)], r"cannot .*good.schedule.*lists of 2 ranks.*pp has 3.*", TRAIN + ["--micro-batches=2", "--mesh=pp=3"])
bad("other micro-batches", ["--pipeline=good.schedule"], r"cannot .*good.schedule.*it is for 2 micro-batches, and a step has 4.*", STEP + ["--mesh=pp=2"])
bad("a rank without a stage", ["--pipeline=" + write("idle.schedule", "r1\nr0 0F0 0B0 0F1 0B1\n")], r"cannot compile \(--pipeline=idle.schedule\): r1 computes no stage: .*; give each rank a stage, .*", TWO)
bad("weights of whole stages", ["--pipeline=" + write("unshard.schedule", good.replace("r0 ", "r0 0UNSHARD "))], r"cannot .*unshard.schedule.*0UNSHARD.*", TWO)

# What runs.
subprocess.run(STEP[:-3] + ["-o", "out", "--micro-batches=4", "--mesh=pp=2", "--pipeline=1f1b", "--stages=2,2"], check=True, timeout=120)
tokens = os.path.join(LLAMA, "train_tokens.safetensors")
RUN = ["./out", "train", f"--data={tokens}", "--steps=2"]
refused("another schedule at run time", RUN + ["--schedule=1f1b"], r"cannot .*--schedule=1f1b.*")
refused("--pipeline at run time", RUN + ["--pipeline=gpipe"], r".*--pipeline=gpipe\): that was chosen when the program was compiled; compile it again with --pipeline")
refused("--stages at run time", RUN + ["--stages=1,3"], r".*--stages=1,3\): that was chosen when the program was compiled; compile it again with --stages")
refused("no generating", ["./out", "generate", "--tokens=1,2"], r"cannot .*")
for name, text in (("none", None), ("empty", ""), ("words", "F=now"), ("few", "F=1,2,3"), ("negative", "F=-1")):
    file = os.path.abspath(f"{name}.delays")
    if text is not None:
        write(file, text)
    refused(f"durations: {name}", RUN, r"cannot read durations .*", TESSERA_PIPELINE_DELAYS=file)
refused("a trace nowhere", ["./out", "info", "--trace=/nowhere/trace.json"], r"cannot write trace .*")
subprocess.run(GENERATE[:2] + ["-o", "text", "--mesh=pp=2"], check=True, timeout=120)
refused("a prediction of generating", ["./text", "info", "--trace=trace.json"], r"cannot trace \(--trace=trace.json\): only the step of a pipeline that trains is predicted; .*")
refused("a prompt to measure that is too long", ["./text", "bench", "--prompt-len=1000"], r"cannot measure \(--prompt-len=1000 and decoding \d+\): .*")
if args.mpi:
    # Actions sleep, so that the run lasts, and forwards so long that a rank is at one however late we come.
    write("slow.delays", "F=200 I=40 W=40")
    launched = subprocess.Popen(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", *RUN[:-1], "--steps=2000", "--epochs=100000"], stdout=subprocess.DEVNULL, stderr=open("killed.log", "w"),
                                env={**os.environ, "TESSERA_PIPELINE_DELAYS": os.path.abspath("slow.delays")}, start_new_session=True)
    log = lambda: open("killed.log", errors="replace").read()
    while "\nstep " not in log() and launched.poll() is None:
        time.sleep(0.05)
    time.sleep(0.4)  # between two lists it is not at an action
    cases += 1
    os.kill(process_of(1, launched.pid), signal.SIGKILL)
    try:
        launched.wait(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(launched.pid, signal.SIGKILL)
        launched.wait()
        problems.append("a rank killed: the others go on")
    errors = log()
    told = [line for line in errors.splitlines() if line.startswith("error: ")]
    if launched.returncode == 0 or len(told) != 1 or not re.search(r"\d(F|B|SEND_[FB]|RECV_[FB])\d|the sum over the stages", told[0]):
        problems.append(f"a rank killed: status {launched.returncode}, {errors[-900:]}")

print(f"{cases} cases")
if problems:
    sys.exit("\n".join(problems))
