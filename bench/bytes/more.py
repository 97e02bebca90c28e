"""More rows of docs/Bytes.md: the models of compare_with_xla.py with the axes of their meshes in other orders and batches from 1 to 256, and plans that we know.

A plan is known for a row if our compiler makes it of the same program with the same shardings of arguments and results: for another order of the mesh's axes, or under a pin."""
MESHES = ["tp=4,dp=2", "tp=2,fsdp=2", "tp=2,fsdp=4", "tp=2,fsdp=2,dp=2", "fsdp=2,tp=2,dp=2", "tp=2,sp=2", "tp=4,sp=2", "sp=2,dp=2", "tp=2,sp=2,dp=2", "fsdp=4,dp=2",
          "tp=2,cp=2", "cp=2,tp=2"]
BATCHES = [1, 4, 16, 64, 256, 2, 32, 128]
BACKWARD_MESHES = ["tp=4,fsdp=2", "fsdp=4,dp=2", "tp=2,fsdp=2,dp=2"]
BACKWARD_BATCHES = [8, 16, 64, 256]
# That rows are split over, so that jax can be asked.
OF_ROWS = ("dp", "fsdp")


def sizes_of(mesh):
    return {axis: int(size) for axis, size in (item.split("=") for item in mesh.split(","))}


def generate(models):
    """(model, mesh, batch): every model on every mesh, with all batches in turn."""
    for m, model in enumerate(models):
        for i, mesh in enumerate(MESHES):
            over = 1
            for axis, size in sizes_of(mesh).items():
                over *= size if axis in OF_ROWS else 1
            yield model, mesh, max(over, BATCHES[(3 * m + i) % len(BATCHES)])


def orders(mesh):
    """The mesh with its axes in some other orders: the last first, and the other way round."""
    axes = mesh.split(",")
    return [",".join(other) for other in dict.fromkeys(map(tuple, (axes[-1:] + axes[:-1], axes[::-1]))) if list(other) != axes]


def has_reference(mesh):
    """Whether reference plans can be said: they gather rows over fsdp, and where another axis of rows is minor, what is gathered is no block of rows, so no sharding says it. They know
    these axes only."""
    sizes = sizes_of(mesh)
    return set(sizes) <= {"dp", "sp", "tp", "fsdp"} and ("fsdp" not in sizes or [axis for axis in sizes if axis in OF_ROWS][-1] == "fsdp")


def pins(mesh):
    """Pins of the stream between layers: hidden over all axes or one, positions over one, rows over one more."""
    sizes = sizes_of(mesh)
    rows = [axis for axis in sizes if axis in OF_ROWS]
    last = ([axis for axis in sizes if axis not in rows] or rows)[-1]
    yield from dict.fromkeys(["residual:hidden=" + "+".join(sizes), f"residual:hidden={(rows or [last])[0]}", f"residual:seq={last}"])
    if last not in rows:
        yield "residual:batch=" + "+".join(rows + [last])
