"""The programs of backward.mlir in jax, argument by argument, and the fewest bytes a rank must send for them (float32, rings as in floor.py)."""
import jax
import jax.numpy as jnp
from jax import lax

SIZES = {"small": dict(B=4, S=16, D=64, F=256, L=3), "large": dict(B=16, S=512, D=1024, F=4096, L=8)}
WRITTEN = {"4": "B", "16": "S", "64": "D", "256": "F", "3": "L"}


def text(source, sizes):
    """backward.mlir with other sizes in its types and loops."""
    lines = []
    for line in source.splitlines():
        if line.startswith("!"):
            name, dims = line.split(" = tensor<")
            *dims, element = dims.rstrip(">").split("x")
            line = f"{name} = tensor<{'x'.join(str(sizes[WRITTEN[d]]) for d in dims)}x{element}>"
        lines.append(line.replace("graph.repeat 3", f"graph.repeat {sizes['L']}"))
    return "\n".join(lines)


def linear(args):
    x, dy, w = args["x"], args["dy"], args["up"]
    return {"dy": jnp.einsum("bsd,fd->bsf", x, w), "x": jnp.einsum("bsf,fd->bsd", dy, w), "up": jnp.einsum("bsf,bsd->fd", dy, x)}


def layers(args):
    def forward(h, weights):
        up, down = weights
        return h + jnp.einsum("bsf,df->bsd", jax.nn.silu(jnp.einsum("bsd,fd->bsf", h, up)), down), h

    def backward(d, slices):
        up, down, h = slices
        u = jnp.einsum("bsd,fd->bsf", h, up)
        s = jax.nn.sigmoid(u)
        a = u * s
        du = jnp.einsum("bsd,df->bsf", d, down) * (s + a - a * s)
        return d + jnp.einsum("bsf,fd->bsd", du, up), (jnp.einsum("bsf,bsd->fd", du, h), jnp.einsum("bsd,bsf->df", d, a))

    y, inputs = lax.scan(forward, args["x"], (args["up"], args["down"]))
    dx, (up, down) = lax.scan(backward, args["dy"], (args["up"], args["down"], inputs), reverse=True)
    return {"x": y, "dy": dx, "up": up, "down": down}


def floor(program, sizes, mesh):
    """Weights over fsdp are gathered for each pass that uses them (once where both passes stand side by side), their gradients reduced and scattered,
    over dp reduced as they lie; what tp leaves partial is reduced. Or rows travel in place of weights, where they are fewer."""
    tp, dp, fsdp = (mesh.get(axis, 1) for axis in ("tp", "dp", "fsdp"))
    rows = sizes["B"] * sizes["S"] // (dp * fsdp)
    D, F = sizes["D"], sizes["F"] // tp
    share = (fsdp - 1) / fsdp * 4
    weight = share * D * F
    activation = 2 * (tp - 1) / tp * rows * D * 4
    # Moved rows: one side exchanged, the other gathered, or summed up on arrival.
    moved = share * (rows * D + rows * fsdp * F)
    gradient = min(weight, moved) + 2 * (dp - 1) / dp * D * F / fsdp * 4
    if program == "linear":
        return min(weight, 2 * moved) + gradient + activation
    return sizes["L"] * 2 * (2 * min(weight, moved) + gradient + activation)
