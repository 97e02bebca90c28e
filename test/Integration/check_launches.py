"""Runs GPU programs on the stand-in and lists every kernel of their images with the run that launched it; exit status 1 if there is one that none did.

    check_launches.py LLM_COMPILE MODEL SCRATCH [MESH...]      under scripts/standin

A program without a mesh, then one for each mesh, in f32 and bf16: several prompts of unequal lengths, in more rounds than places, siblings of kernels by name, drawn tokens, and --logits."""
import os
import re
import subprocess
import sys

compiler, model, scratch = sys.argv[1:4]
os.makedirs(scratch, exist_ok=True)
os.environ["TESSERA_PTXAS"] = ""  # images are texts, which name their kernels
launches = os.path.join(scratch, "launches")
os.environ["TESSERA_STANDIN_LAUNCHES"] = launches


def run(command, test):
    os.environ["TESSERA_STANDIN_TEST"] = test
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout.decode(errors='replace')[-1500:]}")


made_up = [] if any(file.endswith(".safetensors") for file in os.listdir(model)) else ["--init=random:3"]
missing, total = [], 0
for mesh in [""] + sys.argv[4:]:
    for dtype in ("f32", "bf16"):
        if os.path.exists(launches):
            os.unlink(launches)
        name = f"{os.path.basename(model)} {mesh or 'none'} {dtype}"
        out = os.path.join(scratch, "out")
        run([compiler, model, "--target=cuda", f"--dtype={dtype}", "--batch=2", "--max-seq-len=64", "-o", out] + ([f"--mesh={mesh}"] if mesh else []), name)
        with open(out, "rb") as file:
            kernels = {k.decode() for k in re.findall(rb"\.visible \.entry ([\w.$]+)\(", file.read())}
        if not kernels:
            sys.exit(f"{name}: no kernels in {out}")
        run([out, "generate", "--tokens=5,6,7", "--tokens=8,9", "--tokens=" + ",".join(map(str, range(3, 40))), "--max-new-tokens=5"] + made_up, f"{name}: generate")
        for form in sorted({kernel.split("$")[1] for kernel in kernels if "$" in kernel}):
            os.environ["TESSERA_SIBLING"] = form
            run([out, "generate", "--tokens=" + ",".join(map(str, range(3, 40))), "--max-new-tokens=1"] + made_up, f"{name}: TESSERA_SIBLING={form}")
            del os.environ["TESSERA_SIBLING"]
        run([out, "generate", "--tokens=5,6,7", "--tokens=8,9", "--max-new-tokens=3", "--temperature=0.8", "--seed=1"] + made_up, f"{name}: --temperature")
        run([out, "generate", "--init=random:3", "--tokens=5,6,7", "--max-new-tokens=1"], f"{name}: --init=random")
        run([out, "generate", "--tokens=5,6,7", "--max-new-tokens=3", "--logits=" + os.path.join(scratch, "logits")] + made_up, f"{name}: --logits")
        launched = {}
        with open(launches) as file:
            for line in file:
                image, kernel, test = line.rstrip("\n").split(" ", 2)
                launched.setdefault(kernel, test)
        for kernel in sorted(kernels):
            print(f"{kernel:60} {launched.get(kernel, 'NOT LAUNCHED: ' + name)}")
        missing += [f"{name}: {kernel}" for kernel in sorted(kernels - set(launched))]
        total += len(kernels)
print(f"{total} kernels, {len(missing)} never launched")
sys.exit(bool(missing))
