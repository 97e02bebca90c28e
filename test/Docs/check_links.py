"""What the pages and the comments of the source refer to exists: links, and paths of this repository. README.md has a link to each page of docs/.

    check_links.py ROOT"""
import glob
import os
import re
import shutil
import subprocess
import sys

root = sys.argv[1]
TOP = "bench|docs|include|lib|runtime|scripts|test|tools|cmake"
# `lib/Pipelines/{Compile,Phases}.cpp`, docs/Sharding.md, runtime/comm/{host,mpi}: what has a NAME, X or ... in it is a pattern for people.
PATH = re.compile(rf"(?<![\w./$%<-])(?:{TOP})/[\w./*{{}},+-]*[a-zA-Z0-9*}}]")
LINK = re.compile(r"\]\(([^)\s]+)\)")
ABSENT = re.compile(r"NAME|FILE|MODEL|\.\.\.|/X\b|<")


def expand(path):
    brace = re.search(r"\{([^{}]*)\}", path)
    if not brace:
        return [path]
    return [one for part in brace.group(1).split(",") for one in expand(path[: brace.start()] + part + path[brace.end() :])]


def exists(path):
    """As it is, or without the ending that makes a header and a source one name, or as a public header of the runtime or of a library."""
    paths = [path, re.sub("^runtime/", "runtime/include/tessera/runtime/", path), re.sub("^lib/", "include/tessera/", path)]
    return any(glob.glob(os.path.join(root, p) + end) for p in paths for end in ("", ".cpp", ".h", ".py", ".sh"))


def anchors(path):
    """Headings as a renderer names them."""
    with open(path) as page:
        heads = re.findall(r"^#+\s+(.*)$", page.read(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def files():
    """What git knows or would take; all there is where it knows nothing."""
    if shutil.which("git"):
        git = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
        if git.returncode == 0 and git.stdout:
            return git.stdout.split("\n")
    found = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]
    return [name for name in found if not name.startswith("build")]


bad, seen = [], 0
for name in sorted(files()):
    if name in ("test/Docs/links.test", "test/Layering/layers.test", "test/Layering/lines.test", "test/Layering/format.test"):
        continue  # names what is not there
    if not name.endswith((".md", ".h", ".cpp", ".td", ".py", ".txt", ".test", ".mlir")) or not os.path.isfile(os.path.join(root, name)):
        continue
    with open(os.path.join(root, name), errors="replace") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if name.endswith(".md"):
            for target in LINK.findall(line):
                if "://" in target:
                    continue
                path, _, anchor = target.partition("#")
                page = os.path.normpath(os.path.join(root, os.path.dirname(name), path)) if path else os.path.join(root, name)
                seen += 1
                if not os.path.exists(page) or (anchor and anchor not in anchors(page)):
                    bad.append(f"{name}:{number}: link to {target}")
        elif not re.search(r"//|#|\"\"\"|:", line) or "#include" in line:
            continue  # no comment
        for path in PATH.findall(line):
            if ABSENT.search(path):
                continue
            seen += 1
            bad += [f"{name}:{number}: {one}" for one in expand(path) if not exists(one)]
# Who begins with the README finds each page.
readme = os.path.join(root, "README.md")
if os.path.exists(readme):
    with open(readme) as file:
        listed = set(re.findall(r"\]\((docs/\w[\w-]*\.md)", file.read()))
    bad += [f"README.md: no link to {page}" for page in sorted(set(os.path.relpath(p, root) for p in glob.glob(os.path.join(root, "docs", "*.md"))) - listed)]
for line in bad:
    print(line)
print(f"{seen} references, {len(bad)} dead")
sys.exit(1 if bad or seen < 100 else 0)
