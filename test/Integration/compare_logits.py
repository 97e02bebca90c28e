"""Compares the logits of two runs: exit status 1 where they differ by more than 1e-4 of the largest.

    compare_logits.py FIRST SECOND"""
import array
import json
import struct
import sys


def logits(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        begin, end = header["logits"]["data_offsets"]
        base = file.tell()
        file.seek(base + begin)
        return array.array("f", file.read(end - begin))


first, second = map(logits, sys.argv[1:3])
top = max(map(abs, first))
worst = max(abs(a - b) for a, b in zip(first, second))
print(f"{len(first)} logits, the largest {top:.3g}, {worst / top:.2g} apart")
sys.exit(len(first) != len(second) or not worst <= 1e-4 * top)
