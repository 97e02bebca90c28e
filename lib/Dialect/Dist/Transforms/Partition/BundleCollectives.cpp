//===- BundleCollectives.cpp - Small collectives as one -------------------===//
#include "CanonicalOrder.h"
#include "Explain.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/CallNames.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Support/TypeSizes.h"

#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace tessera::dist {
#define GEN_PASS_DEF_DISTBUNDLECOLLECTIVESPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {

class Bundler {
public:
  Bundler(ModuleOp module, MeshOp meshOp) : mesh(meshOp.getMesh().toMesh()), machine(machineOf(module)) {}

  /// Bundles what it finds in `block`, one bundle at a time: each changes what depends on what.
  void run(Block &block) {
    while (bundleOne(block))
      ;
  }

private:
  using Members = SmallVector<Operation *>;

  /// Bytes below which copying an operand in and a result out takes less than half of what one collective
  /// fewer saves; 0: never.
  double smallBytes(Operation *op) const {
    if (!isa<AllReduceOp, ReduceScatterOp, AllGatherOp, AllToAllOp>(op) ||
        !getShardingAttr(op->getOperand(0).getType()))
      return 0;
    AxisList axes = fromAxesAttr(op->getAttrOfType<ArrayAttr>("axes"), mesh);
    double latency = 0;
    for (const AxisRef &axis : axes)
      latency = std::max(latency, machine.linkOf(mesh, axis).latency);
    double saved = latency * std::ceil(std::log2(double(std::max<int64_t>(2, axesSize(axes)))));
    // Each byte is read and written before, and after.
    return saved / 2 * machine.memoryBandwidth / 2;
  }

  bool isSmall(Operation *op) const {
    double limit = smallBytes(op);
    return limit > 0 &&
           arrayBytes(op->getOperand(0).getType()) + arrayBytes(op->getResult(0).getType()) < limit;
  }

  /// A sum whose dimensions nobody splits can be taken in any shape.
  static bool isFlat(Operation *op, const Mesh &mesh) {
    if (!isa<AllReduceOp>(op))
      return false;
    Sharding sharding = getShardingAttr(op->getOperand(0).getType()).toSharding(mesh);
    return llvm::all_of(sharding.dims, [](const DimSharding &dim) { return dim.axes.empty(); });
  }

  /// A leading dimension of 1 can be told from those that are sharded.
  bool canStack(Type type) const {
    auto tensor = cast<RankedTensorType>(type);
    Sharding sharding = getShardingAttr(tensor).toSharding(mesh);
    for (auto [dim, size] : llvm::zip(sharding.dims, globalShape(tensor)))
      if (size == 1 && !dim.axes.empty())
        return false;
    return true;
  }

  /// The same ranks do the same: bundled, `b` takes part in `a`'s exchange.
  bool isSameKind(Operation *a, Operation *b) const {
    auto attributes = [](Operation *op) {
      NamedAttrList list(op->getAttrs());
      list.erase("why");
      return list.getDictionary(op->getContext());
    };
    if (a->getName() != b->getName() || attributes(a) != attributes(b))
      return false;
    Type first = a->getOperand(0).getType(), second = b->getOperand(0).getType();
    if (first == second)
      return a->getResult(0).getType() == b->getResult(0).getType() &&
             (isFlat(a, mesh) || (canStack(first) && canStack(a->getResult(0).getType())));
    auto partial = [](Type type) {
      ShardingAttr sharding = getShardingAttr(type);
      return std::make_pair(sharding.getPartialKind(), sharding.getPartial());
    };
    return isFlat(a, mesh) && isFlat(b, mesh) && partial(first) == partial(second) &&
           getElementTypeOrSelf(first) == getElementTypeOrSelf(second);
  }

  /// Ops of the block from `members` on that use what one of them makes, directly or not.
  static SetVector<Operation *> dependents(ArrayRef<Operation *> members) {
    SetVector<Operation *> result;
    SmallVector<Operation *> work(members.begin(), members.end());
    Block *block = members.front()->getBlock();
    while (!work.empty())
      for (Operation *user : work.pop_back_val()->getUsers())
        if (Operation *here = block->findAncestorOpInBlock(*user); here && result.insert(here))
          work.push_back(here);
    return result;
  }

  bool bundleOne(Block &block) {
    SmallVector<Operation *> small;
    for (Operation &op : block)
      if (isSmall(&op))
        small.push_back(&op);
    if (small.size() < 2)
      return false;
    // Who goes with whom must not hang on the order independent ops are written in.
    std::vector<Operation *> order = canonicalOrder(block);
    place.clear();
    for (auto [i, op] : llvm::enumerate(order))
      place[op] = i;
    countSteps(block);
    llvm::sort(small, [&](Operation *a, Operation *b) {
      return std::pair(step[a], place[a]) < std::pair(step[b], place[b]);
    });
    SmallVector<Members> groups;
    for (Operation *op : small) {
      auto *group = llvm::find_if(groups, [&](const Members &members) { return mayJoin(members, op); });
      if (group == groups.end())
        groups.push_back({op});
      else
        group->push_back(op);
    }
    auto *group = llvm::find_if(groups, [](const Members &members) { return members.size() > 1; });
    if (group == groups.end())
      return false;
    // The bundle stands where the last of them stood.
    llvm::sort(*group, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    bundle(*group);
    return true;
  }

  /// Counts, for each op of `block`, how many ops one after another it waits for: the step at which it can
  /// begin, however independent ops are ordered.
  void countSteps(Block &block) {
    step.clear();
    for (Operation &op : block) {
      int64_t begins = 0;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *maker = operand.getDefiningOp())
            if (Operation *here = block.findAncestorOpInBlock(*maker); here && here != &op)
              begins = std::max(begins, step.lookup(here) + 1);
      });
      step[&op] = begins;
    }
  }

  /// `op` does what `members` do, does not wait for them, and what waits for them meanwhile is little: of
  /// what could begin before `op` can.
  bool mayJoin(const Members &members, Operation *op) const {
    if (!isSameKind(members.front(), op))
      return false;
    auto waiting = dependents(members);
    if (waiting.contains(op))
      return false;
    double limit = kWaiting * smallBytes(op);
    for (Operation *waits : waiting)
      if (step.lookup(waits) < step.lookup(op))
        for (Type type : waits->getResultTypes()) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          if (!tensor || (limit -= arrayBytes(tensor)) < 0)
            return false;
        }
    return true;
  }

  RankedTensorType typeOf(RankedTensorType like, ArrayRef<int64_t> prefix, bool flat,
                          StringRef meshName) const {
    Sharding sharding = getShardingAttr(like).toSharding(mesh);
    SmallVector<int64_t> global = globalShape(like);
    if (flat) {
      global.clear();
      sharding.dims.clear();
    }
    global.insert(global.begin(), prefix.begin(), prefix.end());
    sharding.dims.insert(sharding.dims.begin(), prefix.size(), DimSharding());
    return localType(RankedTensorType::get(global, like.getElementType(),
                                           ShardingAttr::get(like.getContext(), meshName, sharding, mesh)),
                     mesh);
  }

  /// One collective over the operands side by side: flat where it is a sum of whole tensors, else stacked
  /// along a new leading dimension.
  void bundle(const Members &members) {
    Operation *last = members.back();
    SmallVector<Operation *> waiting;
    for (Operation *op : dependents(members))
      if (op->isBeforeInBlock(last))
        waiting.push_back(op);
    llvm::sort(waiting, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

    OpBuilder builder(last);
    Location loc = locationOf(members);
    bool flat = isFlat(last, mesh);
    StringRef meshName = getShardingAttr(last->getOperand(0).getType()).getMesh().getValue();
    SmallVector<Value> parts;
    SmallVector<int64_t> sizes;
    std::string why;
    for (Operation *op : members) {
      auto type = cast<RankedTensorType>(op->getOperand(0).getType());
      sizes.push_back(flat ? type.getNumElements() : 1);
      parts.push_back(
          reshape(builder, op->getLoc(), typeOf(type, sizes.back(), flat, meshName), op->getOperand(0)));
      if (auto reason = op->getAttrOfType<StringAttr>("why");
          reason && why.find(reason.getValue().str()) == std::string::npos)
        why += (why.empty() ? "" : "; ") + reason.getValue().str();
    }
    int64_t total = 0;
    for (int64_t size : sizes)
      total += size;
    auto inputType = cast<RankedTensorType>(last->getOperand(0).getType()),
         resultType = cast<RankedTensorType>(last->getResult(0).getType());
    Value all =
        mark(graph::ConcatOp::create(builder, loc, typeOf(inputType, total, flat, meshName), parts, 0));
    Operation *collective = builder.clone(*last);
    mark(collective);
    collective->setLoc(loc);
    collective->setOperand(0, all);
    collective->getResult(0).setType(typeOf(resultType, total, flat, meshName));
    if (!why.empty())
      collective->setAttr("why", builder.getStringAttr(why));
    if (!flat)
      shiftDims(collective);
    int64_t offset = 0;
    for (auto [op, size] : llvm::zip(members, sizes)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      RankedTensorType pieceType = typeOf(type, size, flat, meshName);
      SmallVector<int64_t> offsets(pieceType.getRank(), 0);
      offsets.front() = offset;
      offset += size;
      Value piece =
          mark(graph::SliceOp::create(builder, op->getLoc(), pieceType, collective->getResult(0), offsets));
      op->getResult(0).replaceAllUsesWith(reshape(builder, op->getLoc(), type, piece));
    }
    explain(loc, "bundle",
            llvm::formatv("{0} of {1} small tensors are one: {2}", last->getName().getStringRef(),
                          members.size(), why.empty() ? "no reason given" : why));
    Operation *place = last;
    for (Operation *op : waiting) {
      op->moveAfter(place);
      place = op;
    }
    for (Operation *op : members)
      op->erase();
  }

  /// Of all members, and with all their names, each once, as they come.
  static Location locationOf(const Members &members) {
    SmallVector<Location> locations;
    SmallVector<StringRef> names;
    for (Operation *op : members) {
      locations.push_back(op->getLoc());
      StringRef name = graph::callName(op->getLoc());
      if (!name.empty() && !llvm::is_contained(names, name))
        names.push_back(name);
    }
    Location all = FusedLoc::get(members.front()->getContext(), locations);
    return names.size() > 1 ? graph::nameCall(all, llvm::join(names, ", ")) : all;
  }

  static Value reshape(OpBuilder &builder, Location loc, Type type, Value value) {
    return value.getType() == type ? value : mark(graph::ReshapeOp::create(builder, loc, type, value));
  }

  /// For explanations, which are about what was bundled.
  static Value mark(Operation *op) {
    op->setAttr(kBundledAttr, UnitAttr::get(op->getContext()));
    return op->getResult(0);
  }

  /// Dimensions of the collective's attributes, behind the new leading one.
  static void shiftDims(Operation *op) {
    Builder builder(op->getContext());
    if (auto dim = op->getAttrOfType<IntegerAttr>("dim"))
      op->setAttr("dim", builder.getI64IntegerAttr(dim.getInt() + 1));
    for (StringRef name : {"from", "to"})
      if (auto dims = op->getAttrOfType<DenseI64ArrayAttr>(name))
        op->setAttr(name, builder.getDenseI64ArrayAttr(
                              llvm::map_to_vector(dims.asArrayRef(), [](int64_t d) { return d + 1; })));
  }

  /// What ops hold back that wait for the bundle, over what is small.
  static constexpr double kWaiting = 4;

  Mesh mesh;
  Machine machine;
  DenseMap<Operation *, size_t> place; ///< in the canonical order of the block
  DenseMap<Operation *, int64_t> step; ///< at which an op of the block can begin
};

struct BundlePass : public tessera::dist::impl::DistBundleCollectivesPassBase<BundlePass> {
  void runOnOperation() override {
    MeshOp meshOp = getMesh(getOperation());
    if (!meshOp)
      return;
    Bundler bundler(getOperation(), meshOp);
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      bundler.run(*block);
  }
};
} // namespace
