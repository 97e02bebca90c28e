//===- SetPrecision.cpp - The types that @forward is computed in ----------===//
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/Precision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetVector.h"

namespace tessera::graph {
#define GEN_PASS_DEF_SETPRECISION
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

namespace {

Type withElement(Type type, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), element);
}

/// The verifier says which types an op takes together.
bool isValid(Operation *op) {
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  return succeeded(verify(op, /*verifyRecursively=*/false));
}

class PrecisionWriter {
public:
  PrecisionWriter(func::FuncOp function, FloatType compute, FloatType gradients)
      : function(function), block(function.getBody().front()), builder(function.getContext()),
        f32(builder.getF32Type()), compute(compute), gradients(gradients) {}

  /// Fails, with an error, if the program has other floats than float32.
  LogicalResult check();
  void run();

private:
  bool hasElement(Value value, Type element) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getElementType() == element;
  }
  void narrowAll();
  void keepResults();
  void repair(Operation *op);
  Value rounded(Value value, bool isSource);
  Value named(Value narrow, BlockArgument weight);
  Value widened(Operation *reader, Value value);

  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  Type f32;
  FloatType compute, gradients;
  /// Ops of the block that compute in float32 throughout, as what they lead to needs it.
  llvm::SmallSetVector<Operation *, 8> wide;
};

} // namespace

LogicalResult PrecisionWriter::check() {
  auto refuse = [&](Location loc, Type type) {
    return emitError(loc) << "is written in " << type
                          << ": the types that a program is computed in are chosen for one in f32; write all "
                             "of it in f32, or leave the choice out";
  };
  WalkResult found = function.walk([&](Operation *op) {
    auto isOther = [&](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type && isa<FloatType>(type.getElementType()) && type.getElementType() != f32;
    };
    for (Value value : op->getResults())
      if (isOther(value) && failed(refuse(op->getLoc(), value.getType())))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Value value : region.getArguments())
        if (isOther(value) && failed(refuse(op->getLoc(), value.getType())))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return success(!found.wasInterrupted());
}

/// The cast of a source, an argument or a constant, says what its gradient is in.
Value PrecisionWriter::rounded(Value value, bool isSource) {
  auto cast = CastOp::create(builder, value.getLoc(), withElement(value.getType(), compute), value);
  if (isSource)
    cast->setAttr(kGradientAttr, TypeAttr::get(gradients));
  return cast;
}

/// The name that --shard knows the rounded form of a weight by.
Value PrecisionWriter::named(Value narrow, BlockArgument weight) {
  unsigned number = weight.getArgNumber();
  auto name = function.getArgAttrOfType<StringAttr>(number, kNameAttr);
  if (!name || argumentKind(function, number) != Kind::Parameter)
    return narrow;
  Location loc = nameCall(weight.getLoc(), name);
  narrow.getDefiningOp()->setLoc(loc);
  return NameOp::create(builder, markPart(loc, StepPart::Weights), narrow.getType(), narrow,
                        (kComputedPrefix + name.getValue()).str(),
                        function.getArgAttrOfType<ArrayAttr>(number, kDimsAttr), /*inner=*/true);
}

/// `value` in float32, for `reader`. What was rounded for others is taken as it was.
Value PrecisionWriter::widened(Operation *reader, Value value) {
  Value source = value;
  while (auto name = source.getDefiningOp<NameOp>())
    source = name.getInput();
  if (auto cast = source.getDefiningOp<CastOp>(); cast && hasElement(cast.getInput(), f32))
    return cast.getInput();
  builder.setInsertionPoint(reader);
  return CastOp::create(builder, value.getLoc(), withElement(value.getType(), f32), value);
}

/// Everything but arguments, constants and integers.
void PrecisionWriter::narrowAll() {
  SmallVector<Operation *> ops;
  block.walk([&](Operation *op) { ops.push_back(op); });
  auto castSource = [&](Value value) {
    if (!hasElement(value, f32) || value.use_empty())
      return;
    Value narrow = rounded(value, /*isSource=*/true);
    Operation *cast = narrow.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value))
      narrow = named(narrow, argument);
    value.replaceAllUsesExcept(narrow, cast);
  };
  builder.setInsertionPointToStart(&block);
  for (Value argument : block.getArguments())
    castSource(argument);
  for (Operation *op : ops) {
    if (isa<ConstantOp>(op)) {
      builder.setInsertionPointAfter(op);
      castSource(op->getResult(0));
      continue;
    }
    auto narrow = [&](Value value) {
      if (hasElement(value, f32))
        value.setType(withElement(value.getType(), compute));
    };
    llvm::for_each(op->getResults(), narrow);
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        llvm::for_each(inner.getArguments(), narrow);
  }
}

/// Results stay float32, and so do the ops that lead to them alone, up to those that take narrower operands
/// beside a result in float32: logits are sums that nobody rounds.
void PrecisionWriter::keepResults() {
  Operation *terminator = block.getTerminator();
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (op.getNumResults() != 1 || op.getNumRegions() || !hasElement(op.getResult(0), compute))
      continue;
    bool isLast = !op.use_empty() && llvm::all_of(op.getUsers(), [&](Operation *user) {
      return user == terminator || wide.contains(user);
    });
    // Sources are there in float32 already.
    if (!isLast || (isa<CastOp>(op) && hasElement(op.getOperand(0), f32)))
      continue;
    op.getResult(0).setType(withElement(op.getResult(0).getType(), f32));
    if (!isValid(&op))
      wide.insert(&op);
  }
  wide.insert(terminator);
  for (Operation *op : wide)
    for (OpOperand &operand : op->getOpOperands())
      if (hasElement(operand.get(), compute) &&
          (op != terminator ||
           cast<RankedTensorType>(function.getResultTypes()[operand.getOperandNumber()]).getElementType() ==
               f32))
        operand.set(widened(op, operand.get()));
}

/// An op that cannot be computed in 16 bits gives float32, takes it if it must, and is rounded behind.
void PrecisionWriter::repair(Operation *op) {
  if (isValid(op))
    return;
  SmallVector<Value> results;
  for (Value result : op->getResults())
    if (hasElement(result, compute)) {
      result.setType(withElement(result.getType(), f32));
      results.push_back(result);
    }
  if (!isValid(op))
    for (OpOperand &operand : op->getOpOperands())
      if (hasElement(operand.get(), compute))
        operand.set(widened(op, operand.get()));
  builder.setInsertionPointAfter(op);
  for (Value result : results) {
    Value narrow = rounded(result, /*isSource=*/false);
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  }
}

void PrecisionWriter::run() {
  narrowAll();
  keepResults();
  SmallVector<Operation *> ops;
  block.walk([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  for (Operation *op : ops)
    repair(op);
}

namespace {
struct SetPrecision : graph::impl::SetPrecisionBase<SetPrecision> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    auto func = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!func || func.isExternal() || !llvm::hasSingleElement(func.getBody()))
      return getOperation().emitError() << "has no function @" << function << " of one block";
    FloatType computed = floatTypeOf(&getContext(), compute), kept = floatTypeOf(&getContext(), gradients);
    if (!computed || computed.isF32())
      return func.emitError() << "cannot be computed in " << compute << "; expected bf16 or f16";
    if (!kept || !(kept.isF32() || kept == computed))
      return func.emitError() << "cannot have gradients in " << gradients << "; expected f32 or " << compute;
    PrecisionWriter writer(func, computed, kept);
    if (failed(writer.check()))
      return failure();
    writer.run();
    return success();
  }
};
} // namespace
