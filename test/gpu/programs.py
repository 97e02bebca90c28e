"""The programs that are packed for a machine with a GPU: one list for pack.py, run.py and bench.py."""

# What llm-compile is given, and what is compared. `shape`: no weights, made up from a seed.
SHAPES = {
    "Llama-3-8B": dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
                       max_position_embeddings=16384, rope_theta=500000.0, tie_word_embeddings=False),
    "Llama-1B": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
                     max_position_embeddings=4096, rope_theta=500000.0, tie_word_embeddings=True),
}

TOKENS = [  # name, model folder of test/Inputs/models, flags
    *[(f"{model}-{dtype}", model, [f"--dtype={dtype}"]) for model in ("tiny-llama", "tiny-gpt2") for dtype in ("f32", "bf16", "f16")],
    *[(f"tiny-llama-{mesh.replace('=', '').replace(',', '-')}", "tiny-llama", [f"--mesh={mesh}"]) for mesh in ("tp=2", "tp=3", "pp=2", "pp=3")],
]

MADE_UP = ["tiny-llama-f32", "tiny-gpt2-f32"]  # whose tokens are compared with the CPU's for weights that are made up

SMOLLM2 = [("smollm2-f32", ["--dtype=f32"]), ("smollm2-bf16", ["--dtype=bf16"])]

NCCL_MESHES = ["x=2", "x=3"]  # ranks that share the one GPU

LOADING = ("llama-1b-loading", "Llama-1B", ["--dtype=bf16", "--max-seq-len=256"])  # whose weights come from a file that bench.py writes

SPEED = [  # name, shape, flags, prompt length, tokens decoded
    ("llama-8b-batch1", "Llama-3-8B", ["--dtype=bf16", "--max-seq-len=4096"], 2048, 128),
    ("llama-8b-batch8", "Llama-3-8B", ["--dtype=bf16", "--batch=8", "--max-seq-len=8320"], 8192, 64),
    ("llama-8b-batch32", "Llama-3-8B", ["--dtype=bf16", "--batch=32", "--max-seq-len=8320"], 8192, 64),
]
