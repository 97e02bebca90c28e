#!/usr/bin/env python3
"""Inputs that are damaged, odd or hostile, by name (bad_models.py, bad_words.py, bad_programs.py): each gives exactly one line on standard error, `error: ...`, which is
the one that stands beside it (`...` is any text), and exit status 1, within a minute and 2 GB, and leaves nothing behind. Where the line is None the input is good, however
odd: status 0.

    check_bad_inputs.py --bin BUILD/bin --models TEST/Inputs/models --out FOLDER [--show] [--only=WORDS]"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import bad_models
import bad_programs
import bad_words
import make_bad_models

parser = argparse.ArgumentParser()
for flag in ("--bin", "--models", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--show", action="store_true", help="print every line")
parser.add_argument("--only", help="only inputs whose name has these words")
args = parser.parse_args()
BIN, OUT = os.path.abspath(args.bin), os.path.abspath(args.out)
COMPILER, INFO = os.path.join(BIN, "llm-compile"), os.path.join(BIN, "model-info")
SECONDS, BYTES = 60, 2 << 30
# Sanitizers take several times of both.
if os.environ.get("TESSERA_SKIP_SLOW") == "1":
    SECONDS, BYTES = 600, 16 << 30
problems, names = [], set()


def run(command):
    """(status, standard error, seconds, most bytes that were resident); a status below 0 is a signal."""
    begin = time.time()
    errors = os.path.join(OUT, "stderr")
    with open(errors, "wb") as file:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, start_new_session=True)
    # wait4 says what this one took, where getrusage adds up all children.
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child.pid, signal.SIGKILL))
    signal.alarm(SECONDS)
    _, status, usage = os.wait4(child.pid, 0)
    signal.alarm(0)
    child.returncode = os.waitstatus_to_exitcode(status)
    with open(errors, "rb") as file:
        return child.returncode, file.read().decode(errors="replace"), time.time() - begin, usage.ru_maxrss * 1024


def problem_of(command, line):
    try:
        status, text, seconds, most = run(command)
    except ValueError:  # no process can be given a word with a zero
        return "it cannot be tried"
    if seconds >= SECONDS:
        return f"no end within {SECONDS} s"
    if args.show:
        print(f"    {status} {text[:500]!r}")
    if most > BYTES:
        return f"it took {most} bytes"
    if line is None:
        return None if status == 0 else f"status {status}, {text[-500:]!r}"
    if status != 1 or text.count("\n") != 1 or not text[:-1].isprintable():
        return f"status {status}, {text[:700]!r}"
    if not re.fullmatch(".*".join(map(re.escape, f"error: {line}\n".split("..."))), text):
        return f"{text!r} is not {line!r}"
    return None


def expect(name, command, line, left=()):
    """`left`: files that must not be there afterwards."""
    if args.only and args.only not in name:
        return
    if args.show:
        print(name)
    if name in names:
        problems.append(f"{name}: it is there twice")
    names.add(name)
    problem = problem_of(command, line)
    for path in left:
        if os.path.exists(path):
            if line is not None:
                problem = problem or f"{path} was left behind"
            os.unlink(path)
    if problem:
        problems.append(f"{name}: {problem}")


shutil.rmtree(OUT, ignore_errors=True)
make = make_bad_models.Maker(OUT)
out = os.path.join(OUT, "never")


def copy_of_the_model(name):
    make.folder(name, (), None)
    return os.path.join(OUT, name)


def read(name, path, readers, line, program):
    compile_ = ("compiler: " + name, [COMPILER, path, "--compile-to=graph", "-o", out], line, [out])
    info = ("info: " + name, [INFO, path, "--check"], line)
    chat = ("chat: " + name, [program, "generate", "--model=" + path, "--chat", "--prompt=a", "--max-new-tokens=1"], line)
    for reader, what in (("compile", compile_), ("info", info), ("chat", chat)):
        if readers == reader or (readers == "both" and reader != "chat"):
            expect(*what)


good = copy_of_the_model("good")
program = os.path.join(OUT, "program")
subprocess.run([COMPILER, good, "--max-seq-len=32", "-o", program], check=True, timeout=600)
for number, (name, how, readers, line) in enumerate(bad_models.FOLDERS):
    path = copy_of_the_model(f"model-{number}")
    how(path)
    read(name, path, readers, line, program)
for number, (name, how, readers, line) in enumerate(bad_models.GGUF):
    path = os.path.join(OUT, f"model-{number}.gguf")
    damaged = how(make.gguf)
    if damaged == make.gguf:
        problems.append(f"{name}: it changes nothing")
    with open(path, "wb") as file:
        file.write(damaged)
    read(name, path, readers, line, program)
# A GGUF file has its tokenizer inside: none can be put beside it.
bare = os.path.join(OUT, "bare.gguf")
with open(bare, "wb") as file:
    file.write(make.gguf.replace(b"tokenizer.ggml.model", b"tokenizer.ggml.xodel"))
expect("chat: a GGUF file without a tokenizer", [program, "chat", "--model=" + bare],
       "cannot use the tokenizer (...gguf): metadata tokenizer.ggml.model is missing or is not ...; name the model's Hugging Face folder, with a tokenizer that can be used, with --model=")

some = os.path.join(OUT, "some")
folder = os.path.join(OUT, "folder")
os.mkdir(folder)
with open(some, "wb") as file:
    file.write(bytes(range(256)) * 16)
not_utf8, gap = os.path.join(OUT, "not-utf8"), os.path.join(OUT, "gap")
with open(not_utf8, "wb") as file:
    file.write(b"one\n\xff\xfe\n")
with open(gap, "wb") as file:
    file.write(b"one\n\nthree\n\n")
pipe, terabyte = os.path.join(OUT, "pipe"), os.path.join(OUT, "terabyte")
os.mkfifo(pipe)
with open(terabyte, "wb") as file:
    file.truncate(1 << 40)


def filled(words):
    for word in words:
        for key, value in (("{out}", out), ("{model}", good), ("{file}", some), ("{folder}", folder), ("{pipe}", pipe), ("{not-utf8}", not_utf8), ("{gap}", gap), ("{terabyte}", terabyte)):
            word = word.replace(key, value)
        yield word


for name, words, line in bad_words.COMPILE:
    words = list(filled(words))
    expect(name, [COMPILER, good, *words, *([] if "-o" in words else ["-o", out])], line, [out])
for name, words, line in bad_words.RUN:
    expect(name, [program, *filled(words)], line, [out])
# Caches of 35 TB: that nobody has them is said before anything is read or used.
hungry, wide = os.path.join(OUT, "hungry"), copy_of_the_model("wide")
bad_models.config(max_position_embeddings=1 << 17)(wide)
subprocess.run([COMPILER, wide, "--batch=1048576", "--max-seq-len=131072", "-o", hungry], check=True, timeout=600)
for name, words in (("memory that no machine has", ["generate", "--tokens=1"]), ("a bench of memory that no machine has", ["bench", "--init=random:1"])):
    expect(name, [hungry, *words],
           "cannot allocate memory (the arena of rank 0): 35...bytes...and there are ... for it...compile for a smaller --batch, a shorter --max-seq-len "
           "or a larger mesh over more machines, or take a smaller or quantized model")
expect("what a program is that no machine has memory for", [hungry, "info"], None)
for number, (name, text, flags, line) in enumerate(bad_programs.PROGRAMS):
    path = os.path.join(OUT, f"program-{number}.mlir")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    expect(name, [COMPILER, path, *flags, "-o", out], line, [out])
for name, place, line in (("a program that is a pipe", pipe, "is no regular file"), ("a program of a terabyte", terabyte, "has more than 67108864 bytes")):
    os.rename(place, place + ".mlir")
    expect(name, [COMPILER, place + ".mlir", "--compile-to=graph", "-o", out], f"cannot read program (...mlir): {line}; check the path", [out])



def interrupted(number, ignored):
    """What is wrong with how a compilation ends that gets a signal while it has files of its own; None if nothing. One that ignored the signal from the start goes on."""
    temporary = os.path.join(OUT, "temporary")
    shutil.rmtree(temporary, ignore_errors=True)
    os.mkdir(temporary)
    child = subprocess.Popen([COMPILER, good, "-o", out], stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": temporary})
    while not os.listdir(temporary) and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(number)
    text = child.communicate(timeout=SECONDS)[1].decode()
    if ignored:
        is_made = child.returncode == 0 and os.path.exists(out)
        if is_made:
            os.remove(out)
        return None if is_made and text.startswith("made ") else f"status {child.returncode}, {text!r}"
    line = f"error: cannot compile ({number.name}): it was told to end; run it again\n"
    if (child.returncode, text) != (128 + number, line):
        return f"status {child.returncode}, {text!r}"
    return f"it left {os.listdir(temporary)}" if os.listdir(temporary) else None


# Background jobs ignore SIGINT, and nohup ignores SIGHUP: the compiler leaves that so.
for number, ignored in ((signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGINT, False), (signal.SIGHUP, True), (signal.SIGINT, True)):
    name = f"{number.name}{', ignored,' if ignored else ''} while it compiles"
    names.add(name)
    before = signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
    if not args.only and (problem := interrupted(number, ignored)):
        problems.append(f"{name}: {problem}")
    signal.signal(number, before)
for problem in problems:
    print(problem)
print(f"{len(names) - len(problems)} of {len(names)} as they should be")
sys.exit(bool(problems))
