"""scripts/fuzz coverage: which lines of the files that read bytes from outside the inputs of their targets reach (docs/Fuzzing.md).

    fuzz_coverage.py BUILD TARGET...

Each target runs all that ./scripts/test has it run, and what a fuzzer has added in build-fuzz/corpus. A file belongs to the targets beside it, and counts
if all of those run. Prints `FILE: COVERED of LINES lines, PERCENT % (TARGETS)`, the least first; status 1 if one is below LEAST."""
import json
import os
import pathlib
import subprocess
import sys

LLVM = "/usr/lib/llvm-22/bin/"
LEAST = 80
COMPILER = ("compile-flags", "import", "import-gguf", "program")
# Targets, and the files that read what they give.
READERS = [
    (("safetensors",), ["runtime/io/Safetensors.cpp", "runtime/io/BlocksApart.cpp"]),
    (("quantized",), ["runtime/io/Quantization.cpp", "runtime/io/QuantizedSafetensors.cpp"]),
    (("embedded",), ["runtime/io/EmbedTable.cpp"]),
    (("training-data",), ["runtime/data/TokenRows.cpp"]),
    (("gguf",), ["runtime/io/Gguf.cpp"]),
    (("blocks",), ["runtime/io/DTypeBlocks.cpp"]),
    (("config", "safetensors", "gguf", "quantized", "embedded"), ["runtime/io/HuggingFaceDirectory.cpp", "runtime/io/Json.cpp", "runtime/io/ModelFile.cpp", "runtime/text/EndTokens.cpp"]),
    (("tokenizer-json",), ["runtime/text/TokenizerJson.cpp", "runtime/text/JsonComponents.cpp", "runtime/text/JsonDecoder.cpp"]),
    (("sentencepiece",), ["runtime/text/SentencePieceFile.cpp", "runtime/text/SentencePiece.cpp"]),
    (("gguf", "tokenizer-json", "sentencepiece"), ["runtime/text/TokenizerGguf.cpp", "runtime/text/TokenizerBuilder.cpp", "runtime/text/Charsmap.cpp",
                                                     "runtime/text/GgufSplits.cpp"]),
    (("text", "tokenizer-json", "sentencepiece", "gguf"),
     [f"runtime/text/{name}.cpp" for name in ("AddedTokens", "Bpe", "Normalizer", "PreTokenizer", "Regex", "ScoredBpe", "Tokenizer", "TokenTable",
                                                "TokenizerText", "Unicode", "UnicodeForms", "Unigram")]),
    (("template",),
     [f"runtime/jinja/{name}.cpp" for name in ("Characters", "Expressions", "FilterNumbers", "FilterSequences", "FilterText", "FormatText", "Globals", "Lexer", "Operations",
                                               "ParseExpressions", "ParseStatements", "Statements", "Template", "Tests", "TextMethods", "Value", "ValueText")]),
    (("template", "gguf"), ["runtime/text/ChatTemplate.cpp"]),
    (("schedule",), ["runtime/schedule/Text.cpp", "runtime/schedule/Validate.cpp"]),
    (("checkpoint",), ["runtime/checkpoint/Checkpoint.cpp", "runtime/checkpoint/Mark.cpp"]),
    (("log",), ["runtime/train/TrainingLog.cpp", "runtime/plot/Chart.cpp", "runtime/plot/Plot.cpp"]),
    (("command-line",), [f"runtime/app/{name}.cpp" for name in ("FlagValues", "GenerateFlags", "Options", "TrainFlags")]),
    (("import",), ["lib/Import/HuggingFace/DecoderJson.cpp", "lib/Import/HuggingFace/JsonSettings.cpp", "lib/Import/HuggingFace/RotaryJson.cpp"]),
    (("import-gguf",), [f"lib/Import/GGUF/{name}.cpp" for name in ("GgufSettings", "RotaryGguf", "WindowGguf")]),
    (("import", "import-gguf"), [f"lib/Import/{name}.cpp" for name in ("HeldTypes", "Import", "LayerRuns", "ModelConfig", "Settings", "WeightTable")]
     + [f"lib/Import/Families/{name}.cpp" for name in ("Gemma", "Gpt2", "GptNeox", "GptOss", "Granite", "Llama", "Mistral", "Mixtral", "Olmo2", "Phi3", "Qwen2", "Qwen3", "Qwen3Moe", "SmolLM3")]),
    (("import", "import-gguf", "program"), ["lib/Pipelines/Frontend.cpp"]),
    (("program",), ["lib/Pipelines/SizeWithoutAliases.cpp"]),
    (("compile-flags",), ["lib/Pipelines/CompileOptions.cpp", "lib/Dialect/Dist/Transforms/Annotate/MeshSpec.cpp", "lib/AutoParallel/MachineText.cpp"]),
]


def run(*command, **variables):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode:
        sys.exit(f"error: cannot measure coverage ({pathlib.Path(command[0]).name}): {(done.stderr + done.stdout).strip().splitlines()[-1:]}; see what it says by hand")
    return done.stdout


def binary_of(build, target):
    return f"{build}/unittests/" + ("FuzzCompilerInputsTests" if target in COMPILER else "FuzzInputsTests")


def lines_of(build, group):
    """{file: (covered, lines)} of what a group of targets runs."""
    merged = f"{build}/coverage/{'+'.join(group)}.profdata"
    run(LLVM + "llvm-profdata", "merge", "-sparse", "-o", merged, *(f"{build}/coverage/{target}.profraw" for target in group))
    report = json.loads(run(LLVM + "llvm-cov", "export", "-summary-only", f"-instr-profile={merged}", binary_of(build, group[0])))
    found = {}
    for file in report["data"][0]["files"]:
        lines = file["summary"]["lines"]
        found[os.path.relpath(file["filename"])] = lines["covered"], lines["count"]
    return found


def main():
    build, targets = sys.argv[1], sys.argv[2:]
    os.makedirs(f"{build}/coverage", exist_ok=True)
    for target in targets:
        run(binary_of(build, target), f"--gtest_filter=*/{target.replace('-', '_')}", LLVM_PROFILE_FILE=f"{build}/coverage/{target}.profraw",
            TESSERA_FUZZ_CORPUS=os.path.abspath("build-fuzz/corpus"))
    rows = []
    for group, files in READERS:
        if not set(group) <= set(targets):
            continue
        found = lines_of(build, group)
        for file in files:
            if file not in found:
                sys.exit(f"error: cannot measure coverage ({file}): {binary_of(build, group[0])} has no such file; mend the table in scripts/lib/fuzz_coverage.py")
            covered, count = found[file]
            rows.append((100 * covered / count, file, covered, count, ", ".join(group)))
    for percent, file, covered, count, group in sorted(rows):
        print(f"{file}: {covered} of {count} lines, {percent:.1f} % ({group}){'' if percent >= LEAST else ', too few'}")
    few = sum(row[0] < LEAST for row in rows)
    print(f"{len(rows) - few} of {len(rows)} files have {LEAST} % of their lines reached")
    sys.exit(bool(few))


main()
