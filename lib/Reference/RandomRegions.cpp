//===- RandomRegions.cpp - Random branches, manual regions, barriers, groups ===//
#include "RandomProgram.h"

#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "tessera/Dialect/Graph/IR/Branch.h"

using namespace mlir;
using namespace tessera;

/// Branches over a value around them, that reduce over what may be sharded, each in another way.
Value ProgramBuilder::drawBranch() {
  Value x = scope->values[size_t(newest.below(int64_t(scope->values.size())))];
  Value number = argument(ints({}), graph::Kind::Input, "branch" + std::to_string(names++));
  Value half = graph::ConstantOp::create(b, ints({}), DenseElementsAttr::get(ints({}), int32_t(4)));
  Value condition = graph::CompareOp::create(b, RankedTensorType::get({}, b.getI1Type()),
                                             graph::CompareKind::lt, number, half);
  Shape rows = shapeOf(x);
  SmallVector<Type> types = {x.getType()};
  SmallVector<int64_t> last;
  if (!rows.empty()) {
    last.push_back(int64_t(rows.size()) - 1);
    rows.pop_back();
    types.push_back(floats(rows));
  }
  auto op = graph::IfOp::create(b, types, condition);
  for (Region *branch : op.getRegions()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch->emplaceBlock());
    bool isTaken = branch == &op.getTaken();
    Value y = x;
    if (newest.chance(70))
      y = isTaken ? Value(graph::TanhOp::create(b, x.getType(), x))
                  : Value(graph::SinOp::create(b, x.getType(), x));
    SmallVector<Value> yielded = {y};
    if (!last.empty())
      yielded.push_back(graph::ReduceOp::create(
          b, types[1], isTaken ? graph::ReduceKind::sum : graph::ReduceKind::max, y, last));
    graph::BranchYieldOp::create(b, yielded);
  }
  if (!last.empty())
    scope->values.push_back(op.getResult(1));
  return op.getResult(0);
}

/// Of pieces of a value along an axis that divides it: as many pieces, and the terms of a sum.
Value ProgramBuilder::drawManual() {
  Value x = scope->values[size_t(newest.below(int64_t(scope->values.size())))];
  Shape shape = shapeOf(x);
  SmallVector<std::pair<int, size_t>> cuts; // axis and dimension
  for (auto [a, axis] : llvm::enumerate(mesh.axes))
    for (auto [d, size] : llvm::enumerate(shape))
      if (axis.size > 1 && size % axis.size == 0)
        cuts.push_back({int(a), d});
  if (!options.shardings || cuts.empty())
    return {};
  auto [axisNumber, d] = newest.pick(cuts);
  AxisRef axis = wholeAxis(mesh, axisNumber);
  auto attr = [&](const Sharding &sharding) -> Attribute {
    return dist::ShardingAttr::get(b.getContext(), "mesh", sharding, mesh);
  };
  Sharding pieces(int64_t(shape.size()), /*open=*/true), terms(int64_t(shape.size()) - 1, newest.chance(50));
  pieces.dims[d].axes = {axis};
  pieces.dims[d].open = newest.chance(50);
  terms.partialKind = PartialKind::Sum;
  terms.partial = {axis};
  Shape piece = shape, sum = shape;
  piece[d] /= axis.size;
  sum.erase(sum.begin() + d);
  auto op = dist::ManualComputationOp::create(
      b, TypeRange{x.getType(), floats(sum)}, ValueRange{x}, dist::axesAttr(b.getContext(), {axis}, mesh),
      b.getArrayAttr({attr(pieces)}), b.getArrayAttr({attr(pieces), attr(terms)}));
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = &op.getBody().emplaceBlock();
    auto type = cast<RankedTensorType>(x.getType()).clone(piece);
    Value own = body->addArgument(type, b.getLoc());
    b.setInsertionPointToStart(body);
    Value y = graph::TanhOp::create(b, type, own);
    SmallVector<int64_t> dims = {int64_t(d)};
    Value s = graph::ReduceOp::create(b, floats(sum), graph::ReduceKind::sum, y, dims);
    dist::ManualYieldOp::create(b, ValueRange{y, s});
  }
  scope->values.push_back(op.getResult(1));
  return op.getResult(0);
}

/// `x`, at times with something that is said to propagation. Values of one shape may be a group.
Value ProgramBuilder::spokenOf(Value x) {
  if (newest.chance(15)) {
    auto barrier = dist::PropagationBarrierOp::create(b, x.getType(), x);
    barrier.setForward(newest.chance(30));
    barrier.setBackward(newest.chance(30));
    x = barrier;
  }
  if (newest.chance(15)) {
    std::string group = "group";
    for (int64_t size : shapeOf(x))
      group += "." + std::to_string(size);
    x = dist::ShardingGroupOp::create(b, x.getType(), x, group);
  }
  return x;
}
