//===- Products.cpp - verifiers of products and packed lookups --------------===//

#include "VerifyOps.h"

#include "tessera/Support/Shapes.h"

using namespace mlir;

namespace tessera::exec {

/// Of products by group, apart from sizes.
static LogicalResult verifyGroups(MatmulOp op) {
  if (!op.getStarts())
    return success();
  auto type = cast<ShapedType>(op.getStarts().getType());
  if (!type.getElementType().isSignlessInteger(32) || type.getRank() != 1 || op.getGroups() < 1)
    return op.emitOpError() << "has starts " << Type(type) << "; they are i32, one more than groups";
  if (op.getInputTransposed() || op.getWeightTransposed() || op.hasEpilogue())
    return op.emitOpError("is by group, and transposes or adds something; such a product only multiplies");
  return success();
}

LogicalResult MatmulOp::verify() {
  int64_t m = getM(), n = getN(), k = getK();
  if (m < 1 || n < 1 || k < 1)
    return emitOpError() << "has sizes " << m << ", " << n << ", " << k << "; all must be positive";
  if (!getWeight() && !getParamAttr())
    return emitOpError("needs either a packed parameter or a plain weight");
  if (getLayer() && !getParamAttr())
    return emitOpError("has a layer number but no packed parameter");
  if (getWeightTransposed() && getParamAttr())
    return emitOpError("reads a packed parameter transposed; those have one orientation");
  const bool plain = getWeight() && !getParamAttr(), gathered = getWeight() && getParamAttr();
  if (gathered && (getLayer() || !elementType(getWeight()).isSignlessInteger(32)))
    return emitOpError() << "takes " << getWeight().getType() << " for pieces of " << getParamAttr()
                         << "; those are gathered words, i32, of one layer";
  if (numElements(getInput()) != m * k)
    return emitOpError() << "input " << getInput().getType() << " is no " << m << " x " << k << " matrix";
  if (numElements(getOutput()) != m * n)
    return emitOpError() << "output " << getOutput().getType() << " is no " << m << " x " << n << " matrix";
  if (failed(verifyGroups(*this)))
    return failure();
  int64_t rows = n * std::max<int64_t>(getGroups(), 1);
  if (plain && numElements(getWeight()) != rows * k)
    return emitOpError() << "weight " << getWeight().getType() << " is no " << rows << " x " << k
                         << " matrix";
  if (failed(verifyProductType(*this, "input", elementType(getInput()))) ||
      failed(verifyProductType(*this, "output", elementType(getOutput()))) ||
      (plain && failed(verifyProductType(*this, "weight", elementType(getWeight())))))
    return failure();
  if (getBias() && numElements(getBias()) != n)
    return emitOpError() << "bias " << getBias().getType() << " does not have " << n << " elements";
  if (getAddend() && numElements(getAddend()) != m * n)
    return emitOpError() << "addend " << getAddend().getType() << " is no " << m << " x " << n << " matrix";
  for (auto [what, value] : {std::pair<StringRef, Value>{"bias", getBias()}, {"addend", getAddend()}})
    if (value && elementType(value) != elementType(getOutput()))
      return emitOpError() << what << " holds " << elementType(value) << ", the output "
                           << elementType(getOutput());
  return verifyOneRung(*this);
}

Type MatmulOp::getWeightElementType() {
  if (getWeight() && !getParamAttr())
    return elementType(getWeight());
  auto parameter = SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(*this, getParamAttr());
  return cast<ShapedType>(parameter.getType()).getElementType();
}

/// A parameter that is held in blocks, gathered: [pieces along each dimension of a layer..., words of a
/// piece].
static LogicalResult verifyPieces(MatmulOp op, int64_t rows, SymbolTableCollection &tables) {
  graph::ParameterOp parameter = lookupParameter(op, op.getParamAttr(), tables);
  if (!parameter)
    return failure();
  RankedTensorType words = heldWords(parameter);
  auto pack = parameter->getAttrOfType<IntegerAttr>(kPackAttr);
  auto pieces = cast<ShapedType>(op.getWeight().getType());
  if (!words || !pack)
    return op.emitOpError() << "takes pieces of " << op.getParamAttr()
                            << ", which does not say how many bytes of blocks a layer has";
  int64_t dims = heldType(parameter).getRank() - (parameter.getStacked() ? 1 : 0);
  ArrayRef<int64_t> counts = piecesOf(op);
  bool fits = int64_t(counts.size()) == dims;
  if (!fits || pieces.getShape().back() != words.getShape().back() ||
      llvm::count_if(counts, [](int64_t count) { return count > 1; }) > 1)
    return op.emitOpError() << "takes " << Type(pieces) << " for pieces of " << op.getParamAttr()
                            << ": they are counted along its " << dims
                            << " dimensions, several along one at most, and have " << words.getShape().back()
                            << " words each";
  SmallVector<int64_t> shape = layerOfPieces(parameter, counts);
  auto outDims = size_t(pack.getInt());
  if (product(ArrayRef(shape).take_front(outDims)) != rows ||
      product(ArrayRef(shape).drop_front(outDims)) != int64_t(op.getK()))
    return op.emitOpError() << "takes " << rows << " x " << op.getK() << " numbers of " << op.getParamAttr()
                            << ", whose pieces are " << shapeText(shape) << " together";
  return verifyProductType(op, "parameter", heldType(parameter).getElementType());
}

LogicalResult MatmulOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getParamAttr())
    return success();
  int64_t rows = int64_t(getN()) * std::max<int64_t>(getGroups(), 1);
  if (getWeight())
    return verifyPieces(*this, rows, tables);
  if (failed(verifyPacked(*this, getParamAttr(), getLayer(), rows * int64_t(getK()), tables)))
    return failure();
  graph::ParameterOp parameter = lookupParameter(*this, getParamAttr(), tables);
  if (PackedMatrix matrix = packedMatrix(parameter); parameter->hasAttr(kPackAttr) && matrix.rows != rows)
    return emitOpError() << "takes " << rows << " rows of " << getParamAttr() << ", which is held as "
                         << matrix.rows << " x " << matrix.columns;
  return verifyProductType(*this, "parameter", heldType(parameter).getElementType());
}

LogicalResult GatherPackedOp::verify() {
  auto ids = cast<ShapedType>(getIds().getType()), out = cast<ShapedType>(getOutput().getType());
  if (!ids.getElementType().isSignlessInteger(32))
    return emitOpError() << "ids have type " << Type(ids) << ", not i32";
  if (!out.getShape().take_front(ids.getRank()).equals(ids.getShape()) || out.getRank() <= ids.getRank())
    return emitOpError() << "output " << Type(out) << " does not lead with the dimensions of " << Type(ids);
  return verifyOneRung(*this);
}

LogicalResult GatherPackedOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyPacked(*this, getParamAttr(), getLayer(), /*elements=*/-1, tables)))
    return failure();
  // Rows as long as the parameter's.
  graph::ParameterOp parameter = lookupParameter(*this, getParamAttr(), tables);
  RankedTensorType held = heldType(parameter);
  if (elementType(getOutput()) != held.getElementType())
    return emitOpError() << "writes rows of " << getParamAttr() << ", stored as " << held.getElementType()
                         << ", to " << getOutput().getType();
  int64_t row = packedMatrix(parameter).columns, taken = numElements(getOutput()) / numElements(getIds());
  return row == taken ? success()
                      : emitOpError() << "makes rows of " << taken << " elements; those of " << getParamAttr()
                                      << " have " << row;
}

} // namespace tessera::exec
