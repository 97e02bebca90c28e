//===- VerifyRung.cpp - Only what belongs on a rung stands on it ----------===//
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

namespace tessera::dist {
#define GEN_PASS_DEF_VERIFYRUNGPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
enum class Rung { graph, step, sharded, spmd, kernels, exec };

/// What tensor types look like on a rung.
enum class Types { Plain, Global, Local };

struct RungRules {
  Types types;
  /// Which pass should have removed `op`, or should not have made it; empty: it may stay.
  StringRef (*culprit)(Operation *op);
  /// Dialects whose ops may stand there at all, by name: the later ones belong to libraries that build on
  /// this one.
  ArrayRef<StringLiteral> dialects;
  /// Kernels may cut tiles whose sizes are computed; programs may not.
  bool staticShapes = true;
  /// Symbols become names of an object file, beside those of the runtime and of the C library.
  bool linked = false;
  /// People write this rung. Functions of the next one are made from its functions, and keep only those of
  /// their attributes that mean something.
  bool isFirst = false;
};

constexpr StringLiteral kGraphDialects[] = {"graph", "dist", "func"};
constexpr StringLiteral kKernelDialects[] = {"exec",          "graph",  "dist",   "func", "arith",
                                             "tensor",        "linalg", "scf",    "math", "memref",
                                             "bufferization", "vector", "affine", "llvm"};

StringRef onGraph(Operation *op) {
  if (isa<DistDialect>(op->getDialect()))
    return "nothing: ops of dist come with rung step; give a model, or what --compile-to=graph writes";
  return "";
}
StringRef onStep(Operation *op) {
  // dist-annotate leaves its mark here; the rung is otherwise the same as graph.
  if (isa<DistDialect>(op->getDialect()) && !isa<PropagationWordOpInterface>(op) &&
      !isa<MeshOp, ManualComputationOp, ManualYieldOp>(op))
    return "nothing: it is made later, by dist-insert-reshards or dist-partition";
  return "";
}
StringRef onSharded(Operation *op) {
  if (isa<PropagationWordOpInterface>(op))
    return "dist-insert-reshards";
  if (isa<DistDialect>(op->getDialect()) && !isa<MeshOp, ReshardOp, ManualComputationOp, ManualYieldOp>(op))
    return "nothing: collectives are made later, by dist-partition";
  return "";
}
StringRef onSpmd(Operation *op) {
  if (isa<PropagationWordOpInterface>(op))
    return "dist-insert-reshards";
  if (isa<ReshardOp, graph::NameOp>(op))
    return "dist-partition";
  return "";
}

StringRef onKernels(Operation *op) {
  bool symbol = isa<MeshOp, graph::ParameterOp>(op); // the manifest needs them
  if (isa<graph::GraphDialect, DistDialect>(op->getDialect()) && !symbol)
    return "spmd-to-kernels";
  // A host function says what to run; computing is left to kernels.
  auto function = op->getParentOfType<func::FuncOp>();
  if (function && !function->hasAttr(exec::kKernelAttr) && !isa<func::FuncDialect>(op->getDialect()) &&
      op->getDialect()->getNamespace() != "exec" && op->getName().getStringRef() != "tensor.empty" &&
      op->getName().getStringRef() != "arith.constant")
    return "spmd-to-kernels, which outlines such ops into kernels";
  return "";
}
StringRef onExec(Operation *op) {
  if (StringRef culprit = onKernels(op); !culprit.empty())
    return culprit;
  auto function = op->getParentOfType<func::FuncOp>();
  bool host = function && !function->hasAttr(exec::kKernelAttr);
  if (host && llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return "kernels-to-exec, which gives every tensor a buffer";
  return "";
}

RungRules rulesOf(Rung rung) {
  switch (rung) {
  case Rung::graph:
    return {Types::Plain, onGraph, kGraphDialects, /*staticShapes=*/true, /*linked=*/false, /*isFirst=*/true};
  case Rung::step:
    return {Types::Plain, onStep, kGraphDialects};
  case Rung::sharded:
    return {Types::Global, onSharded, kGraphDialects};
  case Rung::spmd:
    return {Types::Local, onSpmd, kGraphDialects};
  case Rung::kernels:
    return {Types::Plain, onKernels, kKernelDialects, /*staticShapes=*/false, /*linked=*/true};
  case Rung::exec:
    return {Types::Plain, onExec, kKernelDialects, /*staticShapes=*/false, /*linked=*/true};
  }
  llvm_unreachable("rung");
}

std::optional<Rung> parseRung(StringRef name) {
  return llvm::StringSwitch<std::optional<Rung>>(name)
      .Case("graph", Rung::graph)
      .Case("step", Rung::step)
      .Case("sharded", Rung::sharded)
      .Case("spmd", Rung::spmd)
      .Case("kernels", Rung::kernels)
      .Case("exec", Rung::exec)
      .Default(std::nullopt);
}

/// One module on one rung.
class RungVerifier {
public:
  RungVerifier(ModuleOp module, StringRef rung, RungRules rules) : module(module), rung(rung), rules(rules) {}

  LogicalResult run() {
    for (StringRef later : {graph::kGenerateAttr, graph::kTrainAttr})
      if (rules.isFirst && module->hasAttr(later))
        return module.emitError() << "does not stand on rung " << rung << ": " << later
                                  << " comes with rung step; give a model, or what --compile-to=graph writes";
    WalkResult walked = module->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { return failed(check(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
    return failure(walked.wasInterrupted());
  }

private:
  LogicalResult check(Operation *op) {
    if (op == module)
      return success();
    if (!op->getDialect() || !llvm::is_contained(rules.dialects, op->getDialect()->getNamespace()))
      return op->emitOpError() << "does not stand on rung " << rung << ": only "
                               << llvm::join(rules.dialects, ", ") << " do";
    if (StringRef culprit = rules.culprit(op); !culprit.empty())
      return op->emitOpError() << "does not stand on rung " << rung
                               << "; what should have removed it: " << culprit;
    if (auto name = op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
        name && rules.linked && isReserved(name))
      return op->emitOpError() << "has the name @" << name.getValue()
                               << ", which an executable has for something else: names that begin with "
                               << "ts_ or tessera_ and those of the C library are taken; rename it";
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      if (rules.isFirst && failed(checkWritten(function)))
        return failure();
      for (auto [i, type] : llvm::enumerate(function.getFunctionType().getInputs()))
        if (failed(checkType(op, type, "argument #" + Twine(i))))
          return failure();
      for (auto [i, type] : llvm::enumerate(function.getFunctionType().getResults()))
        if (failed(checkType(op, type, "result #" + Twine(i))) || failed(checkWhole(function, type, i)))
          return failure();
      return success();
    }
    for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
      if (failed(checkType(op, type, "result #" + Twine(i))))
        return failure();
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        if (failed(checkType(op, arg.getType(), "body argument #" + Twine(arg.getArgNumber()))))
          return failure();
    return success();
  }

  static bool isReserved(StringRef name) {
    static constexpr StringLiteral kLibrary[] = {"aligned_alloc", "free",   "main",    "malloc",
                                                 "memcmp",        "memcpy", "memmove", "memset"};
    return name.starts_with("ts_") || name.starts_with("tessera_") || llvm::is_contained(kLibrary, name);
  }

  /// What would be lost on the way, or be mistaken for something else.
  static LogicalResult checkWritten(func::FuncOp function) {
    llvm::StringMap<unsigned> arguments, results;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (failed(checkPort(function, "argument", i, function.getArgAttrDict(i), arguments)))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (failed(checkPort(function, "result", i, function.getResultAttrDict(i), results)))
        return failure();
    return success();
  }

  /// Argument or result `i`, whose name none of `others` may have.
  static LogicalResult checkPort(func::FuncOp function, StringRef what, unsigned i, DictionaryAttr attrs,
                                 llvm::StringMap<unsigned> &others) {
    if (!attrs)
      return success();
    auto name = attrs.getAs<StringAttr>(graph::kNameAttr);
    StringRef shown = name ? name.getValue() : "NAME";
    if (attrs.contains(kShardingAttr))
      return function.emitError()
             << what << " #" << i << " has " << kShardingAttr
             << ", which a program to be compiled has no place for: leave it out and write --shard=" << shown
             << ":DIM=AXIS";
    if (!name)
      return success();
    auto [other, isNew] = others.try_emplace(shown, i);
    if (isNew)
      return success();
    return function.emitError() << what << "s #" << other->second << " and #" << i << " are both called '"
                                << shown
                                << "', and what fills and reads them knows them by their names: rename one";
  }

  /// Who calls a function knows nothing of open sums. The next part of a stage's step goes on with them.
  static LogicalResult checkWhole(func::FuncOp function, Type type, size_t result) {
    ShardingAttr sharding = getShardingAttr(type);
    if (!sharding || sharding.getPartialKind() == PartialKindEnum::none)
      return success();
    if (function->hasAttr(graph::kStagePartAttr) &&
        graph::resultKind(function, unsigned(result)) == graph::Kind::State)
      return success();
    std::string axes;
    llvm::raw_string_ostream stream(axes);
    llvm::interleaveComma(sharding.getPartial(), stream, [&](AxisRefAttr axis) { stream << axis.getName(); });
    return function.emitOpError() << "returns result #" << result << " as a partial "
                                  << (sharding.getPartialKind() == PartialKindEnum::max ? "max" : "sum")
                                  << " over {" << axes
                                  << "}: it must be reduced before it leaves the function";
  }

  LogicalResult checkType(Operation *op, Type type, const Twine &what) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return rules.staticShapes && isa<TensorType>(type) ? op->emitOpError()
                                                               << what << " has no rank, " << type
                                                               << ": shapes are static on every rung"
                                                         : success();
    if (rules.staticShapes && !tensor.hasStaticShape())
      return op->emitOpError() << what << " has a size that is not known, " << tensor
                               << ": shapes are static on every rung";
    ShardingAttr sharding = getShardingAttr(tensor);
    switch (rules.types) {
    case Types::Plain:
      return tensor.getEncoding() ? op->emitOpError() << what << " has an encoding, " << tensor
                                                      << ": none does on rung " << rung
                                  : success();
    case Types::Global:
      if (!sharding)
        return op->emitOpError()
               << what << " has no sharding, " << tensor
               << ": on rung sharded every tensor has one; dist-insert-reshards should have given it";
      if (sharding.isLocal())
        return op->emitOpError() << what
                                 << " has global sizes in its sharding: types are local on rung spmd only";
      return success();
    case Types::Local:
      if (!sharding || (tensor.getRank() > 0 && !sharding.isLocal()))
        return op->emitOpError()
               << what << " is no local type, " << tensor
               << ": on rung spmd every tensor has a sharding with global sizes; dist-partition should have "
                  "given it";
      return success();
    }
    llvm_unreachable("types");
  }

  ModuleOp module;
  StringRef rung;
  RungRules rules;
};

struct VerifyPass : public tessera::dist::impl::VerifyRungPassBase<VerifyPass> {
  using VerifyRungPassBase::VerifyRungPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyRung(getOperation(), rung)))
      signalPassFailure();
  }
};
} // namespace

LogicalResult tessera::dist::verifyRung(ModuleOp module, StringRef rung) {
  auto parsed = parseRung(rung);
  if (!parsed)
    return module.emitError() << "unknown rung '" << rung
                              << "': verify-rung knows graph, step, sharded, spmd, kernels and exec";
  return RungVerifier(module, rung, rulesOf(*parsed)).run();
}
