"""Blocks of quantized weights (runtime/include/tessera/runtime/io/DType.h), written and read one element at a time. Standard library only.

Quantizing takes the nearest that simple scales give; what a block's bytes mean is what matters here.
"""
import struct

# Elements and bytes of a block, and the values of MXFP4's nibbles, doubled.
FORMATS = {"Q8_0": (32, 34), "Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q4_K": (256, 144),
           "Q5_K": (256, 176), "Q6_K": (256, 210), "MXFP4": (32, 17)}
MXFP4_VALUES = (0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12)


def half(x):
    """x as float16 holds it."""
    return struct.unpack("<e", struct.pack("<e", x))[0]


def nearest(x, scale, low, high):
    return max(low, min(high, round(x / scale))) if scale else 0


def nibbles(quants):
    return bytes(quants[i] & 15 | (quants[i + 16] & 15) << 4 for i in range(16))


def fifth_bits(quants):
    return struct.pack("<I", sum((q >> 4) << i for i, q in enumerate(quants)))


def of_32(dtype, x):
    if dtype == "Q8_0":
        d = half(max(map(abs, x)) / 127)
        return struct.pack("<e32b", d, *(nearest(v, d, -127, 127) for v in x))
    if dtype == "MXFP4":
        e = 0
        while e < 254 and 6 * 2.0 ** (e - 127) < max(map(abs, x)):
            e += 1
        unit = 2.0 ** (e - 128)
        return bytes([e]) + nibbles([min(range(16), key=lambda q: abs(v - unit * MXFP4_VALUES[q])) for v in x])
    most = 31 if dtype.startswith("Q5") else 15
    if dtype.endswith("_0"):
        zero = (most + 1) // 2
        extreme = max(x, key=abs)
        d = half(extreme / -zero)
        q, head = [nearest(v, d, -zero, most - zero) + zero for v in x], struct.pack("<e", d)
    else:
        m = half(min(x))
        d = half((max(x) - m) / most)
        q, head = [nearest(v - m, d, 0, most) for v in x], struct.pack("<ee", d, m)
    return head + (fifth_bits(q) if most == 31 else b"") + nibbles(q)


def sub_scales(scales, minima):
    """Eight pairs of 6 bits in 12 bytes."""
    packed = [0] * 12
    for s in range(4):
        packed[s] = scales[s] | (scales[s + 4] >> 4) << 6
        packed[s + 4] = minima[s] | (minima[s + 4] >> 4) << 6
        packed[s + 8] = scales[s + 4] & 15 | (minima[s + 4] & 15) << 4
    return bytes(packed)


def read_sub_scales(packed):
    for s in range(8):
        if s < 4:
            yield packed[s] & 63, packed[s + 4] & 63
        else:
            yield packed[s + 4] & 15 | (packed[s - 4] >> 6) << 4, packed[s + 4] >> 4 | (packed[s] >> 6) << 4


def of_256(dtype, x):
    if dtype == "Q6_K":
        parts = [x[i:i + 16] for i in range(0, 256, 16)]
        d = half(max(max(map(abs, p)) for p in parts) / 31 / 127)
        scales = [nearest(max(map(abs, p)) / 31, d, 0, 127) for p in parts]
        q = [nearest(v, d * scales[i // 16], -32, 31) + 32 for i, v in enumerate(x)]
        low, high = bytearray(128), bytearray(64)
        for i, v in enumerate(q):
            half_block, part, at = i // 128, i % 128 // 32, i % 32
            low[half_block * 64 + part % 2 * 32 + at] |= (v & 15) << part // 2 * 4
            high[half_block * 32 + at] |= (v >> 4) << part * 2
        return bytes(low + high) + struct.pack("<16be", *scales, d)
    most = 31 if dtype == "Q5_K" else 15
    parts = [x[i:i + 32] for i in range(0, 256, 32)]
    lows = [max(0.0, -min(p)) for p in parts]
    ranges = [(max(p) + low) / most for p, low in zip(parts, lows)]
    d, dmin = half(max(ranges) / 63), half(max(lows) / 63)
    scales, minima = [nearest(r, d, 0, 63) for r in ranges], [nearest(low, dmin, 0, 63) for low in lows]
    q = [nearest(v + dmin * minima[i // 32], d * scales[i // 32], 0, most) for i, v in enumerate(x)]
    low, high = bytearray(128), bytearray(32)
    for i, v in enumerate(q):
        s, at = i // 32, i % 32
        low[s // 2 * 32 + at] |= (v & 15) << s % 2 * 4
        high[at] |= (v >> 4) << s
    return struct.pack("<ee", d, dmin) + sub_scales(scales, minima) + bytes(high if most == 31 else b"") + bytes(low)


def encode(dtype, values):
    elements, _ = FORMATS[dtype]
    assert len(values) % elements == 0, (dtype, len(values))
    quantize = of_32 if elements == 32 else of_256
    return b"".join(quantize(dtype, values[i:i + elements]) for i in range(0, len(values), elements))


def read_32(dtype, block):
    if dtype == "Q8_0":
        d, *q = struct.unpack("<e32b", block)
        return [d * v for v in q]
    q = [b & 15 for b in block[-16:]] + [b >> 4 for b in block[-16:]]
    if dtype == "MXFP4":
        return [2.0 ** (block[0] - 128) * MXFP4_VALUES[v] for v in q]
    if dtype.startswith("Q5"):
        bits, = struct.unpack("<I", block[-20:-16])
        q = [v | (bits >> i & 1) << 4 for i, v in enumerate(q)]
    if dtype.endswith("_1"):
        d, m = struct.unpack("<ee", block[:4])
        return [d * v + m for v in q]
    d, = struct.unpack("<e", block[:2])
    return [d * (v - (16 if dtype == "Q5_0" else 8)) for v in q]


def read_256(dtype, block):
    if dtype == "Q6_K":
        *scales, d = struct.unpack("<16be", block[192:])
        values = []
        for i in range(256):
            half_block, part, at = i // 128, i % 128 // 32, i % 32
            q = block[half_block * 64 + part % 2 * 32 + at] >> part // 2 * 4 & 15
            q |= (block[128 + half_block * 32 + at] >> part * 2 & 3) << 4
            values.append(d * scales[i // 16] * (q - 32))
        return values
    d, dmin = struct.unpack("<ee", block[:4])
    low, high = block[-128:], block[16:48] if dtype == "Q5_K" else bytes(32)
    values = []
    for s, (scale, minimum) in enumerate(read_sub_scales(block[4:16])):
        for i in range(32):
            q = low[s // 2 * 32 + i] >> s % 2 * 4 & 15 | (high[i] >> s & 1) << 4
            values.append(d * scale * q - dmin * minimum)
    return values


def decode(dtype, data):
    elements, size = FORMATS[dtype]
    read = read_32 if elements == 32 else read_256
    return [v for i in range(0, len(data), size) for v in read(dtype, data[i:i + size])]
