//===- DifferentiatePass.cpp - A function gives gradients too -------------===//
#include "Differentiator.h"

#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace tessera::graph {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "tessera/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace tessera::graph

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;

namespace {

StringRef nameOf(func::FuncOp func, unsigned argument) {
  auto name = func.getArgAttrOfType<StringAttr>(argument, kNameAttr);
  return name ? name.getValue() : StringRef();
}

bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

struct DifferentiatePass : graph::impl::DifferentiateBase<DifferentiatePass> {
  using Base::Base;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!func || func.isExternal()) {
      getOperation().emitError() << "has no function @" << function << " with a body to differentiate";
      return signalPassFailure();
    }
    SmallVector<BlockArgument> wanted;
    int64_t lossNumber = -1;
    Value seedValue;
    if (failed(checkTypes(func)) || failed(findLoss(func, lossNumber, seedValue)) ||
        failed(chooseWanted(func, wanted)) ||
        failed(addGradients(func, unsigned(lossNumber), seedValue, wanted)))
      signalPassFailure();
  }

  LogicalResult checkTypes(func::FuncOp func) {
    if (!llvm::hasSingleElement(func.getBody()))
      return func.emitError() << "has several blocks; only structured programs are differentiated";
    for (Type type : func.getArgumentTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
        return func.emitError() << "has shardings; differentiate it on rung graph or step, before";
    return success();
  }

  /// The result that gradients are of, and its own gradient where an argument has it.
  LogicalResult findLoss(func::FuncOp func, int64_t &number, Value &seedValue) {
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttr); name && name.getValue() == loss)
        number = i;
    if (number < 0)
      return func.emitError() << "has no result with " << kNameAttr << " = \"" << loss << "\"";
    Type type = func.getResultTypes()[unsigned(number)];
    if (!seed.empty()) {
      auto arguments = func.getArguments();
      auto found = llvm::find_if(
          arguments, [&](BlockArgument argument) { return nameOf(func, argument.getArgNumber()) == seed; });
      if (found == arguments.end())
        return func.emitError() << "has no argument with " << kNameAttr << " = \"" << seed << "\"";
      if (!isFloatTensor(type) || found->getType() != type)
        return func.emitError() << "has " << seed << " as " << found->getType() << ", and gives " << loss
                                << " as " << type << ": a gradient has the type of its value, a float's";
      seedValue = *found;
      return success();
    }
    if (!isFloatTensor(type) || cast<RankedTensorType>(type).getRank() != 0)
      return func.emitError()
             << "gives " << loss << " as " << type
             << "; a loss is one float: reduce it to a scalar, or name its gradient with seed";
    return success();
  }

  LogicalResult chooseWanted(func::FuncOp func, SmallVector<BlockArgument> &wanted) {
    for (BlockArgument argument : func.getArguments())
      if (of.empty() ? argumentKind(argument) == Kind::Parameter && isFloatTensor(argument.getType())
                     : llvm::is_contained(of, nameOf(func, argument.getArgNumber())))
        wanted.push_back(argument);
    for (const std::string &name : of) {
      auto found = llvm::find_if(
          wanted, [&](BlockArgument argument) { return nameOf(func, argument.getArgNumber()) == name; });
      if (found == wanted.end())
        return func.emitError() << "has no argument with " << kNameAttr << " = \"" << name << "\"";
      if (!isFloatTensor(found->getType()))
        return func.emitError() << "has " << name << " as " << found->getType()
                                << "; only floats have gradients";
    }
    return success();
  }

  LogicalResult addGradients(func::FuncOp func, unsigned lossNumber, Value seedValue,
                             ArrayRef<BlockArgument> wanted) {
    Block &block = func.getBody().front();
    Operation *terminator = block.getTerminator(), *last = terminator->getPrevNode();
    OpBuilder builder(terminator);
    auto type = cast<RankedTensorType>(func.getResultTypes()[lossNumber]);
    SmallVector<Value> seeds(func.getNumResults());
    seeds[lossNumber] = seedValue;
    if (!seedValue)
      seeds[lossNumber] = ConstantOp::create(
          builder, terminator->getLoc(), type,
          DenseElementsAttr::get(type, Attribute(builder.getFloatAttr(type.getElementType(), 1))));
    FailureOr<SmallVector<Value>> gradients =
        differentiate(block, seeds, wanted, Recompute::parse(recompute));
    if (failed(gradients))
      return failure();
    for (auto [argument, gradient] : llvm::zip_equal(wanted, *gradients)) {
      StringRef name = nameOf(func, argument.getArgNumber());
      if (!gradient) {
        remark::missed(func.getLoc(), remark::RemarkOpts::name("gradient").category("graph"))
            << llvm::formatv("{0} has no gradient: {1} does not depend on it", name, loss).str();
        continue;
      }
      NamedAttrList attrs;
      attrs.set(kKindAttr, KindAttr::get(builder.getContext(), Kind::Output));
      attrs.set(kNameAttr, builder.getStringAttr(prefix + name));
      terminator->insertOperands(terminator->getNumOperands(), gradient);
      if (failed(func.insertResult(func.getNumResults(), gradient.getType(),
                                   attrs.getDictionary(&getContext()))))
        return failure();
    }
    eraseDead(block, last);
    return success();
  }
};
} // namespace
