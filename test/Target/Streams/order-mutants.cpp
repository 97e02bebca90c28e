//===- order-mutants.cpp - Does the verifier refuse what goes wrong? ------===//
//
// order-mutants FILE.mlir [--orders=N] [--all]: changes one thing at a time in a program of rung exec and has
// the verifiers judge it. What they let pass is run by the driver `checked`, which finds unordered accesses
// while they are given to streams, in N orders: all have to give the bits of the program as it was. With
// --all what they refuse is run as well, to count how much of it goes wrong there. Exit status 1 if a mutant
// passes that goes wrong.
//
//===----------------------------------------------------------------------===//
#include "CheckedDriver.h"
#include "Mutations.h"

#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Support/ScratchFile.h"
#include "tessera/Target/Target.h"
#include "tessera/runtime/run/ProgramRun.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::runtime;
using tessera::test::Mutation;

static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::Required,
                                            llvm::cl::desc("FILE.mlir"));
static llvm::cl::opt<unsigned> orders("orders", llvm::cl::desc("Orders in which each program is run"),
                                      llvm::cl::init(4));
static llvm::cl::opt<bool> all("all", llvm::cl::desc("Run what is refused, too"));
static llvm::cl::opt<bool> verbose("verbose",
                                   llvm::cl::desc("One line for each mutant that passes, or harms nobody"));

[[noreturn]] static void fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  exit(2);
}
template <typename T> static T expect(Result<T> result) {
  if (!result)
    fail(result.failure().message());
  return result.take();
}
static void expect(Status status) {
  if (!status)
    fail(status.failure().message());
}

namespace {
/// Makes libraries of a program whose kernels are compiled once.
class LibraryMaker {
public:
  explicit LibraryMaker(ModuleOp module)
      : target(expect(resolveTarget("streams", {}))),
        kernels(expect(ScratchFile::create("order-kernels", "o"))),
        host(expect(ScratchFile::create("order-host", "o"))) {
    OwningOpRef<ModuleOp> compiled = module.clone();
    PassManager pm(module.getContext());
    target->buildKernelPipeline(pm);
    if (failed(pm.run(*compiled)))
      fail("the kernels do not compile");
    for (Operation &op : llvm::make_early_inc_range(*compiled->getBody()))
      if (!isa<LLVM::LLVMDialect>(op.getDialect()))
        op.erase();
    for (auto func : compiled->getOps<LLVM::LLVMFuncOp>())
      func.setLinkage(LLVM::Linkage::External);
    clearAttributes(*compiled);
    expect(target->emitObject(*compiled, kernels.path()));
    // The host's functions stay as they were: passes of the pipeline may have made equal buffers one.
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!func->hasAttr(exec::kKernelAttr))
        continue;
      auto kernel = compiled->lookupSymbol<LLVM::LLVMFuncOp>(func.getName());
      OpBuilder builder(func);
      builder.clone(*kernel.getOperation());
      func.erase();
    }
    for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
      func.getBody().dropAllReferences();
      func.getBody().getBlocks().clear();
    }
  }

  std::string library(ModuleOp module, const std::string &path) {
    OwningOpRef<ModuleOp> clone = module.clone();
    PassManager pm(module.getContext());
    CompileOptions options;
    options.target = "streams";
    buildUncheckedBinary(pm, options);
    if (failed(pm.run(*clone)))
      fail("a host program does not compile");
    expect(target->emitObject(*clone, host.path()));
    LinkOptions link;
    link.objects = {host.path(), kernels.path()};
    link.shared = true;
    expect(target->link(link, path));
    return path;
  }

private:
  static void clearAttributes(ModuleOp module) {
    for (NamedAttribute attr : llvm::to_vector(module->getDiscardableAttrs()))
      if (!attr.getName().strref().starts_with("llvm."))
        module->removeAttr(attr.getName());
  }
  std::shared_ptr<const Target> target;
  ScratchFile kernels, host;
};
} // namespace

/// Whether it is a program at all.
static bool isValid(ModuleOp module) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(verify(module));
}

static bool passes(ModuleOp module) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  PassManager pm(module.getContext());
  buildExecChecks(pm);
  return isValid(module) && succeeded(pm.run(module));
}

/// Every entry twice, inputs that all of them can take.
static std::vector<ProgramCall> callsOf(const Manifest &manifest) {
  std::vector<ProgramCall> calls;
  for (int turn = 0; turn < 2; ++turn)
    for (const EntrySpec &entry : manifest.entries) {
      ProgramCall call{entry.name, {}, {}, {}, {}};
      for (const InputSpec &input : entry.inputs) {
        std::vector<char> bytes(size_t(input.bytes));
        for (size_t i = 0; i * 4 + 4 <= bytes.size(); ++i) {
          auto number = int32_t((i + size_t(turn)) % 5);
          float value = 0.125f * float(number);
          memcpy(&bytes[i * 4], input.dtype == io::DType::I32 ? static_cast<void *>(&number) : &value, 4);
        }
        call.inputs[input.name] = RankBytes(size_t(manifest.mesh.size()), bytes);
      }
      calls.push_back(std::move(call));
    }
  return calls;
}

static bool sameBits(const std::vector<ProgramCall> &a, const std::vector<ProgramCall> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].outputs != b[i].outputs || a[i].states != b[i].states)
      return false;
  return true;
}

/// Runs the library in all orders, in a process of its own: what goes wrong may end it. With `expected` empty
/// the results are written there; else whether they are the same.
static bool runsWell(const std::string &library, const std::string &expected, bool writes) {
  llvm::outs().flush();
  pid_t child = fork();
  if (child == 0) {
    if (!writes && !verbose)
      (void)!freopen("/dev/null", "w", stderr);
    auto loaded = LoadedProgram::open(library);
    if (!loaded)
      _exit(3);
    const ts_program &program = loaded->program();
    std::vector<ProgramCall> calls = callsOf(Manifest::parse({program.manifest, program.manifest_bytes})),
                             good = calls;
    if (!writes && !readCalls(expected, good))
      _exit(4);
    for (unsigned seed = 0; seed < orders; ++seed) {
      std::vector<ProgramCall> found = calls;
      setCheckedSeed(seed);
      RunOptions options;
      options.driver = &checkedDriver();
      if (!runCalls(program, options, found))
        _exit(5);
      if (writes && seed == 0) {
        good = found;
        if (!writeCalls(expected, found))
          _exit(6);
      }
      if (!sameBits(good, found))
        _exit(7);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Mutants of what orders a program\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED); // processes are forked
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!module)
    fail("cannot read " + inputFile);
  LibraryMaker builder(*module);
  ScratchFile library = expect(ScratchFile::create("order-mutant", "so"));
  ScratchFile expected = expect(ScratchFile::create("order-expected", "safetensors"));
  if (!passes(*module))
    fail("the program itself is refused");
  if (!runsWell(builder.library(*module, library.path()), expected.path(), /*writes=*/true))
    fail("the program itself goes wrong");

  struct Count {
    unsigned mutants = 0, refused = 0, harmful = 0, harmless = 0, missed = 0;
  };
  std::map<std::string, Count> counts;
  for (const Mutation &mutation : test::mutationsOf(*module)) {
    Count &count = counts[mutation.kind];
    ++count.mutants;
    OwningOpRef<ModuleOp> mutant = module->clone();
    mutation.apply(*mutant);
    bool passed = passes(*mutant);
    count.refused += !passed;
    if (!passed && (!all || !isValid(*mutant)))
      continue;
    bool well = runsWell(builder.library(*mutant, library.path()), expected.path(), /*writes=*/false);
    (passed ? well ? count.harmless : count.missed : count.harmful) += passed || !well;
    if (verbose || (passed && !well))
      llvm::outs() << (passed ? well ? "harmless: " : "MISSED: "
                       : well ? "refused, runs well: "
                              : "refused: ")
                   << mutation.kind << " (" << mutation.where << ")\n";
    if (passed && !well && verbose)
      mutant->print(llvm::errs());
  }
  Count sum;
  auto print = [](llvm::StringRef kind, const Count &c) {
    llvm::outs() << llvm::formatv("{0,-42} {1,4} mutants, {2,4} refused, {3,3} harmless, {4} missed", kind,
                                  c.mutants, c.refused, c.harmless, c.missed);
    if (all)
      llvm::outs() << llvm::formatv("; {0} of those refused go wrong when run", c.harmful);
    llvm::outs() << "\n";
  };
  for (auto &[kind, c] : counts) {
    print(kind, c);
    sum.mutants += c.mutants;
    sum.refused += c.refused;
    sum.harmful += c.harmful;
    sum.harmless += c.harmless;
    sum.missed += c.missed;
  }
  print("all", sum);
  return sum.missed ? 1 : 0;
}
