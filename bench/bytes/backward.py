"""The programs of backward.mlir in jax, argument by argument, and what a rank sends for them by a reference plan (float32, rings as in reference.py)."""
import itertools
import math

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


def passed(made, needed, g, elements):
    """Bytes a rank sends to bring a value over g ranks from one layout ('r', 'f', 'd': the dimension that is split; '': whole; '+': partial) to all that are
    needed. What is whole anyway gives the others."""
    share, total = (g - 1) / g * elements * 4, 0
    if "" in needed:
        return {"": 0, "+": 2 * share}.get(made, share)
    for layout in needed - {made}:
        total += {"": 0, "+": share}.get(made, share / g)
    return total


def least(g, size, dims, given, products, maps, wanted):
    """The least over all ways to run each product and each group of elementwise ops with one of its dimensions split. `products`: {result: operands};
    `maps`: [(results, operands)]; `given`, `wanted`: {value: layout}."""
    best = float("inf")
    choices = ["rfd"] * len(products) + [dims[results[0]] for results, _ in maps]
    for chosen in itertools.product(*choices):
        made, needed = dict(given), {value: {layout} for value, layout in wanted.items()}

        def need(value, split):
            needed.setdefault(value, set()).add(split if split in dims[value] else "")

        for split, (result, operands) in zip(chosen, products.items()):
            made[result] = split if split in dims[result] else "+"
            for operand in operands:
                need(operand, split)
        for split, (results, operands) in zip(chosen[len(products):], maps):
            for result in results:
                made[result] = split
            for operand in operands:
                need(operand, split)
        best = min(best, sum(passed(made[v], layouts, g, math.prod(size[d] for d in dims[v])) for v, layouts in needed.items()))
    return best


def reference(program, sizes, mesh):
    """Over fsdp all ways to split the products are tried (`least`), for loops with all layouts of what they carry and keep; what tp leaves partial is reduced,
    and over dp the gradients as they lie."""
    tp, dp, g = (mesh.get(axis, 1) for axis in ("tp", "dp", "fsdp"))
    size = {"r": sizes["B"] * sizes["S"] // dp, "f": sizes["F"] // tp, "d": sizes["D"]}
    stored = "d" if tp > 1 else "f"  # fsdp takes the largest dimension that tp leaves free
    activation = 2 * (tp - 1) / tp * size["r"] * size["d"] / g * 4
    gradient = 2 * (dp - 1) / dp * size["d"] * size["f"] / g * 4
    dims = dict.fromkeys(["x", "dx", "h", "kept", "o", "d", "dh"], "rd")
    dims.update(dict.fromkeys(["y", "dy", "u", "a", "da", "du"], "rf"))
    dims.update(dict.fromkeys(["up", "down", "dup", "ddown"], "fd"))
    if program == "linear":
        return activation + gradient + least(g, size, dims, {"x": "r", "dy": "r", "up": stored},
                                             {"y": ("x", "up"), "dx": ("dy", "up"), "dup": ("dy", "x")}, [],
                                             {"y": "r", "dx": "r", "dup": stored})
    best = float("inf")
    weights = {"up": stored, "down": stored}
    for carried, kept in itertools.product("rd", repeat=2):
        forward = least(g, size, dims, {"h": carried, **weights}, {"u": ("h", "up"), "o": ("a", "down")}, [(["a"], ["u"])],
                        {"o": carried, "h": kept})
        edge = passed("r", {carried}, g, size["r"] * size["d"]) * 2
        for back in "rd":
            backward = least(g, size, dims, {"h": kept, "d": back, **weights},
                             {"u": ("h", "up"), "da": ("d", "down"), "ddown": ("d", "a"), "dup": ("du", "h"), "dh": ("du", "up")},
                             [(["a", "du"], ["u", "da"])], {"dh": back, "dup": stored, "ddown": stored})
            ends = edge + passed("r", {back}, g, size["r"] * size["d"]) * 2
            best = min(best, ends + sizes["L"] * (forward + backward + 2 * activation + 2 * gradient))
    return best
