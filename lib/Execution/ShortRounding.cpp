//===- ShortRounding.cpp - Where a program rounds to few bits -------------===//
#include "tessera/Execution/ShortRounding.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace tessera {

double timesRun(Operation *op) {
  double times = 1;
  for (Region *body = op->getParentRegion(); body; body = body->getParentRegion())
    if (auto loop = dyn_cast<graph::RepeatOp>(body->getParentOp()))
      times *= double(loop.getExecutions(body->getRegionNumber()));
  return times;
}

/// Half a step of codes from -127 to 127, of the largest number of a block.
static constexpr double kBlockUnit = 0.5 / 127;

/// Of floats with p bits 2^-p; 0: of more than 16 bits, or no floats.
static double unitOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  auto element = shaped ? dyn_cast<FloatType>(shaped.getElementType()) : FloatType();
  return element && element.getWidth() <= 16
             ? std::ldexp(1.0, -int(llvm::APFloat::semanticsPrecision(element.getFloatSemantics())))
             : 0;
}

/// Of what `op` makes; 0: it only passes numbers on.
static double unitOf(Operation *op) {
  if (isa<SameElementsOpInterface>(op) || op->getNumRegions() > 0)
    return 0;
  double unit = op->hasAttr(graph::kHeldAttr) && op->getNumResults() > 0 ? kBlockUnit : 0;
  for (Type type : op->getResultTypes())
    unit = std::max(unit, unitOf(type));
  return unit;
}

static bool makesFloats(Operation *op) {
  return !isa<SameElementsOpInterface>(op) && op->getNumRegions() == 0 &&
         llvm::any_of(op->getResultTypes(), [](Type type) {
           auto shaped = dyn_cast<ShapedType>(type);
           return shaped && isa<FloatType>(shaped.getElementType());
         });
}

double ShortRounding::error() const { return 2 * unit * std::sqrt(most); }

ShortRounding shortRounding(ModuleOp module) {
  ShortRounding found;
  for (auto func : module.getOps<func::FuncOp>()) {
    double roundings = 0, every = 0;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      found.unit = std::max(
          found.unit, func.getArgAttr(i, graph::kHeldAttr) ? kBlockUnit : unitOf(func.getArgumentTypes()[i]));
    func.walk([&](Operation *op) {
      double unit = unitOf(op);
      roundings += unit > 0 ? timesRun(op) : 0;
      every += makesFloats(op) ? timesRun(op) : 0;
      found.unit = std::max(found.unit, unit);
    });
    found.most = std::max(found.most, roundings);
    found.every = std::max(found.every, every);
  }
  return found;
}

} // namespace tessera
