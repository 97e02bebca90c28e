//===- Lowering.cpp - what the parts of spmd-to-kernels share ---------------===//

#include "Lowering.h"

#include "tessera/Target/CPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
    hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                                     OperationEquivalence::ignoreHashValue,
                                                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

FlatSymbolRefAttr KernelTable::add(func::FuncOp kernel) {
  SmallVectorImpl<func::FuncOp> &candidates = byHash[hashOf(kernel)];
  for (func::FuncOp known : candidates)
    if (attributesOf(known) == attributesOf(kernel) &&
        OperationEquivalence::isRegionEquivalentTo(&known.getBody(), &kernel.getBody(), OperationEquivalence::IgnoreLocations)) {
      kernel.erase();
      return FlatSymbolRefAttr::get(known);
    }
  symbols.insert(kernel); // renames if the name is taken
  kernel.setPrivate();
  candidates.push_back(kernel);
  return FlatSymbolRefAttr::get(kernel);
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
  int64_t rows = int64_t(llvm::divideCeil(options.grainElements, std::max<int64_t>(elements, 1)));
  return std::clamp<int64_t>(rows, 1, count);
}

Value layerIndex(OpBuilder &builder, Value tensor) {
  if (tensorOf(tensor).getRank() != 0)
    return nullptr;
  if (auto cast = tensor.getDefiningOp<UnrealizedConversionCastOp>())
    if (cast.getInputs().size() == 1 && cast.getInputs()[0].getType().isIndex())
      return cast.getInputs()[0];
  if (auto constant = tensor.getDefiningOp<graph::ConstantOp>())
    if (auto value = dyn_cast<DenseIntElementsAttr>(constant.getValue()); value && value.isSplat())
      return arith::ConstantIndexOp::create(builder, tensor.getLoc(), value.getSplatValue<APInt>().getSExtValue());
  return nullptr;
}

KernelShell::KernelShell(Location loc, StringRef name, TypeRange inputTypes, TypeRange outputTypes, unsigned scalarCount)
    : builder(loc.getContext()) {
  SmallVector<Type> types;
  for (Type type : inputTypes)
    types.push_back(plainType(type));
  SmallVector<Type> results;
  for (Type type : outputTypes)
    results.push_back(plainType(type));
  llvm::append_range(types, results);
  types.append(scalarCount + 2, builder.getIndexType());
  func = func::FuncOp::create(loc, name, builder.getFunctionType(types, results));
  func->setAttr(kKernelAttr, builder.getUnitAttr());
  Block *entry = func.addEntryBlock();
  ValueRange args = entry->getArguments();
  inputs = args.take_front(inputTypes.size());
  outputs = args.drop_front(inputTypes.size()).take_front(outputTypes.size());
  scalars = args.drop_front(inputTypes.size() + outputTypes.size()).drop_back(2);
  begin = args[args.size() - 2];
  end = args.back();
  builder.setInsertionPointToStart(entry);
}

void KernelShell::loop(int64_t count, llvm::function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> body) {
  Location loc = func.getLoc();
  if (count == 1) {
    Value row = arith::ConstantIndexOp::create(builder, loc, 0);
    SmallVector<Value> results = body(builder, row, outputs);
    func::ReturnOp::create(builder, loc, results);
    return;
  }
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, begin, end, one, outputs,
                                 [&](OpBuilder &inner, Location, Value row, ValueRange args) {
                                   scf::YieldOp::create(inner, loc, body(inner, row, args));
                                 });
  func::ReturnOp::create(builder, loc, loop.getResults());
}

} // namespace tessera::kernels
