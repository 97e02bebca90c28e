#!/usr/bin/env python3
"""Writes UnicodeTables*.cpp from Python's unicodedata: what normalizers need to know of characters.

    make_unicode_tables.py            writes them beside this file

Each table is a text of entries that end at ';', numbers in hexadecimal, the first of each counted from the one before:
decompositions "+C:a b" (one step; "+C!a b": never composed again), classes, marks and words "+first,count-1[:class]", lower case
"+first,count-1,step,delta" with the delta as two's complement of 32 bits, or "+C:a b".
"""
import pathlib
import sys
import unicodedata as u

HERE = pathlib.Path(__file__).parent
ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def decompositions(compatible):
    for c in ALL:
        text = u.decomposition(chr(c))
        if not text or (text[0] == "<") != compatible:
            continue
        parts = [int(p, 16) for p in text.split() if p[0] != "<"]
        composes = len(parts) == 2 and u.normalize("NFC", "".join(map(chr, parts))) == chr(c)
        yield c, (":" if composes or compatible else "!") + " ".join(f"{p:X}" for p in parts)


def ranges(value):
    first = last = held = None
    for c in ALL:
        v = value(chr(c))
        if v and v == held and c == last + 1:
            last = c
            continue
        if held:
            yield first, last, held
        first = last = c
        held = v
    if held:
        yield first, last, held


def marked(items, text):
    for first, last, value in items:
        yield first, f",{last - first:X}" + text(value)


def lower():
    runs = []
    for c in ALL:
        low = chr(c).lower()
        if low == chr(c):
            continue
        if len(low) > 1:
            runs.append([c, c, 1, low])
            continue
        delta = ord(low) - c
        run = runs[-1] if runs else None
        if run and run[3] == delta and (run[0] == run[1] and c - run[1] in (1, 2) or c - run[1] == run[2]):
            run[2] = c - run[1]
            run[1] = c
        else:
            runs.append([c, c, 1, delta])
    for first, last, step, delta in runs:
        if isinstance(delta, str):
            yield first, ":" + " ".join(f"{ord(p):X}" for p in delta)
        else:
            yield first, f",{(last - first) // step:X},{step:X},{delta & 0xFFFFFFFF:X}"


LETTERED = [*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A), *range(0x1F170, 0x1F18A), 0x200C, 0x200D]


def is_word(c):
    return u.category(c)[0] in "LM" or u.category(c) in ("Nd", "Nl", "Pc") or ord(c) in LETTERED


def literal(name, items):
    out, line, before = [f"const char *const {name} ="], "", 0
    for c, text in items:
        entry = f"{c - before:X}{text};"
        before = c
        if len(line) + len(entry) > 103:
            out.append(f'    "{line}"')
            line = ""
        line += entry
    out.append(f'    "{line}";')
    return "\n".join(out)


def write(name, *tables):
    path = HERE / name
    path.write_text(f"// Written by make_unicode_tables.py from Python's unicodedata (Unicode {u.unidata_version}).\n"
                    '#include "UnicodeTables.h"\n\n// clang-format off\nnamespace tessera::text {\n\n' + "\n\n".join(tables) +
                    "\n\n} // namespace tessera::text\n")


def main():
    if len(sys.argv) != 1:
        sys.exit(__doc__.strip())
    write("UnicodeTables.cpp", literal("canonicalDecompositions", decompositions(False)),
          literal("combiningClasses", marked(ranges(u.combining), lambda v: f":{v:X}")),
          literal("marks", marked(ranges(lambda c: u.category(c)[0] == "M"), lambda v: "")),
          literal("wordCharacters", marked(ranges(is_word), lambda v: "")), literal("lowerCase", lower()))
    write("UnicodeTablesCompatible.cpp", literal("compatibleDecompositions", decompositions(True)))


main()
