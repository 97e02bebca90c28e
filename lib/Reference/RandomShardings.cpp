//===- RandomShardings.cpp - Random meshes and annotations ------------------===//
#include "RandomProgram.h"

using namespace mlir;
using namespace tessera;

void ProgramBuilder::drawMesh() {
  static constexpr StringLiteral axisNames[] = {"x", "y", "z", "w"};
  // Mostly few ranks, which is fast; at times more ranks than any dimension has rows. Few programs have none.
  int64_t maxRanks = dice.chance(10) ? options.maxRanks : std::min<int64_t>(12, options.maxRanks);
  int64_t minRanks = dice.chance(3) ? 1 : 2;
  do {
    mesh.axes.clear();
    for (int64_t i = 0, n = dice.between(minRanks == 1 ? 0 : 1, 4); i < n; ++i)
      mesh.axes.push_back({axisNames[i].str(), dice.chance(70) ? dice.between(1, 4) : dice.between(5, 7)});
  } while (mesh.numDevices() > maxRanks || mesh.numDevices() < minRanks);
  dist::MeshOp::create(b, "mesh", dist::MeshAttr::get(b.getContext(), mesh));
}

/// Some of `free`, taken out of it; an axis of 4 or 6 is at times split in two.
AxisList ProgramBuilder::drawAxes(AxisList &free) {
  AxisList taken;
  while (!free.empty() && dice.chance(35)) {
    size_t i = size_t(dice.below(int64_t(free.size())));
    AxisRef axis = free[i];
    free.erase(free.begin() + i);
    if (axis.isWhole(mesh) && (axis.size == 4 || axis.size == 6) && dice.chance(40)) {
      int64_t major = axis.size == 6 && dice.chance(50) ? 3 : 2;
      AxisRef halves[] = {{axis.axis, 1, major}, {axis.axis, major, axis.size / major}};
      int64_t first = dice.below(2);
      free.push_back(halves[1 - first]);
      axis = halves[first];
    }
    taken.push_back(axis);
  }
  mergeAdjacent(taken);
  return taken;
}

dist::ShardingAttr ProgramBuilder::drawSharding(ArrayRef<int64_t> shape) {
  while (true) {
    AxisList free;
    for (auto [i, axis] : llvm::enumerate(mesh.axes))
      if (axis.size > 1)
        free.push_back(wholeAxis(mesh, int(i)));
    Sharding sharding(int64_t(shape.size()));
    for (size_t d : llvm::seq<size_t>(0, shape.size())) {
      sharding.dims[d].axes = drawAxes(free);
      sharding.dims[d].open = dice.chance(50);
      if (!sharding.dims[d].axes.empty() && dice.chance(10))
        sharding.dims[d].priority = int(dice.below(3));
    }
    if (verifySharding(sharding, mesh, int64_t(shape.size())).empty())
      return dist::ShardingAttr::get(b.getContext(), "mesh", sharding, mesh);
  }
}

Value ProgramBuilder::wholeLayers(Value stack) {
  if (options.shardedLayers || !options.shardings)
    return stack;
  Sharding sharding(int64_t(shapeOf(stack).size()));
  for (auto &dim : llvm::drop_begin(sharding.dims))
    dim.open = true;
  return dist::ConstraintOp::create(b, stack.getType(), stack,
                                    dist::ShardingAttr::get(b.getContext(), "mesh", sharding, mesh));
}

Value ProgramBuilder::readable(Value stack) {
  Value whole = wholeLayers(stack);
  if (whole == stack)
    return stack;
  if (depth == 0 && dice.chance(50))
    returnedStacks.push_back(whole);
  Shape shape = shapeOf(stack);
  if (shape.size() == 1 || shape[1] == 1 || dice.chance(30)) {
    Shape layer(ArrayRef<int64_t>(shape).drop_front());
    SmallVector<int64_t> dims = {0};
    auto kind = dice.chance(60) ? graph::ReduceKind::sum : graph::ReduceKind::max;
    return graph::ReduceOp::create(b, floats(layer), kind, whole, dims);
  }
  // All layers' rows in one dimension: it has no name, and what follows may split it. One more row: no
  // reshape makes layers of it again.
  shape[1] *= shape[0];
  shape.erase(shape.begin());
  Value rows = wholeLayers(graph::ReshapeOp::create(b, floats(shape), whole));
  if (!options.manyLoops)
    return rows;
  Shape one = shape;
  one[0] = 1;
  shape[0] += 1;
  return graph::ConcatOp::create(b, floats(shape), ValueRange{rows, weight(one)}, uint64_t(0));
}

Value ProgramBuilder::drawConstraint() { return options.shardings ? spokenOf(moved(operand())) : Value(); }

/// The value in pieces that the dice choose: one constraint, or two of the same pieces on other ranks.
Value ProgramBuilder::moved(Value x) {
  auto pin = [&](dist::ShardingAttr attr) {
    x = dist::ConstraintOp::create(b, x.getType(), x, attr);
    return x;
  };
  AxisList axes;
  for (auto [i, axis] : llvm::enumerate(mesh.axes))
    if (axis.size > 1)
      axes.push_back(wholeAxis(mesh, int(i)));
  Shape shape = shapeOf(x);
  if (axes.size() < 2 || shape.empty() || !dice.chance(40))
    return pin(drawSharding(shape));
  // The same pieces on other ranks: two axes of one size, or in the other order.
  size_t first = size_t(dice.below(int64_t(axes.size()) - 1));
  AxisRef a = axes[first], c = axes[first + 1];
  int64_t d = dice.below(int64_t(shape.size()));
  auto over = [&](AxisList list) {
    Sharding sharding(int64_t(shape.size()));
    sharding.dims[size_t(d)].axes = std::move(list);
    return dist::ShardingAttr::get(b.getContext(), "mesh", sharding, mesh);
  };
  bool equal = a.size == c.size;
  pin(over(equal ? AxisList{a} : AxisList{a, c}));
  return pin(over(equal ? AxisList{c} : AxisList{c, a}));
}

void ProgramBuilder::annotateArguments() {
  for (BlockArgument arg : func.getArguments())
    if (known.insert(func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr)).second &&
        dice.chance(50))
      func.setArgAttr(arg.getArgNumber(), kShardingAttr, drawSharding(shapeOf(arg)));
  if (options.shardedLayers)
    return;
  for (BlockArgument arg : func.getArguments()) {
    // Stacks, and what layers are taken of one by one.
    auto name = func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr).getValue();
    if (!name.starts_with("stack") && !name.starts_with("layers") && !name.starts_with("cache"))
      continue;
    // A weight of the function before has its annotation there.
    if (!pinned.insert(StringAttr::get(b.getContext(), name)).second)
      continue;
    Sharding sharding(int64_t(shapeOf(arg).size()));
    if (auto drawn = func.getArgAttrOfType<dist::ShardingAttr>(arg.getArgNumber(), kShardingAttr))
      sharding = drawn.toSharding(mesh);
    else
      for (auto &dim : sharding.dims)
        dim.open = true;
    sharding.dims.front() = {};
    func.setArgAttr(arg.getArgNumber(), kShardingAttr,
                    dist::ShardingAttr::get(b.getContext(), "mesh", sharding, mesh));
  }
}
