#!/usr/bin/env python3
"""Writes UnicodeTables*.cpp from Python's unicodedata: what normalizers need to know of characters.

    make_unicode_tables.py            writes them beside this file

Each table is a text of entries that end at ';', numbers in hexadecimal, the first of each counted from the one before:
decompositions "+C:a b" (one step; "+C!a b": never composed again), classes, marks and words "+first,count-1[:class]". Lower case is in
runtime/jinja/UnicodeTables.cpp: text normalizers take it as Python's templates do.
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
          literal("wordCharacters", marked(ranges(is_word), lambda v: "")))
    write("UnicodeTablesCompatible.cpp", literal("compatibleDecompositions", decompositions(True)))


main()
