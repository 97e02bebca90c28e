//===- GatherPieces.cpp - weights are gathered as they are held -------------===//
//
// What a rank holds of a weight in blocks is an array of words for a collective. Gathered, the pieces lie one
// behind the other, each laid out for itself; the product that reads them says how many there are along each
// dimension, and the runtime puts them together. So what travels and what is held of a gathered layer are the
// bytes of its blocks.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Dialect/Exec/IR/HeldWords.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {

bool gathersPieces(const Lowering &lowering, dist::AllGatherOp gather) {
  if (!lowering.mesh)
    return false;
  int64_t dim = gather.getDim(), parts = axesSize(dist::fromAxesAttr(gather.getAxes(), *lowering.mesh));
  RankedTensorType piece = tensorOf(gather.getInput()), whole = tensorOf(gather.getResult());
  // Of a dimension that stays split, pieces that are longer than a part of it would lie elsewhere.
  return !lowering.shardAxes(whole, dim) || piece.getDimSize(dim) * parts == whole.getDimSize(dim);
}

/// Bytes of a layer in blocks, of the largest of the types that layers have.
static int64_t largestLayer(const Lowering &lowering, graph::ParameterOp parameter) {
  exec::BlockMatrix layer = exec::blockMatrix(parameter);
  int64_t bytes = 0;
  for (io::DType type : exec::blockTypes(parameter))
    bytes = std::max(bytes, lowering.target.blockBytes(type, layer.rows, layer.columns));
  return bytes;
}

/// All that the rank holds of the parameter, once in each function.
static Value wordsOf(graph::ParameterOp parameter, RankedTensorType words, Operation *at) {
  auto symbol = FlatSymbolRefAttr::get(parameter.getSymNameAttr());
  Block &entry = at->getParentOfType<func::FuncOp>().getBody().front();
  for (auto known : entry.getOps<exec::ParamOp>())
    if (known.getParamAttr() == symbol)
      return known;
  OpBuilder atEntry = OpBuilder::atBlockBegin(&entry);
  return exec::ParamOp::create(atEntry, at->getLoc(), words, symbol);
}

void gatherPieces(const Lowering &lowering, graph::ParameterOp parameter,
                  ArrayRef<dist::AllGatherOp> gathers) {
  Builder attributes(parameter.getContext());
  parameter->setAttr(exec::kLayerBytesAttr, attributes.getI64IntegerAttr(largestLayer(lowering, parameter)));
  RankedTensorType words = exec::heldWords(parameter);
  for (dist::AllGatherOp gather : gathers) {
    OpBuilder builder(gather);
    Location loc = gather.getLoc();
    Value held = wordsOf(parameter, words, gather);
    for (const exec::ArrayView::Layer &layer : exec::viewOf(gather.getInput()).layers)
      held = exec::LayerOp::create(
          builder, loc, RankedTensorType::get(words.getShape().drop_front(), words.getElementType()), held,
          layer.index);
    SmallVector<int64_t> shape(size_t(tensorOf(gather.getInput()).getRank()), 1);
    shape[size_t(gather.getDim())] = axesSize(dist::fromAxesAttr(gather.getAxes(), *lowering.mesh));
    shape.push_back(words.getShape().back());
    auto type = RankedTensorType::get(shape, words.getElementType());
    Value empty = tensor::EmptyOp::create(builder, loc, shape, words.getElementType());
    Value pieces =
        exec::CollectiveOp::create(builder, loc, TypeRange(type), CollectiveKind::AllGather, Reduction::None,
                                   gather.getAxes(), held, empty, dist::ShardingAttr(), dist::ShardingAttr(),
                                   ArrayAttr(), gather->getAttrOfType<StringAttr>("why"))
            .getResults()[0];
    Value stand =
        UnrealizedConversionCastOp::create(builder, loc, gather.getResult().getType(), pieces).getResult(0);
    gather.getResult().replaceAllUsesWith(stand);
    gather.erase();
  }
}

} // namespace tessera::kernels
