//===- WrittenShardings.cpp - What a program says of shardings ------------===//
#include "WrittenShardings.h"

#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/SpmdFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <functional>

using namespace mlir;

namespace tessera {

using Told = llvm::function_ref<void(WrittenSharding, std::function<void()> leaveOut)>;

static std::string called(StringAttr name, unsigned number) {
  return name ? name.getValue().str() : numberedName(number);
}

/// What a pinned value is called: by its name, else by the op that makes it.
static std::string pinned(dist::ConstraintOp pin) {
  Value value = pin.getInput();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto region = dyn_cast<dist::ManualComputationOp>(parent))
      return ("operand " + Twine(argument.getArgNumber()) + " of " + graph::knownAs(region)).str();
    auto function = dyn_cast<func::FuncOp>(parent);
    return function
               ? "argument " +
                     called(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::kNameAttr),
                            argument.getArgNumber())
               : "what a loop hands to its body";
  }
  if (auto name = value.getDefiningOp<graph::NameOp>())
    return name.getName().str();
  if (value.getDefiningOp<dist::ConstraintOp>())
    return "a pinned value";
  return graph::knownAs(value.getDefiningOp()).str();
}

/// What the operands and results of a region are said to lie over beside its manual axes: without those it is
/// no program any more.
static void tellOf(dist::ManualComputationOp region, Told told) {
  dist::MeshOp meshOp = dist::getMesh(region->getParentOfType<ModuleOp>());
  const Mesh mesh = meshOp.getMesh().toMesh();
  auto tell = [&](StringRef side, ArrayAttr list, auto set) {
    for (auto [i, attr] : llvm::enumerate(list)) {
      auto written = cast<dist::ShardingAttr>(attr);
      Sharding whole = written.toSharding(mesh), other = region.inside(whole, mesh);
      if (other.usedAxes().empty())
        continue;
      for (DimSharding &dim : whole.dims) {
        llvm::erase_if(dim.axes,
                       [&](const AxisRef &axis) { return llvm::is_contained(other.usedAxes(), axis); });
        dim.open = true;
      }
      StringRef meshName = written.getMesh().getValue();
      auto make = [&](const Sharding &sharding) {
        return dist::ShardingAttr::get(region.getContext(), meshName, sharding, mesh);
      };
      told({(side + " " + Twine(i) + " of " + graph::knownAs(region)).str(),
            describeLocation(region.getLoc()), make(other)},
           [=, i = i, left = make(whole)]() mutable { set(i, left); });
    }
  };
  auto with = [](ArrayAttr list, size_t i, Attribute attr) {
    SmallVector<Attribute> entries(list.getValue());
    entries[i] = attr;
    return ArrayAttr::get(list.getContext(), entries);
  };
  tell("operand", *region.getInShardings(), [=](size_t i, Attribute attr) mutable {
    region.setInShardingsAttr(with(*region.getInShardings(), i, attr));
  });
  tell("result", *region.getOutShardings(), [=](size_t i, Attribute attr) mutable {
    region.setOutShardingsAttr(with(*region.getOutShardings(), i, attr));
  });
}

/// A region is a program of pieces: none of what it says of them can be left out, only all of it.
static void tellOfWhole(dist::ManualComputationOp region, Told told) {
  dist::MeshOp meshOp = dist::getMesh(region->getParentOfType<ModuleOp>());
  const Mesh mesh = meshOp.getMesh().toMesh();
  std::vector<std::string> axes;
  for (const AxisRef &axis : region.getManualAxes(mesh))
    axes.push_back(toString(axis, mesh));
  told({(graph::knownAs(region) + " over {" + llvm::join(axes, ", ") + "}").str(),
        describeLocation(region.getLoc()),
        {}},
       [=]() mutable {
         auto function = region->getParentOfType<func::FuncOp>();
         Builder builder(region.getContext());
         NamedAttribute kind(graph::kKindAttr, graph::KindAttr::get(region.getContext(), graph::Kind::Input));
         for (Value result : region.getResults()) {
           unsigned number = function.getNumArguments();
           (void)function.insertArgument(number, result.getType(), builder.getDictionaryAttr({kind}),
                                         region.getLoc());
           result.replaceAllUsesWith(function.getArgument(number));
         }
         region.erase();
       });
}

static void forEachWritten(ModuleOp step, Told told) {
  for (auto function : step.getOps<func::FuncOp>()) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr))
        told({"argument " + called(function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr), i),
              describeLocation(argument.getLoc()), sharding},
             [=]() mutable { function.removeArgAttr(i, dist::kShardingAttr); });
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto sharding = function.getResultAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr))
        told({"result " + called(function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr), i),
              describeLocation(function.getLoc()), sharding},
             [=]() mutable {
               function.removeResultAttr(i, StringAttr::get(function.getContext(), dist::kShardingAttr));
             });
  }
  step.walk([&](dist::ConstraintOp pin) {
    told({"the pin of " + pinned(pin), describeLocation(pin.getLoc()), pin.getSharding()}, [=]() mutable {
      pin.getResult().replaceAllUsesWith(pin.getInput());
      pin.erase();
    });
  });
  step.walk([&](dist::ManualComputationOp region) { tellOf(region, told); });
  step.walk([&](dist::ManualComputationOp region) { tellOfWhole(region, told); });
}

std::vector<WrittenSharding> writtenShardings(ModuleOp step) {
  std::vector<WrittenSharding> list;
  forEachWritten(step, [&](WrittenSharding sharding, const auto &) { list.push_back(std::move(sharding)); });
  return list;
}

void leaveOut(ModuleOp step, const std::set<size_t> &numbers) {
  std::vector<std::function<void()>> removals; // done last: walks go on meanwhile
  size_t number = 0;
  forEachWritten(step, [&](const WrittenSharding &, std::function<void()> remove) {
    if (numbers.count(number++))
      removals.push_back(std::move(remove));
  });
  for (const std::function<void()> &remove : removals)
    remove();
}

} // namespace tessera
