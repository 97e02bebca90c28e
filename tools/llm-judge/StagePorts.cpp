//===- StagePorts.cpp -----------------------------------------------------===//
#include "StagePorts.h"

#include "llvm/Support/raw_ostream.h"

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
/// What one function gives, the other one takes: once, under the same name and as it lies.
Status checkPorts(func::FuncOp from, Gives gives, func::FuncOp to, FillSource source) {
  std::map<std::string, Type> open;
  for (unsigned i = 0; i < from.getNumResults(); ++i)
    if (givesOf(from, i) == gives && !open.insert({resultName(from, i), from.getResultTypes()[i]}).second)
      return cannot("cannot connect stages", resultName(from, i), "it is sent twice");
  for (unsigned i = 0; i < to.getNumArguments(); ++i) {
    if (fillOf(to, i) != source)
      continue;
    auto sent = open.find(argumentName(to, i));
    if (sent == open.end())
      return cannot("cannot connect stages", argumentName(to, i), "it is received, and nobody sends it");
    if (sent->second != to.getArgumentTypes()[i]) {
      std::string text;
      llvm::raw_string_ostream(text) << "it is sent as " << sent->second << " and received as "
                                     << to.getArgumentTypes()[i];
      return cannot("cannot connect stages", sent->first, text);
    }
    open.erase(sent);
  }
  if (!open.empty())
    return cannot("cannot connect stages", open.begin()->first, "it is sent, and nobody receives it");
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

bool givesShared(Stage &stage) {
  for (unsigned i = 0; i < stage.function.getNumResults(); ++i)
    if (givesOf(stage.function, i) == Gives::SharedGradient)
      return true;
  return false;
}

} // namespace tessera
