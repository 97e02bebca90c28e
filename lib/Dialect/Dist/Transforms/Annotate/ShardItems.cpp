//===- ShardItems.cpp - Items of --shard against a program ----------------===//
#include "Annotate/ShardItems.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

bool ShardItems::has(StringRef dim) const {
  return llvm::any_of(items, [&](const ShardItem &item) { return item.dim == dim; });
}

const ShardItem *ShardItems::find(const ShardableValue &subject, StringRef dim) const {
  const ShardItem *ofClass = nullptr, *general = nullptr;
  for (const ShardItem &item : items) {
    if (item.dim != dim)
      continue;
    if (item.value.empty())
      general = &item;
    else if (item.value == subject.name)
      return &item;
    else if (item.value == subject.valueClass)
      ofClass = &item;
  }
  return ofClass ? ofClass : general;
}

bool ShardItems::pins(const ShardableValue &subject) const {
  return llvm::any_of(items, [&](const ShardItem &item) {
    return !item.value.empty() && (item.value == subject.name || item.value == subject.valueClass);
  });
}

const ShardItem *ShardItems::pinOf(const ShardableValue &subject, StringRef dim) const {
  const ShardItem *item = dim.empty() ? nullptr : find(subject, dim);
  return item && !item->value.empty() ? item : nullptr;
}

/// `names` without repetition, for a message about `wanted`, which may be cut: those that it may be a slip of
/// the finger for come first.
static std::string listText(SmallVector<StringRef> names, StringRef wanted,
                            llvm::function_ref<int(StringRef)> rank = {}) {
  llvm::erase_if(names, [](StringRef name) { return name.empty(); });
  auto key = [&](StringRef name) {
    unsigned distance = name.edit_distance(wanted, /*AllowReplacements=*/true, /*MaxEditDistance=*/3);
    bool near = distance <= 3 && 2 * distance < name.size();
    return std::make_tuple(near ? distance : 4, rank ? rank(name) : 0, name);
  };
  llvm::sort(names, [&](StringRef x, StringRef y) { return key(x) < key(y); });
  names.erase(llvm::unique(names), names.end());
  return names.empty() ? "none" : llvm::join(names, ", ");
}

std::vector<std::string> ShardItems::takeUnknown() {
  SmallVector<StringRef> allNames = names.allNames();
  std::vector<std::string> texts;
  llvm::erase_if(items, [&](const ShardItem &item) {
    auto it = subjects.dims().find(item.value);
    const bool isKnown = item.value.empty()
                             ? item.dim == kLargest || llvm::is_contained(allNames, item.dim)
                             : it != subjects.dims().end() && llvm::is_contained(it->second, item.dim);
    if (!isKnown)
      texts.push_back(item.text);
    return !isKnown;
  });
  return texts;
}

LogicalResult ShardItems::check() const {
  SmallVector<StringRef> allNames = names.allNames(), allValues;
  for (const auto &[name, dims] : subjects.dims())
    allValues.push_back(name);
  auto dimsText = [&](SmallVector<StringRef> dims, StringRef wanted) {
    if (llvm::is_contained(dims, kKvHeads) && !llvm::is_contained(allNames, kHeads))
      dims.push_back(kHeads); // HeadAxes::spell
    return listText(dims, wanted);
  };
  for (const ShardItem &item : items) {
    auto error = [&] { return emitError(loc); };
    if (item.value.empty()) {
      if (item.dim == kLargest)
        return error() << "largest dimension of nothing (--shard item '" << item.text
                       << "'): it is another one in every value; write " << kWeights << ":" << item.text;
      if (!llvm::is_contained(allNames, item.dim))
        return error() << "unknown dimension '" << item.dim << "' (--shard item '" << item.text
                       << "'): no value has it; the dimensions are " << dimsText(allNames, item.dim);
      continue;
    }
    auto it = subjects.dims().find(item.value);
    if (it == subjects.dims().end() && (item.value == kStates || item.value == kGradients))
      return error() << "unknown value '" << item.value << "' (--shard item '" << item.text
                     << "'): there are none in this program; an optimizer has them, with --task=train";
    if (it == subjects.dims().end())
      return error() << "unknown value '" << item.value << "' (--shard item '" << item.text
                     << "'): nothing is called so; the values are "
                     << listText(allValues, item.value, [&](StringRef name) { return subjects.rank(name); });
    if (!llvm::is_contained(it->second, item.dim))
      return error() << "unknown dimension '" << item.dim << "' (--shard item '" << item.text
                     << "'): " << item.value << " has none of this name; its dimensions are "
                     << dimsText(it->second, item.dim);
  }
  return success();
}

LogicalResult ShardItems::checkSameValue(graph::NameOp op) const {
  for (Operation *at = op.getInput().getDefiningOp(); at && isa<graph::NameOp, ConstraintOp>(at);
       at = at->getOperand(0).getDefiningOp()) {
    auto other = dyn_cast<graph::NameOp>(at);
    if (!other || other.getName() == op.getName())
      continue;
    ArrayRef<StringRef> dims = names.names(op.getResult()), otherDims = names.names(other.getResult());
    for (auto [i, dim] : llvm::enumerate(dims))
      for (auto [j, otherDim] : llvm::enumerate(otherDims)) {
        const ShardItem *mine = pinOf(subjects.of(op), dim), *theirs = pinOf(subjects.of(other), otherDim);
        if (!mine || !theirs)
          continue;
        bool clashes =
            i == j ? mine->axes != theirs->axes : llvm::any_of(mine->axes, [&](const AxisRef &axis) {
              return overlapsAny(axis, theirs->axes);
            });
        if (clashes)
          return op.emitOpError()
                 << "contradictory pins (--shard items '" << theirs->text << "' and '" << mine->text
                 << "'): " << other.getName() << " and " << op.getName()
                 << " are one value, nothing but graph.name stands between them, and its dimension " << dim
                 << (i == j ? StringRef() : StringRef(", like its name in the other item,"))
                 << " cannot lie over axis '" << mesh.axes[mine->axes.front().axis].name
                 << "' both ways; keep one of the items";
      }
  }
  return success();
}

LogicalResult ShardItems::contradiction(const ShardableValue &subject, const ShardItem &first,
                                        const ShardItem &second, const AxisRef &axis) const {
  return emitError(subject.loc) << "axis '" << mesh.axes[axis.axis].name
                                << "' twice in one tensor (--shard items '" << first.text << "' and '"
                                << second.text << "'): both dimension " << first.dim << " and dimension "
                                << second.dim << " of "
                                << (subject.name.empty() ? StringRef("an argument") : subject.name)
                                << (subject.maker.empty() ? "" : ", made by ") << subject.maker
                                << (subject.maker.empty() ? " would" : ", would")
                                << " lie over it; shard one of them over another axis";
}
