//===- Lowering.cpp - what the parts of spmd-to-kernels share ---------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

namespace tessera::kernels {

/// What a kernel is apart from its name and visibility.
static DictionaryAttr attributesOf(func::FuncOp kernel) {
  NamedAttrList attrs(kernel->getAttrDictionary());
  attrs.erase(SymbolTable::getSymbolAttrName());
  attrs.erase(SymbolTable::getVisibilityAttrName());
  return attrs.getDictionary(kernel.getContext());
}

static llvm::hash_code hashOf(func::FuncOp kernel) {
  llvm::hash_code hash = llvm::hash_value(attributesOf(kernel).getAsOpaquePointer());
  kernel.getBody().walk([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                                   OperationEquivalence::ignoreHashValue,
                                                                   OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

FlatSymbolRefAttr KernelTable::add(func::FuncOp kernel) {
  SmallVectorImpl<func::FuncOp> &candidates = byHash[hashOf(kernel)];
  for (func::FuncOp known : candidates)
    if (attributesOf(known) == attributesOf(kernel) &&
        OperationEquivalence::isRegionEquivalentTo(&known.getBody(), &kernel.getBody(),
                                                   OperationEquivalence::IgnoreLocations)) {
      kernel.erase();
      return FlatSymbolRefAttr::get(known);
    }
  symbols.insert(kernel); // renames if the name is taken
  kernel.setPrivate();
  candidates.push_back(kernel);
  return FlatSymbolRefAttr::get(kernel);
}

bool viewsLayer(Operation *op) {
  auto view = dyn_cast<exec::ExecViewOpInterface>(op);
  return view && view.getViewedLayer();
}

ArrayAttr Lowering::shardAxes(RankedTensorType type, int64_t dim) const {
  auto sharding = dist::getShardingAttr(type);
  if (!sharding || sharding.getDims()[dim].getAxes().empty())
    return nullptr;
  ArrayRef<dist::AxisRefAttr> axes = sharding.getDims()[dim].getAxes();
  return ArrayAttr::get(type.getContext(), SmallVector<Attribute>(axes.begin(), axes.end()));
}

Value Lowering::shardIndex(Operation *at, ArrayAttr axes) {
  if (!axes)
    return nullptr;
  Block &entry = at->getParentOfType<func::FuncOp>().getBody().front();
  for (auto op : entry.getOps<exec::GroupIndexOp>())
    if (op.getAxes() == axes)
      return op;
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  return exec::GroupIndexOp::create(builder, at->getLoc(), builder.getIndexType(), axes);
}

int64_t Lowering::grain(int64_t elements, int64_t count) const {
  int64_t rows = int64_t(llvm::divideCeil(tiling.grainElements, std::max<int64_t>(elements, 1)));
  return std::clamp<int64_t>(rows, 1, count);
}

Value Lowering::layerIndex(OpBuilder &builder, Value tensor) const {
  return kernels::layerIndex(builder, tensor);
}

Value layerIndex(OpBuilder &builder, Value tensor) {
  if (tensorOf(tensor).getRank() != 0)
    return nullptr;
  if (auto cast = tensor.getDefiningOp<UnrealizedConversionCastOp>())
    if (cast.getInputs().size() == 1 && cast.getInputs()[0].getType().isIndex())
      return cast.getInputs()[0];
  if (auto constant = tensor.getDefiningOp<graph::ConstantOp>())
    if (auto value = dyn_cast<DenseIntElementsAttr>(constant.getValue()); value && value.isSplat())
      return arith::ConstantIndexOp::create(builder, tensor.getLoc(),
                                            value.getSplatValue<APInt>().getSExtValue());
  return nullptr;
}

} // namespace tessera::kernels
