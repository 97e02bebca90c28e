//===- CodeGenerator.cpp - LLVM as kernels want it ------------------------===//

#include "tessera/Target/Kernels/CodeGenerator.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera {

using namespace llvm;

std::unique_ptr<TargetMachine> createCodeGenerator(StringRef tripleName, StringRef cpu, StringRef features,
                                                   CodeGenOptLevel level, std::string &message) {
  Triple triple(tripleName);
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return nullptr;
  TargetOptions options;
  // mul + add become one fma: faster, and rounds once.
  options.AllowFPOpFusion = FPOpFusion::Fast;
  return std::unique_ptr<TargetMachine>(
      backend->createTargetMachine(triple, cpu, features, options, Reloc::PIC_, std::nullopt, level));
}

void optimizeCode(llvm::Module &module, TargetMachine &machine, bool unrollLoops) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  PipelineTuningOptions tuning;
  // What is scalar in vectorized kernels is a short tail.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = unrollLoops;
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
}

} // namespace tessera
