"""Quantized weights of safetensors in their parts (runtime/include/tessera/runtime/io/Quantization.h), and what they hold. Standard library only.

As in quantized.py the nearest codes that simple scales give are good enough: what the parts mean is what matters.
"""
import bisect
import struct

import modelio
import reference
from modelio import Tensor

# What codes 0 to 126 of an F8_E4M3 are.
E4M3 = [code * 2.0 ** -9 if code < 8 else (8 + code % 8) * 2.0 ** (code // 8 - 10) for code in range(127)]
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # of the outputs in a word, the lowest bits first


def half(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def e4m3(x):
    at = bisect.bisect_left(E4M3, abs(x))
    code = min((c for c in (at - 1, at) if 0 <= c < 127), key=lambda c: abs(E4M3[c] - abs(x)))
    return code | (128 if x < 0 else 0)


def words(nibbles):
    return sum(q << 4 * i for i, q in enumerate(nibbles))


def table(dtype, rows):
    flat = [x for row in rows for x in row]
    shape = [len(rows), len(rows[0])]
    if dtype == "I32":
        return dtype, shape, struct.pack(f"<{len(flat)}I", *flat)
    return dtype, shape, modelio.encode(dtype, flat)


def int4(weight, group, awq, less_one):
    """{suffix: (dtype, shape, data)} and the tensor that it holds."""
    rows, codes, zeros, scales, held = reference.rows(weight), [], [], [], []
    for row in rows:
        q, z, d, values = [], [], [], []
        for at in range(0, len(row), group):
            part = row[at:at + group]
            low = min(0.0, min(part))
            scale = half((max(0.0, max(part)) - low) / 15)
            zero = max(1, min(15, round(-low / scale)))
            code = [max(0, min(15, round(x / scale) + zero)) for x in part]
            q += code
            z.append(zero)
            d.append(scale)
            values += [scale * (c - zero) for c in code]
        codes.append(q)
        zeros.append(z)
        scales.append(d)
        held += values
    turned = lambda lists: [list(column) for column in zip(*lists)]
    order = AWQ_ORDER if awq else range(8)
    by_outputs = lambda lists: [[words([row[o + i] for i in order]) for o in range(0, len(row), 8)] for row in turned(lists)]
    parts = {"qzeros": table("I32", by_outputs([[z - less_one for z in row] for row in zeros])), "scales": table("F16", turned(scales))}
    if awq:
        parts["qweight"] = table("I32", by_outputs(codes))
    else:
        parts["qweight"] = table("I32", turned([[words(row[i:i + 8]) for i in range(0, len(row), 8)] for row in codes]))
        columns = len(rows[0])
        parts["g_idx"] = ("I32", [columns], modelio.encode("I32", [i // group for i in range(columns)]))
    return parts, Tensor(weight.shape, held)


def fp8(weight, block):
    """One scale for each block [rows, columns] of the weight; None: for each row."""
    rows = reference.rows(weight)
    columns = len(rows[0])
    block_rows, block_columns = block or (1, columns)
    scales, codes, held = [], bytearray(), []
    for first in range(0, len(rows), block_rows):
        scales.append([modelio.to_f32([max(abs(x) for row in rows[first:first + block_rows] for x in row[at:at + block_columns]) / 448])[0]
                       for at in range(0, columns, block_columns)])
    for r, row in enumerate(rows):
        for c, x in enumerate(row):
            scale = scales[r // block_rows][c // block_columns]
            code = e4m3(x / scale)
            codes.append(code)
            held.append(scale * (E4M3[code & 127] * (-1 if code > 127 else 1)))
    parts = {"weight": ("F8_E4M3", weight.shape, bytes(codes)),
             "weight_scale_inv" if block else "weight_scale": table("F32", scales)}
    return parts, Tensor(weight.shape, modelio.to_f32(held))


METHODS = {
    "gptq": (lambda w: int4(w, 32, False, 1), {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False}),
    "awq": (lambda w: int4(w, 32, True, 0), {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"}),
    "gptq-128": (lambda w: int4(w, 128, False, 0),
                 {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "checkpoint_format": "gptq_v2"}),
    "fp8": (lambda w: fp8(w, (128, 128)), {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}),
    "fp8-rows": (lambda w: fp8(w, None), {"quant_method": "compressed-tensors", "format": "float-quantized"})}


def quantize(method, tensors):
    """(entries of safetensors, {name: tensor as it is held}, quantization_config): of each projection; the rest is F32."""
    entries, held = [], {}
    parts_of, config = METHODS[method]
    for name, tensor in tensors.items():
        if not name.endswith("_proj.weight"):
            entries.append((name, "F32", tensor.shape, modelio.encode("F32", tensor.values)))
            held[name] = tensor
            continue
        parts, held[name] = parts_of(tensor)
        stem = name.removesuffix("weight")
        entries += [(stem + part, *what) for part, what in parts.items()]
    return entries, held, config
