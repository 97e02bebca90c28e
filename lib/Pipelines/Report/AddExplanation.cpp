//===- AddExplanation.cpp - What --explain knows, in the report -----------===//
#include "Markup.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

namespace tessera::report {

/// The kind of argument; none of an activation.
static std::optional<graph::Kind> argumentKind(TensorKind kind) {
  switch (kind) {
  case TensorKind::Weight:
    return graph::Kind::Parameter;
  case TensorKind::Cache:
    return graph::Kind::State;
  case TensorKind::Input:
    return graph::Kind::Input;
  case TensorKind::Activation:
    return std::nullopt;
  }
  llvm_unreachable("a kind of tensor");
}

/// Of a stage `function` is a part of what was explained, or that itself.
static bool isOf(const Program &program, const std::string &function, const std::string &explained) {
  return function == explained ||
         (!program.stages.empty() && llvm::StringRef(function).starts_with(explained + "_"));
}

/// `linear (up)` is called `linear`.
static bool isCalled(llvm::StringRef op, llvm::StringRef name) {
  return op.consume_front(name) && (op.empty() || op.starts_with(" ("));
}

void addExplanation(Program &program, const Explanation &explanation) {
  // Both list the communicating collectives in the order of the program.
  auto next = program.collectives.begin();
  for (const CollectiveExplanation &explained : explanation.collectives) {
    auto found = std::find_if(next, program.collectives.end(), [&](const Collective &c) {
      return isOf(program, c.function, explained.function) && c.kind == explained.kind &&
             c.why == explained.why;
    });
    if (found == program.collectives.end())
      continue;
    found->ends = endsText(explained);
    if (explained.remove) {
      const Suggestion &remove = *explained.remove;
      const bool isFlag = remove.leftOut.empty() && !remove.shard.empty() && remove.becomes.empty();
      found->flag = isFlag ? "--shard=" + remove.shard : changeText(remove);
      found->price = priceText(explanation, *explained.remove);
    }
    next = std::next(found);
  }
  // Activations of one function, kind and size stand in the same order in both.
  std::set<const Tensor *> taken;
  for (const TensorExplanation &explained : explanation.tensors)
    for (Tensor &tensor : program.tensors) {
      bool activation = tensor.kind == TensorKind::Activation;
      if (argumentKind(tensor.kind) != explained.kind || tensor.value.bytes != double(explained.bytes) ||
          !llvm::equal(explained.shape, tensor.value.dims,
                       [](int64_t size, const Dim &dim) { return size == dim.global; }) ||
          (activation ? !isOf(program, tensor.function, explained.function) ||
                            !isCalled(explained.name, tensor.madeBy)
                      : tensor.name != explained.name) ||
          !taken.insert(&tensor).second)
        continue;
      tensor.reasons = explained.reasons;
      break;
    }
  // What was explained is the step before it was cut into parts.
  if (!program.stages.empty())
    for (Tensor &tensor : program.tensors)
      if (tensor.kind == TensorKind::Cache && tensor.reasons.empty())
        tensor.reasons = {"a part of the step hands it to another one"};
}

} // namespace tessera::report
