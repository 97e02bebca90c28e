//===- StructureOps.cpp - Parameters and repeated layers ------------------===//
#include "Detail.h"

#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Dialect/Graph/IR/MeanAttr.h"
#include "tessera/runtime/core/LayerNames.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphStructureOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Parameter
//===----------------------------------------------------------------------===//

/// Elements of `shape`, or -1 if a size is below 1 or there are too many.
static int64_t countElements(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 1 || size > kMaxElements / elements)
      return -1;
    elements *= size;
  }
  return elements;
}

/// Shape of what `source` contributes, one layer; reports on `op`.
static FailureOr<SmallVector<int64_t>> sourceShape(ParameterOp op, unsigned number, SourceAttr source) {
  auto error = [&]() { return op.emitOpError() << "source #" << number << " "; };
  SmallVector<int64_t> shape(source.getFile());
  int64_t elements = countElements(shape);
  if (elements < 0) {
    error() << "has file = [" << shape << "]; sizes are 1 or more, at most 2^48 elements together";
    return failure();
  }
  if (!source.getReshape().empty()) {
    ArrayRef<int64_t> to = source.getReshape();
    if (countElements(to) != elements) {
      error() << "reshapes [" << shape << "] to [" << to << "], which has another number of elements";
      return failure();
    }
    shape.assign(to.begin(), to.end());
  }
  if (!source.getSlice().empty()) {
    ArrayRef<int64_t> slice = source.getSlice();
    if (slice.size() != 2 * shape.size()) {
      error() << "slice has " << slice.size() << " bounds for " << shape.size()
              << " dimensions, expected a pair each";
      return failure();
    }
    for (auto [d, size] : llvm::enumerate(shape)) {
      if (slice[2 * d] < 0 || slice[2 * d] >= slice[2 * d + 1] || slice[2 * d + 1] > size) {
        error() << "takes [" << slice[2 * d] << ", " << slice[2 * d + 1] << ") of dimension " << d
                << ", which has size " << size;
        return failure();
      }
      size = slice[2 * d + 1] - slice[2 * d];
    }
  }
  if (!source.getPermute().empty()) {
    SmallVector<int64_t> sorted(source.getPermute()), from = shape;
    llvm::sort(sorted);
    bool sound = sorted.size() == shape.size();
    for (size_t d = 0; sound && d < sorted.size(); ++d)
      sound = sorted[d] == int64_t(d);
    if (!sound) {
      error() << "permute [" << source.getPermute() << "] is no permutation of " << shape.size()
              << " dimensions";
      return failure();
    }
    for (auto [to, d] : llvm::enumerate(source.getPermute()))
      shape[to] = from[d];
  }
  return shape;
}

LogicalResult ParameterOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (failed(verifyTensor(*this, "type", type)))
    return failure();
  if (getSources().empty())
    return emitOpError() << "has no source";
  if (getStacked() && type.getRank() < 1)
    return emitOpError() << "is stacked but has no dimension";
  if (Attribute mean = (*this)->getAttr(kMeanAttr)) {
    auto number = dyn_cast<FloatAttr>(mean);
    if (!number || !number.getType().isF64() || !number.getValue().isFinite())
      return emitOpError() << "has " << kMeanAttr << " = " << mean << ", which is no finite f64";
  }
  if (Attribute deviation = (*this)->getAttr(kDeviationAttr)) {
    auto number = dyn_cast<FloatAttr>(deviation);
    if (!number || !number.getType().isF64() ||
        !(number.getValueAsDouble() >= 0 && std::isfinite(float(number.getValueAsDouble()))))
      return emitOpError() << "has " << kDeviationAttr << " = " << deviation
                           << ", which is no f64 of 0 or more that float32 can hold";
  }
  if (Attribute held = (*this)->getAttr(kHeldAttr)) {
    auto types = dyn_cast<ArrayAttr>(held);
    if (!types || !llvm::all_of(types, llvm::IsaPred<StringAttr>) ||
        (types.size() != 1 && !(getStacked() && int64_t(types.size()) == type.getDimSize(0))))
      return emitOpError() << "has " << kHeldAttr << " = " << held
                           << ", which is no type, and none for each layer";
  }
  SmallVector<int64_t> wanted(type.getShape().drop_front(getStacked() ? 1 : 0)), total;
  for (auto [i, attr] : llvm::enumerate(getSources())) {
    auto source = cast<SourceAttr>(attr);
    if (source.getName().empty())
      return emitOpError() << "source #" << i << " has an empty name";
    bool perLayer = runtime::layerPattern(source.getName()).has_value();
    if (perLayer != bool(getStacked()))
      return emitOpError() << "source #" << i << " '" << source.getName() << "' "
                           << (perLayer ? "has a layer number, but the parameter is not stacked"
                                        : "has no layer number ({}), but the parameter is stacked");
    FailureOr<SmallVector<int64_t>> shape = sourceShape(*this, i, source);
    if (failed(shape))
      return failure();
    if (i == 0) {
      total = *shape;
      continue;
    }
    if (shape->size() != total.size() || total.empty() ||
        ArrayRef<int64_t>(*shape).drop_front() != ArrayRef<int64_t>(total).drop_front())
      return emitOpError() << "source #" << i << " gives [" << *shape << "] and cannot be joined to ["
                           << total << "]";
    total[0] += shape->front();
  }
  // What the sources give is seen in the parameter's shape: dimensions may be joined or split once more.
  if (product(total) != product(wanted))
    return emitOpError() << "sources give [" << total << "], the parameter is [" << wanted << "]"
                         << (getStacked() ? " a layer" : "");
  return success();
}

LogicalResult ParameterOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto stateOf = (*this)->getAttrOfType<StateOfAttr>(kStateOfAttr);
  if (!stateOf)
    return success();
  auto weight = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, stateOf.getWeight());
  if (!weight || !weight.getVariable() || weight->hasAttr(kStateOfAttr))
    return emitOpError() << "is a state of " << stateOf.getWeight() << ", which is no variable of the model";
  auto type = cast<RankedTensorType>(getType()), weightType = cast<RankedTensorType>(weight.getType());
  if (!getVariable() || type.getShape() != weightType.getShape() || getStacked() != weight.getStacked() ||
      getSources() != weight.getSources())
    return emitOpError() << "is a state of " << stateOf.getWeight()
                         << " and must be a variable of the weight's shape and sources";
  return success();
}

//===----------------------------------------------------------------------===//
// Repeat
//===----------------------------------------------------------------------===//

/// A slice of `stack` may have this type: element type, sizes and sharding of all but the leading dimension.
static bool isSliceOf(RankedTensorType slice, RankedTensorType stack) {
  if (slice.getElementType() != stack.getElementType() || slice.getShape() != stack.getShape().drop_front())
    return false;
  dist::ShardingAttr inner = dist::getShardingAttr(slice), outer = dist::getShardingAttr(stack);
  if (!inner || !outer)
    return !inner && !outer;
  return inner.getMesh() == outer.getMesh() && inner.getDims() == outer.getDims().drop_front() &&
         inner.getPartialKind() == outer.getPartialKind() && inner.getPartial() == outer.getPartial();
}

// The bodies' terminators are known to be there once the regions are verified.
LogicalResult RepeatOp::verifyRegions() {
  if (failed(verifyTensors(*this)))
    return failure();
  int64_t count = int64_t(getCount()), bodies = int64_t(getBodies().size());
  if (count < 1)
    return emitOpError() << "runs " << count << " iterations, expected 1 or more";
  if (bodies < 1 || bodies > count)
    return emitOpError() << "has " << bodies << " bodies for " << count << " iterations";
  size_t carried = getInits().size();
  if (getNumResults() < carried || getInits().getTypes() != getResults().take_front(carried).getTypes())
    return emitOpError() << "results have other types than the carried values";
  for (auto [s, stack] : llvm::enumerate(getStacks()))
    if (rankOf(stack) < 1 || dist::globalShape(typeOf(stack)).front() != count)
      return emitOpError() << "stack #" << s << " has type " << stack.getType() << ", expected " << count
                           << " layers in front";
  for (auto [s, stack] : llvm::enumerate(getCollected()))
    if (rankOf(stack) < 1 || dist::globalShape(typeOf(stack)).front() != count)
      return emitOpError() << "returns stack #" << s << " as " << stack.getType() << ", expected " << count
                           << " layers in front";
  for (int64_t body = 0; body < bodies; ++body) {
    Block &block = getBody(unsigned(body));
    size_t expected = 1 + getInits().size() + getStacks().size();
    if (block.getNumArguments() != expected)
      return emitOpError() << "body #" << body << " takes " << block.getNumArguments()
                           << " arguments, expected " << expected << " (index, carried values, slices)";
    auto index = dyn_cast<RankedTensorType>(getIndex(unsigned(body)).getType());
    if (!index || index.getRank() != 0 || !index.getElementType().isInteger(32))
      return emitOpError() << "body #" << body << " takes its index as " << getIndex(unsigned(body)).getType()
                           << ", expected tensor<i32>";
    for (auto [i, argument] : llvm::enumerate(getCarried(unsigned(body))))
      if (argument.getType() != getInits()[i].getType())
        return emitOpError() << "body #" << body << " takes carried value #" << i << " as "
                             << argument.getType() << ", it is " << getInits()[i].getType();
    for (auto [i, argument] : llvm::enumerate(getSlices(unsigned(body)))) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !isSliceOf(type, typeOf(getStacks()[i])))
        return emitOpError() << "body #" << body << " takes slice #" << i << " as " << argument.getType()
                             << ", which is no layer of " << getStacks()[i].getType();
    }
    Operation *yield = block.getTerminator();
    if (yield->getNumOperands() < carried ||
        yield->getOperands().take_front(carried).getTypes() != getInits().getTypes())
      return yield->emitOpError() << "of body #" << body << " gives other types than the carried values";
    if (yield->getNumOperands() != getNumResults())
      return yield->emitOpError() << "of body #" << body << " gives " << yield->getNumOperands() - carried
                                  << " slices, the loop returns " << getNumResults() - carried << " stacks";
    for (auto [i, slice, stack] : llvm::enumerate(getCollectedSlices(unsigned(body)), getCollected()))
      if (!isSliceOf(typeOf(slice), typeOf(stack)))
        return yield->emitOpError() << "of body #" << body << " gives slice #" << i << " as "
                                    << slice.getType() << ", which is no layer of " << stack.getType();
  }
  return success();
}

SmallVector<DataFlowEdge> RepeatOp::getDataFlowEdges() {
  SmallVector<DataFlowEdge> edges;
  for (auto [i, init] : llvm::enumerate(getInits())) {
    DataFlowEdge edge;
    edge.values.push_back(init);
    for (unsigned body = 0; body < getBodies().size(); ++body) {
      edge.values.push_back(getCarried(body)[i]);
      edge.places.push_back(getCarried(body)[i]);
      edge.values.push_back(getBody(body).getTerminator()->getOperand(unsigned(i)));
    }
    edge.values.push_back(getResults()[i]);
    edge.places.push_back(getResults()[i]);
    edges.push_back(std::move(edge));
  }
  return edges;
}

int64_t RepeatOp::getExecutions(unsigned body) {
  int64_t n = int64_t(getBodies().size());
  return (int64_t(getCount()) - int64_t(body) + n - 1) / n;
}

SmallVector<StackEdge> RepeatOp::getStackEdges() {
  SmallVector<StackEdge> edges;
  for (auto [i, stack] : llvm::enumerate(getStacks())) {
    StackEdge edge{stack, {}, /*collected=*/false};
    for (unsigned body = 0; body < getBodies().size(); ++body)
      edge.slices.push_back(getSlices(body)[i]);
    edges.push_back(std::move(edge));
  }
  for (auto [i, stack] : llvm::enumerate(getCollected())) {
    StackEdge edge{stack, {}, /*collected=*/true};
    for (unsigned body = 0; body < getBodies().size(); ++body)
      edge.slices.push_back(getCollectedSlices(body)[i]);
    edges.push_back(std::move(edge));
  }
  return edges;
}

OpCost RepeatOp::getCost() {
  OpCost total;
  for (unsigned body = 0; body < getBodies().size(); ++body) {
    double runs = double(getExecutions(body));
    for (Operation &op : getBody(body))
      if (auto inner = dyn_cast<CostOpInterface>(op)) {
        OpCost cost = inner.getCost();
        total.flops += runs * cost.flops;
        total.bytesRead += runs * cost.bytesRead;
        total.bytesWritten += runs * cost.bytesWritten;
      }
  }
  return total;
}

int64_t tessera::graph::executionsOf(Operation *op) {
  int64_t times = 1;
  for (Region *region = op->getParentRegion(); region; region = region->getParentRegion())
    if (auto repeat = dyn_cast<RepeatOp>(region->getParentOp()))
      times *= repeat.getExecutions(region->getRegionNumber());
  return times;
}
