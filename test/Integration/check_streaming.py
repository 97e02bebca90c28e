"""Text as it comes out of a compiled model: each token's text in a write of its own, prompts one after another in order, characters whole.

    check_streaming.py --compiler LLM_COMPILE --model DIR --out OUT [--mesh M]

Standard output is a socket that keeps writes apart. What the text must be follows from the ids (--print-tokens) and tokenizer.json."""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--mesh")
args = parser.parse_args()
PROMPTS = ["the quick brown fox", "a", "def f(n):", "\u4e2d\u6587!", "x y z"]

with open(os.path.join(args.model, "tokenizer.json"), encoding="utf-8") as file:
    tokenizer = json.load(file)
# GPT-2's alphabet: printable bytes stand for themselves, the others for the characters from 256 on.
plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
alphabet = {chr(byte): byte for byte in plain}
alphabet.update({chr(256 + i): byte for i, byte in enumerate(byte for byte in range(256) if byte not in plain)})
special = {token["id"] for token in tokenizer["added_tokens"] if token["special"]}
words = {id: bytes(alphabet[c] for c in text) for text, id in tokenizer["model"]["vocab"].items() if id not in special}


def run(*flags):
    """Writes to standard output, in order."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([args.out, "generate", *flags], stdout=theirs, stderr=errors)
        theirs.close()
        writes = []
        while data := ours.recv(1 << 16):
            writes.append(data)
        if child.wait():
            errors.seek(0)
            sys.exit(f"{flags}: exit status {child.returncode}: {errors.read().decode(errors='replace')}")
    return writes


done = subprocess.run([args.compiler, args.model, "--batch=2", "--max-seq-len=96", "-o", args.out] + ([f"--mesh={args.mesh}"] if args.mesh else []),
                      capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)
flags = ["--max-new-tokens=24", "--temperature=2", "--seed=3"]
prompts = [f"--prompt={prompt}" for prompt in PROMPTS]
ids = [[int(id) for id in line[8:].split(",")]
       for line in b"".join(run(*flags, *prompts, "--print-tokens")).decode(errors="replace").splitlines() if line.startswith("tokens: ")]
if len(ids) != len(PROMPTS):
    sys.exit(f"{len(ids)} `tokens:` lines for {len(PROMPTS)} prompts")
texts = [b"".join(words.get(id, b"") for id in row).decode("utf-8", errors="replace") for row in ids]
want = "".join(text + ("" if text.endswith("\n") or not text else "\n") for text in texts).encode()
writes = run(*flags, *prompts)
if b"".join(writes) != want:
    sys.exit(f"text {b''.join(writes)!r}\nexpected {want!r}\nids {ids}")

# The first prompt alone: a write for each token that completes a character.
alone = [write for write in run(*flags, prompts[0]) if write != b"\n"]
complete_pieces = 0
decoded = ""
for count in range(1, len(ids[0]) + 1):
    so_far = b"".join(words.get(id, b"") for id in ids[0][:count])
    text = so_far.decode("utf-8", errors="ignore")
    complete_pieces += text != decoded
    decoded = text
if len(alone) < complete_pieces or b"".join(alone).decode() != texts[0].rstrip("\n"):
    sys.exit(f"{len(alone)} writes for {complete_pieces} pieces of text: {alone}")
print(f"ok: {len(writes)} writes for {len(PROMPTS)} prompts, {len(alone)} for the first alone")
