//===- Annotate.cpp - Seed shardings from names of dimensions -------------===//
#include "Annotate/HeadAxes.h"
#include "Annotate/ReplicationRemarks.h"
#include "Explain.h"
#include "Reshard/OutputLayouts.h"
#include "RetiredOps.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTANNOTATEPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// User priority of fsdp's sharding of a weight: what activations want comes first.
static constexpr int kWeightPriority = 1;

namespace {
class Annotator {
public:
  Annotator(ModuleOp module, MeshOp meshOp, ArrayRef<ShardItem> items)
      : module(module), meshName(meshOp.getSymName()), mesh(meshOp.getMesh().toMesh()), names(module),
        subjects(module, names), items(module.getLoc(), mesh, items, names, subjects),
        heads(module, mesh, subjects), whole(mesh) {}

  LogicalResult run() {
    if (failed(heads.spell(items, names)))
      return failure();
    if (module->hasAttr(graph::kUnknownItemsAttr)) {
      std::vector<std::string> texts = items.takeUnknown();
      SmallVector<StringRef> unknown(texts.begin(), texts.end());
      module->setAttr(graph::kUnknownItemsAttr, Builder(module.getContext()).getStrArrayAttr(unknown));
    }
    if (failed(items.check()))
      return failure();
    for (auto function : module.getOps<func::FuncOp>()) {
      markUnasked(function);
      if (failed(annotateArguments(function)) || failed(annotateSent(function)))
        return failure();
    }
    WalkResult walked = module.walk([&](graph::NameOp op) {
      return failed(annotateNamed(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    for (auto [i, axis] : llvm::enumerate(mesh.axes))
      if (axis.size > 1 && !used[int(i)])
        explainMissed(module.getLoc(), "unused-axis",
                      "axis " + axis.name + " of size " + std::to_string(axis.size) +
                          " shards no argument: ranks along it do the same work");
    for (const auto &[item, why] : refused)
      if (!held.count(item))
        emitWarning(UnknownLoc::get(module.getContext()))
            << "--shard item '" << item << "' has no effect: " << why << "; leave it out";
    return success();
  }

private:
  /// The sharding that items and standard axes give; `seeded` tells whether they say anything.
  FailureOr<Sharding> seed(const ShardableValue &subject, bool &seeded) {
    int64_t rank = int64_t(subject.dims.size());
    Sharding sharding(rank);
    AxisList taken;
    SmallVector<bool> decided(rank, false), wantedWhole(rank, false);
    std::vector<ReplicatedDim> left;
    seeded = false;
    auto give = [&](int64_t dim, const AxisRef &axis) {
      sharding.dims[dim].axes.push_back(axis);
      taken.push_back(axis);
      used[axis.axis] = true;
      seeded = true;
    };
    // What was asked for.
    for (int64_t d = 0; d < rank; ++d) {
      const ShardItem *item = subject.dims[d].empty() ? nullptr : items.find(subject, subject.dims[d]);
      if (!item)
        continue;
      decided[d] = true;
      wantedWhole[d] = item->axes.empty();
      seeded = true;
      for (const AxisRef &axis : item->axes)
        used[axis.axis] = true;
      if (subject.staysWhole(d)) {
        if (axesSize(item->axes) > 1)
          refused[item->text] = "values that it speaks of have one position there, which cannot be spread";
        if (!wantedWhole[d])
          left.push_back(
              {d, item->axes,
               "--shard item '" + item->text + "' asks for it, but one position cannot be spread"});
        continue;
      }
      for (const AxisRef &axis : item->axes) {
        if (mesh.axes[axis.axis].size == 1)
          continue;
        for (int64_t other = 0; other < d; ++other)
          if (overlapsAny(axis, sharding.dims[other].axes))
            return items.contradiction(subject, *items.find(subject, subject.dims[other]), *item, axis);
        give(d, axis);
        held.insert(item->text);
      }
    }
    // What standard axes mean.
    for (auto [i, meshAxis] : llvm::enumerate(mesh.axes)) {
      const StandardAxis *standard = findStandardAxis(meshAxis.name);
      AxisRef axis = wholeAxis(mesh, int(i));
      if (!standard || axis.size == 1)
        continue;
      for (int64_t d = 0; d < rank; ++d)
        if (!decided[d] &&
            llvm::is_contained(subject.isWeight ? standard->weightDims : standard->activationDims,
                               subject.dims[d])) {
          if (subject.staysWhole(d)) {
            left.push_back({d, {axis}, meshAxis.name + " means it, but one position cannot be spread"});
            continue;
          }
          if (overlapsAny(axis, taken)) {
            left.push_back(
                {d, {axis}, meshAxis.name + " means it, but lies over another dimension of the same tensor"});
            continue;
          }
          // Who says how heads or groups of this value lie has them so; of others the axes are dealt out.
          const bool byHand = items.find(subject, kKvHeads) || items.find(subject, kGroup);
          if (subject.dims[d] != kKvHeads || byHand || !heads.hasAny()) {
            give(d, axis);
            continue;
          }
          const HeadSplit &split = heads.split({axis});
          for (const AxisRef &part : split.kvHeads)
            give(d, part);
          if (auto *group = llvm::find(subject.dims, kGroup); group != subject.dims.end())
            for (const AxisRef &part : split.group)
              give(group - subject.dims.begin(), part);
          else if (!split.kvHeads.empty() || !split.group.empty())
            break; // what the groups are over must stay free for copies: no other dimension takes it
        }
    }
    // Axes for whichever dimension the others left free, as one.
    auto giveLargest = [&](ArrayRef<AxisRef> axes) {
      int64_t best = -1;
      for (int64_t d = 0; d < rank; ++d)
        // A stack is read layer by layer: sharding it would put whole layers on other ranks.
        if (!decided[d] && sharding.dims[d].axes.empty() && !subject.dims[d].empty() &&
            subject.dims[d] != "layer" && subject.shape[d] > 1 &&
            (best < 0 || subject.shape[d] > subject.shape[best]))
          best = d;
      if (best < 0)
        return false;
      for (const AxisRef &axis : axes)
        give(best, axis);
      sharding.dims[best].priority = kWeightPriority;
      return true;
    };
    const ShardItem *item = items.find(subject, kLargest);
    if (item) {
      AxisList free;
      llvm::copy_if(item->axes, std::back_inserter(free), [&](const AxisRef &axis) {
        used[axis.axis] = true;
        return mesh.axes[axis.axis].size > 1 && !overlapsAny(axis, taken);
      });
      if (llvm::all_of(item->axes, [&](const AxisRef &axis) { return mesh.axes[axis.axis].size == 1; }))
        seeded = true; // `-`: none, whatever fsdp means
      else if (!free.empty() && giveLargest(free))
        held.insert(item->text);
      else {
        refused[item->text] = "it finds no dimension and axis that nothing else uses";
        explainMissed(subject.loc, "nothing-left",
                      subject.name.str() + ": --shard item '" + item->text +
                          "' finds no dimension and axis " + "that nothing else uses");
      }
    } else {
      for (auto [i, meshAxis] : llvm::enumerate(mesh.axes)) {
        const StandardAxis *standard = findStandardAxis(meshAxis.name);
        AxisRef axis = wholeAxis(mesh, int(i));
        if ((subject.isWeight || subject.valueClass == kGradients) && standard &&
            standard->largestFreeWeightDim && axis.size > 1 && !overlapsAny(axis, taken))
          giveLargest({axis});
      }
    }
    for (auto [d, dim, name] : llvm::enumerate(sharding.dims, subject.dims)) {
      mergeAdjacent(dim.axes);
      // A named argument is decided by its names, an item decides; elsewhere what has no axis is left to
      // propagation.
      dim.open = dim.axes.empty() && !wantedWhole[d] && !(item && item->axes.empty()) &&
                 (!subject.isDecided || name.empty()) && !subject.isExchanged;
    }
    for (const ReplicatedDim &one : left)
      whole.left(subject, sharding, one);
    return sharding;
  }

  void explain(const ShardableValue &subject, const Sharding &sharding) const {
    dist::explain(subject.loc, "annotate",
                  (subject.name.empty() ? std::string("argument") : subject.name.str()) + " [" +
                      llvm::join(subject.dims, ", ") + "] is seeded with " + toString(sharding, mesh));
  }

  /// Ids and positions: the host has them whole, every rank can be given what it needs of them.
  static bool isHandedToAll(const ShardableValue &subject, Type type) {
    return subject.isInput && cast<RankedTensorType>(type).getElementType().isInteger();
  }

  LogicalResult annotateArguments(func::FuncOp function) {
    for (BlockArgument arg : function.getArguments()) {
      unsigned i = arg.getArgNumber();
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (!type || function.getArgAttr(i, kShardingAttr)) // what a person wrote stays
        continue;
      ShardableValue subject = subjects.of(function, arg);
      if (llvm::all_of(subject.dims, [](StringRef name) { return name.empty(); }) && type.getRank() > 0 &&
          !subject.isExchanged)
        continue;
      bool seeded;
      auto sharding = seed(subject, seeded);
      if (failed(sharding))
        return failure();
      function.setArgAttr(i, kShardingAttr,
                          ShardingAttr::get(module.getContext(), meshName, *sharding, mesh));
      if (isHandedToAll(subject, type) && !items.pins(subject))
        function.setArgAttr(i, kWidenableAttr, UnitAttr::get(module.getContext()));
      whole.replicated(subject, *sharding, subjects.largest());
      explain(subject, *sharding);
    }
    return success();
  }

  /// What another stage of a pipeline takes.
  LogicalResult annotateSent(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      std::optional<ShardableValue> subject = subjects.ofSent(function, i);
      if (!subject || function.getResultAttr(i, kShardingAttr))
        continue;
      bool seeded;
      auto sharding = seed(*subject, seeded);
      if (failed(sharding))
        return failure();
      function.setResultAttr(i, kShardingAttr,
                             ShardingAttr::get(module.getContext(), meshName, *sharding, mesh));
    }
    return success();
  }

  /// A gradient, and an axis stores weights and what belongs to them in pieces.
  bool isStored(const ShardableValue &subject) const {
    return subject.valueClass == kGradients && llvm::any_of(mesh.axes, [](const MeshAxis &axis) {
             const StandardAxis *standard = findStandardAxis(axis.name);
             return standard && standard->largestFreeWeightDim && axis.size > 1;
           });
  }

  /// Some item speaks of the value, or of one of its dimensions in all values.
  bool isAsked(const ShardableValue &subject) const {
    return items.pins(subject) || llvm::any_of(subject.dims, [&](StringRef dim) {
             return !dim.empty() && items.find(subject, dim);
           });
  }

  /// Outputs, and inputs that are one, of which neither the program nor an item says how they lie: what
  /// standard axes mean for them is no wish (see layOutputs). Before arguments get what those mean.
  void markUnasked(func::FuncOp function) {
    auto mark = UnitAttr::get(module.getContext());
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (std::optional<ShardableValue> output = subjects.ofOutput(function, i);
          output && !function.getResultAttr(i, kShardingAttr) && !isAsked(*output))
        function.setResultAttr(i, kUnaskedAttr, mark);
    for (BlockArgument arg : function.getArguments()) {
      unsigned i = arg.getArgNumber();
      if (!isa<RankedTensorType>(arg.getType()) || function.getArgAttr(i, kShardingAttr))
        continue;
      if (ShardableValue input = subjects.of(function, arg);
          input.isInput && !input.isDecided && !isAsked(input))
        function.setArgAttr(i, kUnaskedAttr, mark);
    }
  }

  LogicalResult annotateNamed(graph::NameOp op) {
    ShardableValue subject = subjects.of(op);
    if (op.getInner() && !items.pins(subject) &&
        !isStored(subject)) { // of no use any more: sums pass unhindered
      op.getResult().replaceAllUsesWith(op.getInput());
      retired.add(op);
      return success();
    }
    if (failed(items.checkSameValue(op)))
      return failure();
    if (!isAsked(subject) && !isStored(subject)) // a name is no wish: placement decides
      return success();
    bool seeded;
    auto sharding = seed(subject, seeded);
    if (failed(sharding))
      return failure();
    if (!seeded)
      return success();
    explain(subject, *sharding);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto constraint = ConstraintOp::create(builder, op.getLoc(), op.getType(), op.getResult(),
                                           ShardingAttr::get(module.getContext(), meshName, *sharding, mesh));
    op.getResult().replaceAllUsesExcept(constraint.getResult(), constraint);
    return success();
  }

  RetiredOps retired; // first: outlives the names
  ModuleOp module;
  StringRef meshName;
  Mesh mesh;
  DimNames names;
  ShardableValues subjects;
  ShardItems items;
  HeadAxes heads;
  ReplicationRemarks whole;
  std::map<int, bool> used;                   ///< by axis: something is sharded over it
  std::set<std::string> held;                 ///< items that some value is sharded by
  std::map<std::string, std::string> refused; ///< items that some value could not be sharded by, and why
};

struct AnnotatePass : public tessera::dist::impl::DistAnnotatePassBase<AnnotatePass> {
  using DistAnnotatePassBase::DistAnnotatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto fail = [&](const std::string &error) {
      emitError(module.getLoc()) << error;
      signalPassFailure();
    };
    std::string error;
    auto spec = parseMeshSpec(mesh, error);
    if (!spec)
      return fail(error);
    MeshOp meshOp = dist::getMesh(module);
    if (!meshOp) {
      if (module.lookupSymbol(kMeshName))
        return fail(
            ("taken name (@" + kMeshName + "): something else is called so, the mesh cannot be; rename it")
                .str());
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      meshOp = MeshOp::create(builder, module.getLoc(), kMeshName, MeshAttr::get(&getContext(), *spec));
    } else if (!spec->axes.empty() && !(*spec == meshOp.getMesh().toMesh())) {
      return fail("two meshes (--mesh=" + mesh +
                  "): the module has another one already; drop --mesh or the dist.mesh");
    }
    Mesh whole = meshOp.getMesh().toMesh();
    auto items = parseShardSpec(shard, whole, error);
    if (!items)
      return fail(error);
    if (!machine.empty()) {
      std::optional<Machine> described = loadMachine(machine, whole, error);
      if (!described)
        return fail(error);
      module->setAttr(kMachineAttr, StringAttr::get(&getContext(), toJson(*described)));
    }
    // Axes of a mesh that stood there have the meaning that annotations give them.
    if (error = checkAxesUsed(*spec, *items); !error.empty())
      return fail(error);
    if (failed(Annotator(module, meshOp, *items).run()))
      signalPassFailure();
  }
};
} // namespace
