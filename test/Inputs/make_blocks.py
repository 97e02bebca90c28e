#!/usr/bin/env python3
"""Makes blocks.safetensors: blocks of every quantized type, and the numbers that the PyPI package `gguf` makes of them.

    pip install gguf && make_blocks.py OUT.safetensors

For each type TYPE.blocks, U8 [blocks, bytes], and TYPE.values, F32 [blocks, elements]: random bytes with ordinary scales, then the smallest subnormal
scale, the largest, a negative one, zero, and minus zero. Kept beside this script.
"""
import random
import struct
import sys

import gguf
import modelio
import numpy
import quantized

# Where a block holds halves: its scale and minimum.
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "MXFP4": []}
SCALES = [0.01, 1.5, struct.unpack("<e", b"\x01\x00")[0], 65504.0, -0.37, 0.0, -0.0]
EXPONENTS = [127, 120, 0, 1, 254, 2, 255]


def main():
    rng, entries = random.Random(13), []
    for name, (elements, size) in quantized.FORMATS.items():
        blocks = [bytearray(rng.randbytes(size)) for _ in SCALES]
        for block, scale, exponent in zip(blocks, SCALES, EXPONENTS):
            if name == "MXFP4":
                block[0] = exponent
            for at in HALVES[name]:
                block[at:at + 2] = struct.pack("<e", scale if at != 2 else scale / 3)
        data = numpy.frombuffer(b"".join(map(bytes, blocks)), numpy.uint8).reshape(len(blocks), size)
        with numpy.errstate(all="ignore"):
            values = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[name])
        entries.append((name + ".blocks", "U8", data.shape, data.tobytes()))
        entries.append((name + ".values", "F32", values.shape, values.astype("<f4").tobytes()))
    modelio.write_safetensors(sys.argv[1], entries)


if __name__ == "__main__":
    main()
