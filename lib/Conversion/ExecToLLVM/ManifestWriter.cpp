//===- ManifestWriter.cpp - the static facts of a program -------------------===//

#include "ManifestWriter.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/PaddingCost.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;
namespace json = llvm::json;

namespace tessera::exec {

static json::Array numbers(ArrayRef<int64_t> values) { return json::Array(values); }

static std::string dtypeName(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return "i" + std::to_string(integer.getWidth());
  std::string text;
  llvm::raw_string_ostream(text) << type; // f32, f16, bf16
  return text;
}

/// The number of `value` in `list`, appended if new. Lists are short: one entry for each distinct thing a layer does.
static int64_t numberOf(std::vector<json::Value> &list, json::Value value) {
  auto it = llvm::find(list, value);
  if (it == list.end())
    it = list.insert(list.end(), std::move(value));
  return it - list.begin();
}

ManifestWriter::ManifestWriter(ModuleOp module, TargetSection target) : module(module), target(std::move(target)) {
  if (dist::MeshOp op = dist::getMesh(module))
    mesh = op.getMesh().toMesh();
  for (auto op : module.getOps<graph::ParameterOp>())
    if (op->hasAttr(kLocalTypeAttr)) {
      paramNumbers[op.getSymNameAttr()] = int64_t(params.size());
      params.insert({op.getSymNameAttr(), paramJson(op)});
    }
}

json::Array ManifestWriter::axesJson(ArrayRef<AxisRef> axes) const {
  json::Array list;
  for (const AxisRef &axis : axes)
    list.push_back(json::Array{mesh.axes[axis.axis].name, axis.pre, axis.size});
  return list;
}

json::Array ManifestWriter::axesJson(ArrayAttr axes) const { return axesJson(dist::fromAxesAttr(axes, mesh)); }

json::Array ManifestWriter::shardingJson(dist::ShardingAttr sharding) const {
  json::Array dims;
  for (const DimSharding &dim : sharding.toSharding(mesh).dims)
    dims.push_back(axesJson(dim.axes));
  return dims;
}

json::Object ManifestWriter::paramJson(Operation *op) {
  auto parameter = cast<graph::ParameterOp>(op);
  auto type = cast<RankedTensorType>(parameter.getType());
  auto local = cast<RankedTensorType>(cast<TypeAttr>(op->getAttr(kLocalTypeAttr)).getValue());
  int64_t stacked = parameter.getStacked() ? 1 : 0;
  json::Array dims, layerAxes;
  Sharding sharding(type.getRank());
  if (auto attr = op->getAttrOfType<dist::ShardingAttr>(kShardingAttr))
    sharding = attr.toSharding(mesh);
  for (auto [i, dim] : llvm::enumerate(sharding.dims)) {
    if (stacked && i == 0)
      layerAxes = axesJson(dim.axes);
    else
      dims.push_back(axesJson(dim.axes));
  }
  json::Array sources;
  for (auto attr : parameter.getSources().getAsRange<graph::SourceAttr>()) {
    json::Object source{{"name", attr.getName().str()}, {"shape", numbers(attr.getFile())}};
    ArrayRef<int64_t> reshape = attr.getReshape().empty() ? attr.getFile() : attr.getReshape();
    source["reshape"] = numbers(reshape);
    json::Array slice, permute;
    for (size_t d = 0; d < reshape.size(); ++d) {
      slice.push_back(attr.getSlice().empty() ? json::Array{0, reshape[d]}
                                              : json::Array{attr.getSlice()[2 * d], attr.getSlice()[2 * d + 1]});
      permute.push_back(attr.getPermute().empty() ? int64_t(d) : attr.getPermute()[d]);
    }
    source["slice"] = std::move(slice);
    source["permute"] = std::move(permute);
    sources.push_back(std::move(source));
  }
  json::Value pack = nullptr;
  if (auto outDims = op->getAttrOfType<IntegerAttr>(kPackAttr))
    pack = json::Object{{"out_dims", outDims.getInt()}};
  return json::Object{{"name", parameter.getSymName().str()},
                      {"dtype", dtypeName(type.getElementType())},
                      {"layers", stacked ? type.getDimSize(0) : 0},
                      {"shape", numbers(type.getShape().drop_front(stacked))},
                      {"sharding", std::move(dims)},
                      {"layer_sharding", std::move(layerAxes)},
                      {"local", numbers(local.getShape().drop_front(stacked))},
                      {"sources", std::move(sources)},
                      {"pack", std::move(pack)}};
}

int64_t ManifestWriter::param(FlatSymbolRefAttr symbol) const { return paramNumbers.find(symbol.getAttr())->second; }

int64_t ManifestWriter::matmul(MatmulOp op) {
  return numberOf(matmuls, json::Object{{"m", int64_t(op.getM())},
                                        {"n", int64_t(op.getN())},
                                        {"k", int64_t(op.getK())},
                                        {"param", op.getParamAttr() ? param(op.getParamAttr()) : -1}});
}

int64_t ManifestWriter::group(ArrayAttr axes) { return numberOf(groups, axesJson(axes)); }

int64_t ManifestWriter::collective(CollectiveOp op) {
  auto type = cast<ShapedType>(op.getInput().getType());
  json::Object object{{"kind", stringifyCollectiveKind(op.getKind()).str()},
                      {"dtype", dtypeName(type.getElementType())},
                      {"group", group(op.getAxes())},
                      {"shape", numbers(type.getShape())},
                      {"dim", int64_t(op.getDim())},
                      {"dim2", int64_t(op.getDim2())},
                      {"why", op.getWhy() ? op.getWhy()->str() : ""}};
  object["op"] = op.getReduce() == ReduceOpKind::max ? "max" : "sum";
  if (op.getPairs()) {
    json::Array pairs;
    for (size_t i = 0; i + 1 < op.getPairs()->size(); i += 2)
      pairs.push_back(json::Array{(*op.getPairs())[i], (*op.getPairs())[i + 1]});
    object["pairs"] = std::move(pairs);
  }
  if (op.getFrom()) {
    object["global"] = numbers(op.getFrom()->getGlobal().asArrayRef());
    object["from"] = shardingJson(*op.getFrom());
    object["to"] = shardingJson(*op.getTo());
  }
  return numberOf(collectives, std::move(object));
}

json::Object ManifestWriter::portJson(DictionaryAttr port) const {
  auto type = cast<RankedTensorType>(port.getAs<TypeAttr>("type").getValue());
  SmallVector<int64_t> global(type.getShape());
  Sharding sharding(type.getRank());
  if (auto attr = port.getAs<dist::ShardingAttr>("sharding")) {
    sharding = attr.toSharding(mesh);
    if (attr.getGlobal())
      global.assign(attr.getGlobal().asArrayRef().begin(), attr.getGlobal().asArrayRef().end());
  }
  json::Array dims;
  for (const DimSharding &dim : sharding.dims)
    dims.push_back(axesJson(dim.axes));
  return json::Object{{"name", port.getAs<StringAttr>("name").str()},
                      {"dtype", dtypeName(type.getElementType())},
                      {"shape", numbers(global)},
                      {"local", numbers(type.getShape())},
                      {"sharding", std::move(dims)},
                      {"offset", port.getAs<IntegerAttr>("offset").getInt()},
                      {"bytes", arrayBytes(type)}};
}

/// [least, most] of every count that calls of `entry` give: what all loops that use it can do.
static FailureOr<json::Array> countBounds(func::FuncOp entry) {
  std::map<int64_t, std::pair<int64_t, int64_t>> bounds;
  entry.walk([&](ForOp loop) {
    if (!loop.getCall())
      return;
    auto [it, fresh] = bounds.insert({int64_t(*loop.getCall()), {0, std::numeric_limits<int64_t>::max()}});
    it->second = {std::max<int64_t>(it->second.first, loop.getLeast()), std::min<int64_t>(it->second.second, loop.getCount())};
  });
  json::Array list;
  for (auto [number, range] : bounds) {
    if (number != int64_t(list.size()))
      return entry.emitOpError() << "uses count " << number << " of its call, but not count " << list.size();
    if (range.first > range.second)
      return entry.emitOpError() << "has no value for count " << number << " of its call that all its loops can take: at least "
                                 << range.first << ", at most " << range.second;
    list.push_back(json::Array{range.first, range.second});
  }
  return list;
}

LogicalResult ManifestWriter::addEntry(func::FuncOp entry) {
  FailureOr<json::Array> counts = countBounds(entry);
  if (failed(counts))
    return failure();
  std::map<int64_t, int64_t> executions;
  entry.walk([&](CollectiveOp op) {
    int64_t times = 1;
    for (auto loop = op->getParentOfType<ForOp>(); loop; loop = loop->getParentOfType<ForOp>())
      times *= loop.getIterations();
    executions[collective(op)] += times;
  });
  auto ports = [&](StringRef name) {
    json::Array list;
    if (auto attr = entry->getAttrOfType<ArrayAttr>(name))
      for (auto port : attr.getAsRange<DictionaryAttr>())
        list.push_back(portJson(port));
    return list;
  };
  json::Array used;
  for (auto [id, times] : executions)
    used.push_back(json::Object{{"id", id}, {"executions", times}});
  json::Object object{{"name", entry.getName().str()},
                      {"counts", std::move(*counts)},
                      {"inputs", ports("exec.inputs")},
                      {"outputs", ports("exec.outputs")},
                      {"collectives", std::move(used)}};
  if (auto flops = entry->getAttrOfType<DenseI64ArrayAttr>(dist::kPaddingFlopsAttr))
    object["padding_flops"] = json::Array{flops[0], flops[1]};
  entries.push_back(std::move(object));
  return success();
}

/// Global sizes of the first port called `name` in any entry (from `first` on), or empty.
static std::vector<int64_t> portShape(const std::vector<json::Value> &entries, StringRef entry, StringRef list, StringRef name) {
  for (const json::Value &value : entries) {
    const json::Object &object = *value.getAsObject();
    if (!entry.empty() && *object.getString("name") != entry)
      continue;
    for (const json::Value &port : *object.getArray(list))
      if (*port.getAsObject()->getString("name") == name) {
        std::vector<int64_t> shape;
        for (const json::Value &size : *port.getAsObject()->getArray("shape"))
          shape.push_back(*size.getAsInteger());
        return shape;
      }
  }
  return {};
}

std::string ManifestWriter::text() {
  auto stringAttr = [&](StringRef name, StringRef otherwise) {
    auto attr = module->getAttrOfType<StringAttr>(name);
    return (attr ? attr.getValue() : otherwise).str();
  };
  auto intAttr = [&](StringRef name, int64_t otherwise) {
    auto attr = module->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : otherwise;
  };
  json::Array meshJson, stateList, paramList, eos;
  for (const MeshAxis &axis : mesh.axes)
    meshJson.push_back(json::Array{axis.name, axis.size});
  int64_t context = 0;
  if (auto states = module->getAttrOfType<ArrayAttr>("exec.states"))
    for (auto state : states.getAsRange<DictionaryAttr>()) {
      json::Object object = portJson(state);
      // A cache is [layer, batch, context, heads, d].
      if (const json::Array *shape = object.getArray("shape"); shape->size() == 5)
        context = std::max(context, *(*shape)[2].getAsInteger());
      stateList.push_back(std::move(object));
    }
  for (auto &[name, object] : params)
    paramList.push_back(std::move(object));
  if (auto attr = module->getAttrOfType<DenseI64ArrayAttr>("tessera.eos"))
    eos = numbers(attr.asArrayRef());
  std::vector<int64_t> tokens = portShape(entries, "prefill", "inputs", "tokens");
  if (tokens.empty())
    tokens = portShape(entries, "", "inputs", "tokens");
  std::vector<int64_t> logits = portShape(entries, "", "outputs", "logits");
  json::Object document{{"version", 1},
                        {"task", stringAttr("tessera.task", "generate")},
                        {"dtype", "f32"},
                        {"target", target.driver},
                        {"model", stringAttr("tessera.model", "")},
                        {"architecture", stringAttr("graph.architecture", "")},
                        {target.driver, std::move(target.facts)},
                        {"batch", intAttr("tessera.batch", tokens.empty() ? 1 : tokens[0])},
                        {"max_seq_len", intAttr("tessera.max_seq_len", context)},
                        {"chunk", intAttr("tessera.chunk", tokens.size() < 2 ? 1 : tokens[1])},
                        {"vocab", intAttr("tessera.vocab", logits.empty() ? 0 : logits.back())},
                        {"eos", std::move(eos)},
                        {"mesh", std::move(meshJson)},
                        {"arena_bytes", intAttr(kArenaAttr, 0)},
                        {"params", std::move(paramList)},
                        {"states", std::move(stateList)},
                        {"matmuls", json::Array(matmuls)},
                        {"groups", json::Array(groups)},
                        {"collectives", json::Array(collectives)},
                        {"entries", json::Array(entries)}};
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(document));
  return text;
}

} // namespace tessera::exec
