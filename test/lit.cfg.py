# The lit suite: IR tests with FileCheck, numbers with llm-judge, whole programs with llm-compile.
import os
import platform
import shutil
import subprocess

import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sampled_format

config.name = "tessera"
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tessera_build, "test")

# A run takes a sample of tests that are much alike, and of what tests draw at random; TESSERA_FULL=1 takes all (./scripts/test --full).
full = os.environ.get("TESSERA_FULL") == "1"
seed = os.environ.get("TESSERA_SEED", "1")
share = 0.35 if os.environ.get("TESSERA_SKIP_SLOW") == "1" else 1.0
# A mutant is caught by the tests that are there, drawn or not (scripts/mutants).
draw_all = full or os.environ.get("TESSERA_SAMPLE") == "all"
config.test_format = sampled_format.SampledTest(set() if draw_all else sampled_format.left_out(config.test_source_root, seed, share), seed)
if full:
    config.available_features.add("full")
config.substitutions.append(("%seed", seed))

for name in ("HOME", "TMPDIR", "TESSERA_MODELS", "TESSERA_PYTHON", "TESSERA_RUNTIME_ARCHIVE", "TESSERA_SKIP_SLOW", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["PATH"] = os.path.pathsep.join([config.llvm_tools_dir, os.environ["PATH"]])
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

# Our tools, by path. What hangs is ended by lit; no test has a limit of its own.
sanitized = os.environ.get("TESSERA_SKIP_SLOW") == "1"
for tool in ("llm-opt", "llm-judge", "llm-compile"):
    config.substitutions.append((r"(?<![-\w/.])%s(?![-\w/.])" % tool, os.path.join(config.tessera_build, "bin", tool)))
# How many random programs, and how long one may take: the sanitizers look at a part of them.
config.substitutions.append(("%programs", "100" if sanitized else "500"))
# And how many of a test are compiled to the end.
config.substitutions.append(("%binaries", "70" if full else "40"))
# Of so many shapes beyond whole models ptxas sees the kernels.
config.substitutions.append(("%shapes", "100" if full else "2"))
# Of check_train_pairs.py.
config.substitutions.append(("%rows", "1000" if full else "3"))
# Operations of a save that a run is killed at; 0: all.
config.substitutions.append(("%kills", "0" if full else "6"))
# So many of its waits are left out, one after another.
config.substitutions.append(("%waits", "100000" if full else "10"))
# On which meshes a family's model is tried.
config.substitutions.append(("%meshes", "all" if full else "few"))
# Training at each limit of check_fit_memory.py, behind a --train that names one.
config.substitutions.append(("%all_limits", "--train=0,1,2,3,4,5,6,7" if full else ""))
# Pairs of a model and a mesh of check_memory_limits.py.
config.substitutions.append(("%limited", "" if full else "--draw=1"))
# Layouts of check_least_memory.py, of all that there are.
config.substitutions.append(("%layouts", "" if full else f"--draw=6 --seed={seed}"))
# Of the prompts of dtype_prompts.json: each is a start of its own, most of which loads the weights.
config.substitutions.append(("%prompts", "100" if full else "8"))
config.substitutions.append(("%python", os.environ.get("TESSERA_PYTHON", config.python)))
config.substitutions.append(("%test_dir", config.test_source_root))
config.substitutions.append(("%build", config.tessera_build))

if os.environ.get("TESSERA_SKIP_SLOW") != "1":
    config.available_features.add("slow")
# Fetched by scripts/fetch-smollm2; scripts/test --quick does without.
models = os.environ.get("TESSERA_MODELS")
if models and os.path.exists(os.path.join(models, "SmolLM2-135M-Instruct.Q4_1.gguf")):
    config.available_features.add("models")
    config.substitutions.append(("%models", models))
# What chat templates are held against; scripts/test installs it beside numpy, and fetches the templates (scripts/fetch-llamacpp-tests).
if subprocess.run([os.environ.get("TESSERA_PYTHON", config.python), "-c", "import jinja2"], capture_output=True).returncode == 0:
    config.available_features.add("jinja2")
    if os.path.exists(os.path.join(config.tessera_build, "templates", "version")):
        config.available_features.add("templates")
# GPU programs, where there is no GPU (docs/StandIn.md).
if os.path.exists(os.path.join(config.tessera_build, "lib", "standin", "libcuda.so.1")):
    config.available_features.add("standin")
    config.substitutions.append(("%standin", f"env TESSERA_STANDIN_BUILD={config.tessera_build} {config.test_source_root}/../scripts/standin"))
# A newer C library makes programs that need it (test/gpu/check_glibc.py).
if tuple(map(int, (platform.libc_ver()[1] or "0").split("."))) <= (2, 36):
    config.available_features.add("old-glibc")
# Fetched by scripts/fetch-ptxas, if the network lets it.
if os.path.exists(os.path.join(config.tessera_build, "bin", "ptxas")):
    config.available_features.add("ptxas")
if shutil.which("mpirun"):
    config.available_features.add("mpi")
if shutil.which("qemu-x86_64"):
    config.available_features.add("qemu")
if shutil.which("clang-format-22"):
    config.available_features.add("clang-format")
