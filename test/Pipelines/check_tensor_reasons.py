"""What --explain says of tensors is how they lie: an axis that a reason gives to a dimension is there, one that it denies is not, a dimension that is
called whole has none, and no axis along which ranks are said to hold the same splits anything.

check_tensor_reasons.py [--min=N] < EXPLANATIONS    at least N reasons are looked at (default 1)
"""
import argparse
import re
import sys

TENSOR = re.compile(r"tensor \((?P<function>\S+)\): .* \[(?P<dims>.*)\] of \S+(?: number)? lies \[(?P<lies>[^\]]*)\](?P<partial>.*), \d+ bytes")
GIVEN = re.compile(r"  (?P<dim>\S+) (?P<no>not )?over (?P<axis>[\w:()]+)[:,] ")
WHOLE = re.compile(r"  (?P<dim>\S+) whole[:,] ")
SAME = re.compile(r"  every rank along (?P<axis>\w+) holds the same")


def wrong(reason, dims, lies, partial):
    """What is not so in `reason`; "" if nothing, None if it speaks of something else."""
    if (given := GIVEN.match(reason)) and given["dim"] in dims:
        has = given["axis"] in lies[dims.index(given["dim"])]
        return "" if has != bool(given["no"]) else "the axis is " + ("there" if has else "not there")
    if (whole := WHOLE.match(reason)) and whole["dim"] in dims:
        return "it is split" if lies[dims.index(whole["dim"])] else ""
    if same := SAME.match(reason):
        used = [axis.split(":")[0] for axes in lies for axis in axes] + re.findall(r"\w+", partial)
        return "the axis splits it" if same["axis"] in used else ""
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--min", type=int, default=1)
    least = parser.parse_args().min
    looked, failed, tensor = 0, 0, None
    for line in sys.stdin:
        if not line.startswith("  "):
            tensor = None
        if match := TENSOR.match(line):
            dims = [dim.strip() for dim in match["dims"].split(",")] if match["dims"] else []
            lies = [[axis for axis in axes.split(",") if axis not in ("-", "")] for axes in match["lies"].split("/")]
            tensor = line.strip(), dims, lies, match["partial"]
        elif tensor and (why := wrong(line, *tensor[1:])) is not None:
            looked += 1
            if why:
                failed += 1
                print(f"{tensor[0]}\n  {line.strip()}: {why}")
    if failed or looked < least:
        sys.exit(f"{failed} of {looked} reasons are not so; at least {least} were to be looked at")


main()
