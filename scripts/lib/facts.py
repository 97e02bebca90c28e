"""Writes docs/Facts.md from test/Facts/rows.tsv, the reshard table and what the built tools give. See scripts/facts."""
import collections
import json
import os
import re
import subprocess
import sys

# Every id of the pages but T15, whose messages between stages are no collectives of a program; S: the vectors of the page on schedules, and its other figures.
IDS = """
P1 P2 P3 P5 P6 P7 P8 P9 P10 P12 P13 P14 P15 P16 P18 P20 P21 P22 P23 P25 P26 P27 P28 P30 P32
C1 C2 C4 C5 C6 C7 C8 C9 C11 M1 M2 M4
E1 E2 E3 E5 E6 E7b E7c E8 E9 E11 E12 E13 E14 E16 E17 E18 E19 E20 E22 E24 E25 E26
K1 K3 K4 K5 K6 K7 R1 R2 R3 R4 R6 R7 R8 I1 N1
T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T16 T17 T18 T19 T20
""".split() + [f"S{i}" for i in range(1, 34)]
TITLES = {
    "propagation": "Propagation", "control": "Control flow and groups", "manual": "Manual regions", "placement": "Where a reshard goes",
    "algebra": "Collective algebra", "reshard": "Reshards", "io": "Function inputs and outputs", "negative": "Negative cases",
    "transformer": "Transformer cases", "schedule": "Pipeline schedules",
}
SHORT = {"all_reduce": "AR", "all_gather": "AG", "reduce_scatter": "RS", "all_to_all": "A2A", "collective_permute": "CP", "grouped_send": "P2P", "exchange_rows": "A2A"}
DOCUMENT = "docs/Facts.md"
TEST = "test/"
PREFACE = """# Facts: best known and ours

Every row of the facts that the sharding core is held to. Written by `scripts/facts` from `test/Facts/rows.tsv` and what the built tools give;
`test/Docs/facts.test` says whether it is fresh and complete. The tests named hold the exact collectives and, through `llm-judge`, the numbers.

Bytes are what a device sends (as many as it receives) in one run, elements of 4 bytes. Where a machine decides it is `test/Facts/bytes.json`, whose
links have next to no latency: the pages count bytes. On the default machine a message costs something, and work counts for
more: the last column has its bytes where they differ. How random rows compare with XLA is in [Bytes.md](Bytes.md#random-rows). **over**: more than the best known.
"""


def fail(message):
    sys.exit(f"error: {message}")


class Tools:
    def __init__(self, folder):
        self.folder, self.known = os.path.abspath(folder), {}

    def run(self, tool, *arguments, fails=False):
        """Output and messages of a tool, run in the test folder; each command once. `fails`: it may."""
        key = (tool, *arguments)
        if not os.path.exists(os.path.join(self.folder, tool)):
            fail(f"no such tool ({self.folder}): {tool}; run scripts/build, or name the folder with --bin=DIR")
        if key not in self.known:
            done = subprocess.run([os.path.join(self.folder, tool), *arguments], capture_output=True, text=True, cwd=TEST, timeout=120)
            if done.returncode and not fails:
                fail(f"command failed ({' '.join(key)}): {(done.stderr or done.stdout).strip().splitlines()[-1]}; run it in test/")
            self.known[key] = done
        return self.known[key]

    def program(self, path, function, options):
        """Bytes and collectives of a function of a compiled program."""
        explained = json.loads(self.run("llm-opt", path, f"--tessera-explain={options} json=true", "-o", os.devnull).stderr)
        step = next((s for s in explained["steps"] if s["function"] == function), None) or fail(f"no such function ({path}): @{function}; see its text")
        collectives = [c for c in explained["collectives"] if c["function"] == function]
        texts = [SHORT[c["kind"]] + ("{" + ",".join(c["axes"]) + "}" if c["axes"] else "") + (f" x {c['executions']}" if c["executions"] > 1 else "")
                 for c in collectives]
        return step["collective_bytes"], texts

    def case(self, path, name, *flags):
        """What sharding-facts prints of the cases of a name."""
        text = self.run("sharding-facts", *flags, path, fails=not flags).stdout # what is expected holds for one machine
        found = {block.split("\n", 1)[0]: block for block in re.split(r"^case ", text, flags=re.M)[1:]}
        return found[name] if name in found else fail(f"no such case ({path}): {name}; see its text")

    def schedule(self, path, case):
        """The makespan that schedule-facts gives for a case, or the error."""
        text = self.run("schedule-facts", path, fails=True).stdout # what is expected and does not hold shows here
        found = re.search("^" + re.escape("case " + case) + r"\n(?:r\d+ .*\n)*(?:makespan (\S+)|error (\w+))", text, re.M)
        return found[1] or found[2] if found else fail(f"no such case ({path}): {case}; see its text")


def default_machine(options):
    return re.sub(r" ?machine=\S+", "", options).strip()


def grouped(texts):
    """AG AG AR as 2 AG, AR."""
    return ", ".join((f"{n} " if n > 1 else "") + text for text, n in collections.Counter(texts).items()) or "none"


def measured(row, tools):
    """best, ours, collectives, ours on the default machine."""
    kind, *words = row["run"].split(" ")
    if kind == "program":
        path, function, options = words[0], words[1], " ".join(words[2:])
        ours, collectives = tools.program(path, function, options)
        plain = tools.program(path, function, default_machine(options))[0]
    elif kind == "place":
        path, name = words[0], " ".join(words[1:])
        results = [tools.case(path, name, *flags) for flags in (["--machine=Facts/bytes.json"], [])]
        ours, plain = (int(re.search(r"^bytes (\d+)$", text, re.M)[1]) for text in results)
        listed = re.search(r"^collectives (.*)$", results[0], re.M)[1]
        collectives = [re.sub(r"[ ]\d.*", "", step) for step in listed.split("; ") if not step.startswith(("SL", "-"))]
    elif kind == "schedule":
        ours = tools.schedule(words[0], row["case"])
        return row["best"], ours + ("" if ours == row["best"] else " **over**"), "", ""
    elif kind == "negatives":
        ours = negatives()
        return (*compare(row, ours, ours >= int(row["best"])), "", "")
    else:
        return "-", "judged by the test" if row["test"] != "-" else "no test", "", ""
    return (*compare(row, ours, ours <= int(row["best"])), grouped(collectives), f"{plain:,}" if plain != ours else "")


def compare(row, ours, holds):
    return f"{int(row['best']):,}", f"{ours:,}" + ("" if holds else " **over**")


def negatives():
    """Malformed programs and flags that the tests expect an error of."""
    count = 0
    for folder, _, files in os.walk(TEST + "Dialect/Dist"):
        count += sum(open(os.path.join(folder, name)).read().count("expected-error") for name in files)
    text = open(TEST + "bad-input/check_bad_shardings.py").read()
    return count + len(re.findall(r"^    \(", text, re.M))


def expected_shardings(row):
    """What the cases of a propagation row expect; sharding-facts fails where one does not hold."""
    found = []
    for block in re.split(r"^case ", open(TEST + row["run"].split(" ")[1]).read(), flags=re.M)[1:]:
        if block.split()[0] == row["id"]:
            expects = re.findall(r"^expect (.*)$", block, re.M)
            found.append(", ".join(f"{name} `{sharding}`" for name, sharding in (e.split(" ", 1) for e in expects)))
            if not expects:
                fail(f"a case expects nothing ({row['id']}): {row['run']}; add expect lines")
    return "; ".join(found) or fail(f"no such case ({row['id']}): {row['run']}; add it")


def link(path):
    return path if path == "-" else ", ".join(f"[{part.removeprefix('../')}](../{os.path.normpath(TEST + part)})" for part in path.split(", "))


def tables(rows, tools):
    text = ""
    for page, title in TITLES.items():
        text += f"\n## {title}\n\n"
        chosen = [row for row in rows if row["page"] == page]
        propagated = any(row["run"].startswith("case ") for row in chosen)
        for row in chosen:
            if row["run"].startswith("case "):
                tools.run("sharding-facts", row["run"].split(" ")[1])
        if propagated:
            text += "| row | case | ours, as expected | test |\n|---|---|---|---|\n"
            for row in chosen:
                ours = expected_shardings(row) if row["run"] != "-" else "reshards as in the row"
                text += f"| {row['id']} | {row['case']} | {ours} | {link(row['test'])} |\n"
        elif page == "schedule":
            text += "| row | case | makespan in the facts | ours | test |\n|---|---|---|---|---|\n"
            for row in chosen:
                best, ours, _, _ = measured(row, tools)
                text += f"| {row['id']} | {row['case']} | {best} | {ours} | {link(row['test'])} |\n"
        elif page in ("io", "negative"):
            text += "| row | case | best known | ours | test |\n|---|---|---|---|---|\n"
            for row in chosen:
                best, ours, _, _ = measured(row, tools)
                text += f"| {row['id']} | {row['case']} | {best}{' (' + row['from'] + ')' if row['from'] else ''} | {ours} | {link(row['test'])} |\n"
        else:
            text += "| row | case | best known, bytes | from | ours, bytes | ours, collectives | test | default machine |\n|---|---|---|---|---|---|---|---|\n"
            for row in chosen:
                best, ours, collectives, plain = measured(row, tools)
                text += f"| {row['id']} | {row['case']} | {best} | {row['from']} | {ours} | {collectives} | {link(row['test'])} | {plain} |\n"
    return text


def reshard_table(tools):
    path = "unit/AutoParallel/reshard.tsv"
    lines = [line.rstrip("\n") for line in open(TEST + path) if not line.startswith(("#", "mesh\t")) and line.strip()]
    plans = tools.run("reshard-facts", path).stdout.splitlines()
    text = "\n## reshard.tsv\n\nCosts as `build/bin/reshard-facts` prints them: elements that the busiest device receives, over the whole tensor. Best `-`: an end does not\ndivide.\n\n"
    text += "| mesh | shape | from | to | shardy | best | ours | moves |\n|---|---|---|---|---|---|---|---|\n"
    sums, ours_sum = 0.0, 0.0
    for line, plan in zip(lines, plans):
        mesh, shape, source, target, shardy, best, _ = line.split("\t")
        cost, steps = plan.split("\t")
        moves = " ".join(step.split(" ")[0] for step in steps.split("; ")) if steps else "none"
        over = ""
        if best != "-":
            sums, ours_sum = sums + float(best), ours_sum + float(cost)
            over = " **over**" if float(cost) > float(best) + 5.1e-5 else ""
        text += f"| {mesh} | {shape} | `{source}` | `{target}` | {shardy} | {best} | {float(cost):.4f}{over} | {moves} |\n"
    return text + f"\nRows with a best: {sums:.4f} best, {ours_sum:.4f} ours.\n"


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    folder = next((a[len("--bin="):] for a in arguments if a.startswith("--bin=")), "build/bin")
    rows = []
    for line in open(TEST + "Facts/rows.tsv"):
        if line.startswith(("#", "page\t")):
            continue
        columns = line.rstrip("\n").split("\t")
        if len(columns) != 7:
            fail(f"wrong row (test/Facts/rows.tsv): {line!r} has {len(columns)} columns; separate seven by tabs")
        rows.append(dict(zip(("page", "id", "case", "best", "from", "test", "run"), columns)))
    listed = {row["id"] for row in rows}
    if listed != set(IDS):
        fail(f"rows differ (test/Facts/rows.tsv): missing {sorted(set(IDS) - listed)}, unknown {sorted(listed - set(IDS))}; list each id of the pages")
    for row in rows:
        for path in row["test"].split(", "):
            if path != "-" and not os.path.exists(TEST + path):
                fail(f"no such test (row {row['id']}): {path}; name one that is there")
    tools = Tools(folder)
    text = PREFACE + tables(rows, tools) + reshard_table(tools)
    over = text.count("**over**") - PREFACE.count("**over**")
    text += f"\n{len(listed)} rows; {over} over the best known.\n"
    if not check:
        open(DOCUMENT, "w").write(text)
    elif not os.path.exists(DOCUMENT) or open(DOCUMENT).read() != text:
        fail(f"{DOCUMENT} is not what the tools give ({DOCUMENT}): a figure or a row changed; run scripts/facts, look at the change and commit")


main()
