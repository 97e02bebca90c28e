"""Few rows of many choices in which every two choices meet."""
import itertools


def covering_rows(choices, can_be, draw):
    """Dictionaries, one value for each name of `choices`: each pair of values that some row with `can_be(row)` has is in one of them. Greedily, of all rows in a random order the one
    with most pairs that no row had yet (Cohen et al., AETG, 1997). And how many rows there could be."""
    def pairs(row):
        return set(itertools.combinations(row.items(), 2))

    every_row = [row for values in itertools.product(*choices.values()) if can_be(row := dict(zip(choices, values)))]
    of_row = {id(row): pairs(row) for row in every_row}
    left = set().union(*of_row.values())
    rows = []
    while left:
        draw.shuffle(every_row)
        rows.append(max(every_row, key=lambda row: len(of_row[id(row)] & left)))
        left -= of_row[id(rows[-1])]
    return rows, len(every_row)
