//===- HeadAxes.cpp - Axes on heads of a program ------------------------===//
#include "Annotate/HeadAxes.h"

#include "Explain.h"
#include "tessera/Support/TypeSizes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

HeadAxes::HeadAxes(ModuleOp module, const Mesh &mesh, const ShardableValues &subjects)
    : module(module), mesh(mesh), subjects(subjects) {
  std::map<StringRef, bool> seen;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument arg : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(arg.getType());
      if (!type)
        continue;
      ShardableValue subject = subjects.of(function, arg);
      if (subject.isInput || !llvm::is_contained(subject.dims, kKvHeads) ||
          (!subject.name.empty() && !seen.insert({subject.name, true}).second))
        continue;
      HeadTensor tensor;
      tensor.otherBytes = double(elementBytes(type));
      for (auto [size, name] : llvm::zip(subject.shape, subject.dims)) {
        if (name == kKvHeads)
          tensor.kvHeads = size;
        else if (name == kGroup)
          tensor.group = size, tensor.hasGroup = true;
        else
          tensor.otherBytes *= double(size);
      }
      tensors.push_back(tensor);
    }
}

const HeadSplit &HeadAxes::split(const AxisList &axes) {
  for (auto &[dealt, split] : known)
    if (dealt == axes)
      return split;
  HeadSplit split = splitHeads(axes, tensors);
  if (split.bytesPerRank > split.evenBytes) {
    std::string text = "heads over " + axesText(axes, mesh) + ": ";
    text += split.kvHeads.empty() ? "KV heads copied" : "KV heads over " + axesText(split.kvHeads, mesh);
    if (!split.group.empty())
      text += ", their groups over " + axesText(split.group, mesh) + ", which copies keys and values";
    text += llvm::formatv("; {0:F0} bytes of weights and caches a rank, {1:F0} of them padding or copies",
                          split.bytesPerRank, split.bytesPerRank - split.evenBytes);
    explainMissed(module.getLoc(), kHeads, text);
  }
  return known.emplace_back(axes, std::move(split)).second;
}

LogicalResult HeadAxes::spell(ShardItems &asked, const DimNames &names) {
  std::vector<ShardItem> &items = asked.all();
  SmallVector<StringRef> allNames = names.allNames();
  if (llvm::is_contained(allNames, kHeads))
    return success();
  auto hasHeads = [&](const std::string &value) {
    if (value.empty())
      return llvm::is_contained(allNames, kKvHeads);
    auto it = subjects.dims().find(value);
    return it != subjects.dims().end() && llvm::is_contained(it->second, kKvHeads);
  };
  std::vector<ShardItem> groups;
  for (ShardItem &item : items) {
    if (item.dim != kHeads || !hasHeads(item.value))
      continue;
    auto overText = [&](const AxisList &axes) {
      return axes.empty() ? std::string("over no axis") : "over " + axesText(axes, mesh);
    };
    for (const ShardItem &other : items)
      if (other.dim == kKvHeads && other.value == item.value && other.axes != item.axes)
        return emitError(module.getLoc())
               << "contradictory items (--shard items '" << item.text << "' and '" << other.text
               << "'): heads come in groups of one KV head, so dimension kv_heads would lie "
               << overText(item.axes) << " and " << overText(other.axes)
               << "; keep one of them, or say kv_heads and group";
    item.dim = kKvHeads.str();
    AxisList axes = item.axes;
    llvm::erase_if(axes, [&](const AxisRef &axis) { return axis.size == 1; });
    if (axes.empty() || asked.has(kGroup) || !subjects.hasGroup(item.value))
      continue;
    const HeadSplit &split = this->split(axes);
    item.axes = split.kvHeads;
    if (!split.group.empty())
      groups.push_back({item.value, kGroup.str(), split.group, item.text});
  }
  items.insert(items.end(), groups.begin(), groups.end());
  return success();
}
