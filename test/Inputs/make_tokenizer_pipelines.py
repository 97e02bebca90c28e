#!/usr/bin/env python3
"""Makes tokenizer_pipelines.json and tokenizer_sentencepiece.json: what Hugging Face's tokenizers (PyPI `tokenizers`) and
SentencePiece (PyPI `sentencepiece`) give for random Unicode text, for every model, normalizer, pre-tokenizer and decoder
that runtime/text implements. Vocabularies are small and trained here.

    make_tokenizer_pipelines.py [FOLDER] [--texts=N] [--seed=S]       default: this folder, 24, 1

More texts find more; run it with thousands into another folder and name that to TokenizerTests in TESSERA_PIPELINES.
"""
import base64
import io
import json
import pathlib
import random
import sys

import sentencepiece
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers

BLANK = "\u2581"
POOLS = ["abcdefghijklmnopqrstuvwxyz ", "".join(map(chr, range(32, 127))), " \n\t\r", "0123456789½²٣Ⅷ",
         "".join(map(chr, range(0xA0, 0x250))), "".join(map(chr, range(0x370, 0x530))), "".join(map(chr, range(0x900, 0x970))),
         "".join(map(chr, range(0x4E00, 0x4E80))), "".join(map(chr, range(0x1F300, 0x1F340))), "가각갂각한글",
         "\x85\x0b\u180e\ufeff\u200b\u1680\u3000\u0301\u0323\u0327ſK\u2028\u2581\u212b\ufb01\u1e9b\u0344İ"]
WORDS = ["don't", "12345", "x=3.14;", "<s>", "<tool>", "<mask>", "word", "the", "THE", "  ", "e\u0301", "o\u0302\u0323", "\u2581", "<unk>",
         "a man a plan", "x word x", "ab", "sub<mask>sub", "<tool><mask>", " <mask> ", "\n<tool>\n", "<0x0A>", "ﬁ", "¼", "Åé"]


def random_text(rng, pieces):
    out = []
    for _ in range(rng.randint(0, pieces)):
        if rng.random() < 0.5:
            out.append(rng.choice(WORDS) + rng.choice(["", " ", "\n"]))
        else:
            pool = rng.choice(POOLS)
            out.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 6))))
    return "".join(out)


def added(content, number, **flags):
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": number, "content": content, **{name: flags.get(name, False) for name in names}}


def train(kind, rng):
    corpus = [random_text(rng, 20) for _ in range(800)] + ["the man ran a plan to the word " * 4] * 20
    if kind == "unigram":  # its vocabulary holds all characters of what it is trained on
        corpus = ["".join(c for c in text if ord(c) < 0xB0 or c in "éñüαβдж中가") for text in corpus]
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
        trainer = trainers.UnigramTrainer(vocab_size=500, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False,
                                          initial_alphabet=list("abcdefghijklmnopqrstuvwxyz0123456789"))
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.Replace(" ", BLANK)
        trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>", "<s>"], show_progress=False, limit_alphabet=300, max_token_length=8)
    tokenizer.train_from_iterator(corpus, trainer)
    definition = json.loads(tokenizer.to_str())
    definition["normalizer"] = definition["pre_tokenizer"] = None
    model = definition["model"]
    count = len(model["vocab"])
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    if kind == "unigram":
        # A score like that of others: only the sum tells paths apart.
        seen = set(names)
        model["vocab"] = [[token, round(score, 3)] for token, score in model["vocab"] if not (token in seen or seen.add(token))]
        count = len(model["vocab"])
        model["vocab"] += [[name, -20.0] for name in names]
    else:
        for name in names:
            model["vocab"].setdefault(name, len(model["vocab"]))
        model["unk_token"] = "<unk>"
    count = len(model["vocab"])
    known = {token: i for i, (token, _) in enumerate(model["vocab"])} if kind == "unigram" else model["vocab"]
    definition["added_tokens"] = [added("<unk>", 0, special=True), added("<s>", 1, special=True)]
    for content, flags in {"<tool>": {"rstrip": True}, "<mask>": {"lstrip": True, "special": True}, "zqz": {"single_word": True},
                           "THE": {"normalized": True}}.items():
        number = known.get(content, count)
        count += number == count
        definition["added_tokens"].append(added(content, number, **flags))
    definition["added_tokens"].sort(key=lambda token: token["id"])
    return definition


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def metaspace(scheme, cuts=True):
    return {"type": "Metaspace", "replacement": BLANK, "prepend_scheme": scheme, "split": cuts}


def sequence(name, *parts):
    return {"type": "Sequence", name: list(parts)}


def replace(what, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: what}, "content": content}


def small_charsmap(folder):
    """The rules of a SentencePiece model that maps little: its own format, a hundredth of nmt_nfkc's size."""
    rules = folder / "rules.tsv"
    rules.write_text("\n".join(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}" for a, b in
                               [("ﬁ", "fi"), ("é", "e"), ("e\u0301", "e"), ("e\u0301\u0301", "E"), ("\u3000", " "), ("\t", " "), ("\u200b", ""),
                                ("½", "1/2"), ("K", "k"), ("A", "a"), ("AB", "x"), ("각", "한글")]) + "\n")
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["the man ran"] * 50), model_writer=trained, vocab_size=12,
                                             model_type="bpe", normalization_rule_tsv=str(rules), minloglevel=2)
    rules.unlink()
    return trained.getvalue()


def charsmap_of(model):
    import sentencepiece.sentencepiece_model_pb2 as proto
    parsed = proto.ModelProto()
    parsed.ParseFromString(model)
    return parsed.normalizer_spec.precompiled_charsmap


SPM_DECODER = sequence("decoders", replace(BLANK, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                       {"type": "Strip", "content": " ", "start": 1, "stop": 0})
PLAIN_DECODER = sequence("decoders", replace(BLANK, " "), {"type": "ByteFallback"}, {"type": "Fuse"})
META_DECODER = metaspace("always")
LEGACY = sequence("normalizers", {"type": "Prepend", "prepend": BLANK}, replace(" ", BLANK))
TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}


def cases(charsmap):
    """Name, vocabulary, and what is changed in it."""
    fallback = {"byte_fallback": True, "fuse_unk": True}
    escape = replace(" ", BLANK)
    yield "llama 2", "bpe", {"normalizer": LEGACY, "decoder": SPM_DECODER, "post_processor": TEMPLATE}, fallback
    yield "mistral", "bpe", {"pre_tokenizer": metaspace("first", False), "decoder": SPM_DECODER}, fallback
    yield "gemma", "bpe", {"normalizer": escape, "pre_tokenizer": split(" ", "MergedWithPrevious", kind="String"), "decoder": PLAIN_DECODER}, fallback
    yield "no fallback", "bpe", {"normalizer": escape, "decoder": PLAIN_DECODER}, {"fuse_unk": False}
    yield "fused unknown", "bpe", {"normalizer": escape, "decoder": PLAIN_DECODER}, {"fuse_unk": True}
    yield "ignore merges", "bpe", {"pre_tokenizer": metaspace("always"), "decoder": META_DECODER}, {**fallback, "ignore_merges": True}
    yield "metaspace first", "bpe", {"pre_tokenizer": metaspace("first"), "decoder": metaspace("first")}, fallback
    yield "metaspace never", "bpe", {"pre_tokenizer": metaspace("never"), "decoder": metaspace("never")}, fallback
    yield "first behind strip", "bpe", {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": False},
                                        "pre_tokenizer": metaspace("first"), "decoder": META_DECODER}, fallback
    yield "t5", "unigram", {"pre_tokenizer": metaspace("always"), "decoder": META_DECODER}, {}
    yield "unigram with bytes", "unigram", {"pre_tokenizer": metaspace("always", False), "decoder": SPM_DECODER}, {"byte_fallback": True}
    yield "precompiled", "unigram", {"normalizer": sequence("normalizers", {"type": "Precompiled", "precompiled_charsmap": charsmap},
                                                            {"type": "Strip", "strip_left": False, "strip_right": True}, replace(" {2,}", BLANK, "Regex")),
                                     "pre_tokenizer": sequence("pretokenizers", {"type": "WhitespaceSplit"}, metaspace("always")), "decoder": META_DECODER}, {}
    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"):
        yield form, "bpe", {"normalizer": sequence("normalizers", {"type": form}, escape), "decoder": PLAIN_DECODER}, fallback
    yield "strip, accents off", "bpe", {"normalizer": sequence("normalizers", {"type": "NFD"}, {"type": "StripAccents"},
                                                                    {"type": "Strip", "strip_left": True, "strip_right": True}, LEGACY),
                                        "decoder": SPM_DECODER}, fallback
    yield "whitespace", "bpe", {"pre_tokenizer": {"type": "Whitespace"}, "decoder": PLAIN_DECODER}, fallback
    yield "punctuation", "bpe", {"pre_tokenizer": sequence("pretokenizers", {"type": "Punctuation", "behavior": "Contiguous"}, metaspace("never")),
                                 "decoder": PLAIN_DECODER}, fallback
    yield "digits", "bpe", {"pre_tokenizer": sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, metaspace("never")),
                            "decoder": PLAIN_DECODER}, fallback
    yield "removed", "bpe", {"pre_tokenizer": sequence("pretokenizers", split(r"\s", "Removed"), metaspace("first")), "decoder": META_DECODER}, fallback
    yield "with next", "bpe", {"pre_tokenizer": sequence("pretokenizers", split("a", "MergedWithNext"), metaspace("always")),
                               "decoder": sequence("decoders", replace("a", "A"), META_DECODER)}, fallback
    yield "strip each", "bpe", {"normalizer": escape, "decoder": sequence("decoders", {"type": "Strip", "content": BLANK, "start": 1, "stop": 1},
                                                                          {"type": "Fuse"}, {"type": "Strip", "content": "a", "start": 2, "stop": 1})}, {"fuse_unk": True}


def sentencepiece_models(texts, charsmap_model):
    texts = ["".join(c for c in text if ord(c) < 0x180 or c in "αβгдж中가") for text in texts]
    corpus = [text for text in texts if text.strip()] + ["the man ran a plan to the word"] * 30
    rules = charsmap_of(charsmap_model)
    import sentencepiece.sentencepiece_model_pb2 as proto
    for name, settings in {"bpe": dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False),
                           "bpe without bytes": dict(model_type="bpe", normalization_rule_name="identity", user_defined_symbols=["<tool>", "ab"],
                                                     add_dummy_prefix=False, remove_extra_whitespaces=False),
                           "unigram": dict(model_type="unigram", normalization_rule_name="identity", character_coverage=0.98),
                           "unigram without prefix": dict(model_type="unigram", normalization_rule_name="identity", add_dummy_prefix=False,
                                                          byte_fallback=True, character_coverage=0.98)}.items():
        trained = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus), model_writer=trained, vocab_size=650, hard_vocab_limit=False,
                                                 minloglevel=2, **settings)
        parsed = proto.ModelProto()
        parsed.ParseFromString(trained.getvalue())
        if "bpe" != name:
            parsed.normalizer_spec.precompiled_charsmap = rules
        if name == "bpe without bytes":  # merges pass through them
            for piece in list(parsed.pieces)[5:60:7]:
                if len(piece.piece) > 1 and piece.type == 1:
                    piece.type = 5
        yield name, parsed.SerializeToString()


def decoded(tokenizer, ids):
    """The text, or None where versions of the library differ: some print an added token as it looks normalized."""
    if any(token.normalized for number, token in tokenizer.get_added_tokens_decoder().items() if number in ids):
        return None
    try:
        return tokenizer.decode(ids)
    except BaseException:  # the decoder Strip ends on an empty token
        return None


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    options = dict(word[2:].split("=") for word in sys.argv[1:] if word.startswith("--"))
    folder = pathlib.Path(words[0]) if words else pathlib.Path(__file__).parent
    rng = random.Random(int(options.get("seed", 1)))
    vocabularies = {kind: train(kind, rng) for kind in ("bpe", "unigram")}
    charsmap_model = small_charsmap(folder)
    texts = ["", " ", "<s>", " the word", "word", "a zqz azqzb zqz", "e\u0301\u0301 a\u0305\u0308 a\u0323\u0302"] + [random_text(rng, 12) for _ in range(int(options.get("texts", 24)))]
    out = []
    for name, vocabulary, parts, model in cases(base64.b64encode(charsmap_of(charsmap_model)).decode()):
        definition = {**vocabularies[vocabulary], **parts}
        definition["model"] = {**definition["model"], **model}
        tokenizer = Tokenizer.from_str(json.dumps(definition))
        ids = [tokenizer.encode(text).ids for text in texts]
        out.append({"name": name, "vocabulary": vocabulary, "parts": parts, "model": model, "ids": ids, "text": [decoded(tokenizer, i) for i in ids]})
    text = json.dumps({"vocabularies": vocabularies, "texts": texts, "cases": out}, separators=(",", ":"))
    (folder / "tokenizer_pipelines.json").write_text(text)
    out = []
    for name, model in sentencepiece_models([random_text(rng, 20) for _ in range(400)], charsmap_model):
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        # Control tokens in a text are text to SentencePiece.
        plain = [text for text in texts if "<s>" not in text and "<unk>" not in text]
        ids = [processor.encode(text) for text in plain]
        out.append({"name": name, "model": base64.b64encode(model).decode(), "texts": plain, "ids": ids})
    (folder / "tokenizer_sentencepiece.json").write_text(json.dumps(out, separators=(",", ":")))


if __name__ == "__main__":
    main()
