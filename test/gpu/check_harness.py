"""What scripts/test-gpu does when something goes wrong, tried without a GPU.

    check_harness.py SCRATCH"""
import io
import json
import os
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common
import wanted
from programs import SPEED

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def pack(text):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        info = tarfile.TarInfo("inside/file")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    return data.getvalue()


def pieces(data, names):
    with open(os.path.join(folder, "parts.json"), "w") as file:
        json.dump({"pieces": names + ["weights.gguf.00"]}, file)
    for number, name in enumerate(names):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data[len(data) * number // len(names):len(data) * (number + 1) // len(names)])


for text in (b"first", b"second"):  # packed again: what was unpacked before is not taken
    pieces(pack(text), ["programs.tar.xz.00", "programs.tar.xz.01"])
    os.utime(os.path.join(folder, "programs.tar.xz.00"), None if text == b"first" else (4e9, 4e9))
    whole = common.begin(folder)
    with open(os.path.join(folder, "inside", "file"), "rb") as file:
        print(sorted(whole), file.read())

table = common.Table()
table.part("one that raises", lambda: [][1])
table.part("one that goes on", lambda: table.row("one that goes on", *[common.run(["echo", "hello"])[i] == [0, "hello\n"][i] for i in (0,)], "said hello"))
code, out, err = common.run(["/nonexistent/program"])
table.row("a program that is not there", code == 127, common.last(err))
code, out, err = common.run(["sleep", "60"], timeout=1)
table.row("one that hangs", code == 124, common.last(err))
code, out, err = common.ranks(["bash", "-c", 'echo $RANK of $WORLD_SIZE on $NCCL_HOSTID, GPU $TESSERA_CUDA_DEVICE'], 3)
table.row("ranks", code == 0, out.strip())
code, out, err = common.ranks(["bash", "-c", '[ $RANK = 0 ] || { echo error: rank $RANK fails >&2; exit 3; }'], 2)
table.row("a rank that fails", code == 3, common.last(err))
# A figure below the one that is wanted fails its row, which says both.
for name, step in (("smollm2-bf16", 400e-6), ("smollm2-bf16", 401e-6), ("llama-8b-batch8", 1)):
    print("speed", name, *wanted.speed(name, step))
names = ("decode", "prefill", "of the read bandwidth", "of the rate of a product")
for values in ((1.06, 1, 0.8, 0.7), (1.04, 1, 0.8, 0.7), (1.06, 0.99, 0.8, 0.7), (1.06, 1, 0.79, 0.7), (1.06, 1, 0.8, 0.69)):
    print("ratios", *wanted.ratios("llama-8b-batch1", dict(zip(names, values))))
for name, decode in (("smollm2-bf16", 1.99), ("llama-8b-batch8", 1.09), ("llama-8b-batch32", 1.09)):
    print("ratios", *wanted.ratios(name, {"decode": decode, "prefill": 0.5}))
print("ratios", *wanted.ratios("llama-8b-batch8", {"prefill": 0.5}))  # one that was not measured
print("choice", *wanted.choice(1.05, {"none": 1.0, "wgmma": 2.0}), *wanted.choice(2.0, {"none": 2.0, "wgmma": 1.0}))
print("wanted of programs that there are not:", {*wanted.RATIOS, *wanted.MICROSECONDS} - {name for name, *_ in SPEED} - {"smollm2-bf16"})
os.makedirs(os.path.join(folder, "lib"), exist_ok=True)
open(os.path.join(folder, "lib", "libnccl.so.2"), "w").close()
os.environ["LD_LIBRARY_PATH"] = os.path.join(folder, "lib")
os.environ["TESSERA_CUBLASLT"] = "/some/libcublasLt.so.13"
print(*common.newest("libnccl.so", [], "TESSERA_NCCL")[1:], common.newest("libcublasLt.so", [], "TESSERA_CUBLASLT"), common.libraries)
del os.environ["LD_LIBRARY_PATH"]
print(common.newest("libnothing-like-it.so", [], "TESSERA_NOTHING"))
common.BUDGET = 0
table.part("one for which no time is left", lambda: print("not reached"))
print(len(os.listdir(common.logs.folder)), "logs")
table.close()
