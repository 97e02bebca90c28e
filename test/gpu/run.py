"""On a machine with a GPU: conformance of the API and of NCCL, tokens and logits, NCCL between processes that share the GPU, memory, faults. One part that
fails does not stop the others.

    run.py FOLDER"""
import array
import json
import os
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common
from common import Table, last, ranks, run
from programs import MADE_UP, NCCL_MESHES, SMOLLM2, TOKENS

folder = os.path.abspath(sys.argv[1])
whole = common.begin(folder)
table = Table()
if "programs.tar.xz" not in whole:
    sys.exit("error: no programs (FOLDER): carry part 0, and all that programs.tar.xz is cut into")


def program(name):
    return os.path.join(folder, "bin", name)


def tensors(path):
    """name -> (shape, numbers) of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        base, result = file.tell(), {}
        for name, entry in header.items():
            if name != "__metadata__" and entry["dtype"] in ("F32", "I32"):
                begin, end = entry["data_offsets"]
                file.seek(base + begin)
                result[name] = entry["shape"], array.array("f" if entry["dtype"] == "F32" else "i", file.read(end - begin))
    return result


def difference(got, expected):
    """The largest difference, in the largest of what is expected."""
    top = max(map(abs, expected))
    return max(abs(a - b) for a, b in zip(got, expected)) / top


def suite(title, name, timeout, *flags):
    code, out, err = run([program(name), *flags], timeout=timeout)
    failed = re.findall(r"\[  FAILED  \] (\w+\.\w+)", out)
    table.row(title, code == 0, last(out) if code == 0 else ", ".join(sorted(set(failed)))[:240] or last(err or out))


def nccl_of_one():
    code, out, err = run([program("nccl-conformance"), "--gtest_filter=*OneRank*:*OfOneRank*"], timeout=120)
    if "cannot open NCCL" in err:
        return table.row("NCCL with one rank, captured in a graph", None, last(err))
    table.row("NCCL with one rank, captured in a graph", code == 0, last(out) if code == 0 else last(err or out))


def nccl_of_several(mesh):
    count = 1
    for size in re.findall(r"=(\d+)", mesh):
        count *= int(size)
    title = f"NCCL, {count} processes on one GPU ({mesh}): every collective"
    code, out, err = ranks([program("nccl-conformance"), f"--mesh={mesh}"], count, timeout=150)
    if "cannot open NCCL" in err:
        return table.row(title, None, last(err))
    table.row(title, code == 0 and "PASSED" in out, last(out) if code == 0 else last(err or out))


def tokens(name, model, flags):
    expected = json.load(open(os.path.join(folder, model, "expected.json")))["generate"]
    reference = tensors(os.path.join(folder, model, "expected.safetensors"))
    start = [program(name), "generate", f"--model={os.path.join(folder, model)}"]
    count = next((int(flag.split("=")[-1]) for flag in flags if flag.startswith("--mesh")), 1)

    def generate(more):
        return ranks(start + more, count) if count > 1 else run(start + more)

    lists = ["--tokens=" + ",".join(map(str, p["prompt_tokens"])) for p in expected[:3]]
    new = max(len(p["generated"]) for p in expected[:3])
    code, out, err = generate(lists + [f"--max-new-tokens={new}", "--print-tokens"])
    if code:
        return table.row(name, None if "cannot open NCCL" in err else False, last(err))
    got = [[int(t) for t in line[8:].split(",")] for line in out.splitlines() if line.startswith("tokens: ")]
    same = sum(g == p["generated"][:len(g)] for g, p in zip(got, expected))
    exact = "f32" in name or count > 1
    figure, worst = f"tokens of {same} of {len(got)} prompts as expected", 0.0
    (rows, length), ids = reference["tokens"]
    (_, _, vocabulary), logits = reference["logits"]
    for row in range(min(rows, 2)):
        used = min(length, 127)
        path = os.path.join(folder, "logits.safetensors")
        row_ids = ids[row * length:row * length + used]
        code, out, err = generate(["--tokens=" + ",".join(map(str, row_ids)), "--max-new-tokens=1", f"--logits={path}"])
        if code:
            break
        at = row * length * vocabulary
        worst = max(worst, difference(tensors(path)["logits"][1][-used * vocabulary:], logits[at:at + used * vocabulary]))
    figure += f", logits within {worst:.2g} of the largest" if not code else f"; --logits: {last(err)}"
    table.row(name, code == 0 and len(got) == 3 and (not exact or (same == 3 and worst <= 1e-4)) and worst < 0.1, figure)


def made_up(name):
    """--init=random on the device: the tokens are those of the program for the CPU, which was run where the parts were packed."""
    expected = json.load(open(os.path.join(folder, "made-up.json")))
    code, out, err = run([program(name), "generate", "--init=random:7", "--tokens=5,6,7", "--max-new-tokens=12", "--print-tokens"])
    got = next((line for line in out.splitlines() if line.startswith("tokens: ")), "")
    table.row(f"{name}: weights made up on the GPU", code == 0 and got == expected[name], got if code == 0 else last(err))


def smollm2(name):
    weights = os.path.join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")
    if os.path.basename(weights) not in whole:
        return table.row(name, None, "its weights are not all here")
    prompt = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    code, out, err = run([program(name), "generate", f"--model={weights}", "--prompt=" + prompt, "--max-new-tokens=24"])
    table.row(name, code == 0 and "Paris" in out, last(out if code == 0 else err))
    if "f32" in name:
        common.expected_tokens(table, f"{name}: tokens", program(name), weights, os.path.join(folder, "smollm2-expected.json"))


def siblings(name):
    """Attention by warpgroups against that by mma.sync: the logits of one prompt, on weights that are made up."""
    found = {}
    for form in ("none", "wgmma"):
        path = os.path.join(folder, f"{form}.safetensors")
        ids = ",".join(str(3 + 7 * i % 1000) for i in range(200))
        code, out, err = run([program(name), "generate", "--init=random:7", f"--tokens={ids}", "--max-new-tokens=1", f"--logits={path}"],
                             TESSERA_SIBLING=form)
        if code:
            return table.row(f"{name}: siblings", False, last(err))
        found[form] = tensors(path)["logits"][1]
        os.unlink(path)
    worst = difference(found["wgmma"], found["none"])
    table.row(f"{name}: siblings", worst <= 0.03, f"logits of wgmma within {worst:.2g} of the largest of mma.sync's")


START = [program(TOKENS[0][0]), "generate", f"--model={os.path.join(folder, TOKENS[0][1])}", "--tokens=1,2,3", "--max-new-tokens=2"]


def fault(what, environment):
    code, out, err = run(START, **environment)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    table.row(what, code != 0 and len(lines) == 1, last(err))


def sanitizer(tool):
    code, out, err = run(["compute-sanitizer", f"--tool={tool}", "--error-exitcode=7"] + START, timeout=120)
    table.row(f"compute-sanitizer {tool}", None if "not supported" in out + err else code == 0, last(out + err))


table.part("the machine", common.machine, table)
table.part("conformance of the driver's API", suite, "conformance of the driver's API", "standin-conformance", 120)
table.part("the runtime's driver", suite, "the runtime's driver held to its contract", "runtime_cuda_device_test", 200)
table.part("NCCL with one rank", nccl_of_one)
for mesh in NCCL_MESHES:
    table.part(f"NCCL on {mesh}", nccl_of_several, mesh)
for name, model, flags in TOKENS:
    table.part(name, tokens, name, model, flags)
for name in MADE_UP:
    table.part(f"{name}: made up", made_up, name)
for name, _ in SMOLLM2:
    table.part(name, smollm2, name)
for name, flags in SMOLLM2:
    if "--dtype=bf16" in flags:
        table.part(f"{name}: siblings", siblings, name)
if os.environ.get("TESSERA_STANDIN_IR"):
    table.row("no GPU to be seen", None, "the stand-in shows all of its devices")
else:
    table.part("no GPU to be seen", fault, "no GPU to be seen", {"CUDA_VISIBLE_DEVICES": ""})
table.part("a GPU that is not there", fault, "a GPU that is not there", {"TESSERA_CUDA_DEVICE": "77"})
for tool in ("memcheck", "racecheck", "synccheck"):
    if shutil.which("compute-sanitizer"):
        table.part(f"compute-sanitizer {tool}", sanitizer, tool)
    else:
        table.row(f"compute-sanitizer {tool}", None, "not here")
table.close()
