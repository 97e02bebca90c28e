"""What `info --json` says of a training program's memory: kinds add up, states and saved values are what formulas say.

    check_train_memory.py --compiler LLM_COMPILE --model MODEL --out DIR [--large]

Formulas: ZeRO (arXiv 1910.02054) and Korthikanti et al. (arXiv 2205.05198). Large models from config.json alone; --large tries more of them."""
import argparse
import json
import os
import sys

from compiled_programs import run

parser = argparse.ArgumentParser()
for flag in ("--compiler", "--model", "--out"):
    parser.add_argument(flag, required=True)
parser.add_argument("--large", action="store_true")
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
KINDS = {"parameters", "masters", "moments", "gradients", "gathered", "saved", "loss", "scratch"}


def check(holds, *what):
    if not holds:
        sys.exit(" ".join(str(one) for one in what))


def info(model, *flags):
    """`info --json`, with `bytes` by kind, after what holds of every program."""
    out = os.path.join(args.out, "program")
    run([args.compiler, model, "--task=train", *flags, "-o", out])
    said = json.loads(run([out, "info", "--json"]).stdout)
    said["bytes"] = {kind: sum(said["memory"].get(kind, {}).values()) for kind in KINDS}
    check(set(said["memory"]) <= KINDS, flags, "unknown kinds", said["memory"])
    for weights, arena in zip(said["weight_bytes"], said["arena_bytes"]):
        check(sum(said["bytes"].values()) == weights + arena, flags, said["bytes"], "is not", weights, "+", arena)
    for value in said["saved"]:
        check(value["value"] or value["stored"] == "i32", flags, "a saved value without a name", value)
    # Bytes that one saved value leaves to another count once.
    check(said["bytes"]["saved"] <= sum(value["bytes"] for value in said["saved"]), flags, said["saved"])
    return said


def stacks(said, layers):
    """Bytes a layer of what is saved of every layer."""
    return sum(value["bytes"] for value in said["saved"] if len(value["shape"]) > 2 and value["shape"][0] == layers) / layers


# Given models: everything is there, and less is saved where more is computed again.
small = ["--batch=4", "--max-seq-len=16"]
none, full = info(args.model, *small), info(args.model, *small, "--recompute=full")
check(full["bytes"]["saved"] < none["bytes"]["saved"] / 2, "recomputation saves", full["saved"], none["saved"])
check(none["bytes"]["masters"] == 0 < none["bytes"]["parameters"], none["bytes"])
check(none["bytes"]["gathered"] == 0, none["bytes"])
check(none["bytes"]["moments"] == 2 * none["bytes"]["parameters"], none["bytes"])
check(none["bytes"]["gradients"] >= 0.95 * none["bytes"]["parameters"], none["bytes"])
# So many tokens that weights are gathered.
half = info(args.model, "--batch=16", "--max-seq-len=64", "--dtype=bf16", "--mesh=fsdp=2", "--micro-batches=2")
check(half["bytes"]["masters"] * 2 == half["bytes"]["moments"], half["bytes"])
check(half["bytes"]["gathered"] > 0 and set(half["memory"]["gradients"]) == {"f32"}, half["memory"])

# Communication beside computation: kinds add up, too. What is more is a layer's gradients, and weights, on their way beside those of the next.
for template, mesh in (("zero1", "dp=3"), ("zero2", "dp=4"), ("hsdp", "dp=2,fsdp=2")):
    flags = [*small, f"--template={template}", f"--mesh={mesh}", "--micro-batches=1"]
    on, off = info(args.model, *flags), info(args.model, *flags, "--overlap=off")
    layer = 0  # bytes of one layer's weights, whole
    for weight in on["weights"]:
        if weight["layers"] and "exp_avg" not in weight["name"]:
            elements = 4
            for size in weight["shape"]:
                elements *= size
            layer += elements
    more = on["arena_bytes"][0] - off["arena_bytes"][0]
    check(0 <= more <= (4 if "fsdp" in mesh else 2) * layer, template, "overlap takes", more, "bytes, with", layer, "of a layer")
    nameless = [one for one in on["steps"]["train"]["collectives"] if not one["values"]]
    check(not nameless, template, "collectives without a name", nameless)
    # What is small goes together, and has all its names: gradients of a layer's norms, or of keys and values. Of so many tokens ranks keep their own.
    many = info(args.model, "--batch=12", "--max-seq-len=64", *flags[len(small):])
    bundles = [value for one in many["steps"]["train"]["collectives"] for value in one["values"] if value.startswith("gradient of ") and ", gradient of " in value]
    check(template == "hsdp" or bundles, template, "has no bundle of gradients")

# States of Llama-3-8B, of P parameters on N ranks: bytes a parameter of masters, moments, weights and gradients.
P = 8030261248
llama = os.path.join(args.out, "llama-3-8b")
os.makedirs(llama, exist_ok=True)
with open(os.path.join(llama, "config.json"), "w") as file:
    json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
               "num_key_value_heads": 8, "num_hidden_layers": 32, "vocab_size": 128256, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
               "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": 128000, "eos_token_id": 128001}, file)
for ranks in (8, 64) if args.large else (8,):
    for template, sharded, whole in (("ddp", 0, 16), ("zero1", 12, 4), ("zero2", 14, 2), ("fsdp", 16, 0)):
        axis = "fsdp" if template == "fsdp" else "dp"
        said = info(llama, f"--template={template}", f"--mesh={axis}={ranks}", "--dtype=bf16", "--grad-dtype=bf16", f"--batch={ranks}", "--max-seq-len=2048")
        states = {kind: said["bytes"][kind] for kind in ("masters", "moments", "parameters", "gradients")}
        share = 1 if template == "ddp" else ranks
        check(said["bytes"]["masters"] * share == 4 * P and said["bytes"]["moments"] * share == 8 * P, template, ranks, states)
        # The two tables' gradients are summed up by ranks in float32, and rounded where they are read.
        bound = sharded * P / ranks + whole * P + 2 * 2 * 128256 * 4096 / share
        print(f"{template} on {ranks}: {sum(states.values()) / 1e9:.3f} GB of states, the formula says {bound / 1e9:.3f}")
        check(0.5 * bound < sum(states.values()) <= 1.001 * bound, template, ranks, states, bound)


def gpt(name, hidden, heads, layers, vocabulary, positions):
    folder = os.path.join(args.out, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": hidden, "n_head": heads, "n_layer": layers, "n_positions": positions,
                   "n_ctx": positions, "vocab_size": vocabulary, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "bos_token_id": 0,
                   "eos_token_id": 0, "tie_word_embeddings": True}, file)
    return folder


# Saved values of GPT-2: 32 bytes for each of s b h without dropout, and a float32 a query and head.
saved = stacks(info(gpt("gpt2", 768, 12, 12, 50257, 1024), "--dtype=bf16", "--max-seq-len=1024"), 12)
bound = 32 * 1024 * 768 + 4 * 12 * 1024
print(f"GPT-2: {saved / 1e6:.2f} MB a layer, at most {bound / 1e6:.2f}")
check(0.2 * bound < saved <= bound, "GPT-2 saves", saved, bound)

# Models of 22 and 175 billion parameters on eight ranks: MiB a layer, selective recomputation and full.
if args.large:
    for name, hidden, heads, layers, batch, columns in (("22b", 6144, 64, 48, 4, {"tp": 624, "megatron": 204, "full": 96}),
                                                        ("175b", 12288, 96, 96, 1, {"tp": 312, "megatron": 102, "full": 48})):
        model = gpt(name, hidden, heads, layers, 51200, 2048)
        for what, bound in columns.items():
            flags = ["--template=megatron" if what == "megatron" else "--template=tp", "--recompute=full" if what == "full" else "--recompute=none"]
            said = info(model, *flags, "--mesh=tp=8", "--dtype=bf16", f"--batch={batch}", "--max-seq-len=2048")
            saved = stacks(said, layers) / 2**20
            print(f"{name} {what}: {saved:.1f} MiB a layer, at most {bound}")
            check(0.2 * bound < saved <= bound, name, what, saved, bound, said["saved"])
print("memory is as stated")
