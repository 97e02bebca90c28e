"""What the checks of compiled programs share: a folder of their own, commands that must end as they should, meshes by name, tensors in files. Needs numpy."""
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np

TYPES = {"F32": np.float32, "I32": np.int32}


def fresh(folder):
    """Makes `folder` anew; gives what makes paths of names in it."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return lambda name: os.path.join(folder, name)


def run(command, status=0, **variables):
    """The command when it has ended, its output as text. Ends the check if its exit status is another. `variables` are of the environment."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300, env={**os.environ, **variables})
    if done.returncode != status:
        sys.exit(f"{shlex.join(command)}: exit status {done.returncode}, expected {status}\n{(done.stdout + done.stderr)[-2000:]}")
    return done


def flags_of(mesh):
    """What llm-compile takes for a mesh as checks name it: none, dp=2, or zero1:dp=4 with that template."""
    template, _, axes = mesh.rpartition(":")
    return ([] if mesh == "none" else [f"--mesh={axes}"]) + ([f"--template={template}"] if template else [])


def launcher(mesh):
    """mpirun with the ranks of such a mesh."""
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(math.prod(map(int, re.findall(r"=(\d+)", mesh))))]


def read_log(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def read_safetensors(path, gradients=False):
    """All tensors of a file; those called grad.NAME, of which expected results have as many as weights, where they are asked for."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, base, tensors = json.loads(file.read(size)), 8 + size, {}
        for name, entry in header.items():
            if name == "__metadata__" or (name.startswith("grad.") and not gradients):
                continue
            begin, end = entry["data_offsets"]
            file.seek(base + begin)
            tensors[name] = np.frombuffer(file.read(end - begin), TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors):
    """float32 and int32. Gives the path."""
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": {"float32": "F32", "int32": "I32"}[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())
    return path


def manifest_of(binary):
    """The JSON that an executable carries, as text."""
    text = read_bytes(binary).decode("latin-1")
    for place in re.finditer(r'\{"arch', text):
        try:
            found, end = json.JSONDecoder().raw_decode(text, place.start())
        except ValueError:
            continue
        if isinstance(found, dict) and "params" in found:
            return text[place.start() : end]
    sys.exit(f"{binary}: no manifest in it")
