//===- Entries.cpp - The entries of a program that generates --------------===//
#include "Entries.h"

#include "tessera/Dialect/Dist/IR/Dist.h"

using namespace mlir;

namespace tessera {

/// Positions of a row that `entry` takes; -1: it takes no token ids.
static int64_t widthOf(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto fill = entry.getArgAttrOfType<graph::FillAttr>(i, graph::kFillAttr);
        fill && fill.getSource() == graph::FillSource::TokenIds &&
        graph::argumentKind(entry, i) != graph::Kind::State)
      return dist::globalShape(cast<RankedTensorType>(entry.getArgumentTypes()[i]))[1];
  return -1;
}

func::FuncOp entryFor(ModuleOp module, std::optional<graph::Role> role, int64_t width) {
  for (auto func : module.getOps<func::FuncOp>()) {
    auto attr = func->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
    if (func.isPublic() && (role ? attr && attr.getValue() == *role : !attr) &&
        (role != graph::Role::Prompt || widthOf(func) == width))
      return func;
  }
  return nullptr;
}

int64_t shortPromptWidth(ModuleOp module, int64_t longest) {
  int64_t width = 0;
  for (auto func : module.getOps<func::FuncOp>()) {
    auto attr = func->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr);
    if (func.isPublic() && attr && attr.getValue() == graph::Role::Prompt && widthOf(func) < longest)
      width = widthOf(func);
  }
  return width;
}

} // namespace tessera
