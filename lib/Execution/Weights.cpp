//===- Weights.cpp - Values of parameters to and from model files ---------===//
#include "tessera/Execution/Weights.h"

#include "tessera/Execution/Ports.h"
#include "tessera/runtime/core/LayerNames.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <limits>

using namespace mlir;

namespace tessera {

static std::string tensorName(graph::SourceAttr source, graph::ParameterOp parameter, int64_t layer) {
  return parameter.getStacked() ? runtime::layerName(source.getName(), layer) : source.getName().str();
}

/// Calls `visit(place in the parameter, place in the file tensor)` for all that `source` gives, from place
/// `at` on; the place behind.
static int64_t forEachElement(graph::SourceAttr source, int64_t at,
                              llvm::function_ref<void(int64_t, int64_t)> visit) {
  SmallVector<int64_t> shape(source.getReshape().empty() ? source.getFile() : source.getReshape()),
      strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  int64_t base = 0;
  for (size_t d = 0; d < shape.size() && !source.getSlice().empty(); ++d) {
    base += source.getSlice()[2 * d] * strides[d];
    shape[d] = source.getSlice()[2 * d + 1] - source.getSlice()[2 * d];
  }
  SmallVector<int64_t> order(source.getPermute());
  if (order.empty())
    order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size())));
  SmallVector<int64_t> index(shape.size(), 0);
  if (llvm::is_contained(shape, 0))
    return at;
  while (true) {
    int64_t from = base;
    for (size_t d = 0; d < index.size(); ++d)
      from += index[d] * strides[size_t(order[d])];
    visit(at++, from);
    size_t d = index.size();
    while (d-- > 0) {
      if (++index[d] < shape[size_t(order[d])])
        break;
      index[d] = 0;
    }
    if (d == size_t(-1))
      return at;
  }
}

static int64_t layersOf(graph::ParameterOp parameter) {
  return parameter.getStacked() ? cast<RankedTensorType>(parameter.getType()).getDimSize(0) : 1;
}

Result<ReferenceTensor> readParameter(const io::ModelFile &file, graph::ParameterOp parameter) {
  ReferenceTensor value(cast<RankedTensorType>(parameter.getType()));
  int64_t at = 0;
  for (int64_t layer = 0; layer < layersOf(parameter); ++layer)
    for (auto source : parameter.getSources().getAsRange<graph::SourceAttr>()) {
      std::string name = tensorName(source, parameter, layer);
      const io::TensorInfo *info = file.find(name);
      if (!info)
        return Failure{"cannot load weights", file.path(), "there is no tensor " + name,
                       "use a complete checkpoint"};
      std::vector<float> whole(size_t(info->elements));
      if (Status status = file.readRange(*info, 0, info->elements, whole.data()); !status)
        return status.takeFailure();
      at = forEachElement(source, at,
                          [&](int64_t to, int64_t from) { value.f[size_t(to)] = whole[size_t(from)]; });
    }
  return value;
}

Status writeParameters(ModuleOp module, const NamedValues &values, const std::string &path) {
  std::map<std::string, ReferenceTensor> tensors;
  for (auto parameter : module.getOps<graph::ParameterOp>()) {
    if (parameter->hasAttr(graph::kStateOfAttr)) // no model has it, and its sources are the weight's
      continue;
    auto known = values.find(parameter.getSymName().str());
    if (known == values.end())
      return Failure{"cannot write weights", path, "nothing is known of " + parameter.getSymName().str(), ""};
    if (!known->second.isFloat())
      return Failure{"cannot write weights", path, parameter.getSymName().str() + " is of integers",
                     "take it as an input or a constant: weights are floats"};
    int64_t at = 0;
    for (int64_t layer = 0; layer < layersOf(parameter); ++layer)
      for (auto source : parameter.getSources().getAsRange<graph::SourceAttr>()) {
        auto [it, isNew] = tensors.try_emplace(tensorName(source, parameter, layer));
        if (isNew) {
          it->second = ReferenceTensor(known->second.elementType, source.getFile());
          it->second.f.assign(it->second.f.size(), std::numeric_limits<double>::quiet_NaN());
        }
        at = forEachElement(source, at, [&, &file = it->second](int64_t from, int64_t to) {
          file.f[size_t(to)] = known->second.f[size_t(from)];
        });
      }
  }
  std::vector<std::vector<char>> bytes;
  std::vector<io::TensorToWrite> list;
  for (const auto &[name, value] : tensors) {
    bytes.push_back(toBytes(value));
    list.push_back({name, dtypeOf(value.elementType),
                    std::vector<int64_t>(value.shape.begin(), value.shape.end()), bytes.back().data()});
  }
  return io::writeSafetensors(path, list);
}

} // namespace tessera
