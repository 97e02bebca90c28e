//===- ShardSubjects.cpp - What --shard can address of a program ----------===//
#include "ShardSubjects.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tessera {

ShardSubjects::ShardSubjects(ModuleOp step, ModuleOp spmd, const Mesh &mesh, StringRef shard)
    : step(step), mesh(mesh) {
  std::string error;
  auto items = dist::parseShardSpec(shard.str(), mesh, error);
  for (const dist::ShardItem &item : items.value_or(std::vector<dist::ShardItem>())) {
    given[{item.value, item.dim}] = axesText(item.axes);
    givenText[{item.value, item.dim}] = item.text;
  }
  collect(spmd);
}

std::string ShardSubjects::axesText(ArrayRef<AxisRef> axes) const {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : "+") + toString(axis, mesh);
  return text.empty() ? "-" : text;
}

void ShardSubjects::collect(ModuleOp spmd) {
  auto add = [&](StringRef value, ArrayRef<StringRef> dims, const std::optional<Sharding> &sharding) {
    for (auto [d, dim] : llvm::enumerate(dims)) {
      if (dim.empty())
        continue;
      Subject subject{value.str(), dim.str(), {}};
      if (sharding)
        subject.axes = sharding->dims[d].axes;
      auto [at, isNew] = subjects.insert({{subject.value, subject.dim}, subject});
      if (!isNew && at->second.axes.empty())
        at->second.axes = subject.axes;
    }
  };
  DimNames stepNames(step);
  for (auto function : step.getOps<func::FuncOp>()) {
    auto sharded = spmd.lookupSymbol<func::FuncOp>(function.getSymName());
    for (BlockArgument arg : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), graph::kNameAttr);
      auto attr = sharded ? dist::getShardingAttr(sharded.getArgument(arg.getArgNumber()).getType())
                          : dist::ShardingAttr();
      if (auto seeded =
              sharded ? sharded.getArgAttrOfType<dist::ShardingAttr>(arg.getArgNumber(), dist::kSeededAttr)
                      : dist::ShardingAttr())
        attr = seeded; // a flag changes what was asked
      if (isa<RankedTensorType>(arg.getType()))
        add(name ? name.getValue() : "", stepNames.names(arg),
            attr ? std::optional(attr.toSharding(mesh)) : std::nullopt);
    }
  }
  for (auto function : step.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
          name && graph::resultKind(function, i) == graph::Kind::Output)
        outputs.insert(name.str());
  step.walk([&](graph::NameOp op) {
    if (named.insert(op.getName().str()).second)
      add(op.getName(), stepNames.names(op.getResult()), std::nullopt);
  });
  for (auto &[key, subject] : subjects) // what was asked of a named value
    if (auto item = given.find(key); item != given.end() && subject.axes.empty())
      subject.axes = axesOf(item->second);
}

bool ShardSubjects::uses(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> wanted) {
  return llvm::any_of(axes, [&](const AxisRef &axis) {
    return llvm::any_of(wanted, [&](const AxisRef &other) { return axis.overlaps(other); });
  });
}
AxisList ShardSubjects::without(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> taken) const {
  AxisList rest;
  for (const AxisRef &axis : axes)
    if (!uses(axis, taken))
      rest.push_back(axis);
  return rest;
}

AxisList ShardSubjects::axesOf(StringRef text) const {
  std::string error;
  auto parsed = dist::parseShardSpec("x=" + text.str(), mesh, error);
  return parsed && !parsed->empty() ? AxisList(parsed->front().axes) : AxisList();
}

AxisList ShardSubjects::axesOf(const CollectiveExplanation &collective) const {
  AxisList axes;
  for (const std::string &text : collective.axes)
    axes.append(axesOf(text));
  if (axes.empty())
    for (int i = 0; i < int(mesh.axes.size()); ++i)
      axes.push_back(wholeAxis(mesh, i));
  return axes;
}

/// `name` as a word of `text`.
static bool mentions(StringRef text, StringRef name) {
  SmallVector<StringRef> words;
  text.split(words, ' ');
  return llvm::any_of(words, [&](StringRef word) { return word.trim("(),") == name; });
}

/// Takes `axes` from all dimensions of the values that hold them, and lets nothing else have them there.
template <typename Pick> ShardItems ShardSubjects::stripped(ArrayRef<AxisRef> axes, Pick pick) const {
  std::set<std::string> holders;
  for (const auto &[key, subject] : subjects)
    if (pick(subject) && uses(subject.axes, axes))
      holders.insert(subject.value);
  ShardItems items;
  for (const auto &[key, subject] : subjects)
    if (holders.count(subject.value))
      items[{subject.value, subject.dim}] = axesText(without(subject.axes, axes));
  return items;
}

std::vector<ShardItems> ShardSubjects::candidates(const CollectiveExplanation &collective) const {
  std::vector<ShardItems> list;
  AxisList axes = axesOf(collective);
  auto endpointNames = [&](const Subject &subject) {
    return !subject.value.empty() && (mentions(collective.producer.op, subject.value) ||
                                      mentions(collective.consumer.op, subject.value));
  };
  // The value itself, if it is an argument: that dimension, or none over the axes (fsdp would take the
  // next).
  for (const auto &at : subjects)
    if (collective.producer.op == "argument " + at.second.value && uses(at.second.axes, axes)) {
      list.push_back({{at.first, axesText(without(at.second.axes, axes))}});
      list.push_back(stripped(axes, [&](const Subject &s) { return s.value == at.second.value; }));
    }
  // The dimension of everything.
  for (const auto &[key, subject] : subjects)
    if (subject.dim == collective.dimension && uses(subject.axes, axes)) {
      list.push_back({{{"", subject.dim}, axesText(without(subject.axes, axes))}});
      break;
    }
  // The dimension, or all dimensions, of what the two ops read.
  for (const auto &[key, subject] : subjects)
    if (endpointNames(subject) && uses(subject.axes, axes))
      list.push_back({{key, axesText(without(subject.axes, axes))}});
  // A named value whole there.
  for (const auto &[key, subject] : subjects)
    if (named.count(subject.value) && uses(subject.axes, axes))
      list.push_back({{key, axesText(without(subject.axes, axes))}});
  // The partner over it.
  for (const auto &[key, subject] : subjects)
    if ((named.count(subject.value) || endpointNames(subject)) && subject.dim == collective.dimension &&
        !uses(subject.axes, axes)) {
      AxisList more = subject.axes;
      more.append(axes);
      list.push_back({{key, axesText(more)}});
    }
  // All dimensions over these axes, of everything or value by value: then nothing lies over them.
  ShardItems whole;
  for (const auto &[key, subject] : subjects)
    if (uses(subject.axes, axes))
      whole[{"", subject.dim}] = axesText(without(subject.axes, axes));
  list.push_back(whole);
  list.push_back(stripped(axes, [](const Subject &) { return true; }));
  // Another dimension over them instead: an axis that no standard names must shard something.
  std::set<std::string> others;
  for (const auto &[key, subject] : subjects)
    if (!whole.count({"", subject.dim}) && others.insert(subject.dim).second) {
      ShardItems moved = whole;
      AxisList more = subject.axes;
      more.append(axes);
      moved[{"", subject.dim}] = axesText(more);
      list.push_back(moved);
    }
  return list;
}

} // namespace tessera
