"""Reading and writing of model files for tests: safetensors, GGUF, and their number formats. Standard library only.

A tensor is a Tensor(shape, values): row-major shape, values a list of floats that are exactly what the file holds.
"""
import array
import collections
import json
import struct
import sys

import quantized

assert sys.byteorder == "little"
Tensor = collections.namedtuple("Tensor", "shape values")

# ggml's numbers of types, and elements and bytes of one block.
GGML = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24),
        "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "BF16": (30, 1, 2),
        "MXFP4": (39, 32, 17)}


def to_f32(values):
    return list(array.array("f", values))


def encode(dtype, values):
    """The bytes of `values` in the format `dtype`, rounded to nearest (quantized as ggml's reference does)."""
    if dtype == "F32":
        return array.array("f", values).tobytes()
    if dtype == "I32":
        return array.array("i", values).tobytes()
    if dtype == "F16":
        return struct.pack(f"<{len(values)}e", *values)
    if dtype == "BF16":
        words = array.array("I", array.array("f", values).tobytes())
        return array.array("H", ((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words)).tobytes()
    if dtype not in quantized.FORMATS:
        raise ValueError(dtype)
    return quantized.encode(dtype, values)


def decode(dtype, data):
    if dtype == "F32":
        return list(array.array("f", data))
    if dtype == "I32":
        return list(array.array("i", data))
    if dtype == "F16":
        return list(struct.unpack(f"<{len(data) // 2}e", data))
    if dtype == "BF16":
        return list(array.array("f", array.array("I", (h << 16 for h in array.array("H", data))).tobytes()))
    if dtype not in quantized.FORMATS:
        raise ValueError(dtype)
    return to_f32(quantized.decode(dtype, data))


def read_safetensors(path):
    """{name: Tensor}"""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = Tensor(entry["shape"], decode(entry["dtype"], data[begin:end]))
    return tensors


def write_safetensors(path, entries):
    """entries: [(name, dtype, shape, bytes)]"""
    header, offset = {}, 0
    for name, dtype, shape, data in entries:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for entry in entries:
            file.write(entry[3])


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _string(value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
    if isinstance(value[0], float):
        return struct.pack("<IIQ", 9, 6, len(value)) + array.array("f", value).tobytes()
    return struct.pack("<IIQ", 9, 5, len(value)) + array.array("i", value).tobytes()


def write_gguf(path, metadata, entries, alignment=32):
    """entries: [(name, type, row-major shape, bytes)]"""
    out = [b"GGUF", struct.pack("<IQQ", 3, len(entries), len(metadata))]
    for key, value in metadata.items():
        out.append(_string(key) + _value(value))
    offset = 0
    for name, dtype, shape, data in entries:
        out.append(_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape)))
        out.append(struct.pack("<IQ", GGML[dtype][0], offset))
        offset += len(data) + -len(data) % alignment
    head = b"".join(out)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % alignment))
        for entry in entries:
            file.write(entry[3] + b"\0" * (-len(entry[3]) % alignment))
