#!/usr/bin/env python3
"""check_report.py PAGE [SPMD]: is PAGE of llm-compile --report whole, closed in itself and safe?

With SPMD, the program of rung spmd that the same command printed, every collective of it must be in the page's table with its bytes,
computed here from the types in the text."""
import html.parser
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/bytes"))
from count import moved

WIDTH = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i1": 1}
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.rows, self.ids, self.links, self.scripts = [], {}, set(), [], []
        self.styles, self.tags, self.text, self.table, self.heads = "", {}, "", None, {}

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag not in VOID:
            self.open.append(tag)
        if "id" in attributes:
            assert attributes["id"] not in self.ids, "id %r twice" % attributes["id"]
            self.ids.add(attributes["id"])
        for name, value in attributes.items():
            assert not name.startswith("on"), "handler %s in markup" % name
            if name in ("href", "src", "action", "data", "srcset", "xlink:href"):
                self.links.append(value)
        if tag == "script":
            self.scripts.append([attributes, ""])
        elif tag == "table":
            self.table = attributes["id"]
            self.rows[self.table], self.heads[self.table] = [], 0
        elif tag == "th":
            self.heads[self.table] += 1
        elif tag == "tr":
            self.rows[self.table].append([attributes.get("id"), []])
        elif tag == "td":
            self.rows[self.table][-1][1].append([attributes.get("data-v"), ""])

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, "</%s> closes %s" % (tag, self.open[-1:])
        self.open.pop()

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1][1] += data
        elif "style" in self.open:
            self.styles += data
        else:
            self.text += data
            if "td" in self.open:
                self.rows[self.table][-1][1][-1][1] += data


def tensor_bytes(text):
    shape, element = re.match(r"tensor<((?:\d+x)*)(\w+)", text).groups()
    return math.prod(int(n) for n in shape.split("x") if n) * WIDTH[element]


def expected_collectives(path):
    """(function, kind, bytes a rank receives) in the order of the text."""
    result, function, sizes = [], None, {}
    for line in open(path):
        if found := re.search(r"dist\.mesh @\w+ = <\[(.*)\]>", line):
            sizes = {name: int(size) for name, size in re.findall(r'"([^"]+)"=(\d+)', found[1])}
        if found := re.search(r"func\.func @(\w+)", line):
            function = found[1]
        if found := re.search(r"= dist\.(\w+) %\S+ (.*)", line):
            kind, rest = found.groups()
            axes = ",".join(re.findall(r"axes = \{([^}]*)\}", rest))
            group = math.prod(int(piece or sizes[name])
                              for name, piece in re.findall(r'"([^"]+)"(?::\(\d+\)(\d+))?', axes)) if axes else 0
            types = re.findall(r"tensor<(?:\d+x)*\w+", rest)[-2:]
            before, after = (tensor_bytes(t) for t in types)
            piece = before
            if kind == "all_to_all":
                for to in {int(dim) for dim in re.findall(r" to = (\d+)", rest)}:
                    old, new = (int(t[len("tensor<"):].split("x")[to]) for t in types)
                    piece = piece // old * new
            got = {"all_slice": lambda: 0, "contribute": lambda: 0, "all_gather": lambda: (group - 1) * before, "all_to_all": lambda: (group - 1) * piece,
                   "all_reduce": lambda: 2 * (group - 1) * before // group, "reduce_scatter": lambda: (group - 1) * after,
                   "collective_permute": lambda: after,
                   "grouped_send": lambda: moved(line, sizes) * tensor_bytes(types[0]) // math.prod(map(int, types[0][len("tensor<"):].split("x")[:-1]))
                   }[kind]()
            result.append((function, kind, got))
    return result


def check_program(page, data, prefix, spmd):
    rows = page.rows.get(prefix + "collective-table", [[None, []]])[1:]
    tensors = page.rows[prefix + "tensor-table"][1:]
    assert len(rows) == len(data["collectives"]) and len(tensors) == len(data["tensors"])
    for table, rest in ((prefix + "collective-table", rows), (prefix + "tensor-table", tensors)):
        for name, cells in rest:
            assert len(cells) == page.heads[table], "%s: a row of %d cells" % (table, len(cells))
    for i, ((name, cells), entry) in enumerate(zip(rows, data["collectives"])):
        assert name == prefix + "c%d" % i and cells[1][1] == entry["function"] and cells[2][1] == entry["kind"]
        assert abs(float(cells[6][0]) - entry["bytes_received"]) < 1 and int(cells[7][0]) == entry["executions"]
        assert abs(float(cells[8][0]) - entry["bytes_received"] * entry["executions"]) < 1
        assert entry["why"] and entry["why"] in cells[10][1]
        # A stage is explained before it is cut into parts.
        silent = prefix or entry["kind"] in ("all_slice", "contribute")
        assert silent or re.match(r"(between|within): \w", cells[11][1]), "which ops does it stand between: %r" % cells[11][1]
    for (name, cells), entry in zip(tensors, data["tensors"]):
        shape = [1] + [dim["local"] for dim in entry["dims"]]
        assert entry["bytes"] == math.prod(shape) * WIDTH[entry["element"]], entry
        assert int(cells[8][0]) == entry["bytes"]
        for reason in entry.get("reasons", []):
            assert reason in cells[9][1], "%s: its table lacks %r" % (entry["name"], reason)
    # Weights and caches of more than one rank say why they lie so, and the largest activations of each function.
    if data["collectives"]:
        for entry in data["tensors"]:
            assert entry["kind"] not in ("weight", "cache") or entry.get("reasons"), "no reason: %s" % entry["name"]
        for function in data["functions"]:
            largest = [t for t in data["tensors"] if t["kind"] == "activation" and t["function"] == function["name"]]
            # What was explained of a stage is its whole step, whose largest values are in few of its parts.
            assert prefix or any(t.get("reasons") for t in largest[:12]), "no reasons in %s" % function["name"]

    # Every dimension that does not divide is in the table of padding, with what it holds of weights.
    padded, held, sizes = set(), {}, dict(data["mesh"])
    for entry in data["tensors"]:
        for dim in entry["dims"]:
            shards = math.prod(int(axis.rsplit(")", 1)[1]) if ")" in axis else sizes[axis] for axis in dim.get("axes", []))
            if dim["local"] * shards != dim["global"]:
                key = (dim["name"], dim["global"], dim["local"] * shards, "+".join(dim["axes"]))
                padded.add(key)
                if entry["kind"] == "weight":
                    held[key] = held.get(key, 0) + entry["bytes"] * (1 - dim["global"] / (dim["local"] * shards))
    rows_of_padding = page.rows.get(prefix + "padding-table", [[None, []]])[1:]
    named = {key for key in padded if key[0]}
    told = {(p["dim"], p["size"], p["padded"], p["axes"]): p for p in data["padding"]}
    assert named <= set(told) and len(told) == len(rows_of_padding), "%s is padded, told are %s" % (named, set(told))
    for key in named:
        assert abs(told[key]["weight_bytes"] - held.get(key, 0)) < 1, "%s: %s" % (key, held.get(key, 0))

    # Every collective is drawn once, and every node and line of the graphs is of this graph.
    drawn = []

    def walk(graph):
        for node in graph["nodes"]:
            drawn.extend([node["collective"]] if "collective" in node else [])
            for body in node.get("bodies", []):
                walk(body)
        for start, end in graph["edges"]:
            assert 0 <= start < end < len(graph["nodes"])

    for function in data["functions"]:
        walk(function["graph"])
    assert drawn == list(range(len(rows)))
    for i in drawn:
        assert "#" + prefix + "c%d" % i in page.links, "collective %d is not drawn" % i

    if spmd:
        have = [(c["function"], c["kind"], c["bytes_received"]) for c in data["collectives"]]
        want = expected_collectives(spmd)
        assert len(have) == len(want), "%d collectives, the program has %d" % (len(have), len(want))
        for a, b in zip(have, want):
            assert a[:2] == b[:2] and abs(a[2] - b[2]) < 1e-6 * max(1, b[2]), "%s, but the program has %s" % (a, b)
    print("%d collectives, %d tensors, %d graphs" % (len(rows), len(tensors), len(data["functions"])))


def main():
    source = open(sys.argv[1], encoding="utf-8").read()
    page = Page()
    page.feed(source)
    page.close()
    assert not page.open, "left open: %s" % page.open

    # Nothing from outside, nothing executable but our one script.
    for link in page.links:
        assert link.startswith("#") or link == "data:,", "address of something outside: " + link
        assert not link.startswith("#") or link[1:] in page.ids, "leads nowhere: " + link
    assert "@import" not in page.styles and "url(" not in page.styles and not re.search(r"\bfetch\(|XMLHttp|import\(", source)
    assert [s[0].get("type") for s in page.scripts] == ["application/json", None]
    for tag in ("iframe", "object", "embed", "base", "form"):
        assert tag not in page.tags, "a <%s>" % tag
    assert "prefers-color-scheme" in page.styles and "@media print" in page.styles

    data = json.loads(page.scripts[0][1])
    programs = data["programs"] if "pipeline" in data else [data]
    # Steps of training have hundreds of values a program.
    assert len(source) < (3000000 * len(programs) if "pipeline" in data else 1000000), "%d bytes" % len(source)
    for number, program in enumerate(programs):
        check_program(page, program, "p%d-" % number if "pipeline" in data else "", sys.argv[2] if len(sys.argv) > 2 else "")
    # A graph a function, and the time line where there are lists.
    lines = 1 if "pipeline" in data and data["pipeline"]["lists"] else 0
    assert page.tags.get("svg", 0) == lines + sum(len(program["functions"]) for program in programs)
    if "pipeline" in data:
        pipeline = data["pipeline"]
        assert len(page.rows["stage-table"]) == 1 + len(pipeline["stages"]) and len(page.rows["channel-table"]) == 1 + len(pipeline["channels"])
        assert sum(stage["layers"] for stage in pipeline["stages"]) > 0 and all(channel["why"] for channel in pipeline["channels"])
        computing = [action for actions in pipeline["lists"] for action in actions.split() if "_" not in action]
        assert page.tags.get("title", 0) >= 1 + len(computing) and all(action + ": " in source for action in computing)


main()
