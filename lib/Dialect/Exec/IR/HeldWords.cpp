//===- HeldWords.cpp - weights in blocks, as a rank holds them --------------===//
#include "tessera/Dialect/Exec/IR/HeldWords.h"

#include "VerifyOps.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Support/Shapes.h"

using namespace mlir;

namespace tessera::exec {

static ArrayRef<int64_t> layerOf(graph::ParameterOp parameter, RankedTensorType type) {
  return type.getShape().drop_front(parameter.getStacked() ? 1 : 0);
}

BlockMatrix blockMatrix(graph::ParameterOp parameter, ArrayRef<int64_t> layer) {
  auto outDims = size_t(parameter->getAttrOfType<IntegerAttr>(kPackAttr).getInt());
  ArrayRef<int64_t> global = layerOf(parameter, cast<RankedTensorType>(parameter.getType()));
  return {product(layer.take_front(outDims)),
          io::BlockColumns(global.drop_front(outDims).vec(), layer.drop_front(outDims).vec())};
}

BlockMatrix blockMatrix(graph::ParameterOp parameter) {
  return blockMatrix(parameter, layerOf(parameter, heldType(parameter)));
}

ArrayRef<int64_t> piecesOf(MatmulOp op) {
  return op.getWeight() && op.getParamAttr()
             ? cast<ShapedType>(op.getWeight().getType()).getShape().drop_back()
             : ArrayRef<int64_t>();
}

SmallVector<int64_t> layerOfPieces(graph::ParameterOp parameter, ArrayRef<int64_t> pieces) {
  SmallVector<int64_t> shape;
  for (auto [count, own, all] :
       llvm::zip_equal(pieces, layerOf(parameter, heldType(parameter)),
                       layerOf(parameter, cast<RankedTensorType>(parameter.getType()))))
    shape.push_back(std::min(count * own, all));
  return shape;
}

SmallVector<io::DType> blockTypes(graph::ParameterOp parameter) {
  SmallVector<io::DType> types;
  if (auto held = parameter->getAttrOfType<ArrayAttr>(kHeldAttr))
    for (auto name : held.getAsRange<StringAttr>())
      types.push_back(*io::weightTypeFromFileName(name.getValue()));
  return types;
}

RankedTensorType heldWords(graph::ParameterOp parameter) {
  auto bytes = parameter->getAttrOfType<IntegerAttr>(kLayerBytesAttr);
  if (!bytes || !parameter->hasAttr(kHeldAttr))
    return {};
  SmallVector<int64_t> shape;
  if (parameter.getStacked())
    shape.push_back(cast<RankedTensorType>(parameter.getType()).getDimSize(0));
  shape.push_back(bytes.getInt() / kWordBytes);
  return RankedTensorType::get(shape, IntegerType::get(parameter.getContext(), 32));
}

std::optional<double> blockElementBytes(graph::ParameterOp parameter) {
  auto held = parameter->getAttrOfType<ArrayAttr>(graph::kHeldAttr);
  if (!held || held.empty() || parameter.getVariable())
    return std::nullopt;
  double bytes = 0;
  for (auto name : held.getAsRange<StringAttr>()) {
    std::optional<io::DType> type = io::weightTypeFromFileName(name.getValue());
    if (!type || !io::isQuantized(*type))
      return std::nullopt;
    bytes += double(io::blockBytes(*type)) / double(io::blockElements(*type));
  }
  return bytes / double(held.size());
}

} // namespace tessera::exec
