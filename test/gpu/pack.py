"""Builds all that a machine with a GPU needs into parts below 40 MiB.

    pack.py DIR

Part 0 holds programs, tiny models and the suites of conformance; the others are pieces of SmolLM2's weights, which run.py puts together."""
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import LOADING, MADE_UP, SHAPES, SMOLLM2, SPEED, TOKENS

LIMIT = 38 << 20
parts = sys.argv[1]
compiler, models, smollm2 = "build/bin/llm-compile", "test/Inputs/models", "build/models/SmolLM2-135M-Instruct.Q4_1.gguf"


def need(path, how):
    if not os.path.exists(path):
        sys.exit(f"error: cannot pack ({path}): it is not there; {how}")
    return path


def compile_to(out, model, flags, target="cuda"):
    done = subprocess.run([need(compiler, "run scripts/build"), model, f"--target={target}", "-o", out] + flags, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"error: cannot pack ({out}): {done.stderr.strip()}")


need("build/bin/ptxas", "run scripts/fetch-ptxas build/bin: a GPU machine should not have to compile PTX")
need(smollm2, "run scripts/fetch-smollm2 build/models")
shutil.rmtree(parts, ignore_errors=True)
os.makedirs(parts)
with tempfile.TemporaryDirectory() as work:
    os.makedirs(f"{work}/bin")
    for model in sorted({model for _, model, _ in TOKENS}):
        shutil.copytree(need(os.path.join(models, model), "run scripts/build"), f"{work}/{model}")
    for name, model, flags in TOKENS:
        compile_to(f"{work}/bin/{name}", os.path.join(models, model), flags + ["--max-seq-len=128", "--batch=3"])
    # What the same program for this machine's CPU makes of weights that are made up, in float32: the weights are the same bits.
    made_up = {}
    for name, model, flags in TOKENS:
        if name in MADE_UP:
            compile_to(f"{work}/cpu", os.path.join(models, model), flags + ["--max-seq-len=128", "--batch=3"], target="cpu")
            done = subprocess.run([f"{work}/cpu", "generate", "--init=random:7", "--tokens=5,6,7", "--max-new-tokens=12", "--print-tokens"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
            made_up[name] = next(line for line in done.stdout.splitlines() if line.startswith("tokens: "))
            os.unlink(f"{work}/cpu")
    with open(f"{work}/made-up.json", "w") as file:
        json.dump(made_up, file)
    with open("test/Integration/dtype_prompts.json") as prompts, open(f"{work}/error-prompts.json", "w") as file:
        json.dump(json.load(prompts)["smollm2-135m"], file)
    shutil.copy(os.path.join(models, "smollm2-135m", "expected.json"), f"{work}/smollm2-expected.json")
    for name, flags in SMOLLM2:
        compile_to(f"{work}/bin/{name}", smollm2, flags + ["--max-seq-len=2048"])
    for name, shape, flags in [LOADING, *(row[:3] for row in SPEED)]:
        os.makedirs(f"{work}/{shape}", exist_ok=True)
        with open(f"{work}/{shape}/config.json", "w") as file:
            json.dump(dict(architectures=["LlamaForCausalLM"], model_type="llama", hidden_act="silu", rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2,
                           **SHAPES[shape]), file)
        compile_to(f"{work}/bin/{name}", f"{work}/{shape}", flags)
    for suite in ("standin-conformance", "nccl-conformance", "runtime_cuda_device_test"):
        path = shutil.which(suite, path="build/bin:build/unittests")
        shutil.copy(need(path or suite, "build the target " + suite), f"{work}/bin/{suite}")
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_glibc.py"), f"{work}/bin"], check=True)
    # Programs are alike: a compressed archive is a fraction of them.
    packed = f"{work}/programs.tar.xz"
    with tarfile.open(packed, "w:xz", preset=3) as tar:
        for entry in sorted(os.listdir(work)):
            if entry != os.path.basename(packed):
                tar.add(os.path.join(work, entry), entry)
    pieces = []
    for path, name in ((packed, "programs.tar.xz"), (smollm2, os.path.basename(smollm2))):
        size, number = os.path.getsize(path), 0
        with open(path, "rb") as file:
            while data := file.read(LIMIT):
                pieces.append((f"{name}.{number:02}", data))
                number += 1
        print(f"{name}: {size / 2**20:.1f} MiB in {number} pieces")
    listing = json.dumps({"pieces": [name for name, _ in pieces]}).encode()
    for number, (name, data) in enumerate(pieces):
        with tarfile.open(os.path.join(parts, f"part-{number}.tar"), "w") as tar:
            for member, content in (("parts.json", listing), (name, data)):
                info = tarfile.TarInfo(member)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
for name in sorted(os.listdir(parts)):
    size = os.path.getsize(os.path.join(parts, name))
    print(f"{os.path.join(parts, name)}: {size / 2**20:.1f} MiB")
    if size >= 40 << 20:
        sys.exit(f"error: cannot pack ({name}): it is not below 40 MiB; cut it")
