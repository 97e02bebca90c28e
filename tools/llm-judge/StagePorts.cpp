//===- StagePorts.cpp -----------------------------------------------------===//
#include "StagePorts.h"

using namespace mlir;

namespace tessera {

using graph::Gives;

Failure cannot(const std::string &what, const std::string &where, const std::string &why) {
  return {what, where, why, "see docs/Pipelines.md"};
}

SmallVector<func::FuncOp> functionsOf(const Stage &stage) {
  SmallVector<func::FuncOp> functions;
  for (auto &[part, function] : stage.parts)
    functions.push_back(function);
  if (functions.empty())
    functions.push_back(stage.function);
  return functions;
}

/// Gives `to` what `from` sends.
void hand(Stage &from, Gives gives, Stage &to) {
  for (unsigned i = 0; i < from.function.getNumResults(); ++i)
    if (givesOf(from.function, i) == gives) {
      std::string name = resultName(from.function, i).str();
      to.inputs[name] = from.outputs.at(name);
    }
}

bool givesShared(const Stage &stage) {
  for (func::FuncOp function : functionsOf(stage))
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (givesOf(function, i) == Gives::SharedGradient)
        return true;
  return false;
}

} // namespace tessera
