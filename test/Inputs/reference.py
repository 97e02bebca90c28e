"""The judge of test models: a forward pass in plain Python floats (float64), written from the papers and not from our
compiler. Families llama and gpt2. Slow; for models of about 10^5 weights."""
import math
import operator


def dot(a, b):
    return sum(map(operator.mul, a, b))


def rows(tensor):
    width = tensor.shape[-1]
    return [tensor.values[i:i + width] for i in range(0, len(tensor.values), width)]


def columns(tensor):
    return [list(column) for column in zip(*rows(tensor))]


def softmax(scores):
    peak = max(scores)
    weights = [math.exp(s - peak) for s in scores]
    total = sum(weights)
    return [w / total for w in weights]


def rms_norm(x, weight, eps):
    scale = 1 / math.sqrt(dot(x, x) / len(x) + eps)
    return [a * scale * w for a, w in zip(x, weight)]


def layer_norm(x, weight, bias, eps):
    mean = sum(x) / len(x)
    centred = [a - mean for a in x]
    scale = 1 / math.sqrt(dot(centred, centred) / len(x) + eps)
    return [a * scale * w + b for a, w, b in zip(centred, weight, bias)]


def attend(query, keys, values, first, size):
    """One head: `first`..`first + size` of the cached keys and values."""
    scores = [dot(query, key[first:first + size]) / math.sqrt(size) for key in keys]
    weights = softmax(scores)
    return [dot(weights, [value[i] for value in values]) for i in range(first, first + size)]


class Llama:
    """With `num_local_experts` Mixtral: a matrix for each expert, one after another, in place of the MLP's three."""

    def __init__(self, config, tensors):
        self.config, self.tensors = config, tensors
        self.heads = config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads") or self.heads
        self.size = config.get("head_dim") or config["hidden_size"] // self.heads
        self.frequencies = self.make_frequencies()
        self.matrices = {}
        self.reset()

    def reset(self):
        self.cache = [([], []) for _ in range(self.config["num_hidden_layers"])]

    def make_frequencies(self):
        rope = self.config.get("rope_parameters") or self.config.get("rope_scaling") or {}
        theta = rope.get("rope_theta") or self.config.get("rope_theta", 10000.0)
        plain = [theta ** (-2 * i / self.size) for i in range(self.size // 2)]
        kind = rope.get("rope_type", "default")
        if kind == "default":
            return plain
        assert kind == "llama3", kind
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        result = []
        for frequency in plain:
            turns = rope["original_max_position_embeddings"] * frequency / (2 * math.pi)
            keep = min(1.0, max(0.0, (turns - low) / (high - low)))
            result.append(frequency * (keep + (1 - keep) / rope["factor"]))
        return result

    def linear(self, name, x):
        if name not in self.matrices:
            self.matrices[name] = rows(self.tensors[name])
        return [dot(row, x) for row in self.matrices[name]]

    def mlp(self, name, x):
        gate, up = self.linear(name + "gate_proj.weight", x), self.linear(name + "up_proj.weight", x)
        return self.linear(name + "down_proj.weight", [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)])

    def expert(self, name, expert, x):
        if name not in self.matrices:
            self.matrices[name] = rows(self.tensors[name])
        size = len(self.matrices[name]) // self.config["num_local_experts"]
        return [dot(row, x) for row in self.matrices[name][expert * size:(expert + 1) * size]]

    def experts(self, name, x):
        shares = softmax(self.linear(name + "gate.weight", x))
        chosen = sorted(range(len(shares)), key=lambda e: (-shares[e], e))[:self.config["num_experts_per_tok"]]
        total, out = sum(shares[e] for e in chosen), [0.0] * len(x)
        for e in chosen:
            gate, up = self.expert(name + "experts.w1.weight", e, x), self.expert(name + "experts.w3.weight", e, x)
            inner = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
            out = [a + shares[e] / total * b for a, b in zip(out, self.expert(name + "experts.w2.weight", e, inner))]
        return out

    def rotate(self, x, position):
        half = self.size // 2
        out = list(x)
        for first in range(0, len(x), self.size):
            for i, frequency in enumerate(self.frequencies):
                sine, cosine = math.sin(position * frequency), math.cos(position * frequency)
                a, b = x[first + i], x[first + half + i]
                out[first + i], out[first + half + i] = a * cosine - b * sine, b * cosine + a * sine
        return out

    def step(self, token):
        """The logits after `token`, which comes after all tokens since reset()."""
        tensors, eps = self.tensors, self.config["rms_norm_eps"]
        x = rows(tensors["model.embed_tokens.weight"])[token]
        for layer, (keys, values) in enumerate(self.cache):
            name = f"model.layers.{layer}."
            h = rms_norm(x, tensors[name + "input_layernorm.weight"].values, eps)
            position = len(keys)
            query = self.rotate(self.linear(name + "self_attn.q_proj.weight", h), position)
            keys.append(self.rotate(self.linear(name + "self_attn.k_proj.weight", h), position))
            values.append(self.linear(name + "self_attn.v_proj.weight", h))
            mixed = []
            for head in range(self.heads):
                first = head * self.kv_heads // self.heads * self.size
                q = query[head * self.size:(head + 1) * self.size]
                mixed += attend(q, [k for k in keys], values, first, self.size)
            x = [a + b for a, b in zip(x, self.linear(name + "self_attn.o_proj.weight", mixed))]
            h = rms_norm(x, tensors[name + "post_attention_layernorm.weight"].values, eps)
            has_experts = "num_local_experts" in self.config
            mixed = self.experts(name + "block_sparse_moe.", h) if has_experts else self.mlp(name + "mlp.", h)
            x = [a + b for a, b in zip(x, mixed)]
        x = rms_norm(x, tensors["model.norm.weight"].values, eps)
        head = "lm_head.weight" if "lm_head.weight" in tensors else "model.embed_tokens.weight"
        return self.linear(head, x)


class Gpt2:
    def __init__(self, config, tensors):
        self.config, self.tensors = config, tensors
        self.matrices = {}
        self.reset()

    def reset(self):
        self.cache = [([], []) for _ in range(self.config["n_layer"])]

    def linear(self, name, x):
        """Weights stored input-major, with a bias."""
        if name not in self.matrices:
            self.matrices[name] = columns(self.tensors[name + ".weight"])
        return [dot(row, x) + b for row, b in zip(self.matrices[name], self.tensors[name + ".bias"].values)]

    def norm(self, name, x):
        return layer_norm(x, self.tensors[name + ".weight"].values, self.tensors[name + ".bias"].values,
                          self.config["layer_norm_epsilon"])

    def step(self, token):
        tensors, width, heads = self.tensors, self.config["n_embd"], self.config["n_head"]
        embedding = rows(tensors["transformer.wte.weight"])
        position = len(self.cache[0][0])
        x = [a + b for a, b in zip(embedding[token], rows(tensors["transformer.wpe.weight"])[position])]
        for layer, (keys, values) in enumerate(self.cache):
            name = f"transformer.h.{layer}."
            qkv = self.linear(name + "attn.c_attn", self.norm(name + "ln_1", x))
            keys.append(qkv[width:2 * width])
            values.append(qkv[2 * width:])
            size, mixed = width // heads, []
            for first in range(0, width, size):
                mixed += attend(qkv[first:first + size], keys, values, first, size)
            x = [a + b for a, b in zip(x, self.linear(name + "attn.c_proj", mixed))]
            inner = self.linear(name + "mlp.c_fc", self.norm(name + "ln_2", x))
            root = math.sqrt(2 / math.pi)
            inner = [0.5 * a * (1 + math.tanh(root * (a + 0.044715 * a ** 3))) for a in inner]
            x = [a + b for a, b in zip(x, self.linear(name + "mlp.c_proj", inner))]
        x = self.norm("transformer.ln_f", x)
        return [dot(row, x) for row in embedding]


def make_model(config, tensors):
    return {"llama": Llama, "gpt2": Gpt2}[config["model_type"]](config, tensors)


def logits(model, tokens):
    model.reset()
    return [model.step(token) for token in tokens]


def generate(model, prompt, count):
    """Greedy; ties go to the lowest id. Returns (ids, smallest gap between best and second-best logit)."""
    model.reset()
    for token in prompt:
        scores = model.step(token)
    ids, margin = [], math.inf
    for _ in range(count):
        best = max(range(len(scores)), key=lambda i: (scores[i], -i))
        margin = min(margin, scores[best] - max(s for i, s in enumerate(scores) if i != best))
        ids.append(best)
        scores = model.step(best)
    return ids, margin
