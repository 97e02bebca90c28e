"""The table "Where things live" of docs/Architecture.md says who may depend on whom; #includes and CMake's LINK lists are held to it.

    check_layers.py ROOT [--print]

A row of the table is a component: a folder, or a file without its ending where one file stands apart. A file belongs to the longest
component that its path begins with; `include/tessera/X` and `lib/X` are one, `runtime/include/tessera/runtime/X` and `runtime/X` too. What is
not listed in a row's last column may be neither included nor linked: there is no list of exceptions. --print: the dependencies there are."""
import os
import re
import sys

root = sys.argv[1]


def expand(path):
    brace = re.search(r"\{([^{}]*)\}", path)
    if not brace:
        return [path]
    return [one for part in brace.group(1).split(",") for one in expand(path[: brace.start()] + part + path[brace.end() :])]


def unified(path):
    """Headers and sources of a folder are one component."""
    return re.sub(r"^runtime/include/tessera/runtime/", "runtime/", re.sub(r"^include/tessera/", "lib/", path))


def cells(line):
    return [
        [unified(path) for name in re.findall(r"`([^`]+)`", cell) for path in expand(name)]
        for cell in line.strip().strip("|").split("|")
    ]


def read_table():
    allowed, rows = {}, {}
    with open(os.path.join(root, "docs/Architecture.md")) as page:
        section = page.read().split("## Where things live")[1].split("\n## ")[0]
    for line in section.split("\n"):
        if line.startswith("| `"):
            row = cells(line)
            for component in row[0]:
                allowed[component] = set(row[-1])
                rows[component] = row[0][0]
    return allowed, rows


allowed, rows = read_table()  # rows: the first component of the row that a component stands in
problems = []
for component, others in allowed.items():
    for other in sorted(others - set(allowed)):
        problems.append(f"docs/Architecture.md: {component} depends on {other}, which has no row")


def component_of(path):
    path = unified(path)
    fitting = [c for c in allowed if path == c or path.startswith((c + "/", c + "."))]
    return max(fitting, key=len, default=None)


found = {}


def depend(place, owner, other, what):
    if owner == other:
        return
    found.setdefault(owner, set()).add(other)
    if other not in allowed[owner]:
        problems.append(f"{place}: {owner} does not depend on {other} ({what}); docs/Architecture.md says on what it may")


def sources():
    for top in ("include", "lib", "runtime", "tools"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if name != "test"]  # tests may look at anything
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), root)


lists = []
for path in sorted(sources()):
    if path.endswith("CMakeLists.txt"):
        lists.append(path)
    if not path.endswith((".cpp", ".h", ".td", ".c")):
        continue
    owner = component_of(path)
    if owner is None:
        problems.append(f"{path}: belongs to no row of docs/Architecture.md's table")
        continue
    with open(os.path.join(root, path)) as file:
        for number, line in enumerate(file, 1):
            match = re.match(r'\s*#?\s*include "([^"]+)"', line)
            if not match:
                continue
            name = match.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if name.startswith("tessera/runtime/"):
                target = "runtime/include/" + name
            elif name.startswith("tessera/"):
                target = "include/" + name
            elif os.path.exists(os.path.join(root, beside)):
                target = beside
            else:
                continue  # upstream, or generated beside
            other = component_of(target)
            if other is None:
                problems.append(f"{path}:{number}: {name} belongs to no row of docs/Architecture.md's table")
            else:
                depend(f"{path}:{number}", owner, other, name)

# Libraries: of which component, and what they link.
owners, links = {}, []
for path in lists:
    with open(os.path.join(root, path)) as file:
        text = re.sub(r"#.*", "", file.read())
    for call, body in re.findall(r"\b(tessera_add_(?:runtime_)?library|tessera_add_tool|add_library|add_executable)\s*\(([^)]*)\)", text):
        words = body.split()
        own = [word for word in words[1:] if word.endswith((".cpp", ".c")) and "$" not in word]
        owner = component_of(os.path.join(os.path.dirname(path), own[0])) if own else None
        if owner is None:
            continue
        owners[words[0]] = owner
        if "LINK" in words:
            tail = words[words.index("LINK") + 1 :]
            tail = tail[: tail.index("MLIR")] if "MLIR" in tail else tail
            links += [(path, words[0], library) for library in tail]
    for body in re.findall(r"\btarget_link_libraries\s*\(([^)]*)\)", text):
        words = body.split()
        links += [(path, words[0], word) for word in words[1:] if word not in ("PUBLIC", "PRIVATE", "INTERFACE")]
for path, library, linked in links:
    if library in owners and linked in owners:
        depend(path, owners[library], owners[linked], linked)



uses = {}  # of rows: what stands in one row belongs together
for component, others in found.items():
    uses.setdefault(rows[component], set()).update(rows[other] for other in others)


def circle_from(start):
    """A shortest way along dependencies back to `start`."""
    ways, seen = [[start]], {start}
    for way in ways:
        for other in sorted(uses.get(way[-1], set()) - {way[-1]}):
            if other == start:
                return way + [start]
            if other not in seen:
                seen.add(other)
                ways.append(way + [other])
    return None


for row in uses:
    circle = circle_from(row)
    if circle and row == min(circle):
        problems.append("in a circle: " + " -> ".join(circle) + "; move what the last one needs, or let it be handed in")

if "--print" in sys.argv:
    for component in allowed:
        print(f"{component}: {', '.join(sorted(found.get(component, set())))}")
for problem in problems:
    print(problem)
print(f"{len(allowed)} components, {sum(map(len, found.values()))} dependencies, {len(problems)} not allowed")
sys.exit(1 if problems else 0)
