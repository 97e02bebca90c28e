"""What a rank sends in one step by a reference plan, by formulas; rings (docs/Manifest.md), float32. It is no bound: axes stay on the dimensions that
the formulas name, and another plan may send less.

Every place where two layouts meet is the cheapest of the ways to pass it, among plans that divide every product of matrices over all ranks that
have a part of it (repeating work, a rank can do without any sum). With G ranks on an axis, n bytes of the whole value (of the part that the
other axes leave to a rank):
  sum of partial values     2 (G-1)/G n        gather       (G-1)/G n         exchange (all_to_all)     (G-1)/G n/G
"""


def generate(config, step, mesh, inputs):
    """`inputs`: {name: (global shape, axes by dimension)}."""
    tp, dp, sp, fsdp = (mesh.get(axis, 1) for axis in ("tp", "dp", "sp", "fsdp"))
    D, V, F, L = config["hidden_size"], config["vocab_size"], config["intermediate_size"], config["num_hidden_layers"]
    KV, heads = config["num_key_value_heads"], config["num_attention_heads"]
    H = config.get("head_dim", D // heads)
    batch, seq = inputs["tokens" if step == "prefill" else "next_tokens"][0]
    rows = batch // (dp * fsdp)
    idle = 1
    if seq > 1:
        rows_seq = seq // sp
    else:
        rows_seq, idle, sp = 1, sp, 1
    tokens = rows * rows_seq  # of a rank
    total = 0.0

    def reduce(g, n):
        return 2 * (g - 1) / g * n * 4

    def reduce_tp(n):
        """An idle axis (sp while decoding) halves the sum and is gathered afterwards, where that is less."""
        return min([reduce(tp, n)] + ([reduce(tp, n / idle) + gather(idle, n)] if idle > 1 else []))

    def gather(g, n):
        return (g - 1) / g * n * 4

    # Embedding over the vocabulary: sum the looked up rows, or gather the table.
    total += min(reduce_tp(tokens * D), gather(tp, V * D))
    # A block's two row-parallel products; the weights could be gathered instead.
    total += L * reduce_tp(tokens * D) * 2
    # Sequence parallel: K and V whole for the cache (every rank has all positions); the hidden row that is asked for is summed.
    if sp > 1:
        total += L * 2 * gather(sp, rows * seq * (KV // tp) * H)
        total += reduce(sp, rows * D)
    # Weights stored over fsdp: each is gathered, or (few rows) the rows are: in whole, out as a sum or by exchange.
    # tp leaves a rank 1/tp of each; fsdp shards the larger of the dimensions that tp does not.
    if fsdp > 1:
        all_tokens = tokens * fsdp
        home = (fsdp - 1) / fsdp * all_tokens * 4  # a sum of one feature of every token
        exchange = (fsdp - 1) / fsdp * tokens * D * 4
        norm = gather(fsdp, D)

        def column(out):
            """Normed rows times [out, hidden], hidden split: weights and norm gathered, or every rank gets a slice of the features (one exchange), the
            norm stays (one value per token is summed) or comes, and sums come home."""
            return min(gather(fsdp, D * out / tp) + norm, exchange + min(norm, reduce(fsdp, all_tokens)) + home * out / tp)

        def row(into):
            """Rows times [hidden, into], hidden split: the weight gathered, or all rows are, and results are exchanged."""
            return min(gather(fsdp, D * into / tp), gather(fsdp, all_tokens * into / tp) + exchange)

        total += min(gather(fsdp, V * D / tp), gather(fsdp, all_tokens) + (home * D if tp == 1 else exchange))
        q, kv = heads * H, KV * H
        mlp = column(2 * F) + row(F)
        if tp == 1 and F >= D:  # ffn split: rows gathered, sums brought home
            mlp = min(gather(fsdp, 3 * D * F), gather(fsdp, all_tokens * D) + home * D) + norm
        total += L * (column(q + 2 * kv) + row(q) + mlp)
        last = rows * fsdp
        logits = min(gather(fsdp, V * D), gather(fsdp, last * D) + (fsdp - 1) / fsdp * rows * V * 4) + norm
        if tp > 1:  # hidden split
            move = (fsdp - 1) / fsdp * rows * D * 4 + min(norm, reduce(fsdp, last)) + (fsdp - 1) / fsdp * last * V / tp * 4
            logits = min(gather(fsdp, V * D / tp) + norm, move)
        total += logits
    # Arg max over the vocabulary: one pair (value, id) of 8 bytes a row.
    total += 2 * reduce(tp, rows)
    return total
