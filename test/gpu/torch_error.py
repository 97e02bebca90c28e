"""How far logits of SmolLM2 are from float64's: ours beside PyTorch's in the same types, on the same machine.

    torch_error.py WEIGHTS.gguf DEVICE CASES.json

CASES.json: {"prompts": [[id, ...], ...], "logits": {"float32": [FILE.safetensors, ...], "bfloat16": [...]}}, what our programs gave for each prompt.
Prints one JSON line: for each type the largest and the median error of a position, ours and torch's.

The error of a position is its largest difference over the prompt's largest logit. A few positions amplify roundings a hundredfold, so torch's largest
error is that of COPIES copies of the model whose hidden units are permuted: the same function, its sums in other orders. Weights are those of the
file, dequantized to float32 and rounded to the type; the model rounds where transformers' Llama does. Needs torch alone."""
import json
import mmap
import struct
import sys

import torch
import torch.nn.functional as F

COPIES = 4
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9


class Gguf:
    """Metadata and tensors of a GGUF file (version 2 or 3)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.at = 0
        magic, version, tensors, values = self.take("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            sys.exit(f"error: cannot read {path}: it is no GGUF file of version 2 or 3")
        self.values = {self.text(): self.value(self.take("I")[0]) for _ in range(values)}
        places = {}
        for _ in range(tensors):
            name, rank = self.text(), self.take("I")[0]
            shape = self.take(f"{rank}Q")[::-1]
            places[name] = (shape, *self.take("IQ"))
        align = self.values.get("general.alignment", 32)
        begin = (self.at + align - 1) // align * align
        self.tensors = {name: self.numbers(shape, kind, begin + offset) for name, (shape, kind, offset) in places.items()}

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def text(self):
        length = self.take("Q")[0]
        self.at += length
        return self.data[self.at - length:self.at].decode(errors="replace")

    def value(self, kind):
        if kind == TEXT:
            return self.text()
        if kind == LIST:
            of, count = self.take("IQ")
            return [self.value(of) for _ in range(count)]
        return self.take(SCALARS[kind])[0]

    def numbers(self, shape, kind, at):
        """float32, whatever the file holds: F32, F16, Q4_1, Q8_0 or BF16."""
        count = 1
        for size in shape:
            count *= size
        plain = {0: torch.float32, 1: torch.float16, 30: torch.bfloat16}
        block = {3: 20, 8: 34}  # bytes of 32 numbers
        if kind not in plain and kind not in block:
            sys.exit(f"error: cannot read a tensor of GGUF type {kind}")
        size = count // 32 * block[kind] if kind in block else count * plain[kind].itemsize
        held = torch.frombuffer(bytearray(self.data[at:at + size]), dtype=torch.uint8)
        if kind in plain:
            return held.view(plain[kind]).float().view(shape)
        held = held.view(-1, block[kind])

        def half(column):
            return held[:, column:column + 2].contiguous().view(torch.float16).float()

        if kind == 8:
            return (half(0) * held[:, 2:].contiguous().view(torch.int8).float()).view(shape)
        return (half(0) * torch.cat((held[:, 4:] & 15, held[:, 4:] >> 4), 1).float() + half(2)).view(shape)


class Llama:
    """The model of a GGUF file, whose rotary pairs are neighbours, in float32 on the host."""

    def __init__(self, file):
        def number(name):
            return file.values["llama." + name]

        self.layers, self.heads = number("block_count"), number("attention.head_count")
        self.kv, self.hidden, self.inner = number("attention.head_count_kv"), number("embedding_length"), number("feed_forward_length")
        self.theta, self.epsilon = number("rope.freq_base"), number("attention.layer_norm_rms_epsilon")
        self.weights = file.tensors
        self.weights.setdefault("output.weight", self.weights["token_embd.weight"])

    def permuted(self, seed):
        """The same function with its hidden and inner units in another order; seed 0 leaves them."""
        if seed == 0:
            return self.weights
        random = torch.Generator().manual_seed(seed)
        hidden, inner = torch.randperm(self.hidden, generator=random), torch.randperm(self.inner, generator=random)
        # Of each kind of weight: the dimension of hidden units, and that of a layer's inner ones.
        places = {"attn_output": (0, None), "ffn_down": (0, 1), "ffn_gate": (1, 0), "ffn_up": (1, 0)}
        result = {}
        for name, value in self.weights.items():
            along, within = places.get(name.split(".")[-2], (value.dim() - 1, None))
            value = value.index_select(along, hidden)
            result[name] = value if within is None else value.index_select(within, inner)
        return result

    def logits(self, prompts, dtype, device, seed=0):
        """Of every position of every prompt, float64 on the host."""
        weights = {name: value.to(device=device, dtype=dtype) for name, value in self.permuted(seed).items()}
        with torch.no_grad():
            return [self.forward(weights, torch.tensor(tokens, device=device), dtype).double().cpu() for tokens in prompts]

    def forward(self, weights, tokens, dtype):
        exact = torch.float64 if dtype == torch.float64 else torch.float32
        size = self.hidden // self.heads

        def norm(x, name):
            wide = x.to(exact)
            return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)).to(dtype) * weights[name]

        places = torch.arange(len(tokens), device=tokens.device, dtype=exact)
        frequencies = self.theta ** (-torch.arange(0, size, 2, device=tokens.device, dtype=exact) / size)
        angles = torch.outer(places, frequencies)
        cosines, sines = angles.cos().to(dtype), angles.sin().to(dtype)

        def rows(x, name, heads, turned):
            x = (x @ weights[name].T).view(len(tokens), heads, size).transpose(0, 1)
            if not turned:
                return x[None]
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * cosines - b * sines, b * cosines + a * sines), -1).flatten(-2)[None]

        x = weights["token_embd.weight"][tokens]
        for layer in range(self.layers):
            at = f"blk.{layer}."
            n = norm(x, at + "attn_norm.weight")
            q, k = rows(n, at + "attn_q.weight", self.heads, True), rows(n, at + "attn_k.weight", self.kv, True)
            v = rows(n, at + "attn_v.weight", self.kv, False)
            k, v = (t.repeat_interleave(self.heads // self.kv, 1) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)[0].transpose(0, 1).reshape(len(tokens), -1)
            x = x + y @ weights[at + "attn_output.weight"].T
            n = norm(x, at + "ffn_norm.weight")
            x = x + (F.silu(n @ weights[at + "ffn_gate.weight"].T) * (n @ weights[at + "ffn_up.weight"].T)) @ weights[at + "ffn_down.weight"].T
        return norm(x, "output_norm.weight") @ weights["output.weight"].T


def read_logits(path):
    """The tensor `logits` f32 [positions, vocabulary] of a safetensors file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))["logits"]
        data = file.read()
    begin, end = header["data_offsets"]
    return torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).view(header["shape"]).double()


def errors(got, want):
    each = torch.cat([(g - w).abs().amax(1) / w.abs().max() for g, w in zip(got, want)])
    return float(each.max()), float(each.median())


def main():
    path, device, cases = sys.argv[1:]
    with open(cases) as file:
        cases = json.load(file)
    torch.set_float32_matmul_precision("highest")
    model = Llama(Gguf(path))
    prompts = cases["prompts"]
    want = model.logits(prompts, torch.float64, device)
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if device == "cuda" else "the CPU"}
    for name, files in cases["logits"].items():
        theirs = [errors(model.logits(prompts, getattr(torch, name), device, seed), want) for seed in range(COPIES)]
        ours = errors([read_logits(file) for file in files], want)
        result[name] = {"ours": ours, "torch": [max(column) for column in zip(*theirs)]}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
