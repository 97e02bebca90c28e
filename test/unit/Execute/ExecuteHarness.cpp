#include "ExecuteHarness.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Execution/Compare.h"
#include "tessera/Pipelines/Register.h"

#include "mlir/Parser/Parser.h"

namespace tessera::test {

using namespace mlir;

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

Result<CompiledProgram> compileExec(const std::string &text, std::function<void(ModuleOp)> onBinary) {
  auto context = createContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    return Failure{"cannot compile", "", "the test's MLIR does not parse", ""};
  ExecutionOptions options;
  options.from = Rung::Exec;
  options.onBinary = std::move(onBinary);
  return CompiledProgram::compile(*module, options);
}

ExecuteResult execute(ModuleOp module, uint64_t seed, int threads) {
  ExecuteResult result;
  ExecutionJudgement judgement;
  judgement.seed = seed;
  judgement.rounds = 1;
  judgement.threads = threads;
  judgement.bounds.roundings = 0; // tests have bounds of their own
  judgement.execution.onSpmd = [&](ModuleOp spmd) {
    dist::MeshOp mesh = dist::getMesh(spmd);
    result.ranks = mesh ? mesh.getMesh().toMesh().numDevices() : 1;
  };
  Result<std::vector<Difference>> differences = judgeExecution(module, judgement);
  if (!differences) {
    result.error = differences.failure().message();
    return result;
  }
  for (const Difference &difference : *differences)
    result.worst = std::max(result.worst, difference.relative);
  return result;
}

ExecuteResult execute(const std::string &text, uint64_t seed, int threads) {
  auto context = createContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    return {"the test's MLIR does not parse"};
  return execute(*module, seed, threads);
}

} // namespace tessera::test
