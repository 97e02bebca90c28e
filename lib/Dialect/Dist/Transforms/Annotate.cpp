//===- Annotate.cpp - Seed shardings from names of dimensions -------------===//
#include "Explain.h"
#include "HeadGroups.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <deque>
#include <set>

namespace tessera::dist {
#define GEN_PASS_DEF_DISTANNOTATEPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

/// User priority of fsdp's sharding of a weight: what activations want comes first.
static constexpr int kWeightPriority = 1;
/// Smaller parts of the largest weight or state are not worth a remark.
static constexpr double kLargePart = 1.0 / 16;
/// Query heads are kv_heads x group.
static constexpr StringRef kKvHeads = "kv_heads", kGroup = "group";

namespace {
/// A value that may be seeded.
struct Subject {
  Location loc;
  StringRef name;            ///< empty: none
  SmallVector<StringRef> dims;
  SmallVector<int64_t> shape;
  bool isWeight = false;
  bool isDecided = false;    ///< an argument: what names do not shard is whole
  StringRef maker = {};      ///< name of the op that makes it, for messages
  double bytes = 0;          ///< unsharded
  bool isHeld = false;       ///< from step to step: a weight or a state
};

class Annotator {
public:
  Annotator(ModuleOp module, MeshOp meshOp, ArrayRef<ShardItem> items)
      : module(module), meshName(meshOp.getSymName()), mesh(meshOp.getMesh().toMesh()), items(items), names(module) {}

  LogicalResult run() {
    collect();
    collectHeads();
    spellHeads();
    if (failed(checkItems()))
      return failure();
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(annotateArguments(function)))
        return failure();
    WalkResult walked = module.walk([&](graph::NameOp op) {
      return failed(annotateNamed(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    for (auto [i, axis] : llvm::enumerate(mesh.axes))
      if (axis.size > 1 && !used[int(i)])
        explainMissed(module.getLoc(), "unused-axis", "axis " + axis.name + " of size " + std::to_string(axis.size) +
                                                          " shards no argument: ranks along it do the same work");
    return success();
  }

private:
  Subject subjectOf(func::FuncOp function, BlockArgument arg) const {
    unsigned i = arg.getArgNumber();
    Subject subject{arg.getLoc(), {}, {}, {}};
    if (auto name = function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr))
      subject.name = name;
    subject.dims = llvm::to_vector(names.names(arg));
    subject.shape = llvm::to_vector(cast<RankedTensorType>(arg.getType()).getShape());
    subject.dims.resize(subject.shape.size());
    auto kind = function.getArgAttrOfType<StringAttr>(i, graph::kKindAttr);
    subject.isWeight = kind && kind == "parameter";
    subject.isHeld = subject.isWeight || (kind && kind == "state");
    subject.bytes = tensorBytes(arg.getType());
    // What another function of the program gives lies as that one leaves it, and as names want.
    subject.isDecided = !kind || kind != "input" || !outputs.count(subject.name);
    return subject;
  }

  /// Every name of a value and of its dimensions, for messages about wrong items.
  void collect() {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumResults(); ++i) {
        auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
        auto kind = function.getResultAttrOfType<StringAttr>(i, graph::kKindAttr);
        if (name && kind && kind == "output")
          outputs.insert(name);
      }
    for (auto function : module.getOps<func::FuncOp>())
      for (BlockArgument arg : function.getArguments())
        if (isa<RankedTensorType>(arg.getType())) {
          Subject subject = subjectOf(function, arg);
          valueDims[subject.name].append(subject.dims.begin(), subject.dims.end());
          if (subject.isHeld)
            largest = std::max(largest, subject.bytes);
        }
    module.walk([&](graph::NameOp op) {
      ArrayRef<StringRef> dims = names.names(op.getResult());
      valueDims[op.getName()].append(dims.begin(), dims.end());
    });
  }

  /// `names` without repetition, for a message.
  static std::string listText(SmallVector<StringRef> names) {
    llvm::sort(names);
    names.erase(llvm::unique(names), names.end());
    llvm::erase_if(names, [](StringRef name) { return name.empty(); });
    return names.empty() ? "none" : llvm::join(names, ", ");
  }

  /// Weights and caches in which heads stand, each once however many functions read it.
  void collectHeads() {
    auto isInput = [](func::FuncOp function, BlockArgument arg) {
      auto kind = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kKindAttr);
      return kind && kind == "input";
    };
    std::map<StringRef, bool> seen;
    for (auto function : module.getOps<func::FuncOp>())
      for (BlockArgument arg : function.getArguments()) {
        auto type = dyn_cast<RankedTensorType>(arg.getType());
        if (!type || isInput(function, arg))
          continue;
        Subject subject = subjectOf(function, arg);
        if (!llvm::is_contained(subject.dims, kKvHeads) || (!subject.name.empty() && !seen.insert({subject.name, true}).second))
          continue;
        HeadTensor tensor;
        tensor.otherBytes = double((type.getElementTypeBitWidth() + 7) / 8);
        for (auto [size, name] : llvm::zip(subject.shape, subject.dims)) {
          if (name == kKvHeads)
            tensor.kvHeads = size;
          else if (name == kGroup)
            tensor.group = size, tensor.hasGroup = true;
          else
            tensor.otherBytes *= double(size);
        }
        headTensors.push_back(tensor);
      }
  }

  /// How `axes`, asked for on heads, are dealt between KV heads and groups; all on KV heads where the user deals them himself.
  const HeadSplit &headSplit(const AxisList &axes) {
    for (auto &[known, split] : headSplits)
      if (known == axes)
        return split;
    HeadSplit split = splitHeads(axes, headTensors);
    if (split.bytesPerRank > split.evenBytes) {
      std::string text = "heads over " + axesText(axes) + ": ";
      text += split.kvHeads.empty() ? "KV heads copied" : "KV heads over " + axesText(split.kvHeads);
      if (!split.group.empty())
        text += ", their groups over " + axesText(split.group) + ", which copies keys and values";
      text += llvm::formatv("; {0:F0} bytes of weights and caches a rank, {1:F0} of them padding or copies", split.bytesPerRank,
                            split.bytesPerRank - split.evenBytes);
      explainMissed(module.getLoc(), "heads", text);
    }
    return headSplits.emplace_back(axes, std::move(split)).second;
  }

  std::string axesText(ArrayRef<AxisRef> axes) const {
    return llvm::join(llvm::map_range(axes, [&](const AxisRef &axis) { return toString(axis, mesh); }), "+");
  }

  bool hasItem(StringRef dim) const {
    return llvm::any_of(items, [&](const ShardItem &item) { return item.dim == dim; });
  }

  /// Where heads come in groups of one KV head (`kv_heads`, `group`) no dimension is called `heads`: sharding the heads is sharding
  /// both.
  void spellHeads() {
    if (llvm::is_contained(names.allNames(), "heads"))
      return;
    std::vector<ShardItem> groups;
    for (ShardItem &item : items) {
      if (item.dim != "heads")
        continue;
      item.dim = kKvHeads.str();
      AxisList axes = item.axes;
      llvm::erase_if(axes, [&](const AxisRef &axis) { return axis.size == 1; });
      if (axes.empty() || hasItem(kGroup) || !hasGroup(item.value))
        continue;
      const HeadSplit &split = headSplit(axes);
      item.axes = split.kvHeads;
      if (!split.group.empty())
        groups.push_back({item.value, kGroup.str(), split.group, item.text});
    }
    items.insert(items.end(), groups.begin(), groups.end());
    dealtByHand = hasItem(kKvHeads) || hasItem(kGroup);
  }

  /// Some value called `value` (empty: any) has groups.
  bool hasGroup(StringRef value) const {
    return llvm::any_of(valueDims, [&](const auto &entry) {
      return (value.empty() || entry.first == value) && llvm::is_contained(entry.second, kGroup);
    });
  }

  LogicalResult checkItems() {
    SmallVector<StringRef> allNames = names.allNames(), allValues;
    for (const auto &[name, dims] : valueDims)
      allValues.push_back(name);
    for (const ShardItem &item : items) {
      auto error = [&] { return emitError(module.getLoc()); };
      if (item.value.empty()) {
        if (!llvm::is_contained(allNames, item.dim))
          return error() << "unknown dimension '" << item.dim << "' (--shard item '" << item.text
                         << "'): no value has it; the dimensions are " << listText(allNames);
        continue;
      }
      auto it = valueDims.find(item.value);
      if (it == valueDims.end())
        return error() << "unknown value '" << item.value << "' (--shard item '" << item.text
                       << "'): nothing is called so; the values are " << listText(allValues);
      if (!llvm::is_contained(it->second, item.dim))
        return error() << "unknown dimension '" << item.dim << "' (--shard item '" << item.text << "'): " << item.value
                       << " has none of this name; its dimensions are " << listText(it->second);
    }
    return success();
  }

  const ShardItem *findItem(StringRef value, StringRef dim) const {
    const ShardItem *general = nullptr;
    for (const ShardItem &item : items) {
      if (item.dim != dim)
        continue;
      if (!value.empty() && item.value == value)
        return &item;
      if (item.value.empty())
        general = &item;
    }
    return general;
  }

  static bool overlapsAny(const AxisRef &axis, ArrayRef<AxisRef> others) {
    return llvm::any_of(others, [&](const AxisRef &other) { return axis.overlaps(other); });
  }

  /// The sharding that items and standard axes give; `seeded` tells whether they say anything.
  FailureOr<Sharding> seed(const Subject &subject, bool &seeded) {
    int64_t rank = int64_t(subject.dims.size());
    Sharding sharding(rank);
    AxisList taken;
    SmallVector<bool> decided(rank, false), wantedWhole(rank, false);
    std::vector<LeftWhole> left;
    seeded = false;
    auto give = [&](int64_t dim, const AxisRef &axis) {
      sharding.dims[dim].axes.push_back(axis);
      taken.push_back(axis);
      used[axis.axis] = true;
      seeded = true;
    };
    // What was asked for.
    for (int64_t d = 0; d < rank; ++d) {
      const ShardItem *item = subject.dims[d].empty() ? nullptr : findItem(subject.name, subject.dims[d]);
      if (!item)
        continue;
      decided[d] = true;
      wantedWhole[d] = item->axes.empty();
      seeded = true;
      for (const AxisRef &axis : item->axes)
        used[axis.axis] = true;
      if (staysWhole(subject, d)) {
        if (!wantedWhole[d])
          left.push_back({d, item->axes, "--shard item '" + item->text + "' asks for it, but one position cannot be spread"});
        continue;
      }
      for (const AxisRef &axis : item->axes) {
        if (mesh.axes[axis.axis].size == 1)
          continue;
        for (int64_t other = 0; other < d; ++other)
          if (overlapsAny(axis, sharding.dims[other].axes))
            return contradiction(subject, *findItem(subject.name, subject.dims[other]), *item, axis);
        give(d, axis);
      }
    }
    // What standard axes mean.
    for (auto [i, meshAxis] : llvm::enumerate(mesh.axes)) {
      const StandardAxis *standard = findStandardAxis(meshAxis.name);
      AxisRef axis = wholeAxis(mesh, int(i));
      if (!standard || axis.size == 1)
        continue;
      for (int64_t d = 0; d < rank; ++d)
        if (!decided[d] && llvm::is_contained(subject.isWeight ? standard->weightDims : standard->activationDims, subject.dims[d])) {
          if (staysWhole(subject, d)) {
            left.push_back({d, {axis}, meshAxis.name + " means it, but one position cannot be spread"});
            continue;
          }
          if (overlapsAny(axis, taken)) {
            left.push_back({d, {axis}, meshAxis.name + " means it, but lies over another dimension of the same tensor"});
            continue;
          }
          if (subject.dims[d] != kKvHeads || dealtByHand || headTensors.empty()) {
            give(d, axis);
            continue;
          }
          const HeadSplit &split = headSplit({axis});
          for (const AxisRef &part : split.kvHeads)
            give(d, part);
          if (auto *group = llvm::find(subject.dims, kGroup); group != subject.dims.end())
            for (const AxisRef &part : split.group)
              give(group - subject.dims.begin(), part);
          else if (!split.kvHeads.empty() || !split.group.empty())
            break; // what the groups are over must stay free for copies: no other dimension takes it
        }
    }
    // fsdp takes what the others left free.
    for (auto [i, meshAxis] : llvm::enumerate(mesh.axes)) {
      const StandardAxis *standard = findStandardAxis(meshAxis.name);
      AxisRef axis = wholeAxis(mesh, int(i));
      if (!subject.isWeight || !standard || !standard->largestFreeWeightDim || axis.size == 1 || overlapsAny(axis, taken))
        continue;
      int64_t best = -1;
      for (int64_t d = 0; d < rank; ++d)
        // A stack is read layer by layer: sharding it would put whole layers on other ranks.
        if (!decided[d] && sharding.dims[d].axes.empty() && !subject.dims[d].empty() && subject.dims[d] != "layer" &&
            subject.shape[d] > 1 && (best < 0 || subject.shape[d] > subject.shape[best]))
          best = d;
      if (best < 0)
        continue;
      give(best, axis);
      sharding.dims[best].priority = kWeightPriority;
    }
    for (auto [d, dim, name] : llvm::enumerate(sharding.dims, subject.dims)) {
      mergeAdjacent(dim.axes);
      // A named argument is decided by its names, an item decides; elsewhere what has no axis is left to propagation.
      dim.open = dim.axes.empty() && !wantedWhole[d] && (!subject.isDecided || name.empty());
    }
    for (const LeftWhole &one : left)
      tellLeftWhole(subject, sharding, one);
    return sharding;
  }

  /// A dimension that is not sharded over axes though somebody wants it.
  struct LeftWhole {
    int64_t dim;
    AxisList axes;
    std::string why;
  };
  /// What that costs, once for every value.
  void tellLeftWhole(const Subject &subject, const Sharding &sharding, const LeftWhole &one) {
    const auto &[d, axes, why] = one;
    int64_t ranks = axesSize(axes);
    std::string value = subject.name.empty() ? "a tensor" : subject.name.str();
    if (ranks == 1 || !told.insert(value + " " + subject.dims[d].str() + " " + axesText(axes) + why).second)
      return;
    bool elsewhere = llvm::any_of(axes, [&](const AxisRef &axis) { return overlapsAny(axis, sharding.usedAxes()); });
    explainMissed(subject.loc, "left-whole",
                  llvm::formatv("{0}: {1} of size {2} does not lie over {3}: {4}{5}", value, subject.dims[d], subject.shape[d], axesText(axes), why,
                                elsewhere ? "" : costText(subject.bytes / double(shards(sharding)), ranks)));
  }

  /// A weight or state that is no small one lies whole along an axis: what that costs, once for every value.
  void tellReplicated(const Subject &subject, const Sharding &sharding) {
    if (!subject.isHeld || subject.bytes < kLargePart * largest)
      return;
    for (auto [i, meshAxis] : llvm::enumerate(mesh.axes)) {
      AxisRef axis = wholeAxis(mesh, int(i));
      if (axis.size == 1 || overlapsAny(axis, sharding.usedAxes()) || !told.insert(subject.name.str() + " along " + meshAxis.name).second)
        continue;
      const StandardAxis *standard = findStandardAxis(meshAxis.name);
      ArrayRef<StringRef> means = standard ? (subject.isWeight ? standard->weightDims : standard->activationDims) : ArrayRef<StringRef>();
      std::string why = "no item gives it to " + llvm::join(subject.dims, ", ");
      if (standard)
        why = meshAxis.name + " means " + (means.empty() ? "no dimension" : llvm::join(means, ", ")) + " of " +
              (subject.isWeight ? "weights" : "states and activations") + ", and " + why;
      explainMissed(subject.loc, "replicated",
                    llvm::formatv("{0} [{1}] is the same on all ranks along {2}: {3}{4}", subject.name, llvm::join(subject.dims, ", "),
                                  meshAxis.name, why, costText(subject.bytes / double(shards(sharding)), axis.size)));
    }
  }
  static int64_t shards(const Sharding &sharding) {
    int64_t n = 1;
    for (const DimSharding &dim : sharding.dims)
      n *= axesSize(dim.axes);
    return n;
  }
  static std::string costText(double bytes, int64_t ranks) {
    return bytes > 0 ? llvm::formatv("; a rank holds {0:F0} bytes, spread over it they would be {1:F0}", bytes, bytes / double(ranks)).str()
                     : std::string();
  }

  /// Two items want one axis for two dimensions of a tensor.
  LogicalResult contradiction(const Subject &subject, const ShardItem &first, const ShardItem &second, const AxisRef &axis) const {
    return emitError(subject.loc) << "axis '" << mesh.axes[axis.axis].name << "' twice in one tensor (--shard items '" << first.text
                                  << "' and '" << second.text << "'): both dimension " << first.dim << " and dimension " << second.dim
                                  << " of " << (subject.name.empty() ? StringRef("an argument") : subject.name)
                                  << (subject.maker.empty() ? "" : ", made by ") << subject.maker
                                  << (subject.maker.empty() ? " would" : ", would")
                                  << " lie over it; shard one of them over another axis";
  }

  /// Items that pin this value itself.
  bool isPinned(StringRef name) const {
    return !name.empty() && llvm::any_of(items, [&](const ShardItem &item) { return item.value == name; });
  }

  /// Names of one value that lie directly upon each other: their pins must be the same.
  LogicalResult checkSameValue(graph::NameOp op) const {
    for (Operation *at = op.getInput().getDefiningOp(); at && isa<graph::NameOp, ConstraintOp>(at);
         at = at->getOperand(0).getDefiningOp()) {
      auto other = dyn_cast<graph::NameOp>(at);
      if (!other || other.getName() == op.getName())
        continue;
      ArrayRef<StringRef> dims = names.names(op.getResult()), otherDims = names.names(other.getResult());
      for (auto [i, dim] : llvm::enumerate(dims))
        for (auto [j, otherDim] : llvm::enumerate(otherDims)) {
          const ShardItem *mine = pinOf(op.getName(), dim), *theirs = pinOf(other.getName(), otherDim);
          if (!mine || !theirs)
            continue;
          bool clashes = i == j ? mine->axes != theirs->axes
                                : llvm::any_of(mine->axes, [&](const AxisRef &axis) { return overlapsAny(axis, theirs->axes); });
          if (clashes)
            return op.emitOpError() << "contradictory pins (--shard items '" << theirs->text << "' and '" << mine->text << "'): "
                                    << other.getName() << " and " << op.getName()
                                    << " are one value, nothing but graph.name stands between them, and its dimension " << dim
                                    << (i == j ? StringRef() : StringRef(", like its name in the other item,"))
                                    << " cannot lie over axis '" << mesh.axes[mine->axes.front().axis].name
                                    << "' both ways; keep one of the items";
        }
    }
    return success();
  }

  const ShardItem *pinOf(StringRef value, StringRef dim) const {
    const ShardItem *item = dim.empty() ? nullptr : findItem(value, dim);
    return item && !item->value.empty() ? item : nullptr;
  }

  /// One position (a decode step) cannot be spread over ranks.
  static bool staysWhole(const Subject &subject, int64_t dim) {
    return subject.shape[dim] == 1 && subject.dims[dim] == "seq";
  }

  void explain(const Subject &subject, const Sharding &sharding) const {
    dist::explain(subject.loc, "annotate",
                  (subject.name.empty() ? std::string("argument") : subject.name.str()) + " [" +
                      llvm::join(subject.dims, ", ") + "] is seeded with " + toString(sharding, mesh));
  }

  /// Ids and positions: the host has them whole, every rank can be given what it needs of them.
  static bool isHandedToAll(func::FuncOp function, BlockArgument arg) {
    auto kind = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kKindAttr);
    return kind && kind == "input" && cast<RankedTensorType>(arg.getType()).getElementType().isInteger();
  }

  LogicalResult annotateArguments(func::FuncOp function) {
    for (BlockArgument arg : function.getArguments()) {
      unsigned i = arg.getArgNumber();
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (!type || function.getArgAttr(i, kShardingAttr)) // what a person wrote stays
        continue;
      Subject subject = subjectOf(function, arg);
      if (llvm::all_of(subject.dims, [](StringRef name) { return name.empty(); }) && type.getRank() > 0)
        continue;
      bool seeded;
      auto sharding = seed(subject, seeded);
      if (failed(sharding))
        return failure();
      function.setArgAttr(i, kShardingAttr, ShardingAttr::get(module.getContext(), meshName, *sharding, mesh));
      if (isHandedToAll(function, arg) && !isPinned(subject.name))
        function.setArgAttr(i, kWidenableAttr, UnitAttr::get(module.getContext()));
      tellReplicated(subject, *sharding);
      explain(subject, *sharding);
    }
    return success();
  }

  LogicalResult annotateNamed(graph::NameOp op) {
    if (op.getInner() && !isPinned(op.getName())) { // of no use any more: sums pass unhindered
      op.getResult().replaceAllUsesWith(op.getInput());
      op.erase();
      return success();
    }
    if (failed(checkSameValue(op)))
      return failure();
    Subject subject{op.getLoc(), op.getName(), {}, {}};
    if (Operation *maker = op.getInput().getDefiningOp())
      subject.maker = maker->getName().getStringRef();
    subject.dims = llvm::to_vector(names.names(op.getResult()));
    subject.shape = llvm::to_vector(op.getType().getShape());
    subject.bytes = tensorBytes(op.getType());
    subject.dims.resize(subject.shape.size());
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

  ModuleOp module;
  StringRef meshName;
  Mesh mesh;
  std::vector<ShardItem> items;
  DimNames names;
  std::map<StringRef, SmallVector<StringRef>> valueDims;
  std::map<int, bool> used;
  double largest = 0;          ///< bytes of the largest weight or state
  std::set<StringRef> outputs; ///< names of what functions return, states aside
  std::set<std::string> told;  ///< remarks about what lies whole
  std::vector<HeadTensor> headTensors;
  std::deque<std::pair<AxisList, HeadSplit>> headSplits; ///< known ones; a deque keeps references
  bool dealtByHand = false;                              ///< an item says what shards kv_heads or group
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
        return fail(("taken name (@" + kMeshName + "): something else is called so, the mesh cannot be; rename it").str());
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      meshOp = MeshOp::create(builder, module.getLoc(), kMeshName, MeshAttr::get(&getContext(), *spec));
    } else if (!spec->axes.empty() && !(*spec == meshOp.getMesh().toMesh())) {
      return fail("two meshes (--mesh=" + mesh + "): the module has another one already; drop --mesh or the dist.mesh");
    }
    Mesh whole = meshOp.getMesh().toMesh();
    auto items = parseShardSpec(shard, whole, error);
    if (!items)
      return fail(error);
    if (!machine.empty()) {
      std::string text;
      if (!loadMachine(machine, whole, text, error))
        return fail(error);
      module->setAttr(kMachineAttr, StringAttr::get(&getContext(), text));
    }
    // Axes of a mesh that stood there have the meaning that annotations give them.
    if (error = checkAxesUsed(*spec, *items); !error.empty())
      return fail(error);
    if (failed(Annotator(module, meshOp, *items).run()))
      signalPassFailure();
  }
};
} // namespace
