//===- ShapeOps.cpp - Verifiers and folders of ops that move elements -----===//
#include "Detail.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::graph::inner;

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphShapeOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  RankedTensorType type = getResult().getType();
  ElementsAttr value = getValue();
  if (value.getElementType() != type.getElementType())
    return emitOpError() << "value has element type " << value.getElementType() << ", the result "
                         << type.getElementType();
  // Encodings do not matter to the value, and a splat keeps its written shape when the result becomes local.
  ArrayRef<int64_t> shape = value.getShapedType().getShape();
  if (shape != type.getShape() && !(value.isSplat() && shape == ArrayRef<int64_t>(dist::globalShape(type))))
    return emitOpError() << "value has shape [" << shape << "], the result [" << type.getShape() << "]";
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor adaptor) {
  ElementsAttr value = getValue();
  RankedTensorType type = getResult().getType();
  if (value.getShapedType() == type)
    return value;
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    return splat.resizeSplat(type);
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return dense.reshape(type);
  return value;
}

LogicalResult IotaOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= rankOf(getResult()))
    return emitOpError() << "counts along dimension " << int64_t(getDim()) << " of a tensor with "
                         << rankOf(getResult()) << " dimensions";
  if (getResult().getType().getElementType().isInteger(1))
    return emitOpError() << "cannot count in i1";
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison and choice
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  if (failed(verifyTensors(*this)) || failed(expectSameElements(*this, {"lhs", getLhs()}, {"rhs", getRhs()})))
    return failure();
  return verifyBroadcast(*this, getOperation()->getOperands(), getResult());
}

LogicalResult SelectOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"lhs", getLhs()}, {"result", getResult()})) ||
      failed(expectSameElements(*this, {"rhs", getRhs()}, {"result", getResult()})))
    return failure();
  return verifyBroadcast(*this, getOperation()->getOperands(), getResult());
}

//===----------------------------------------------------------------------===//
// Reshape, transpose, broadcast
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"input", getInput()}, {"result", getResult()})))
    return failure();
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "input has " << from.getNumElements() << " elements, the result "
                         << to.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  // There and back again, and what lies between.
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    if (producer.getInput().getType() == getResult().getType())
      return producer.getInput();
  }
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(getResult().getType());
  return {};
}

LogicalResult TransposeOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"input", getInput()}, {"result", getResult()})))
    return failure();
  int64_t rank = rankOf(getInput());
  ArrayRef<int64_t> permutation = getPermutation();
  if (int64_t(permutation.size()) != rank)
    return emitOpError() << "permutation has " << permutation.size() << " entries, the input " << rank
                         << " dimensions";
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  for (int64_t d = 0; d < rank; ++d)
    if (sorted[d] != d)
      return emitOpError() << "[" << permutation << "] is no permutation of " << rank << " dimensions";
  if (failed(expectRank(*this, {"result", getResult()}, rank)))
    return failure();
  for (int64_t d = 0; d < rank; ++d)
    if (failed(expectSameSize(*this, {"result", getResult()}, d, {"input", getInput()}, permutation[d])))
      return failure();
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::is_sorted(getPermutation()) && getInput().getType() == getResult().getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<TransposeOp>()) {
    bool identity = llvm::all_of(llvm::enumerate(getPermutation()), [&](auto entry) {
      return producer.getPermutation()[entry.value()] == int64_t(entry.index());
    });
    if (identity && producer.getInput().getType() == getResult().getType())
      return producer.getInput();
  }
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(getResult().getType());
  return {};
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"input", getInput()}, {"result", getResult()})))
    return failure();
  if (int64_t(getDims().size()) != rankOf(getInput()))
    return emitOpError() << "dims has " << getDims().size() << " entries, the input " << rankOf(getInput())
                         << " dimensions";
  if (failed(expectDims(*this, "dims", getDims(), rankOf(getResult()))))
    return failure();
  for (auto [from, to] : llvm::enumerate(getDims()))
    if (failed(expectSameSize(*this, {"input", getInput()}, from, {"result", getResult()}, to)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"input", getInput()}, {"result", getResult()})) ||
      failed(expectRank(*this, {"result", getResult()}, rankOf(getInput()))))
    return failure();
  if (int64_t(getOffsets().size()) != rankOf(getInput()))
    return emitOpError() << "has " << getOffsets().size() << " offsets for " << rankOf(getInput())
                         << " dimensions";
  for (auto [d, offset] : llvm::enumerate(getOffsets())) {
    int64_t size = sizeOf(getResult(), d), whole = sizeOf(getInput(), d);
    if (offset < 0 || offset > whole - size)
      return emitOpError() << "takes " << size << " from " << offset << " on of dimension " << d
                           << ", which has size " << whole;
  }
  return success();
}

LogicalResult ReverseOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  if (int64_t(getDim()) < 0 || int64_t(getDim()) >= rankOf(getInput()))
    return emitOpError() << "reverses dimension " << int64_t(getDim()) << " of a tensor with "
                         << rankOf(getInput()) << " dimensions";
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "has no operands";
  if (failed(verifyTensors(*this)))
    return failure();
  int64_t rank = rankOf(getResult()), dim = int64_t(getDim()), total = 0;
  if (dim < 0 || dim >= rank)
    return emitOpError() << "joins along dimension " << dim << " of a tensor with " << rank << " dimensions";
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    std::string name = "input #" + std::to_string(i);
    if (failed(expectRank(*this, {name, input}, rank)) ||
        failed(expectSameElements(*this, {name, input}, {"result", getResult()})))
      return failure();
    for (int64_t d = 0; d < rank; ++d)
      if (d != dim && failed(expectSameSize(*this, {name, input}, d, {"result", getResult()}, d)))
        return failure();
    total += sizeOf(input, dim);
  }
  if (total != sizeOf(getResult(), dim))
    return emitOpError() << "inputs have " << total << " in dimension " << dim << " together, the result "
                         << sizeOf(getResult(), dim);
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  NamedValue input{"input", getInput()}, result{"result", getResult()};
  if (failed(getKind() == ReduceKind::sum ? expectElementsOrSums(*this, result, input)
                                          : expectSameElements(*this, input, result)))
    return failure();
  int64_t rank = rankOf(getInput());
  if (getDims().empty())
    return emitOpError() << "reduces over no dimension";
  if (failed(expectDims(*this, "dims", getDims(), rank)) ||
      failed(expectRank(*this, result, rank - int64_t(getDims().size()))))
    return failure();
  if (getInput().getType().getElementType().isInteger(1))
    return emitOpError() << "does not compute on i1";
  int64_t kept = 0;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(getDims(), d) && failed(expectSameSize(*this, input, d, result, kept++)))
      return failure();
  return success();
}

LogicalResult TakeOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"input", getInput()}, {"result", getResult()})))
    return failure();
  int64_t rank = rankOf(getInput());
  if (rank < 2)
    return emitOpError() << "input has " << rank << " dimensions, expected 2 or more";
  if (failed(expectRank(*this, {"index", getIndex()}, 1)) ||
      failed(expectRank(*this, {"result", getResult()}, rank)) ||
      failed(expectSameSize(*this, {"index", getIndex()}, 0, {"input", getInput()}, 0)) ||
      failed(expectSameSize(*this, {"result", getResult()}, 0, {"input", getInput()}, 0)) ||
      failed(expectSize(*this, {"result", getResult()}, 1, 1)))
    return failure();
  return expectSameSizes(*this, {"result", getResult()}, 2, {"input", getInput()}, 2, rank - 2);
}

LogicalResult LayerSliceOp::verify() {
  if (failed(verifyTensors(*this)) ||
      failed(expectSameElements(*this, {"stack", getStack()}, {"result", getResult()})) ||
      failed(expectRank(*this, {"index", getIndex()}, 0)) ||
      failed(expectRank(*this, {"stack", getStack()}, rankOf(getResult()) + 1)))
    return failure();
  return expectSameSizes(*this, {"stack", getStack()}, 1, {"result", getResult()}, 0, rankOf(getResult()));
}

LogicalResult StackLayerOp::verify() {
  if (failed(verifyTensors(*this)) || failed(expectRank(*this, {"index", getIndex()}, 0)))
    return failure();
  auto period = int64_t(getPeriod()), held = int64_t(getHeld()), before = int64_t(getBefore());
  if (held < 1 || held > period || before < 0 || before >= held)
    return emitOpError() << "is layer " << before << " of " << held << " that a stack holds of every "
                         << period << ": expected one of them, and at most all";
  return success();
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

LogicalResult MaskPaddingOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  if (getDims().empty())
    return emitOpError() << "masks no dimension";
  return expectDims(*this, "dims", getDims(), rankOf(getInput()));
}

LogicalResult NameOp::verify() {
  if (failed(verifyTensors(*this)))
    return failure();
  if (getName().empty())
    return emitOpError() << "has an empty name";
  if (std::optional<ArrayAttr> dims = getDims(); dims && int64_t(dims->size()) != rankOf(getInput()))
    return emitOpError() << "has " << dims->size() << " dimension names for " << rankOf(getInput())
                         << " dimensions";
  return success();
}
