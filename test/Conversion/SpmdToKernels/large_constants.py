"""Writes a program that adds two constants of more than 2^20 elements, which differ in their last element only, to one input:

    large_constants.py FILE.mlir"""
import struct
import sys

COUNT = (1 << 20) + 1
TENSOR = f"tensor<{COUNT}xf32>"


def constant(last):
    return f'dense<"0x{(struct.pack("<f", 1.0) * (COUNT - 1) + struct.pack("<f", last)).hex().upper()}"> : {TENSOR}'


with open(sys.argv[1], "w") as out:
    out.write(f'func.func @step(%x: {TENSOR} {{graph.kind = #graph.kind<input>, graph.name = "x"}})\n')
    out.write(f'    -> ({TENSOR} {{graph.kind = #graph.kind<output>, graph.name = "b"}}) {{\n')
    out.write(f"  %ca = graph.constant {constant(2.0)} : {TENSOR}\n")
    out.write(f"  %cb = graph.constant {constant(3.0)} : {TENSOR}\n")
    # The reshapes keep the two additions in kernels of their own.
    out.write(f"  %a = graph.add %x, %ca : ({TENSOR}, {TENSOR}) -> {TENSOR}\n")
    out.write(f"  %w = graph.reshape %a : ({TENSOR}) -> tensor<{COUNT}x1xf32>\n")
    out.write(f"  %v = graph.reshape %w : (tensor<{COUNT}x1xf32>) -> {TENSOR}\n")
    out.write(f"  %b = graph.add %v, %cb : ({TENSOR}, {TENSOR}) -> {TENSOR}\n")
    out.write(f"  return %b : {TENSOR}\n}}\n")
