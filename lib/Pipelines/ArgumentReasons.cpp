//===- ArgumentReasons.cpp - Why an argument lies as it does --------------===//
#include "ShardSubjects.h"

#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/SpmdFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tessera {

/// The class of values that --shard knows an argument by.
std::string ShardSubjects::classOf(const std::string &value) const {
  auto parameter = ModuleOp(step).lookupSymbol<graph::ParameterOp>(value);
  return !parameter ? "" : (parameter->hasAttr(graph::kStateOfAttr) ? dist::kStates : dist::kWeights).str();
}

/// The item that gives `axis` to whichever dimension of `value` is largest; null: none does.
const std::string *ShardSubjects::largestItemFor(const std::string &value, const AxisRef &axis) const {
  for (const std::string &who : {value, classOf(value)}) {
    auto item = given.find({who, dist::kLargest.str()});
    if (item != given.end() && uses(axis, axesOf(item->second)))
      return &givenText.at(item->first);
  }
  return nullptr;
}

const std::string *ShardSubjects::itemFor(const std::string &value, const std::string &dim) const {
  for (const std::string &who : {value, classOf(value), std::string()})
    for (const std::string &name : {dim, std::string(dim == "kv_heads" ? "heads" : dim)})
      if (auto item = givenText.find({who, name}); item != givenText.end())
        return &item->second;
  return nullptr;
}

std::string ShardSubjects::whyWhole(const TensorExplanation &tensor, const std::string &axis) const {
  const dist::StandardAxis *standard = dist::findStandardAxis(axis);
  for (auto [dim, size] : llvm::zip(tensor.dims, tensor.shape))
    if (standard && llvm::is_contained(tensor.kind == graph::Kind::Parameter ? standard->weightDims
                                                                             : standard->activationDims,
                                       dim)) {
      if (const std::string *item = itemFor(tensor.name, dim))
        return "--shard item " + *item + " replaces what " + axis + " means for " + dim;
      if (size == 1)
        return dim + " has one position, which cannot be spread";
    }
  return tensor.dims.empty() ? "it is one number"
                             : "nobody asked for " + axis + " on any of " + llvm::join(tensor.dims, ", ");
}

dist::ShardingAttr ShardSubjects::annotationOf(const TensorExplanation &tensor) const {
  for (auto function : ModuleOp(step).getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      auto name = function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
      const bool isIt = name ? name.getValue() == tensor.name
                             : function.getSymName() == tensor.function && tensor.name == numberedName(i);
      if (auto said = function.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr); isIt && said)
        return said; // of several functions one may say it for all
    }
  return {};
}

std::vector<std::string> ShardSubjects::argumentReasons(const TensorExplanation &tensor) const {
  std::vector<std::string> reasons;
  bool weight = tensor.kind == graph::Kind::Parameter;
  AxisList taken;
  std::string error;
  std::optional<Sharding> lies = parseSharding(tensor.sharding, mesh, error);
  dist::ShardingAttr annotation = annotationOf(tensor);
  std::optional<Sharding> said = annotation ? std::optional(annotation.toSharding(mesh)) : std::nullopt;
  auto isSaid = [&](size_t dim, const AxisRef &axis) {
    return said && dim < said->dims.size() && uses(axis, said->dims[dim].axes);
  };
  for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
    auto found = subjects.find({tensor.name, dim});
    if (found == subjects.end()) { // no item and no axis speaks of such a dimension
      for (const AxisRef &axis : lies ? lies->dims[d].axes : AxisList()) {
        taken.push_back(axis);
        reasons.push_back(dim + " over " + toString(axis, mesh) + ": " +
                          (isSaid(d, axis) ? "annotated in the program" : "propagated from its users"));
      }
      continue;
    }
    const std::string *item = itemFor(tensor.name, dim);
    for (const AxisRef &axis : found->second.axes) {
      taken.push_back(axis);
      const dist::StandardAxis *standard = dist::findStandardAxis(mesh.axes[axis.axis].name);
      bool meant =
          standard && llvm::is_contained(weight ? standard->weightDims : standard->activationDims, dim);
      std::string text = dim + " over " + toString(axis, mesh) + ": ";
      const std::string *largest = item ? nullptr : largestItemFor(tensor.name, axis);
      if (lies && !uses(axis, lies->dims[d].axes)) { // WidenInputs
        reasons.push_back(dim + " not over " + toString(axis, mesh) + ", though " +
                          (item || largest ? "--shard item " + *(item ? item : largest) + " asks for it"
                           : meant         ? mesh.axes[axis.axis].name + " means it"
                                           : "its users have it so") +
                          ": an op needs all of it, so each rank is handed that");
        continue;
      }
      if (isSaid(d, axis))
        text += "annotated in the program";
      else if (item || largest)
        text += "asked for by --shard item " + *(item ? item : largest);
      else if (meant)
        text += "what axis " + mesh.axes[axis.axis].name + " means for " + dim;
      else if (weight && standard && standard->largestFreeWeightDim)
        text += "what axis " + mesh.axes[axis.axis].name +
                " means for the largest dimension of a weight that no other axis shards";
      else if (outputs.count(tensor.name))
        text += "where the functions that give it have it, by cost";
      else
        text += "propagated from its users";
      reasons.push_back(text);
    }
    if (item && found->second.axes.empty())
      reasons.push_back(dim + " whole: asked for by --shard item " + *item);
  }
  for (auto [i, axis] : llvm::enumerate(mesh.axes))
    if (axis.size > 1 && !uses(wholeAxis(mesh, int(i)), taken))
      reasons.push_back(sameOnAllRanks(axis, whyWhole(tensor, axis.name), tensor.bytes, tensor.shape));
  return reasons;
}

} // namespace tessera
