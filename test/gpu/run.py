"""On a machine with a GPU: conformance of the API, tokens and logits, NCCL between processes that share the GPU, faults.

    run.py FOLDER"""
import json
import os
import shutil
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import Table, run, unpack
from programs import SMOLLM2, TOKENS

folder = sys.argv[1]
whole = unpack(folder)
table = Table()
if "programs.tar.xz" not in whole:
    sys.exit("error: no programs (FOLDER): carry part 0, and all that programs.tar.xz is cut into")


def program(name):
    return os.path.join(folder, "bin", name)


def tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        base = file.tell()
        types = {"F32": np.float32, "I32": np.int32}
        result = {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] in types:
                begin, end = entry["data_offsets"]
                file.seek(base + begin)
                result[name] = np.frombuffer(file.read(end - begin), types[entry["dtype"]]).reshape(entry["shape"])
    return result


def last(text):
    return (text.strip().splitlines() or ["it says nothing"])[-1][:200]


code, out, err = run([program("standin-conformance")], timeout=120)
table.row("conformance of the driver's API", code == 0, last(out if code == 0 else err or out))
code, out, err = run([program("runtime_cuda_device_test")], timeout=300)
table.row("the runtime's driver held to its contract", code == 0, last(out))

for name, model, flags in TOKENS:
    expected = json.load(open(os.path.join(folder, model, "expected.json")))["generate"]
    reference = tensors(os.path.join(folder, model, "expected.safetensors"))
    start, environment = [program(name), "generate", f"--model={os.path.join(folder, model)}"], {}
    ranks = next((int(flag.split("=")[-1]) for flag in flags if flag.startswith("--mesh")), 1)
    if ranks > 1:  # processes that share the one GPU, as machines of their own for NCCL
        if not shutil.which("mpirun"):
            table.row(name, None, "no mpirun here")
            continue
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), "bash", "-c",
                 'NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK TESSERA_CUDA_DEVICE=0 exec "$0" "$@"'] + start
    lists = ["--tokens=" + ",".join(map(str, p["prompt_tokens"])) for p in expected[:3]]
    new = max(len(p["generated"]) for p in expected[:3])
    code, out, err = run(start + lists + [f"--max-new-tokens={new}", "--print-tokens"], **environment)
    if code:
        table.row(name, False, last(err))
        continue
    got = [[int(t) for t in line[8:].split(",")] for line in out.splitlines() if line.startswith("tokens: ")]
    same = sum(g == p["generated"][:len(g)] for g, p in zip(got, expected))
    exact = "f32" in name or ranks > 1
    figure = f"tokens of {same} of {len(got)} prompts as expected"
    worst = 0.0
    for row, logits in list(zip(reference["tokens"], reference["logits"]))[:2]:
        row, logits = row[:127], logits[:127]
        path = os.path.join(folder, "logits.safetensors")
        code, out, err = run(start + ["--tokens=" + ",".join(map(str, row)), "--max-new-tokens=1", f"--logits={path}"], **environment)
        if code:
            break
        worst = max(worst, float(np.abs(tensors(path)["logits"][-len(logits):] - logits).max() / np.abs(logits).max()))
    figure += f", logits within {worst:.2g} of the largest" if not code else f"; --logits: {last(err)}"
    table.row(name, code == 0 and len(got) == 3 and (not exact or (same == 3 and worst <= 1e-4)) and worst < 0.1, figure)

weights = os.path.join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")
for name, _ in SMOLLM2:
    if os.path.basename(weights) not in whole:
        table.row(name, None, "its weights are not all here")
        continue
    prompt = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    code, out, err = run([program(name), "generate", f"--model={weights}", "--prompt=" + prompt, "--max-new-tokens=24"])
    table.row(name, code == 0 and "Paris" in out, last(out if code == 0 else err))

# Errors: one line each.
name = TOKENS[0][0]
start = [program(name), "generate", f"--model={os.path.join(folder, TOKENS[0][1])}", "--tokens=1,2,3", "--max-new-tokens=2"]
for what, environment in (("no GPU to be seen", {"CUDA_VISIBLE_DEVICES": ""}), ("a GPU that is not there", {"TESSERA_CUDA_DEVICE": "77"})):
    code, out, err = run(start, **environment)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    table.row(what, code != 0 and len(lines) == 1, last(err))
if shutil.which("compute-sanitizer"):
    for tool in ("memcheck", "racecheck", "synccheck"):
        code, out, err = run(["compute-sanitizer", f"--tool={tool}", "--error-exitcode=7"] + start, timeout=120)
        table.row(f"compute-sanitizer {tool}", None if "not supported" in out + err else code == 0, last(out + err))
else:
    table.row("compute-sanitizer", None, "not here")
table.close()
