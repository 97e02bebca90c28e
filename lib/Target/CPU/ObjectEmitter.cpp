//===- ObjectEmitter.cpp - LLVM dialect to an ELF object --------------------===//

#include "tessera/Target/CPU/ObjectEmitter.h"
#include "OutputFile.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

namespace tessera {

using namespace llvm;

static std::unique_ptr<TargetMachine> createMachine(const CPUTarget &target, std::string &message) {
  Triple triple(target.triple);
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return nullptr;
  TargetOptions options;
  // mul + add become one fma: faster, and rounds once.
  options.AllowFPOpFusion = FPOpFusion::Fast;
  return std::unique_ptr<TargetMachine>(backend->createTargetMachine(
      triple, target.cpu, target.features, options, Reloc::PIC_, std::nullopt, CodeGenOptLevel::Default));
}

static void optimize(llvm::Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  // Kernels arrive vectorized; what is scalar in them is a short tail.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  // An iteration works on whole vectors, and reductions have their partial sums: unrolled loops are not
  // faster, and took a quarter of all the work of compiling a program with many copies.
  tuning.LoopUnrolling = false;
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

Error emitObject(mlir::ModuleOp module, const CPUTarget &target, StringRef path) {
  // Diagnostics of the translation become the text of our error.
  std::string details;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && details.empty())
      details = diagnostic.str();
    return mlir::success();
  });
  LLVMContext context;
  std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(module, context, "tessera");
  if (!code)
    return createStringError("cannot translate the program to LLVM IR: " + details);
  std::string message;
  std::unique_ptr<TargetMachine> machine = createMachine(target, message);
  if (!machine)
    return createStringError("no code generator for '" + target.triple + "': " + message);
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  code->setPICLevel(PICLevel::BigPIC);
  code->setPIELevel(PIELevel::Large);
  optimize(*code, *machine);

  Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  {
    raw_fd_ostream stream(file->descriptor(), /*shouldClose=*/false);
    legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
      return createStringError("the code generator cannot write objects for '" + target.triple + "'");
    passes.run(*code);
    stream.flush();
    if (stream.has_error()) {
      std::error_code error = stream.error();
      stream.clear_error();
      return createStringError("cannot write '" + path.str() + "': " + error.message());
    }
  }
  return file->keep();
}

} // namespace tessera
