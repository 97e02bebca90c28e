"""The step of training of a llama model in jax, argument by argument as `llm-compile --task=train` lays it out on rung step (docs/TrainStep.md)."""
import jax
import jax.numpy as jnp
from jax import lax

from llama import rms_norm, rope


def loss_of(weights, tokens, positions, targets, token_weight, residual):
    """`residual`: what is asked of the stream between blocks, a function of it."""
    names = ["attention_norm", "q", "k", "v", "o", "mlp_norm", "gate", "up", "down"]
    seen = jnp.arange(tokens.shape[1])[None, None] <= positions[:, :, None]

    def body(x, slices):
        w = dict(zip(names, slices))
        h = rms_norm(x, w["attention_norm"])
        q = rope(jnp.einsum("bsd,kghd->bskgh", h, w["q"]), positions)
        k = rope(jnp.einsum("bsd,khd->bskh", h, w["k"]), positions)
        v = jnp.einsum("bsd,khd->bskh", h, w["v"])
        scores = jnp.einsum("bskgh,bckh->bkgsc", q, k) * q.shape[-1] ** -0.5
        a = jnp.einsum("bkgsc,bckh->bskgh", jax.nn.softmax(jnp.where(seen[:, None, None], scores, -1e30), -1), v)
        x = residual(x + jnp.einsum("bskgh,dkgh->bsd", a, w["o"]))
        h = rms_norm(x, w["mlp_norm"])
        up = jax.nn.silu(jnp.einsum("bsd,fd->bsf", h, w["gate"])) * jnp.einsum("bsd,fd->bsf", h, w["up"])
        return residual(x + jnp.einsum("bsf,df->bsd", up, w["down"])), None

    x = residual(jnp.take(weights["embedding"], tokens, axis=0, mode="clip"))
    x, _ = lax.scan(body, x, [weights["layers." + name] for name in names])
    logits = jnp.einsum("bsd,vd->bsv", rms_norm(x, weights["norm"]), weights["unembedding"])
    # A sum with a one-hot row: where vocab is split, no logits travel for it.
    label = jnp.sum(jax.nn.one_hot(targets, logits.shape[-1]) * logits, -1)
    return jnp.sum(jnp.where(targets >= 0, jax.nn.logsumexp(logits, -1) - label, 0)) * token_weight


def train(args, residual=lambda x: x):
    """One micro-batch, AdamW, the norm of all gradients clipped."""
    names = [name for name in args if "exp_avg." + name in args]
    weights = {name: args[name] for name in names}
    loss, gradients = jax.value_and_grad(loss_of)(weights, args["tokens"][0], args["positions"][0], args["targets"][0], args["token_weight"], residual)
    norm = jnp.sqrt(sum(jnp.sum(gradient * gradient) for gradient in gradients.values()))
    clip = jnp.where(args["clip"] > 0, jnp.minimum(1, args["clip"] / (norm + 1e-6)), 1)
    results = {"loss": loss, "grad_norm": norm}
    for name in names:
        gradient = gradients[name] * clip
        first = args["beta1"] * args["exp_avg." + name] + (1 - args["beta1"]) * gradient
        second = args["beta2"] * args["exp_avg_sq." + name] + (1 - args["beta2"]) * gradient * gradient
        decayed = weights[name] if name.endswith("norm") else (1 - args["learning_rate"] * args["weight_decay"]) * weights[name]
        step = first * args["first_correction"] / (jnp.sqrt(second * args["second_correction"]) + args["epsilon"])
        results.update({name: decayed - args["learning_rate"] * step, "exp_avg." + name: first, "exp_avg_sq." + name: second})
    return results
