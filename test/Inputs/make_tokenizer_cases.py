#!/usr/bin/env python3
"""Makes tokenizer_cases.json: what Hugging Face's tokenizers (PyPI `tokenizers`, the one dependency) give for random Unicode
text, for every pre-tokenizer we implement.

    make_tokenizer_cases.py > tokenizer_cases.json

The vocabulary is trained on text that nothing has split, so that its merges cross every boundary a split may draw: a wrong
boundary shows in the ids.
"""
import json
import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_level(prefix, regex):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


PRE_TOKENIZERS = {
    "gpt2": byte_level(False, True),
    "gpt2 with prefix": byte_level(True, True),
    "whole text": byte_level(False, False),
    "smollm": sequence({"type": "Digits", "individual_digits": True}, byte_level(False, True)),
    "digit groups": sequence({"type": "Digits", "individual_digits": False}, byte_level(True, True)),
    "llama3": sequence(split(LLAMA3), byte_level(False, False)),
    "qwen2": sequence(split(QWEN2), byte_level(False, False)),
    "tekken": sequence(split(TEKKEN), byte_level(False, False)),
    "merged with previous": sequence(split(r"\p{P}", "MergedWithPrevious"), byte_level(False, False)),
    "merged with next": sequence(split(r"\s", "MergedWithNext"), byte_level(False, False)),
    "contiguous words": sequence(split(r"\w", "Contiguous"), byte_level(False, False)),
    "removed": sequence(split(r"\w+|[^\w\s]+", "Removed", invert=True), byte_level(False, False)),
    "literal": sequence(split(" (x", kind="String"), byte_level(False, False)),
}

POOLS = ["abcdefghijklmnopqrstuvwxyz ", "".join(map(chr, range(32, 127))), " \n\t\r", "0123456789½²٣Ⅷ",
         "".join(map(chr, range(0xA0, 0x250))), "".join(map(chr, range(0x370, 0x530))), "".join(map(chr, range(0x900, 0x970))),
         "".join(map(chr, range(0x4E00, 0x4E80))), "".join(map(chr, range(0x1F300, 0x1F340))), "'sStTdDmMlLvVrReE",
         "\x85\x0b\x0c\u180e\ufeff\u200b\u1680\u3000\u0301ſK\u2028"]
WORDS = ["don't", "I'LL", "we're", "12345", "x=3.14;", "def f(n):\n    return n", "<|end|>", "<|endoftext|>", "the", "THE", " (x"]


def random_text(rng, pieces):
    out = []
    for _ in range(rng.randint(0, pieces)):
        if rng.random() < 0.4:
            out.append(rng.choice(WORDS) + rng.choice(["", " ", "\n"]))
        else:
            pool = rng.choice(POOLS)
            out.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 6))))
    return "".join(out)


def main():
    rng = random.Random(1)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                  special_tokens=["<|end|>", "<|endoftext|>"], show_progress=False, max_token_length=8)
    tokenizer.train_from_iterator([random_text(rng, 20) for _ in range(2000)], trainer)
    base = json.loads(tokenizer.to_str())
    texts = [random_text(rng, 12) for _ in range(40)]
    # A piece that no merge makes: only ignore_merges finds it.
    base["pre_tokenizer"] = PRE_TOKENIZERS["llama3"]
    cut = Tokenizer.from_str(json.dumps(base)).pre_tokenizer
    pieces = [piece for text in texts for piece, _ in cut.pre_tokenize_str(text)]
    vocabulary = base["model"]["vocab"]
    vocabulary[next(p for p in pieces if len(p) > 2 and p not in vocabulary)] = len(vocabulary)
    cases = []
    for name, pre_tokenizer in PRE_TOKENIZERS.items():
        for ignore_merges in (False, True) if name == "llama3" else (False,):
            base["pre_tokenizer"] = pre_tokenizer
            base["model"]["ignore_merges"] = ignore_merges
            tokenizer = Tokenizer.from_str(json.dumps(base))
            cases.append({"name": name, "pre_tokenizer": pre_tokenizer, "ignore_merges": ignore_merges,
                          "ids": [tokenizer.encode(text).ids for text in texts]})
    print(json.dumps({"tokenizer": base, "texts": texts, "cases": cases}, separators=(",", ":")))


if __name__ == "__main__":
    main()
