"""Prints a program whose loops carry many values: an even and an odd number of inputs before them."""
T = "tensor<4xf32>"
COUNT = 60


def entry(name, inputs):
    def port(kind, port):
        return f'{{graph.kind = #graph.kind<{kind}>, graph.name = "{name}.{port}"}}'

    arguments = ", ".join(f"%x{i}: {T} {port('input', f'x{i}')}" for i in range(inputs))
    results = ", ".join(f"{T} {port('output', f'y{i}')}" for i in range(COUNT))
    carried = ", ".join(f"%c{i} = %x{i} : {T}" for i in range(COUNT))
    types = ", ".join([T] * COUNT)
    print(f"""func.func @{name}({arguments}) -> ({results}) attributes {{exec.entry}} {{
  %r:{COUNT} = exec.for %i = 2 step 1 carry({carried}) {{
    exec.yield {", ".join(f"%c{i}" for i in range(COUNT))} : {types}
  }}
  return {", ".join(f"%r#{i}" for i in range(COUNT))} : {types}
}}""")


entry("even", COUNT)
entry("odd", COUNT + 1)
