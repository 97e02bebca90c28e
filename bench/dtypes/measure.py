"""How far torch's logits in bfloat16 and float16 are from float64's: what test/Integration/dtype_bounds.json holds.

    bench/dtypes/measure.py [--gguf FILE] [--venv DIR] [--write]

Makes a throw-away environment with torch (CPU), transformers and gguf from PyPI, loads the models of test/Inputs/models (SmolLM2 from the
GGUF file, dequantized) in each type and compares the logits of the prompts there with the expected ones, which are float64's. Prints the
largest difference over the largest logit; --write keeps it as the bound. Tests allow 1.5 times as much."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "test/Inputs/models")
BOUNDS = os.path.join(ROOT, "test/Integration/dtype_bounds.json")
PACKAGES = ["numpy", "transformers", "accelerate", "gguf", "safetensors", "sentencepiece"]


def environment(folder):
    """The Python of a virtual environment with torch; made if it is not there."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "-q", "install"]
    # The build without CUDA where its index can be reached, else PyPI's.
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        if subprocess.run(pip + ["--index-url", "https://download.pytorch.org/whl/cpu", "torch"]).returncode != 0:
            subprocess.run(pip + ["torch"], check=True)
    subprocess.run(pip + PACKAGES, check=True)
    return python


def cases(folder):
    """Prompts with float64 logits of their last positions."""
    sys.path.insert(0, os.path.join(ROOT, "test/Integration"))
    import check_generate

    tensors = check_generate.read_safetensors(os.path.join(folder, "expected.safetensors"))
    if "logits" in tensors:
        return list(zip(tensors["tokens"].tolist(), tensors["logits"]))
    prompts = json.load(open(os.path.join(folder, "expected.json")))
    prompts = prompts["generate"] if isinstance(prompts, dict) else prompts
    return [(p["prompt_tokens"], tensors[f"logits_{i}"]) for i, p in enumerate(prompts) if f"logits_{i}" in tensors]


def measure(gguf, write):
    import numpy as np
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    models = {"tiny-llama": (os.path.join(MODELS, "tiny-llama"), {}), "tiny-gpt2": (os.path.join(MODELS, "tiny-gpt2"), {})}
    if gguf:
        models["smollm2-135m"] = (os.path.dirname(os.path.abspath(gguf)), {"gguf_file": os.path.basename(gguf)})
    bounds = json.load(open(BOUNDS)) if os.path.exists(BOUNDS) else {}
    for name, (path, extra) in models.items():
        for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.float16, "f16")):
            model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=dtype, **extra).eval()
            worst = 0.0
            for tokens, want in cases(os.path.join(MODELS, name)):
                with torch.no_grad():
                    got = model(torch.tensor([tokens])).logits[0].double().numpy()[-len(want):]
                worst = max(worst, float(np.abs(got - want).max() / np.abs(want).max()))
            print(f"{name} {short}: {worst:.3g} of the largest logit")
            if short != "f32":
                bounds.setdefault(name, {})[short] = float(f"{worst:.3g}")
    if write:
        with open(BOUNDS, "w") as file:
            json.dump(bounds, file, indent=2)
            file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gguf", help="SmolLM2-135M-Instruct.Q4_1.gguf; without it the tiny models alone")
    parser.add_argument("--venv", help="keep the environment in this folder")
    parser.add_argument("--write", action="store_true", help="keep the figures as bounds")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return measure(args.gguf, args.write)
    with tempfile.TemporaryDirectory() as scratch:
        python = environment(args.venv or scratch)
        flags = (["--gguf", args.gguf] if args.gguf else []) + (["--write"] if args.write else [])
        return subprocess.run([python, os.path.abspath(__file__), "--inside"] + flags).returncode


if __name__ == "__main__":
    sys.exit(main())
