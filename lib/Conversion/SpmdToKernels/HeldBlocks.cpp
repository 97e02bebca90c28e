//===- HeldBlocks.cpp - which packed weights are held in blocks -------------===//
//
// A packed weight is held in the quantized blocks of its checkpoint where the target multiplies those, and
// rows of the matrix are whole rows of the file. Everything else is expanded at load.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"

namespace tessera::kernels {

/// Rows of `columns` elements lie together in the file, one after another: dimensions behind those of rows
/// are as the file has them.
static bool hasWholeRows(graph::SourceAttr source, int64_t columns) {
  ArrayRef<int64_t> shape = source.getReshape().empty() ? source.getFile() : source.getReshape();
  int64_t rank = int64_t(shape.size()), inner = 1, d = rank;
  while (d > 0 && inner < columns) {
    --d;
    bool moved = !source.getPermute().empty() && source.getPermute()[size_t(d)] != d;
    bool cut = !source.getSlice().empty() && (source.getSlice()[size_t(2 * d)] != 0 ||
                                              source.getSlice()[size_t(2 * d + 1)] != shape[size_t(d)]);
    if (moved || cut)
      return false;
    inner *= shape[size_t(d)];
  }
  return inner == columns && !source.getFile().empty() && source.getFile().back() % columns == 0;
}

LogicalResult holdBlocks(const Lowering &lowering, graph::ParameterOp parameter, int64_t outDims) {
  auto held = parameter->getAttrOfType<ArrayAttr>(graph::kHeldAttr);
  if (!held || parameter.getVariable())
    return success();
  auto type = cast<RankedTensorType>(parameter.getType());
  int64_t columns = 1;
  for (int64_t size : type.getShape().drop_front(size_t(outDims + (parameter.getStacked() ? 1 : 0))))
    columns *= size;
  for (auto source : parameter.getSources().getAsRange<graph::SourceAttr>())
    if (!hasWholeRows(source, columns))
      return success();
  for (auto name : held.getAsRange<StringAttr>()) {
    std::optional<io::DType> dtype = io::weightTypeFromFileName(name.getValue());
    if (!dtype || !io::isQuantized(*dtype))
      return parameter.emitOpError() << "has graph.held = " << held
                                     << ", which is no type of quantized blocks";
    if (columns % io::blockElements(*dtype) != 0 || !lowering.target.holdsBlocks(*dtype))
      return success();
  }
  parameter->setAttr(exec::kHeldAttr, held);
  return success();
}

} // namespace tessera::kernels
