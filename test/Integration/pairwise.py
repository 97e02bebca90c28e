"""Few rows of many choices in which every two choices meet."""
import argparse
import itertools


def covering_rows(choices, can_be, draw):
    """Dictionaries, one value for each name of `choices`: each pair of values that some row with `can_be(row)` has is in one of them. Greedily, of all rows in a random order the one
    with most pairs that no row had yet (Cohen et al., AETG, 1997). And how many rows there could be."""
    numbers = {}  # of pairs: bits of a row's set

    def pairs(row):
        return sum(1 << numbers.setdefault(pair, len(numbers)) for pair in itertools.combinations(row.items(), 2))

    every_row = [(pairs(row), row) for values in itertools.product(*choices.values()) if can_be(row := dict(zip(choices, values)))]
    left, rows = (1 << len(numbers)) - 1, []
    while left:
        draw.shuffle(every_row)
        found, row = max(every_row, key=lambda one: bin(one[0] & left).count("1"))
        rows.append(row)
        left &= ~found
    return rows, len(every_row)


def pair_arguments():
    """What the checks take that try such rows."""
    parser = argparse.ArgumentParser()
    for flag in ("--compiler", "--models", "--out"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="I/N: the Ith of N parts of the rows")
    parser.add_argument("--rows", type=int, help="as many of the rows, drawn by the seed; else all")
    return parser.parse_args()


def taken_rows(rows, args, draw):
    part, parts = map(int, args.part.split("/"))
    rows = rows[part - 1::parts]
    return draw.sample(rows, min(args.rows, len(rows))) if args.rows else rows
