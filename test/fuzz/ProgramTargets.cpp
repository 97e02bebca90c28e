// Programs in text, and the command line that says what becomes of them.
#include "Targets.h"

#include "tessera/AutoParallel/Machine.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Frontend.h"
#include "tessera/Pipelines/Phases.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace tessera::fuzz {

/// A refusal says why in one line.
static void expectReason(const Failure &failure) {
  expectOneLine(failure);
  expect(failure.why.find("without saying why") == std::string::npos, "a pass that fails says why");
}

/// `module` down to rung spmd, as far as it goes.
static void lower(ModuleOp module, const CompileOptions &options) {
  for (Rung rung : {Rung::Graph, Rung::Step, Rung::Sharded, Rung::Spmd}) {
    DiagnosticCollector diagnostics(*module.getContext());
    PassManager pm(module.getContext());
    buildPhase(pm, rung, options);
    if (failed(pm.run(module)))
      return expectReason(diagnostics.failure("cannot compile", "program.mlir"));
  }
}

/// A text. Its first line chooses the flags: words behind `//`, as `// --mesh=tp=2 --shard=ffn=tp`.
void runProgram(std::string_view input) {
  static const Folder folder;
  folder.write("program.mlir", input);
  std::string model = folder.path() + "/program.mlir", line(input.substr(0, input.find('\n')));
  llvm::SmallVector<llvm::StringRef> flags;
  if (llvm::StringRef rest = line; rest.consume_front("//"))
    rest.split(flags, ' ', -1, /*KeepEmpty=*/false);
  std::vector<std::string> words = {model, "--compile-to=spmd"};
  for (llvm::StringRef flag : flags)
    if (flag.starts_with("--mesh=") || flag.starts_with("--shard=") || flag.starts_with("--task="))
      words.push_back(llvm::StringRef(flag.str().c_str()).str()); // to its first NUL
  std::optional<CompileOptions> options = optionsOf(words);
  if (!options)
    return;
  Result<OwningOpRef<ModuleOp>> module = loadModel(contextOfTarget(), *options);
  if (!module)
    return expectReason(module.failure());
  lower(**module, *options);
}

/// Words, a line each; of --mesh and --shard what they mean, too. A text that begins with `{` is a machine's
/// description.
void runCompileFlags(std::string_view input) {
  std::string error;
  if (input.substr(0, 1) == "{") {
    std::optional<Machine> machine = parseMachine(llvm::StringRef(input.data(), input.size()), error);
    if (!machine)
      return expectOneLine({"cannot compile", "--machine=FILE", error, ""});
    expect(parseMachine(toJson(*machine), error) == machine,
           "what is written of a machine is read as it was");
    return;
  }
  std::vector<std::string> words = wordsOf(input);
  std::optional<CompileOptions> options = optionsOf(words);
  if (!options)
    return;
  std::optional<Mesh> mesh = dist::parseMeshSpec(options->mesh, error);
  if (!mesh)
    return expectOneLine({"cannot compile", "--mesh=" + options->mesh, error, ""});
  std::optional<std::vector<dist::ShardItem>> items = dist::parseShardSpec(options->shard, *mesh, error);
  if (!items)
    return expectOneLine({"cannot compile", "--shard=" + options->shard, error, ""});
  if (error = dist::checkAxesUsed(*mesh, *items); !error.empty())
    expectOneLine({"cannot compile", "--mesh=" + options->mesh, error, ""});
}

} // namespace tessera::fuzz
