//===- StagePorts.cpp -----------------------------------------------------===//
#include "StagePorts.h"

#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;

namespace tessera {

using graph::FillSource;
using graph::Gives;

Failure cannot(const std::string &what, const std::string &where, const std::string &why) {
  return {what, where, why, "see docs/Pipelines.md"};
}

std::string argumentName(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, graph::kNameAttr);
  return name ? name.str() : "";
}
std::optional<FillSource> fillOf(func::FuncOp function, unsigned argument) {
  auto fill = function.getArgAttrOfType<graph::FillAttr>(argument, graph::kFillAttr);
  return fill ? std::optional(fill.getSource()) : std::nullopt;
}
std::string resultName(func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, graph::kNameAttr);
  return name ? name.str() : "";
}
std::optional<Gives> givesOf(func::FuncOp function, unsigned result) {
  auto gives = function.getResultAttrOfType<graph::GivesAttr>(result, graph::kGivesAttr);
  return gives ? std::optional(gives.getValue()) : std::nullopt;
}
SmallVector<func::FuncOp> functionsOf(const Stage &stage) {
  SmallVector<func::FuncOp> functions;
  for (auto &[part, function] : stage.parts)
    functions.push_back(function);
  if (functions.empty())
    functions.push_back(stage.function);
  return functions;
}

Status checkPorts(const Stage &from, Gives gives, const Stage &to, FillSource source) {
  std::map<std::string, Type> sent;
  for (func::FuncOp function : functionsOf(from))
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (givesOf(function, i) == gives &&
          !sent.insert({resultName(function, i), function.getResultTypes()[i]}).second)
        return cannot("cannot connect stages", resultName(function, i), "it is sent twice");
  std::set<std::string> received;
  for (func::FuncOp function : functionsOf(to))
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (fillOf(function, i) != source)
        continue;
      std::string name = argumentName(function, i);
      Type type = function.getArgumentTypes()[i];
      auto made = sent.find(name);
      if (made == sent.end())
        return cannot("cannot connect stages", name, "it is received, and nobody sends it");
      if (made->second != type) {
        std::string text;
        llvm::raw_string_ostream(text) << "it is sent as " << made->second << " and received as " << type;
        return cannot("cannot connect stages", name, text);
      }
      received.insert(name);
    }
  // Parts have no argument for what none of them reads.
  for (auto &[name, type] : sent)
    if (to.parts.empty() && !received.count(name))
      return cannot("cannot connect stages", name, "it is sent, and nobody receives it");
  return {};
}

/// Gives `to` what `from` sends.
void hand(Stage &from, Gives gives, Stage &to) {
  for (unsigned i = 0; i < from.function.getNumResults(); ++i)
    if (givesOf(from.function, i) == gives) {
      std::string name = resultName(from.function, i);
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
