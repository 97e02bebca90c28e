"""The generate step of a llama model in jax, argument by argument as `llm-compile` lays it out on rung step (docs/Architecture.md)."""
import jax
import jax.numpy as jnp
from jax import lax


def rms_norm(x, scale):
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def rope(x, positions):
    """x: [batch, seq, ..., head_dim]; the halves rotate."""
    half = x.shape[-1] // 2
    angles = positions[..., None] * (10000.0 ** (-jnp.arange(half) / half))
    angles = angles.reshape(angles.shape[:2] + (1,) * (x.ndim - 3) + (half,))
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)


def write(cache, new, positions):
    """cache: [batch, context, heads, head_dim]; each row's tokens go to its positions, which follow each other."""
    return jax.vmap(lambda c, n, p: lax.dynamic_update_slice(c, n, (p, 0, 0)))(cache, new, positions[:, 0])


def layers(hidden, positions, args):
    names = ["attention_norm", "q", "k", "v", "o", "mlp_norm", "gate", "up", "down", "k_cache", "v_cache"]

    def body(x, slices):
        w = dict(zip(names, slices))
        h = rms_norm(x, w["attention_norm"])
        q = rope(jnp.einsum("bsd,kghd->bskgh", h, w["q"]), positions)
        k = write(w["k_cache"], rope(jnp.einsum("bsd,khd->bskh", h, w["k"]), positions), positions)
        v = write(w["v_cache"], jnp.einsum("bsd,khd->bskh", h, w["v"]), positions)
        scores = jnp.einsum("bskgh,bckh->bkgsc", q, k) * q.shape[-1] ** -0.5
        seen = jnp.arange(k.shape[1])[None, None] <= positions[:, :, None]
        probabilities = jax.nn.softmax(jnp.where(seen[:, None, None], scores, -1e30), -1)
        a = jnp.einsum("bkgsc,bckh->bskgh", probabilities, v)
        x = x + jnp.einsum("bskgh,dkgh->bsd", a, w["o"])
        h = rms_norm(x, w["mlp_norm"])
        up = jax.nn.silu(jnp.einsum("bsd,fd->bsf", h, w["gate"])) * jnp.einsum("bsd,fd->bsf", h, w["up"])
        return x + jnp.einsum("bsf,df->bsd", up, w["down"]), (k, v)

    return lax.scan(body, hidden, [args["layers." + name] for name in names])


def head(hidden, args):
    logits = jnp.einsum("bsd,vd->bsv", rms_norm(hidden, args["norm"]), args["unembedding"])
    return logits, jnp.argmax(logits, -1).astype(jnp.int32)


def prefill(args):
    x, (k, v) = layers(jnp.take(args["embedding"], args["tokens"], axis=0, mode="clip"), args["positions"], args)
    logits, ids = head(jnp.take_along_axis(x, args["index"][:, None, None], axis=1, mode="clip"), args)
    return {"hidden": x, "logits": logits, "next": ids, "layers.k_cache": k, "layers.v_cache": v}


def decode(args):
    """Tokens and positions are states that the step before left."""
    x, (k, v) = layers(jnp.take(args["embedding"], args["next_tokens"], axis=0, mode="clip"), args["next_positions"], args)
    logits, ids = head(x, args)
    return {"logits": logits, "next": ids, "layers.k_cache": k, "layers.v_cache": v}


def head_of_chunk(args):
    """The head step: logits of one position of each row of a chunk."""
    logits, ids = head(jnp.take_along_axis(args["hidden"], args["index"][:, None, None], axis=1, mode="clip"), args)
    return {"logits": logits, "next": ids}
