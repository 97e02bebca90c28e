"""On a machine with a GPU: speed and memory; beside PyTorch in the same run, where that is installed. Our own figures come first, so that they stand whatever
becomes of the others.

    bench.py FOLDER"""
import json
import os
import re
import statistics
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common
import wanted
from common import Table, last, run
from programs import LOADING, SHAPES, SMOLLM2, SPEED

folder = os.path.abspath(sys.argv[1])
here = os.path.dirname(os.path.abspath(__file__))
whole = common.begin(folder)
table = Table()
if "programs.tar.xz" not in whole:
    sys.exit("error: no programs (FOLDER): carry part 0, and all that programs.tar.xz is cut into")
smollm2 = dict(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
               rope_theta=100000.0, tie_word_embeddings=True)
weights = os.path.join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")
cases = []
if os.path.basename(weights) in whole:
    cases.append(("smollm2-bf16", smollm2, 1, 512, 256, [f"--model={weights}"]))
for name, shape, flags, prompt, decode in SPEED:
    batch = next((int(flag.split("=")[1]) for flag in flags if flag.startswith("--batch")), 1)
    cases.append((name, SHAPES[shape], batch, prompt, decode, ["--init=random:1"]))
small = bool(os.environ.get("TESSERA_GPU_SMALL"))  # a trial of this script on the stand-in: nothing large
if small:
    cases = cases[:1] and [(*cases[0][:3], 16, 4, cases[0][5])]


def has_torch():
    """For trials without a GPU: torch's own types on the CPU."""
    return run([sys.executable, "-c", "import torch"], timeout=120)[0] == 0


def program(name):
    return os.path.join(folder, "bin", name)


def work(shape, batch, prompt, decode):
    """Bytes that a step has to read (weights once, the caches of every row), and operations of a prefill."""
    layer = shape["hidden_size"] * (2 * shape["hidden_size"] + 3 * shape["intermediate_size"]) + \
        2 * shape["hidden_size"] ** 2 * shape["num_key_value_heads"] // shape["num_attention_heads"]
    numbers = shape["num_hidden_layers"] * layer + shape["vocab_size"] * shape["hidden_size"]
    size = shape["hidden_size"] // shape["num_attention_heads"]
    cache = 2 * shape["num_hidden_layers"] * batch * (prompt + decode // 2) * shape["num_key_value_heads"] * size
    return 2 * (numbers + cache), 2 * batch * prompt * shape["num_hidden_layers"] * layer


# Of this command, or of one before it on this machine: torch's part may be a command of its own.
kept = os.path.join(folder, "ours.json")
ours = {}
if os.path.exists(kept):
    with open(kept) as file:
        ours = json.load(file)


def speed(name, shape, batch, prompt, decode, flags):
    ours.pop(name, None)
    code, out, err = run([program(name), "bench", "--json", f"--prompt-len={prompt}", f"--decode={decode}"] + flags, timeout=200)
    if code:
        return table.row(name, False, last(err))
    result = json.loads(out.splitlines()[-1])
    step, first = batch / result["decode_tokens_per_s"], batch * prompt / result["prefill_tokens_per_s"]
    ours[name] = step, first
    with open(kept, "w") as file:
        json.dump(ours, file)
    read, flops = work(shape, batch, prompt, decode)
    fast, target = wanted.speed(name, step)
    table.row(name, fast or small, f"decode {step * 1e6:.0f} us a step of {batch}{target}, {read / step / 1e12:.2f} TB/s; prefill of {prompt} {first * 1e3:.1f} ms, "
              f"{flops / first / 1e12:.0f} TFLOP/s")
    info = json.loads(run([program(name), "info", "--json"])[1])
    used, counted = result.get("device_bytes_used", -1), info["device_bytes"][0]
    if used >= 0:
        table.row(f"{name}: memory", abs(used - counted) <= 64 << 20, f"{used / 2**20:.0f} MiB of the GPU, {counted / 2**20:.0f} as info adds it up")


def forms(name, batch, prompt, flags):
    """A prefill with attention by mma.sync and by warpgroups, and by what the driver took in the run before."""
    if name not in ours:
        return table.row(f"{name}: forms of attention", None, "our figure is missing")
    times = {}
    for form in ("none", "wgmma"):
        code, out, err = run([program(name), "bench", "--json", f"--prompt-len={prompt}", "--decode=1"] + flags, timeout=200, TESSERA_SIBLING=form)
        if code:
            return table.row(f"{name}: forms of attention", False, last(err))
        times[form] = batch * prompt / json.loads(out.splitlines()[-1])["prefill_tokens_per_s"]
    fast, text = wanted.choice(ours[name][1], times)
    table.row(f"{name}: forms of attention", fast or small,
              f"prefill of {prompt} {times['none'] * 1e3:.1f} ms by mma.sync, {times['wgmma'] * 1e3:.1f} ms by wgmma; {text}")


def beside(name, shape, batch, prompt, decode):
    if name not in ours:
        return table.row(f"{name}: torch", None, "our figure is missing")
    prefills = "prefill" in wanted.RATIOS.get(name, {})  # torch's prefills of long prompts of many rows take longer than all else here
    code, out, err = run([sys.executable, os.path.join(here, "torch_llama.py"), json.dumps(shape), "bfloat16", str(batch), str(prompt), str(decode)] +
                         ([] if prefills else ["--decode-only"]), timeout=240)
    if code:
        return table.row(f"{name}: torch", False, last(err))
    theirs, (step, first), (read, flops) = json.loads(out.splitlines()[-1]), ours[name], work(shape, batch, prompt, decode)
    measured = {"decode": theirs["decode_s"] / step, "of the read bandwidth": read / step / theirs["read_bytes_per_s"],
                "of the rate of a product": flops / first / theirs["bf16_flops_per_s"]}
    if prefills:
        measured["prefill"] = theirs["prefill_s"] / first
    fast, text = wanted.ratios(name, measured)
    table.row(f"{name}: torch {theirs['torch']}", fast or small,
              f"{theirs['decode_s'] * 1e6:.0f} us" + (f", {theirs['prefill_s'] * 1e3:.1f} ms" if prefills else "") +
              f"; ratios {text}; {theirs['read_bytes_per_s'] / 1e12:.2f} TB/s and "
              f"{theirs['bf16_flops_per_s'] / 1e12:.0f} TFLOP/s on {theirs['device']}")


def first_token():
    if os.path.basename(weights) not in whole:
        return table.row("SmolLM2, start to first token", None, "its weights are not all here")
    taken = []
    for _ in range(1 if small else 4):
        began = time.time()
        code, out, err = run([program(SMOLLM2[-1][0]), "generate", f"--model={weights}", "--tokens=1,2,3", "--max-new-tokens=1"])
        taken.append(time.time() - began)
        if code:
            return table.row("SmolLM2, start to first token", False, last(err))
    table.row("SmolLM2, start to first token", statistics.median(taken[1:] or taken) <= 1.5 or small, f"{statistics.median(taken[1:] or taken):.2f} s, the first time {taken[0]:.2f} s")


def errors(torch):
    """Logits of our programs beside torch's in the same types, both against float64's."""
    with open(os.path.join(folder, "error-prompts.json")) as file:
        prompts = json.load(file)[:1 if small else None]
    files = {"float32": [], "bfloat16": []}
    for (name, _), kept in zip(SMOLLM2, files.values()):
        for number, tokens in enumerate(prompts):
            kept.append(os.path.join(folder, f"error-{name}-{number}.safetensors"))
            code, out, err = run([program(name), "generate", f"--model={weights}", "--tokens=" + ",".join(map(str, tokens)), "--max-new-tokens=1", f"--logits={kept[-1]}"])
            if code:
                return table.row(f"{name}: error against float64", False, last(err))
    cases = os.path.join(folder, "error-cases.json")
    with open(cases, "w") as file:
        json.dump({"prompts": prompts, "logits": files}, file)
    code, out, err = run([sys.executable, os.path.join(here, "torch_error.py"), weights, "cuda" if torch else "cpu", cases], timeout=200)
    if code:
        return table.row("SmolLM2: error against float64", False, last(err))
    result = json.loads(out.splitlines()[-1])
    for name in files:
        ours, theirs = result[name]["ours"], result[name]["torch"]
        table.row(f"SmolLM2 {name}: error against float64", all(mine <= 1.5 * other for mine, other in zip(ours, theirs)),
                  f"largest {ours[0]:.3g}, median {ours[1]:.3g}; torch {result['torch']} on {result['device']}: {theirs[0]:.3g}, {theirs[1]:.3g}; ratios "
                  f"{ours[0] / theirs[0]:.2f}, {ours[1] / theirs[1]:.2f}, at most 1.5")


def write_model(path, shape):
    """The weights of a shape in bfloat16, made of one block of random bytes again and again."""
    size = shape["hidden_size"] // shape["num_attention_heads"]
    kv, hidden, ffn = shape["num_key_value_heads"] * size, shape["hidden_size"], shape["intermediate_size"]
    tensors = {"model.embed_tokens.weight": [shape["vocab_size"], hidden], "model.norm.weight": [hidden]}
    for layer in range(shape["num_hidden_layers"]):
        for name, dims in (("self_attn.q_proj", [hidden, hidden]), ("self_attn.k_proj", [kv, hidden]), ("self_attn.v_proj", [kv, hidden]),
                           ("self_attn.o_proj", [hidden, hidden]), ("mlp.gate_proj", [ffn, hidden]), ("mlp.up_proj", [ffn, hidden]),
                           ("mlp.down_proj", [hidden, ffn]), ("input_layernorm", [hidden]), ("post_attention_layernorm", [hidden])):
            tensors[f"model.layers.{layer}.{name}.weight"] = dims
    header, at = {}, 0
    for name, dims in tensors.items():
        count = 2
        for dim in dims:
            count *= dim
        header[name] = {"dtype": "BF16", "shape": dims, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = bytes(b & 0x3F if i % 2 else b for i, b in enumerate(os.urandom(1 << 16))) * 1024  # small numbers, none of them infinite
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, at, len(block)):
            file.write(block[:min(len(block), at - begin)])
    return at


def read_rate(path, size, threads=8):
    """Of the warm file, by several threads into memory of their own."""
    def work(number):
        data = bytearray(16 << 20)
        with open(path, "rb", buffering=0) as file:
            begin, end = size * number // threads, size * (number + 1) // threads
            file.seek(begin)
            while begin < end:
                begin += file.readinto(data)

    taken = []
    for _ in range(3):
        began = time.time()
        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        taken.append(time.time() - began)
    return size / statistics.median(taken)


COPY = """
import time, torch
host, device = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True), torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
taken = []
for _ in range(6):
    torch.cuda.synchronize(); began = time.perf_counter()
    device.copy_(host, non_blocking=True)
    torch.cuda.synchronize(); taken.append(time.perf_counter() - began)
print(host.numel() / sorted(taken)[2])
"""


def loading(torch):
    name, shape, _ = LOADING
    if small:
        return table.row("weights from a warm file", None, "not in a trial")
    model = os.path.join(folder, shape)
    path = os.path.join(model, "model.safetensors")
    size = write_model(path, SHAPES[shape])
    rates = [read_rate(path, size)]
    if torch:
        code, out, err = run([sys.executable, "-c", COPY], timeout=60)
        if code == 0:
            rates.append(float(out))
    taken = []
    for _ in range(3):
        code, out, err = run([program(name), "generate", f"--model={model}", "--tokens=1,2,3", "--max-new-tokens=1"], timeout=100)
        said = re.search(r"loaded ([0-9.]+) MB of weights a rank in ([0-9.]+) s", err)
        if code or not said:
            os.unlink(path)
            return table.row("weights from a warm file", False, last(err))
        taken.append(float(said[2]))
    os.unlink(path)
    rate, slower = size / statistics.median(taken), min(rates)
    table.row("weights from a warm file", rate >= 0.7 * slower, f"{rate / 1e9:.1f} GB/s; reading the file {rates[0] / 1e9:.1f} GB/s" +
              (f", pinned copies {rates[1] / 1e9:.1f} GB/s" if len(rates) > 1 else ", pinned copies not measured without PyTorch") + f": {rate / slower:.2f} of the slower")


state = {}
table.part("the machine", lambda: state.update(torch=common.machine(table)))
for case in cases:
    table.part(case[0], speed, *case)
for name, _, batch, prompt, _, flags in cases:
    if batch == 1:
        table.part(f"{name}: forms of attention", forms, name, batch, prompt, flags)
table.part("SmolLM2, start to first token", first_token)
if os.path.basename(weights) in whole and not small:
    table.part("SmolLM2 float32: tokens", common.expected_tokens, table, "SmolLM2 float32: tokens", program(SMOLLM2[0][0]), weights, os.path.join(folder, "smollm2-expected.json"))
table.part("weights from a warm file", loading, state.get("torch"))
if os.path.basename(weights) not in whole:
    table.row("SmolLM2: error against float64", None, "its weights are not all here")
elif state.get("torch") or (small and has_torch()):
    table.part("SmolLM2: error against float64", errors, state.get("torch"))
else:
    table.row("SmolLM2: error against float64", None, "no PyTorch on this machine")
for case in cases:
    if state.get("torch"):
        table.part(f"{case[0]}: torch", beside, *case[:5])
    else:
        table.row(f"{case[0]}: torch", None, "not on this machine")
table.close()
