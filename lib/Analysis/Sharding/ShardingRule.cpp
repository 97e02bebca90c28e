//===- ShardingRule.cpp - What an op does with dimensions -----------------===//
#include "tessera/Analysis/Sharding/ShardingRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace tessera;

/// i, j, ..., z, then i1, j1, ...
static std::string factorName(int factor) {
  std::string name(1, char('i' + factor % 18));
  return factor < 18 ? name : name + std::to_string(factor / 18);
}

static std::string tensorText(const TensorFactors &tensor) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(tensor.dims)) {
    text += i ? ", " : "";
    if (dim.empty())
      text += "1";
    for (auto [j, factor] : llvm::enumerate(dim))
      text += (j ? "*" : "") + factorName(factor);
  }
  return text + "]";
}

static std::string tensorsText(llvm::ArrayRef<TensorFactors> tensors) {
  std::string text = "(";
  for (auto [i, tensor] : llvm::enumerate(tensors))
    text += (i ? ", " : "") + tensorText(tensor);
  return text + ")";
}

ShardingRule ShardingRule::withWindows() const {
  ShardingRule rule = *this;
  for (const Window &window : windows) {
    Factor &factor = rule.factors[window.whole];
    factor.kind = FactorKind::Window;
    factor.size = std::min(factor.size, factors[window.part].size);
    for (TensorFactors &result : rule.results)
      for (auto &dim : result.dims)
        llvm::replace(dim, window.part, window.whole);
  }
  return rule;
}

std::string ShardingRule::toString() const {
  // As the op runs on whole dimensions, whether windows stand for factors here or not.
  llvm::SmallVector<TensorFactors, 4> own = results;
  for (const Window &window : windows)
    if (factors[window.whole].kind == FactorKind::Window)
      for (TensorFactors &result : own)
        for (auto &dim : result.dims)
          llvm::replace(dim, window.whole, window.part);
  std::string text = tensorsText(operands) + " -> " + tensorsText(own);
  auto list = [&](llvm::StringRef word, auto wanted) {
    std::string names;
    for (auto [i, factor] : llvm::enumerate(factors))
      if (wanted(factor))
        names += (names.empty() ? "" : ", ") + factorName(int(i));
    if (!names.empty())
      text += " " + word.str() + "={" + names + "}";
  };
  list("reduction",
       [](const Factor &f) { return f.kind == FactorKind::Reduction && f.combine != PartialKind::Max; });
  list("max_reduction",
       [](const Factor &f) { return f.kind == FactorKind::Reduction && f.combine == PartialKind::Max; });
  list("need_replication",
       [](const Factor &f) { return f.kind == FactorKind::NeedReplication || f.kind == FactorKind::Window; });
  list("permutation", [](const Factor &f) { return f.kind == FactorKind::Permutation; });
  for (auto [i, window] : llvm::enumerate(windows))
    text += (i ? ", " : " window={") + factorName(window.part) + " of " + factorName(window.whole) + " at " +
            std::to_string(window.begin);
  return text + (windows.empty() ? "" : "}");
}

std::string ShardingRule::verify(llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
                                 llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes) const {
  auto check = [&](llvm::StringRef what, llvm::ArrayRef<TensorFactors> tensors,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes) -> std::string {
    if (tensors.size() != shapes.size())
      return "rule has " + std::to_string(tensors.size()) + " " + what.str() + "s, the op " +
             std::to_string(shapes.size());
    for (auto [t, tensor] : llvm::enumerate(tensors)) {
      std::string name = what.str() + " #" + std::to_string(t);
      if (tensor.dims.size() != shapes[t].size())
        return name + ": rule has " + std::to_string(tensor.dims.size()) + " dimensions, the tensor " +
               std::to_string(shapes[t].size());
      llvm::SmallSet<int, 8> seen;
      for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
        int64_t product = 1;
        for (int factor : dim) {
          if (factor < 0 || factor >= int(factors.size()))
            return name + ": factor " + std::to_string(factor) + " is out of range";
          if (!seen.insert(factor).second)
            return name + ": factor " + factorName(factor) + " stands twice";
          product *= factors[factor].size;
        }
        // A dimension without factors has size 1 or repeats nothing that could be sharded.
        if (!dim.empty() && product != shapes[t][d])
          return name + ": dimension " + std::to_string(d) + " has size " + std::to_string(shapes[t][d]) +
                 ", its factors " + std::to_string(product);
      }
    }
    return "";
  };
  for (auto [i, factor] : llvm::enumerate(factors)) {
    if (factor.size < 0)
      return "factor " + factorName(int(i)) + " has size " + std::to_string(factor.size);
    if (factor.kind == FactorKind::Reduction && factor.combine == PartialKind::None)
      return "reduction factor " + factorName(int(i)) + " does not say how its pieces combine";
    bool inResult = llvm::any_of(results, [&, i = int(i)](const TensorFactors &tensor) {
      return llvm::any_of(tensor.dims, [&](const auto &dim) { return llvm::is_contained(dim, i); });
    });
    if (factor.kind == FactorKind::Reduction && inResult)
      return "reduction factor " + factorName(int(i)) + " stands in a result";
  }
  for (const Window &window : windows) {
    for (int factor : {window.whole, window.part})
      if (factor < 0 || factor >= int(factors.size()))
        return "window: factor " + std::to_string(factor) + " is out of range";
    if (factors[window.whole].kind == FactorKind::Window) // it has the size of what travels
      continue;
    if (window.begin < 0 || window.begin > factors[window.whole].size - factors[window.part].size)
      return "window: " + factorName(window.part) + " has " + std::to_string(factors[window.part].size) +
             " elements from " + std::to_string(window.begin) + " on of " +
             std::to_string(factors[window.whole].size);
  }
  for (const auto &groups : {linear, maxLinear})
    for (const auto &group : groups)
      for (int operand : group)
        if (operand < 0 || operand >= int(operands.size()))
          return "linear operand " + std::to_string(operand) + " is out of range";
  if (std::string error = check("operand", operands, operandShapes); !error.empty())
    return error;
  return check("result", results, resultShapes);
}
