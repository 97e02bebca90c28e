//===- HeldTypes.cpp - What a checkpoint holds its weights in -------------===//
#include "HeldTypes.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/runtime/core/LayerNames.h"
#include "tessera/runtime/io/BlockLayout.h"

using namespace mlir;

namespace tessera::importer {

/// The type of one layer in blocks; empty where a tensor of it is of floats, or is missing, or types differ.
static StringRef blockType(const io::ModelFile &file, graph::ParameterOp parameter, int64_t layer) {
  StringRef type;
  for (auto source : parameter.getSources().getAsRange<graph::SourceAttr>()) {
    std::string name =
        parameter.getStacked() ? runtime::layerName(source.getName(), layer) : source.getName().str();
    const io::TensorInfo *tensor = file.find(name);
    if (!tensor || !io::isQuantized(tensor->dtype))
      return {};
    StringRef found = io::dtypeName(tensor->dtype);
    if (!type.empty() && found != type)
      return {};
    type = found;
  }
  return type;
}

void noteHeldTypes(ModuleOp module, const io::ModelFile &file) {
  Builder builder(module.getContext());
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    int64_t layers = parameter.getStacked() ? cast<RankedTensorType>(parameter.getType()).getDimSize(0) : 1;
    SmallVector<StringRef> types;
    // Without a file, settings may say that there are a billion layers: the first that is not held so ends
    // it.
    do
      types.push_back(blockType(file, parameter, int64_t(types.size())));
    while (!types.back().empty() && int64_t(types.size()) < layers);
    if (types.back().empty())
      continue;
    if (llvm::all_equal(types))
      types.resize(std::min<size_t>(types.size(), 1));
    if (!types.empty())
      parameter->setAttr(graph::kHeldAttr, builder.getStrArrayAttr(types));
  }
}

int64_t blockGranule(const io::ModelFile &file, int64_t ffn) {
  if (ffn % io::kSubBlock != 0)
    return 1;
  for (const io::TensorInfo &tensor : file.tensors())
    if (io::isQuantized(tensor.dtype) && tensor.shape.size() > 1 && tensor.shape.back() == ffn)
      return io::kSubBlock;
  return 1;
}

} // namespace tessera::importer
