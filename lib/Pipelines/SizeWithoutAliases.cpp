//===- SizeWithoutAliases.cpp - How large a program is written out --------===//
#include "SizeWithoutAliases.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace mlir;

namespace tessera {

namespace {
constexpr uint64_t kMost = 1 << 24; // attributes and types, of a whole program
constexpr uint64_t kDeepest = 200;  // as of brackets, where a text is read

/// An attribute or a type.
struct Node {
  Attribute attribute;
  Type type;
  const void *key() const { return attribute ? attribute.getAsOpaquePointer() : type.getAsOpaquePointer(); }
};

SmallVector<Node> partsOf(Node node) {
  SmallVector<Node> found;
  auto addAttribute = [&](Attribute part) {
    if (part)
      found.push_back({part, {}});
  };
  auto addType = [&](Type part) {
    if (part)
      found.push_back({{}, part});
  };
  if (node.attribute)
    node.attribute.walkImmediateSubElements(addAttribute, addType);
  else
    node.type.walkImmediateSubElements(addAttribute, addType);
  return found;
}

class Sizes {
public:
  std::string problem;

  /// Adds one more place where `node` stands.
  void add(Node node) {
    if (!problem.empty() || !node.key())
      return;
    measure(node);
    Size size = sizes_.lookup(node.key());
    total_ = std::min(kMost + 1, total_ + size.count);
    if (size.depth > kDeepest)
      problem = "is nested too deeply";
    else if (total_ > kMost)
      problem = "has more than " + std::to_string(kMost) + " attributes and types where they are written out";
  }

private:
  struct Size {
    uint64_t count = 0, depth = 0; // of itself and all in it; 0: not known yet, or part of itself
  };

  /// Parts first, and each once, wherever it stands. Without calls of itself: it may be as deep as it likes.
  void measure(Node root) {
    SmallVector<std::pair<Node, bool>> open; // whether its parts are measured
    open.emplace_back(root, false);
    while (!open.empty()) {
      auto [node, hasParts] = open.pop_back_val();
      if (!hasParts && !sizes_.try_emplace(node.key()).second)
        continue;
      SmallVector<Node> parts = partsOf(node);
      if (!hasParts) {
        open.emplace_back(node, true);
        for (const Node &part : parts)
          open.emplace_back(part, false);
        continue;
      }
      Size size{1, 1};
      for (const Node &part : parts) {
        Size own = sizes_.lookup(part.key());
        size.count = std::min(kMost + 1, size.count + own.count);
        size.depth = std::max(size.depth, own.depth + 1);
      }
      sizes_[node.key()] = size;
    }
  }

  llvm::DenseMap<const void *, Size> sizes_;
  uint64_t total_ = 0;
};
} // namespace

std::string checkSizeWithoutAliases(ModuleOp module) {
  Sizes sizes;
  module->walk([&](Operation *op) {
    sizes.add({op->getAttrDictionary(), {}});
    sizes.add({op->getLoc(), {}});
    for (Type type : op->getResultTypes())
      sizes.add({{}, type});
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          sizes.add({{}, type});
    return sizes.problem.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return sizes.problem;
}

} // namespace tessera
