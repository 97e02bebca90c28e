//===- ObjectEmitter.cpp - LLVM dialect to an ELF object --------------------===//

#include "tessera/Target/CPU/ObjectEmitter.h"

#include "OutputFile.h"

#include "tessera/Target/Kernels/CodeGenerator.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/raw_ostream.h"

namespace tessera {

using namespace llvm;

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
  std::unique_ptr<TargetMachine> machine =
      createCodeGenerator(target.triple, target.cpu, target.features, CodeGenOptLevel::Default, message);
  if (!machine)
    return createStringError("no code generator for '" + target.triple + "': " + message);
  code->setPICLevel(PICLevel::BigPIC);
  code->setPIELevel(PIELevel::Large);
  // An iteration works on whole vectors, and reductions have their partial sums: unrolled loops are not
  // faster, and took a quarter of all the work of compiling a program with many copies.
  optimizeCode(*code, *machine, /*unrollLoops=*/false);

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
      return file->failure(error);
    }
  }
  return file->keep();
}

} // namespace tessera
