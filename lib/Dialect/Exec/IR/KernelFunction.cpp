//===- KernelFunction.cpp - what makes a function a kernel ----------------===//

#include "tessera/Dialect/Exec/IR/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tessera::exec {

RankedTensorType plainType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

Value fresh(OpBuilder &builder, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  return tensor::EmptyOp::create(builder, like.getLoc(), type.getShape(), type.getElementType(),
                                 type.getEncoding());
}

KernelShell::KernelShell(Location loc, StringRef name, TypeRange inputTypes, TypeRange outputTypes,
                         unsigned scalarCount)
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

void KernelShell::loop(int64_t count,
                       llvm::function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> body) {
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

} // namespace tessera::exec
