// Programs with numbered lines, and without what an explanation names.
#ifndef TESSERA_TEST_UNIT_PIPELINES_CHANGEDPROGRAM_H
#define TESSERA_TEST_UNIT_PIPELINES_CHANGEDPROGRAM_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Explanation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
using namespace mlir;

/// Numbers every op and argument by a line of a file that does not exist.
inline void numberLines(ModuleOp module) {
  unsigned line = 0;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    op->setLoc(FileLineColLoc::get(op->getContext(), "p", ++line, 1));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(FileLineColLoc::get(op->getContext(), "p", ++line, 1));
  });
}

inline bool isAt(Location location, const std::string &where) {
  auto file = dyn_cast<FileLineColLoc>(location);
  return file && "p:" + std::to_string(file.getLine()) + ":1" == where;
}

/// What stands at a line.
inline Operation *opAt(ModuleOp module, const std::string &where) {
  Operation *found = nullptr;
  module->walk([&](Operation *op) {
    if (isAt(op->getLoc(), where))
      found = op;
  });
  return found;
}

/// Changes how a region's operands or results are said to lie.
inline void changeBoundary(dist::ManualComputationOp region, bool isOperand, size_t number,
                           llvm::function_ref<void(Sharding &)> change) {
  const Mesh mesh = dist::getMesh(region->getParentOfType<ModuleOp>()).getMesh().toMesh();
  SmallVector<Attribute> list((isOperand ? *region.getInShardings() : *region.getOutShardings()).getValue());
  Sharding sharding = cast<dist::ShardingAttr>(list[number]).toSharding(mesh);
  change(sharding);
  list[number] = dist::ShardingAttr::get(region.getContext(), "mesh", sharding, mesh);
  auto changed = ArrayAttr::get(region.getContext(), list);
  isOperand ? region.setInShardingsAttr(changed) : region.setOutShardingsAttr(changed);
}

inline dist::ManualComputationOp regionAt(ModuleOp step, const std::string &where) {
  return dyn_cast_or_null<dist::ManualComputationOp>(opAt(step, where));
}

/// Puts arguments in the place of what a region gives, which lie as their readers like.
inline void replaceRegion(dist::ManualComputationOp region) {
  auto function = region->getParentOfType<func::FuncOp>();
  for (Value result : region.getResults()) {
    const unsigned number = function.getNumArguments();
    (void)function.insertArgument(number, result.getType(), DictionaryAttr(), region.getLoc());
    function.setArgAttr(number, graph::kKindAttr,
                        graph::KindAttr::get(region.getContext(), graph::Kind::Input));
    result.replaceAllUsesWith(function.getArgument(number));
  }
  region.erase();
}

/// Takes what the explanation names out of the program; whether it was there.
inline bool takeOut(ModuleOp step, const SaidSharding &said) {
  StringRef what = said.what;
  bool found = false;
  if (what.starts_with("manual_computation over ")) {
    dist::ManualComputationOp region = regionAt(step, said.where);
    if (region)
      replaceRegion(region);
    return bool(region);
  }
  // A pin may be of what a region gives.
  if (!what.starts_with("the pin of ") && what.consume_back(" of manual_computation")) {
    auto [side, number] = what.split(' ');
    dist::ManualComputationOp region = regionAt(step, said.where);
    if (!region)
      return false;
    const Mesh mesh = dist::getMesh(step).getMesh().toMesh();
    const AxisList manual = region.getManualAxes(mesh);
    changeBoundary(region, side == "operand", size_t(std::stoul(number.str())), [&](Sharding &sharding) {
      for (DimSharding &dim : sharding.dims) {
        llvm::erase_if(dim.axes, [&](const AxisRef &axis) { return !llvm::is_contained(manual, axis); });
        dim.open = true;
      }
    });
    return true;
  }
  if (what.starts_with("the pin of ")) {
    SmallVector<dist::ConstraintOp> pins;
    step.walk([&](dist::ConstraintOp pin) {
      if (isAt(pin.getLoc(), said.where))
        pins.push_back(pin);
    });
    for (dist::ConstraintOp pin : pins) {
      pin.getResult().replaceAllUsesWith(pin.getInput());
      pin.erase();
      found = true;
    }
    return found;
  }
  for (auto function : step.getOps<func::FuncOp>()) {
    for (BlockArgument argument : function.getArguments())
      if (what.starts_with("argument ") && isAt(argument.getLoc(), said.where) &&
          function.getArgAttr(argument.getArgNumber(), dist::kShardingAttr)) {
        function.removeArgAttr(argument.getArgNumber(), dist::kShardingAttr);
        found = true;
      }
    if (!what.starts_with("result ") || !isAt(function.getLoc(), said.where))
      continue;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      if (what == "result " + (name ? name.getValue().str() : "number " + std::to_string(i)) &&
          function.getResultAttr(i, dist::kShardingAttr)) {
        function.removeResultAttr(i, StringAttr::get(step.getContext(), dist::kShardingAttr));
        found = true;
      }
    }
  }
  return found;
}

/// A value of --shard without some of its items.
inline std::string withoutItems(StringRef shard, StringRef gone) {
  SmallVector<StringRef> items, without;
  shard.split(items, ',', -1, /*KeepEmpty=*/false);
  gone.split(without, ',', -1, /*KeepEmpty=*/false);
  for (StringRef item : without) {
    EXPECT_TRUE(llvm::is_contained(items, item)) << item.str();
    llvm::erase(items, item);
  }
  return llvm::join(items, ",");
}

/// Says with items of --shard what annotations say of arguments, which go: dimensions get names for that.
inline std::string asItems(ModuleOp step) {
  const Mesh mesh = dist::getMesh(step).getMesh().toMesh();
  std::set<std::string> items;
  for (auto function : step.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      const unsigned i = argument.getArgNumber();
      auto name = function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
      SmallVector<std::string> dims;
      for (int64_t d = 0; d < cast<RankedTensorType>(argument.getType()).getRank(); ++d)
        dims.push_back("d" + std::to_string(d));
      function.setArgAttr(i, graph::kDimsAttr,
                          Builder(step.getContext()).getStrArrayAttr(llvm::to_vector_of<StringRef>(dims)));
      auto said = function.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
      if (!said || !name)
        continue;
      for (auto [d, dim] : llvm::enumerate(said.toSharding(mesh).dims)) {
        std::string axes;
        for (const AxisRef &axis : dim.axes)
          axes += (axes.empty() ? "" : "+") + toString(axis, mesh);
        if (!axes.empty() || !dim.open)
          items.insert(name.str() + ":" + dims[d] + "=" + (axes.empty() ? "-" : axes));
      }
      function.removeArgAttr(i, dist::kShardingAttr);
    }
  return llvm::join(items, ",");
}

} // namespace tessera
#endif
