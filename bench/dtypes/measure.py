"""How far torch's logits in bfloat16 and float16 are from float64's: what test/Integration/dtype_bounds.json holds.

    bench/dtypes/measure.py [--gguf FILE] [--venv DIR] [--copies N] [--write]

Makes a throw-away environment with torch (CPU), transformers and gguf from PyPI, loads the models of test/Inputs/models (SmolLM2 from the
GGUF file, every weight dequantized: left packed they would stay in 4 bits) and runs the prompts of test/Integration/dtype_prompts.json in
float64 and in each type, with scaled_dot_product_attention, which transformers takes by itself and which rounds less than `eager`.

The error of a position is its largest difference over the prompt's largest logit. A few positions amplify roundings a hundredfold, so the
largest error of one run says little about a type: torch's own differs by factors with the order of its sums. Hence N copies of every
model, whose hidden units are permuted (the same function, sums in other orders); the bounds are the largest error of all copies and the
largest of their medians over positions. --write keeps them; tests allow 1.5 times as much."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "test/Inputs/models")
INTEGRATION = os.path.join(ROOT, "test/Integration")
BOUNDS = os.path.join(INTEGRATION, "dtype_bounds.json")
PACKAGES = ["numpy", "transformers", "accelerate", "gguf", "safetensors", "sentencepiece"]

# Dimensions of parameters along which a permutation of the hidden units, or of a layer's inner ones, goes.
HIDDEN = {
    "llama": [(r"(embed_tokens|lm_head)\.weight", 1), (r"norm\.weight", 0), (r"(q|k|v|gate|up)_proj\.weight", 1),
              (r"(o|down)_proj\.weight", 0)],
    "gpt2": [(r"(wte|wpe|lm_head)\.weight", 1), (r"ln_\w+\.(weight|bias)", 0), (r"(c_attn|c_fc)\.weight", 0),
             (r"c_proj\.weight", 1), (r"c_proj\.bias", 0)],
}
INNER = {
    "llama": [(r"(gate|up)_proj\.weight", 0), (r"down_proj\.weight", 1)],
    "gpt2": [(r"c_fc\.weight", 1), (r"c_fc\.bias", 0), (r"mlp\.c_proj\.weight", 0)],
}


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


def permuted(weights, family, seed):
    """The same function with its hidden and inner units in another order; seed 0 leaves them."""
    import torch

    if seed == 0:
        return weights
    random = torch.Generator().manual_seed(seed)
    hidden, result = None, {}
    for name, value in weights.items():
        for pattern, dim in HIDDEN[family]:
            if re.search(pattern + "$", name):
                if hidden is None:
                    hidden = torch.randperm(value.shape[dim], generator=random)
                value = value.index_select(dim, hidden)
                break
        for pattern, dim in INNER[family]:
            if re.search(pattern + "$", name):
                layer = int(re.search(r"\.(\d+)\.", name).group(1))
                own = torch.Generator().manual_seed(1000 * seed + layer)
                value = value.index_select(dim, torch.randperm(value.shape[dim], generator=own))
        result[name] = value
    return result


def measure(gguf, copies, write):
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    sys.path.insert(0, INTEGRATION)
    import check_dtype

    models = {name: (os.path.join(MODELS, name), {}) for name in ("tiny-llama", "tiny-gpt2")}
    if gguf:
        models["smollm2-135m"] = (os.path.dirname(os.path.abspath(gguf)),
                                  {"gguf_file": os.path.basename(gguf), "quantization_config": GgufConfig(dequantize=True)})
    bounds = json.load(open(BOUNDS)) if os.path.exists(BOUNDS) else {}
    for name, (path, extra) in models.items():
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="sdpa", **extra).eval()
        weights = {key: value.clone() for key, value in model.state_dict().items()}
        prompts = check_dtype.prompts(name)

        def logits(dtype, seed):
            model.float().load_state_dict(permuted(weights, model.config.model_type, seed))
            model.to(dtype)
            with torch.no_grad():
                return [model(torch.tensor([tokens])).logits[0].double().numpy() for tokens in prompts]

        want = logits(torch.float64, 0)
        for dtype, short in ((torch.float64, "f64"), (torch.bfloat16, "bf16"), (torch.float16, "f16")):
            runs = [check_dtype.errors(logits(dtype, seed), want) for seed in range(copies)]
            for seed, (largest, median) in enumerate(runs):
                print(f"{name} {short}, copy {seed}: largest {largest:.3g}, median {median:.3g}", flush=True)
            if short != "f64":
                worst = [float(f"{max(column):.3g}") for column in zip(*runs)]
                bounds.setdefault(name, {})[short] = dict(zip(("largest", "median"), worst))
    if write:
        with open(BOUNDS, "w") as file:
            json.dump(bounds, file, indent=2)
            file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gguf", help="SmolLM2-135M-Instruct.Q4_1.gguf; without it the tiny models alone")
    parser.add_argument("--venv", help="keep the environment in this folder")
    parser.add_argument("--copies", type=int, default=8, help="permuted copies of each model")
    parser.add_argument("--write", action="store_true", help="keep the figures as bounds")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return measure(args.gguf, args.copies, args.write)
    with tempfile.TemporaryDirectory() as scratch:
        python = environment(args.venv or scratch)
        flags = (["--gguf", args.gguf] if args.gguf else []) + (["--write"] if args.write else [])
        flags += [f"--copies={args.copies}"]
        return subprocess.run([python, os.path.abspath(__file__), "--inside"] + flags).returncode


if __name__ == "__main__":
    sys.exit(main())
