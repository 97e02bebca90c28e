"""Bytes that one rank sends, by one convention for both compilers (docs/Manifest.md, "Byte accounting": ring algorithms).

`ours(text, function)` reads rung spmd, `hlo(text)` the compiled HLO of XLA; loops count as often as they run. Both give {kind: bytes}."""
import collections
import itertools
import math
import re

ELEMENT = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i8": 1, "i1": 1, "s64": 8, "s32": 4, "u32": 4, "u64": 8, "s8": 1, "u8": 1,
           "pred": 1}


def sent(kind, group, source):
    """Bytes that each rank of a group sends; `source`: bytes of its operand."""
    if group <= 1:
        return 0
    return {"all_reduce": 2 * (group - 1) / group * source, "all_gather": (group - 1) * source,
            "reduce_scatter": (group - 1) / group * source, "all_to_all": (group - 1) / group * source,
            "collective_permute": source}[kind]


def moved(line, mesh):
    """Elements that the busiest rank sends or receives in the grouped sends of `line`."""
    layouts = []
    for dims, sizes in re.findall(r"#dist\.sharding<@\w+, \[(.*?)\](?:, partial=[^>]*?)?, global=\[([\d, ]*)\]>", line)[-2:]:
        axes = [[(name, int(pre or 1), int(size or mesh[name])) for name, pre, size in re.findall(r'"(\w+)"(?::\((\d+)\)(\d+))?', dim)]
                for dim in re.findall(r"\{(.*?)\}", dims)]
        layouts.append((axes, [int(n) for n in sizes.split(",")]))
    (before, shape), (after, size) = layouts
    part = re.search(r"grouped_send \S+ at \[([\d, ]*)\]", line)
    at = [int(n) for n in part.group(1).split(",")] if part else [0] * len(shape)

    def extent(axes, n):
        return -(-n // math.prod(size for _, _, size in axes))

    def digit(rank, axis):
        name, pre, size = axis
        return rank[name] // (mesh[name] // (pre * size)) % size

    received, sent = collections.Counter(), collections.Counter()
    for coordinates in itertools.product(*(range(size) for size in mesh.values())):
        boxes = [(coordinates, 1)]
        for have, want, n, m, shift in zip(before, after, shape, size, at):
            number, found = 0, []
            for axis in want:
                number = number * axis[2] + digit(dict(zip(mesh, coordinates)), axis)
            begin, end = (shift + min(m, i * extent(want, m)) for i in (number, number + 1))
            for piece in range(-(-n // extent(have, n))):
                part = min(end, (piece + 1) * extent(have, n)) - max(begin, piece * extent(have, n))
                for sender, elements in boxes if part > 0 else []:
                    holder, rest = dict(zip(mesh, sender)), piece
                    for axis in reversed(have):
                        holder[axis[0]] += (rest % axis[2] - digit(holder, axis)) * (mesh[axis[0]] // (axis[1] * axis[2]))
                        rest //= axis[2]
                    found.append((tuple(holder.values()), elements * part))
            boxes = found
        for sender, elements in boxes:
            if sender != coordinates:
                received[coordinates] += elements
                sent[sender] += elements
    return max([*received.values(), *sent.values()], default=0)


def ours(text, function):
    mesh = {name: int(size) for name, size in re.findall(r'"(\w+)"=(\d+)', re.search(r"dist\.mesh @\w+ = <\[(.*?)\]>", text).group(1))}
    total = collections.Counter()
    body = re.search(r"func\.func @%s\(.*?\n  }" % function, text, re.S).group(0)
    trips = [1]
    for line in body.splitlines():
        if line.strip() == "}" and len(trips) > 1:
            trips.pop()
        repeat = re.search(r"graph\.repeat (\d+)", line)
        if repeat:
            trips.append(trips[-1] * int(repeat.group(1)))
        found = re.search(r"= dist\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute|grouped_send) ", line)
        if not found:
            continue
        kind = found.group(1)
        if kind == "grouped_send":
            total[kind] += trips[-1] * moved(line, mesh) * ELEMENT[re.search(r"tensor<(?:\d+x)*(\w+)", line).group(1)]
            continue
        group = 1
        if kind != "collective_permute":
            for name, size in re.findall(r'"(\w+)"(?::\(\d+\)(\d+))?', re.search(r"axes = \{(.*?)\}", line).group(1)):
                group *= int(size) if size else mesh[name]
        else:
            group = 2
        shape = re.search(r"\} ?: \(?tensor<([^,>]*)|: \(?tensor<([^,>]*)", line[line.rindex('"} :') if '"} :' in line else 0:])
        dims = (shape.group(1) or shape.group(2)).split("x")
        size = ELEMENT[dims[-1]]
        for n in dims[:-1]:
            size *= int(n)
        total[kind] += trips[-1] * sent(kind, group, size)
    return total


HLO_KINDS = {"all-reduce": "all_reduce", "all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-to-all": "all_to_all",
             "collective-permute": "collective_permute"}


def hlo(text):
    """Sums over the entry computation and what it calls."""
    computations, name, entry = {}, None, None
    for line in text.splitlines():
        header = re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{\s*$", line)
        if header and not line.startswith(" "):
            name = header.group(2)
            computations[name] = []
            entry = name if header.group(1) else entry
        elif name and line.startswith(" "):
            computations[name].append(line)

    def shape_bytes(text):
        size = 0
        for element, dims in re.findall(r"\b(\w+)\[([\d,]*)\]", text):
            n = ELEMENT.get(element, 0)
            for d in filter(None, dims.split(",")):
                n *= int(d)
            size += n
        return size

    def group_of(line):
        iota = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
        if iota:
            return int(iota.group(2))
        named = re.search(r"replica_groups=mesh\[(.*?)\](?:, device_ids=\([^ ]*\))? ?\{(.*?)\}", line)
        if named:
            sizes = {name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", named.group(1))}
            group = 1
            for name, size in re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", named.group(2)):
                group *= int(size) if size else sizes[name]
            return group
        listed = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
        if not listed:
            raise ValueError("replica groups of an unknown form: " + line[:300])
        return len(listed.group(1).split(","))

    def count(name, seen=()):
        total = collections.Counter()
        for line in computations.get(name, []):
            found = re.match(r"\s*(?:ROOT )?%?[\w.\-]+ = (.*?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\(", line)
            if found:
                kind, result = HLO_KINDS[found.group(2)], shape_bytes(found.group(1))
                group = 2 if kind == "collective_permute" else group_of(line)
                source = {"all_gather": result / group, "reduce_scatter": result * group}.get(kind, result)
                total[kind] += sent(kind, group, source)
            loop = re.search(r" while\(.*body=%?([\w.\-]+)", line)
            if loop:
                trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
                if not trips:
                    raise ValueError("a loop without a known trip count: " + line[:200])
                inner = count(loop.group(1))
                for kind in inner:
                    total[kind] += int(trips.group(1)) * inner[kind]
            for callee in re.findall(r" (?:call|conditional)\(.*?(?:to_apply|true_computation|false_computation)=%?([\w.\-]+)", line):
                total.update(count(callee))
        return total

    return count(entry)
