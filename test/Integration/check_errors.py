"""Wrong flags, meshes, prompts and machines: exit status 1, exactly one `error: ` line on stderr, no crash, no hang, nothing left behind.

    check_errors.py --compiler LLM_COMPILE --models DIR --out PREFIX"""
import argparse
import os
import re
import resource
import shutil
import struct
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--compiler", required=True)
parser.add_argument("--models", required=True)
parser.add_argument("--out", required=True)
args = parser.parse_args()

model = os.path.join(args.models, "tiny-llama")
other = os.path.join(args.models, "tiny-gpt2")
binary = args.out + ".bin"
failures = []
count = 0


def run(command, **kwargs):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, **kwargs)


def expect_error(command, *needles, **kwargs):
    """`needles`: what the line must say."""
    global count
    count += 1
    title = " ".join(os.path.basename(word) for word in command)
    try:
        done = run(command, **kwargs)
    except subprocess.TimeoutExpired:
        failures.append(f"{title}: hangs")
        return
    # The log of what went well before does not count.
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line and not line.startswith("loaded ")]
    if done.returncode != 1:
        failures.append(f"{title}: exit status {done.returncode}; {lines[-3:]}")
    elif len(lines) != 1 or not lines[0].startswith("error: "):
        failures.append(f"{title}: {len(lines)} lines on stderr: {lines[:4]}")
    elif not all(needle.lower() in lines[0].lower() for needle in needles):
        failures.append(f"{title}: {lines[0]!r} lacks one of {needles}")


def expect_help(command, *needles):
    global count
    count += 1
    done = run(command)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0 or done.stderr or not all(needle in text for needle in needles):
        failures.append(f"{' '.join(command)}: exit status {done.returncode}, {done.stderr[:200]}, {text[:200]!r} lacks one of {needles}")


def compile_error(flags, *needles):
    expect_error([args.compiler, model, "-o", args.out + ".never"] + flags, *needles)
    if os.path.exists(args.out + ".never"):
        failures.append(f"{flags}: an executable was left behind")


# The compiler's command line.
expect_error([args.compiler], "MODEL")
expect_error([args.compiler, args.out + "-no-such-model", "-o", args.out + ".never"], "no-such-model")
expect_error([args.compiler, model], "-o")
expect_error([args.compiler, model, other, "-o", args.out + ".never"], "MODEL")
expect_error([args.compiler, model, "-o", "/nonexistent-folder/out"], "/nonexistent-folder")
for flags, needles in [
    (["--no-such-flag"], ["--no-such-flag"]),
    (["--mesh=tp=0"], ["tp"]),
    (["--mesh=tp=-2"], ["tp"]),
    (["--mesh=tp=two"], ["tp"]),
    (["--mesh=tp"], ["tp"]),
    (["--mesh=tp=2,tp=2"], ["tp"]),
    (["--mesh=banana=2"], ["banana"]),
    (["--mesh=dp=1048577"], ["dp"]),
    (["--mesh=dp=2048,tp=2048"], ["ranks"]),
    (["--mesh=tp=99999999999999999999"], ["tp"]),
    (["--mesh="], ["mesh"]),
    (["--mesh=tp=2", "--shard=heads=nope"], ["nope"]),
    (["--mesh=tp=2", "--shard=no_dim=tp"], ["no_dim"]),
    (["--mesh=tp=2", "--shard=no_value:heads=tp"], ["no_value"]),
    (["--mesh=tp=2", "--shard=heads"], ["heads"]),
    (["--mesh=tp=4", "--shard=heads=tp:(3)2"], ["tp"]),
    (["--task=dance"], ["dance"]),
    (["--dtype=f12"], ["f12"]),
    (["--target=abacus"], ["abacus"]),
    (["--batch=0"], ["batch"]),
    (["--batch=x"], ["batch"]),
    (["--max-seq-len=0"], ["max-seq-len"]),
    (["--max-seq-len=1000000"], ["max-seq-len"]),
    (["--cpu=i386sx"], ["i386sx"]),
    (["--compile-to=attic"], ["attic"]),
    (["--template=origami"], ["origami"]),
]:
    compile_error(flags, *needles)

compile_error(["--mehs=tp=2"], "did you mean --mesh?")
compile_error(["--batch"], "--batch")
for words in (["--help"], ["-h"], ["help"], ["help", "help"], ["help", "-h"]):
    expect_help([args.compiler, *words], "MODEL", "--mesh=", "--compile-to=RUNG")
expect_error([args.compiler, "help", "batch"], "(help batch): help takes no further words; see llm-compile --help")

# No linker on the machine.
expect_error([args.compiler, model, "-o", args.out + ".never"], "ld.lld", env={"PATH": "/nonexistent", "TESSERA_LLVM_BIN": "/nonexistent"})
# The disk is full: the executable is larger than the limit.
def small_files():
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
expect_error([args.compiler, model, "-o", args.out + ".never"], "file too large", "; make room there, or set TMPDIR", preexec_fn=small_files)
# No folder for files of our own.
for folder, hint in (("/nonexistent/tmp", "set TMPDIR to a folder that there is"), ("/dev/null", "set TMPDIR to a folder that there is")):
    expect_error([args.compiler, model, "-o", args.out + ".never"], f"cannot write a temporary file ({folder}): ", f"; {hint}", env={**os.environ, "TMPDIR": folder})

# The executable's command line.
done = run([args.compiler, model, "--max-seq-len=32", "-o", binary])
if done.returncode != 0:
    sys.exit(f"compiling failed: {done.stderr.decode()}")
# A standard stream that is closed is no number for a file, into which what is written to the stream would go.
expect_error([binary, "generate", "--tokens=1,2", "--max-new-tokens=1", "--print-tokens", "--quiet", "--logits=" + args.out + ".safetensors"], "standard output", "bad file descriptor", preexec_fn=lambda: (os.close(0), os.close(1)))
if run([args.compiler, model, "--max-seq-len=32", "-o", binary], preexec_fn=lambda: os.close(2)).returncode or not run([binary, "--version"]).stdout:
    failures.append("with standard error closed the compiler makes no executable")
for command, needles in [
    ([], ["generate"]),
    (["dance"], ["dance"]),
    (["generate"], ["prompt"]),
    (["generate", "--tokens=1,2", "--frobnicate"], ["--frobnicate"]),
    (["generate", "--tokens="], ["tokens"]),
    (["generate", "--tokens=1,x"], ["tokens"]),
    (["generate", "--tokens=1,389"], ["389"]),
    (["generate", "--tokens=-1"], ["-1"]),
    (["generate", "--tokens=99999999999"], ["99999999999"]),
    (["generate", "--tokens=" + ",".join(["1"] * 33)], ["33"]),
    (["generate", "--tokens=1,2,3", "--max-new-tokens=30"], ["32"]),
    (["generate", "--tokens=1,2,3", "--max-new-tokens=-1"], ["max-new-tokens"]),
    (["generate", "--tokens=1", "--temperature=-1"], ["temperature"]),
    (["generate", "--tokens=1", "--temperature=1", "--top-p=2"], ["top-p"]),
    (["generate", "--tokens=1", "--top-p=0.5"], ["--top-p=0.5", "--temperature"]),
    (["generate", "--tokens=1", "--seed=3", "--temperature=0"], ["--seed=3", "nothing is drawn"]),
    (["generate", "--tokens=1", "--threads=0"], ["threads"]),
    (["generate", "--tokens=1", "--model=" + args.out + "-no-such-model"], ["no-such-model"]),
    (["generate", "--tokens=1", "--model=" + other], ["model"]),
    (["generate", "--tokens=1", "--max-new-tokens=1", "--logits=/nonexistent-folder/x.safetensors"], ["nonexistent-folder"]),
    (["generate", "--tokens=1", "--init=maybe"], ["maybe"]),
    (["train", "--data=x", "--steps=1"], ["train"]),
    (["bench", "--prompt-len=1000"], ["--prompt-len=1000 and decoding", "context of 32"]),
    (["bench", "--prompt-len=32"], ["--prompt-len=32 and decoding 1)"]),
    (["bench", "--decode=40"], ["a prompt of 1 and --decode=40)"]),
    (["bench", "--model=/nonexistent", "--init=random:0"], ["/nonexistent", "not both"]),
    (["info", "--yaml"], ["--yaml"]),
]:
    expect_error([binary] + command, *needles)
expect_error([binary, "generate", "--tokens=1", "--temprature=1"], "did you mean --temperature?")
# Flags of the compiler are known here as such: all of them.
compiler_flags = sorted(set(re.findall(r"^  (--[a-z-]+)", run([args.compiler, "--help"]).stdout.decode(), re.M)) - {"--help", "--version", "--completion"})
if not {"--mesh", "--cpu", "--loss-chunks"} <= set(compiler_flags):
    failures.append(f"the compiler's flags are read as {compiler_flags}")
for flag in compiler_flags:
    expect_error([binary, "info", flag + "=1"], f"compile it again with {flag}")
for words in (["--help"], ["-h"], ["help"], ["help", "help"], ["--help", "help"], ["help", "--help"]):
    expect_help([binary, *words], "generate", "bench", "info")
expect_help([binary, "generate", "--help"], "--prompt=TEXT", "--top-p=P")
expect_help([binary, "bench", "-h"], "--prompt-len=N")
apart = run([binary, "generate", "--tokens", "1,2", "--max-new-tokens", "2", "--print-tokens"])
joined = run([binary, "generate", "--tokens=1,2", "--max-new-tokens=2", "--print-tokens"])
count += 1
if apart.returncode != 0 or apart.stdout != joined.stdout:
    failures.append(f"values that stand apart: {apart.returncode}, {apart.stdout!r} and {joined.stdout!r}")
if os.path.exists("/dev/full"):
    expect_error([binary, "generate", "--tokens=1", "--max-new-tokens=1", "--logits=/dev/full"], "/dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary, "generate", "--tokens=1,2", "--max-new-tokens=4", "--print-tokens"], stdout=full,
                              stderr=subprocess.PIPE, timeout=600)
    count += 1
    if done.returncode != 1 or b"error: " not in done.stderr:
        failures.append(f"stdout on a full disk: exit status {done.returncode}, {done.stderr[:200]}")
    for words in (["--help"], ["--completion=bash"], ["--version"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([args.compiler, *words], stdout=full, stderr=subprocess.PIPE, timeout=600)
        count += 1
        if (done.returncode, done.stderr) != (1, b"error: cannot write output (standard output): No space left on device; make room there, or write elsewhere\n"):
            failures.append(f"llm-compile {words} on a full disk: exit status {done.returncode}, {done.stderr[:200]}")

# A copy that broke off, as far as the system's loader still starts it: of code and data nothing is missing.
with open(binary, "rb") as file:
    whole = file.read()
phoff, phnum = struct.unpack_from("<Q", whole, 32)[0], struct.unpack_from("<H", whole, 56)[0]
segments = [struct.unpack_from("<IIQQQQ", whole, phoff + 56 * i) for i in range(phnum)]
loaded = max(offset + size for kind, _, offset, _, _, size in segments if kind == 1)
for size in (len(whole) - 1, (loaded + len(whole)) // 2, loaded):
    with open(args.out + ".cut", "wb") as file:
        file.write(whole[:size])
    os.chmod(args.out + ".cut", 0o755)
    for command in (["info"], ["generate", "--tokens=1"], []):
        expect_error([args.out + ".cut"] + command, f"cut short: it has {size} of {len(whole)} bytes; copy it again")

# No room for what is measured, where no flag of this command is at fault.
single = args.out + ".single"
run([args.compiler, model, "--max-seq-len=1", "-o", single])
expect_error([single, "bench", "--init=random:1"], "context of 2", "compile with --max-seq-len=2")
# What is not given leaves room for what is.
for flags, room in (["--prompt-len=31"], "(31 tokens"), (["--decode=31"], "(31 steps"):
    done = run([binary, "bench", "--init=random:1"] + flags)
    count += 1
    if done.returncode != 0 or room not in done.stdout.decode():
        failures.append(f"bench {flags}: exit status {done.returncode}, {done.stderr[:200]}")

# A mesh that does not fit the world that a launcher made, and torchrun with a CPU program.
expect_error([binary, "generate", "--tokens=1"], "2", env=dict(os.environ, OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0"))
expect_error([binary, "generate", "--tokens=1"], "whose ranks it cannot connect",
             env=dict(os.environ, TORCHELASTIC_RUN_ID="x", RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", LOCAL_WORLD_SIZE="2"))

# Weights that are gone, or cut off, after compiling.
moved = args.out + ".model"
shutil.rmtree(moved, ignore_errors=True)
shutil.copytree(model, moved)
done = run([args.compiler, moved, "--max-seq-len=32", "-o", binary])
shard = sorted(name for name in os.listdir(moved) if name.endswith(".safetensors") and "model" in name)[0]
os.chmod(os.path.join(moved, shard), 0o644)
os.truncate(os.path.join(moved, shard), 5000)
expect_error([binary, "generate", "--tokens=1"], shard)
os.unlink(os.path.join(moved, shard))
expect_error([binary, "generate", "--tokens=1"], shard)

for failure in failures:
    print(failure)
print(f"{count - len(failures)} of {count} as they should be")
sys.exit(1 if failures else 0)
