"""What run.py and bench.py share: unpacking, running with logs, processes that share a GPU, parts that fail alone, one table."""
import ctypes
import ctypes.util
import glob
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tarfile
import time
import traceback

BEGAN = time.time()
ONLY = os.environ.get("TESSERA_GPU_ONLY", "")  # a regular expression: parts whose names it finds nothing in are left out
BUDGET = float(os.environ.get("TESSERA_GPU_BUDGET", 8.5 * 60))  # seconds of a command, so that it ends within nine minutes


def left():
    return BUDGET - (time.time() - BEGAN)


def unpack(folder):
    """Puts pieces together as far as they are there; returns the names of what is whole."""
    with open(os.path.join(folder, "parts.json")) as file:
        pieces = json.load(file)["pieces"]
    whole = set()
    for name in sorted({piece.rsplit(".", 1)[0] for piece in pieces}):
        mine = [os.path.join(folder, piece) for piece in pieces if piece.rsplit(".", 1)[0] == name]
        if not all(os.path.exists(piece) for piece in mine):
            print(f"{name}: {sum(map(os.path.exists, mine))} of {len(mine)} pieces are here", file=sys.stderr)
            continue
        path = os.path.join(folder, name)
        newest = max(os.path.getmtime(piece) for piece in mine)
        if not os.path.exists(path) or os.path.getmtime(path) < newest:
            with open(path + ".new", "wb") as out:
                for piece in mine:
                    with open(piece, "rb") as file:
                        out.write(file.read())
            if name.endswith(".tar.xz"):
                with tarfile.open(path + ".new") as tar:
                    tar.extractall(folder)
            os.rename(path + ".new", path)  # under its name only when all of it is unpacked
        whole.add(name)
    return whole


class Logs:
    """Every command with what it printed, in files of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.number = 0
        os.makedirs(folder, exist_ok=True)

    def keep(self, command, environment, code, out, err, seconds):
        self.number += 1
        name = re.sub(r"[^\w.-]+", "_", os.path.basename(command[0]))[:40]
        with open(os.path.join(self.folder, f"{self.number:03}-{name}.log"), "w") as file:
            settings = " ".join(f"{k}={v}" for k, v in environment.items())
            file.write(f"{settings} {' '.join(command)}\nexit status {code} after {seconds:.1f} s\n\n--- stdout\n{out}\n--- stderr\n{err}\n")


logs = None  # set by begin()
libraries = {}  # environment that names the libraries to take


def begin(folder):
    """Unpacks FOLDER and starts its logs."""
    global logs
    whole = unpack(folder)
    logs = Logs(os.path.join(folder, "logs-" + os.path.basename(sys.argv[0]).split(".")[0]))
    print(f"logs: {logs.folder}", flush=True)
    return whole


def run(command, timeout=300, **environment):
    """Exit status, stdout, stderr; what does not end in time has status 124."""
    return together([(command, environment)], timeout)


def together(commands, timeout=300):
    """Several commands at once, each with its environment: the first failing exit status, stdout of the first, all of stderr."""
    limit = max(1.0, min(timeout, left()))
    began = time.time()
    processes, files = [], []
    for number, (command, environment) in enumerate(commands):
        pair = [open(os.path.join(logs.folder, f".{os.getpid()}-{number}.{stream}"), "w+", errors="replace") for stream in ("out", "err")]
        files.append(pair)
        try:
            processes.append(subprocess.Popen(command, stdout=pair[0], stderr=pair[1], stdin=subprocess.DEVNULL, start_new_session=True,
                                              env=dict(os.environ, **libraries, **environment)))
        except OSError as error:
            pair[1].write(f"cannot start {command[0]}: {error}\n")
            processes.append(None)
    late, failed = False, None
    while any(process and process.poll() is None for process in processes):
        codes = [127 if process is None else process.poll() for process in processes]
        if failed is None and any(code not in (None, 0) for code in codes):
            failed = time.time()
        late = time.time() - began > limit
        if late or (failed and time.time() - failed > 15):  # the others were told, or will never be
            for process in processes:
                if process and process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            break
        time.sleep(0.02)
    texts = []
    for pair in files:
        row = []
        for file in pair:
            file.flush()
            file.seek(0)
            row.append(file.read())
            file.close()
            os.unlink(file.name)
        texts.append(row)
    codes = [127 if process is None else process.returncode for process in processes]
    code = 124 if late else next((code for code in codes if code), 0)
    out, err = texts[0][0], "".join(row[1] for row in texts)
    if late:
        err += f"\nit did not end within {limit:.0f} s"
    for (command, environment), (mine, errors), one in zip(commands, texts, codes):
        logs.keep(command, environment, one, mine, errors, time.time() - began)
    return code, out, err


def ranks(command, count, timeout=300, **environment):
    """Ranks as torchrun starts them, that share the GPU: for NCCL each claims to be a machine."""
    port = 20000 + (os.getpid() * 7 + logs.number) % 20000
    common = dict(WORLD_SIZE=str(count), LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                  TORCHELASTIC_RUN_ID=f"tessera-{os.getpid()}-{logs.number}", TESSERA_CUDA_DEVICE="0")
    common.update(environment)
    return together([(command, dict(common, RANK=str(rank), LOCAL_RANK=str(rank), NCCL_HOSTID=f"tessera-rank{rank}")) for rank in range(count)], timeout)


def last(text):
    """The line of a text that says most: its error, or its last one."""
    lines = [line for line in text.strip().splitlines() if line.strip()] or ["it says nothing"]
    return next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1])[:240]


class Table:
    """Rows of a name, a verdict and a figure; printed as they come, counted at the end."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def row(self, name, ok, figure):
        word = "ok" if ok else "skipped" if ok is None else "FAILED"
        self.passed += ok is True
        self.skipped += ok is None
        self.failed += ok is False
        print(f"| {name} | {word} | {figure} |", flush=True)

    def part(self, name, function, *arguments):
        """One part of the run: whatever goes wrong within it is a row, and the next part goes on."""
        if name != "the machine" and not re.search(ONLY, name):
            return None
        if left() < 5:
            return self.row(name, None, "no time is left; run the command again, or set TESSERA_GPU_BUDGET=SECONDS")
        try:
            function(*arguments)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.row(name, False, f"the script failed: {type(error).__name__}: {str(error)[:160]} ({os.path.basename(where.filename)}:{where.lineno})")

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped in {time.time() - BEGAN:.0f} s; every command's output is in {logs.folder}")
        sys.exit(bool(self.failed))


def expected_tokens(table, title, program, weights, path):
    """A row: whether the tokens of every prompt of a file (expected.json of test/Inputs/models) are the expected ones."""
    with open(path) as file:
        prompts = json.load(file)
    same = 0
    for prompt in prompts:
        code, out, err = run([program, "generate", f"--model={weights}", "--tokens=" + ",".join(map(str, prompt["prompt_tokens"])),
                              f"--max-new-tokens={len(prompt['generated'])}", "--print-tokens"])
        if code:
            return table.row(title, False, last(err))
        got = next(([int(t) for t in line[8:].split(",")] for line in out.splitlines() if line.startswith("tokens: ")), [])
        same += len(got) + 1 >= len(prompt["generated"]) and got == prompt["generated"][:len(got)]  # an end token may be left out
    table.row(title, same == len(prompts), f"{same} of {len(prompts)} prompts as expected")


def library_candidates(name, below):
    """Where a library may be, beside the loader's path, which comes first."""
    try:
        listing = subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    except OSError:
        listing = ""
    found = [line.rsplit("=> ", 1)[1].strip() for line in listing.splitlines() if re.search(rf"\b{re.escape(name)}(\.\d+)?\b.*=> ", line)]
    for folder in [path for path in sys.path if path] + sorted(glob.glob("/opt/*/lib/python3*/site-packages") + glob.glob("/usr/local/lib/python3*/*-packages")):
        for package in below:
            found += glob.glob(os.path.join(folder, package, name + ".*"))
    for toolkit in glob.glob("/usr/local/cuda*/lib64"):
        found += glob.glob(os.path.join(toolkit, name + ".[0-9]*"))
    unique = {}
    for path in found:
        unique.setdefault(os.path.realpath(path), path)
    return list(unique.values())


ASK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
if "nccl" in sys.argv[2]:
    version = ctypes.c_int()
    library.ncclGetVersion(ctypes.byref(version))
    print(version.value)
else:
    library.cublasLtGetVersion.restype = ctypes.c_size_t
    print(library.cublasLtGetVersion())
"""


def newest(name, below, variable):
    """The newest of a library, asked by itself; what LD_LIBRARY_PATH or the variable names stays as it is."""
    if os.environ.get(variable):
        return os.environ[variable], "named by " + variable
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        for path in sorted(glob.glob(os.path.join(folder, name + ".[0-9]*"))) if folder else []:
            return path, "on LD_LIBRARY_PATH"
    best = None
    for path in library_candidates(name, below):
        asked = subprocess.run([sys.executable, "-c", ASK, path, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60)
        if asked.returncode == 0 and (best is None or int(asked.stdout) > best[0]):
            best = (int(asked.stdout), path)
    if not best:
        return None, "not on this machine"
    libraries[variable] = best[1]
    return best[1], f"version {best[0]}"


def machine(table):
    """What the machine is, a row each; the newest libraries are chosen."""
    code, out, err = run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"], timeout=30)
    table.row("GPU, driver, memory", True if code == 0 else None, "; ".join(out.split("\n")).strip("; ") if code == 0 else "no nvidia-smi here")
    table.row("system", True, f"{' '.join(platform.libc_ver())}, Python {platform.python_version()}, {os.cpu_count()} cores, kernel {platform.release()}")
    for title, name, below, variable, without in (
            ("cuBLASLt", "libcublasLt.so", ["nvidia/cu13/lib", "nvidia/cublas/lib"], "TESSERA_CUBLASLT", "products cannot run: pip install nvidia-cublas"),
            ("NCCL", "libnccl.so", ["nvidia/nccl/lib"], "TESSERA_NCCL", "several ranks cannot run: pip install nvidia-nccl-cu13")):
        path, what = newest(name, below, variable)
        table.row(title, True if path else None, f"{path} ({what})" if path else f"{what}; {without}")
    code, out, err = run([sys.executable, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())"], timeout=120)
    table.row("PyTorch", True if code == 0 and "True" in out else None, out.strip() if code == 0 else "not on this machine: figures stand without theirs beside them")
    return code == 0 and "True" in out
