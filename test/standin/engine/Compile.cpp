#include "Compile.h"
#include "Functions.h"
#include "ObjectCache.h"
#include "Plan.h"
#include "Retarget.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <map>

using namespace llvm;
using tessera::Failure;
using tessera::Result;

namespace standin {
namespace {

// One for the process, and never taken down: threads of a driver may still launch while the process ends.
struct Host {
  std::unique_ptr<orc::LLJIT> jit;
  orc::JITDylib *functions = nullptr;
  std::mutex mutex;
  unsigned count = 0;

  static Host &get() {
    static Host *host = new Host;
    return *host;
  }

  // What every x86-64 of the last ten years has; not all of this machine, so that rounding is the same
  // everywhere.
  static std::unique_ptr<TargetMachine> machine() {
    StringMap<bool> has = sys::getHostCPUFeatures();
    bool modern = has.lookup("avx2") && has.lookup("fma") && has.lookup("f16c") && has.lookup("bmi2");
    std::string error;
    Triple triple(sys::getProcessTriple());
    const Target *target = TargetRegistry::lookupTarget(triple, error);
    if (!target)
      report_fatal_error(("stand-in: " + error).c_str());
    TargetOptions options;
    return std::unique_ptr<TargetMachine>(
        target->createTargetMachine(triple, modern ? "x86-64-v3" : "x86-64", "", options, Reloc::PIC_,
                                    CodeModel::Small, CodeGenOptLevel::Less));
  }

private:
  Host() {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    auto made = orc::LLJITBuilder()
                    .setLinkProcessSymbolsByDefault(false)
                    .setPlatformSetUp(orc::setUpInactivePlatform)
                    .create();
    if (!made)
      report_fatal_error(made.takeError());
    jit = std::move(*made);
    functions = &jit->getExecutionSession().createBareJITDylib("engine");
    orc::SymbolMap symbols;
    for (const EngineFunction &function : engineFunctions())
      symbols[jit->mangleAndIntern(function.name)] = {orc::ExecutorAddr::fromPtr(function.address),
                                                      JITSymbolFlags::Exported};
    cantFail(functions->define(orc::absoluteSymbols(std::move(symbols))));
  }
};

// The module was optimized for a GPU already. What is left: kernels into their entries, and the checks'
// repeated loads.
void optimize(Module &module, TargetMachine &machine) {
  PassBuilder builder(&machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  ModulePassManager passes;
  passes.addPass(AlwaysInlinerPass());
  passes.addPass(GlobalDCEPass());
  FunctionPassManager each;
  each.addPass(SROAPass(SROAOptions::ModifyCFG));
  each.addPass(EarlyCSEPass(true));
  each.addPass(SimplifyCFGPass());
  each.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), true));
  passes.addPass(createModuleToFunctionPassAdaptor(std::move(each)));
  passes.run(module, modules);
}

Result<std::unique_ptr<Module>> parse(StringRef bitcode, const std::string &path, LLVMContext &context) {
  Expected<std::unique_ptr<Module>> module = parseBitcodeFile(MemoryBufferRef(bitcode, path), context);
  if (!module)
    return Failure{"cannot load kernels", path, "no LLVM bitcode: " + toString(module.takeError()),
                   "give what the NVPTX back end was given"};
  return std::move(*module);
}

} // namespace

Result<std::shared_ptr<Program>> Program::load(const std::string &bitcodePath) {
  static std::mutex mutex;
  static auto &known = *new std::map<std::string, std::shared_ptr<Program>>;
  auto buffer = MemoryBuffer::getFile(bitcodePath, false, false);
  if (!buffer)
    return Failure{"cannot load kernels", bitcodePath, buffer.getError().message(), ""};
  std::string bitcode = (*buffer)->getBuffer().str();
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Program> &program = known[bitcode];
  if (program)
    return program;
  LLVMContext context;
  Result<std::unique_ptr<Module>> module = parse(bitcode, bitcodePath, context);
  if (!module)
    return module.takeFailure();
  Result<Plan> plan = planModule(**module);
  if (!plan)
    return plan.takeFailure();
  program = std::make_shared<Program>();
  program->bitcode = std::move(bitcode);
  program->path = bitcodePath;
  for (Plan::KernelPlan &kernel : plan->kernels)
    program->kernels.push_back(std::move(kernel.kernel));
  for (const VariablePlace &variable : plan->variables)
    program->variables.push_back({variable.name, variable.offset, variable.bytes, variable.constant});
  program->initial = std::move(plan->initial);
  program->pointers = std::move(plan->pointers);
  return program;
}

Result<std::string> Program::compile(bool races) const {
  LLVMContext context;
  Result<std::unique_ptr<Module>> module = parse(bitcode, path, context);
  if (!module)
    return module.takeFailure();
  Result<Plan> plan = planModule(**module);
  if (!plan)
    return plan.takeFailure();
  std::unique_ptr<TargetMachine> machine = Host::machine();
  retarget(**module, *plan, *machine, races);
  optimize(**module, *machine);
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr, CodeGenFileType::ObjectFile))
    report_fatal_error("stand-in: the host's back end cannot emit objects");
  emitter.run(**module);
  return std::string(object.data(), object.size());
}

Result<const Code *> Program::code(bool races) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Code> &code = codes[races];
  if (code)
    return code.get();
  Host &host = Host::get();
  ObjectCache cache(path, bitcode, races);
  std::string object = cache.read();
  if (object.empty()) {
    Result<std::string> made = compile(races);
    if (!made)
      return made.takeFailure();
    object = made.take();
    cache.write(object);
  }

  std::lock_guard<std::mutex> hostLock(host.mutex);
  orc::JITDylib &dylib =
      host.jit->getExecutionSession().createBareJITDylib("kernels." + std::to_string(host.count++));
  dylib.addToLinkOrder(*host.functions);
  Error error = host.jit->addObjectFile(dylib, MemoryBuffer::getMemBufferCopy(object));
  auto find = [&](const std::string &name) -> void * {
    if (error)
      return nullptr;
    Expected<orc::ExecutorAddr> address = host.jit->lookup(dylib, name);
    if (!address) {
      error = joinErrors(std::move(error), address.takeError());
      return nullptr;
    }
    return address->toPtr<void *>();
  };
  auto made = std::make_unique<Code>();
  made->sites = static_cast<const Site *>(find(kSitesSymbol));
  made->siteRanges = static_cast<const uint32_t *>(find(kSiteRangesSymbol));
  const void *count = find(std::string(kSitesSymbol) + ".count");
  for (const Kernel &kernel : kernels)
    made->entries.push_back(
        kernel.unsupported.empty() ? reinterpret_cast<Entry>(find(entrySymbol(kernel.index))) : nullptr);
  if (error)
    return Failure{"cannot load kernels", path, "the host's linker says: " + toString(std::move(error)), ""};
  made->siteCount = *static_cast<const uint32_t *>(count);
  code = std::move(made);
  return code.get();
}

} // namespace standin
