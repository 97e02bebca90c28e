//===- ManifestWriter.cpp - the static facts of a program -------------------===//

#include "ManifestWriter.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/PaddingCost.h"
#include "tessera/Dialect/Exec/IR/HeldWords.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Dialect/Graph/IR/MeanAttr.h"

using namespace mlir;
namespace json = llvm::json;

namespace tessera::exec {

static json::Array numbers(ArrayRef<int64_t> values) { return json::Array(values); }

/// The number of `value` in `list`, appended if new. Lists are short: one entry for each distinct thing a
/// layer does.
static int64_t numberOf(std::vector<json::Value> &list, json::Value value) {
  auto it = llvm::find(list, value);
  if (it == list.end())
    it = list.insert(list.end(), std::move(value));
  return it - list.begin();
}

ManifestWriter::ManifestWriter(ModuleOp module, TargetSection target)
    : module(module), target(std::move(target)) {
  if (dist::MeshOp op = dist::getMesh(module))
    mesh = op.getMesh().toMesh();
  for (auto op : module.getOps<graph::ParameterOp>())
    if (op->hasAttr(kLocalTypeAttr))
      paramNumbers.insert({op.getSymNameAttr(), int64_t(paramNumbers.size())});
  for (auto op : module.getOps<graph::ParameterOp>())
    if (op->hasAttr(kLocalTypeAttr))
      params.insert({op.getSymNameAttr(), paramJson(op)});
}

json::Array ManifestWriter::axesJson(ArrayRef<AxisRef> axes) const {
  json::Array list;
  for (const AxisRef &axis : axes)
    list.push_back(json::Array{mesh.axes[axis.axis].name, axis.pre, axis.size});
  return list;
}

json::Array ManifestWriter::axesJson(ArrayAttr axes) const {
  return axesJson(dist::fromAxesAttr(axes, mesh));
}

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
      slice.push_back(attr.getSlice().empty()
                          ? json::Array{0, reshape[d]}
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
  json::Object param{{"name", parameter.getSymName().str()},
                     {"dtype", elementName(type)},
                     {"layers", stacked ? type.getDimSize(0) : 0},
                     {"shape", numbers(type.getShape().drop_front(stacked))},
                     {"sharding", std::move(dims)},
                     {"layer_sharding", std::move(layerAxes)},
                     {"local", numbers(local.getShape().drop_front(stacked))},
                     {"sources", std::move(sources)},
                     {"pack", std::move(pack)},
                     {"variable", parameter.getVariable()}};
  if (auto held = op->getAttrOfType<ArrayAttr>(kHeldAttr)) {
    json::Array types;
    for (auto held : held.getAsRange<StringAttr>())
      types.push_back(held.getValue());
    param["held"] = std::move(types);
  }
  if (auto bytes = op->getAttrOfType<IntegerAttr>(kLayerBytesAttr); bytes && stacked)
    param["layer_bytes"] = bytes.getInt();
  if (auto mean = op->getAttrOfType<FloatAttr>(graph::kMeanAttr))
    param["mean"] = mean.getValueAsDouble();
  if (auto deviation = op->getAttrOfType<FloatAttr>(graph::kDeviationAttr))
    param["deviation"] = deviation.getValueAsDouble();
  if (auto stateOf = op->getAttrOfType<graph::StateOfAttr>(graph::kStateOfAttr)) {
    param["state"] = stateOf.getState().str();
    auto weight = paramNumbers.find(stateOf.getWeight().getAttr());
    param["of"] = weight == paramNumbers.end() ? -1 : weight->second;
  }
  return param;
}

int64_t ManifestWriter::param(FlatSymbolRefAttr symbol) const {
  return paramNumbers.find(symbol.getAttr())->second;
}

int64_t ManifestWriter::matmul(MatmulOp op) {
  json::Object matmul{{"m", int64_t(op.getM())},
                      {"n", int64_t(op.getN())},
                      {"k", int64_t(op.getK())},
                      {"param", op.getParamAttr() ? param(op.getParamAttr()) : -1},
                      {"x", elementName(op.getInput().getType())},
                      {"w", elementName(op.getWeightElementType())},
                      {"y", elementName(op.getOutput().getType())},
                      {"sum", "f32"}};
  if (op.getInputTransposed())
    matmul["x_transposed"] = true;
  if (op.getWeightTransposed())
    matmul["w_transposed"] = true;
  if (op.getBias())
    matmul["bias"] = true;
  if (op.getAddend())
    matmul["addend"] = true;
  if (op.getFunction())
    matmul["function"] = productFunctionName(*op.getFunction());
  if (op.getStarts())
    matmul["groups"] = op.getGroups();
  if (ArrayRef<int64_t> pieces = piecesOf(op); !pieces.empty())
    matmul["pieces"] = numbers(pieces);
  return numberOf(matmuls, std::move(matmul));
}

int64_t ManifestWriter::group(ArrayAttr axes) { return numberOf(groups, axesJson(axes)); }

int64_t ManifestWriter::collective(ExecCollectiveOpInterface op) {
  json::Object row;
  op.describeCollective(row, *this);
  return numberOf(collectives, std::move(row));
}

/// Says of a state in blocks, which are arrays of bytes here, how many elements they are.
static void countElements(json::Object &state, StringRef held) {
  state["dtype"] = held.str();
  for (StringRef shape : {"shape", "local"}) {
    json::Value &last = state.getArray(shape)->back();
    last = *last.getAsInteger() / graph::kCacheBlockBytes * graph::kCacheBlock;
  }
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
                      {"dtype", elementName(type)},
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
    it->second = {std::max<int64_t>(it->second.first, loop.getLeast()),
                  std::min<int64_t>(it->second.second, loop.getCount())};
  });
  json::Array list;
  for (auto [number, range] : bounds) {
    if (number != int64_t(list.size()))
      return entry.emitOpError() << "uses count " << number << " of its call, but not count " << list.size();
    if (range.first > range.second)
      return entry.emitOpError() << "has no value for count " << number
                                 << " of its call that all its loops can take: at least " << range.first
                                 << ", at most " << range.second;
    list.push_back(json::Array{range.first, range.second});
  }
  return list;
}

/// What fills the inputs of `entry`; outputs of other entries by their numbers.
LogicalResult ManifestWriter::addFills(func::FuncOp entry, json::Array &inputs) {
  auto ports = entry->getAttrOfType<ArrayAttr>("exec.inputs");
  for (auto [i, input] : llvm::enumerate(inputs)) {
    auto fill = cast<DictionaryAttr>(ports[i]).getAs<graph::FillAttr>("fill");
    if (!fill)
      continue;
    json::Object &object = *input.getAsObject();
    if (fill.getSource() != graph::FillSource::Output) {
      object["fill"] = graph::stringifyFillSource(fill.getSource()).str();
      continue;
    }
    int64_t number = 0, output = -1;
    for (auto other : module.getOps<func::FuncOp>()) {
      if (!other->hasAttr(kEntryAttr))
        continue;
      if (other.getSymNameAttr() == fill.getEntry().getAttr()) {
        if (auto outputs = other->getAttrOfType<ArrayAttr>("exec.outputs"))
          for (auto [o, port] : llvm::enumerate(outputs.getAsRange<DictionaryAttr>()))
            if (port.getAs<StringAttr>("name") == fill.getOutput())
              output = int64_t(o);
        break;
      }
      ++number;
    }
    if (output < 0)
      return entry.emitOpError() << "has input " << cast<DictionaryAttr>(ports[i]).get("name")
                                 << " that is filled by output " << fill.getOutput() << " of "
                                 << fill.getEntry() << ", which is no output of an entry";
    object["fill"] = json::Object{{"entry", number}, {"output", output}};
  }
  return success();
}

LogicalResult ManifestWriter::addEntry(func::FuncOp entry) {
  FailureOr<json::Array> counts = countBounds(entry);
  if (failed(counts))
    return failure();
  std::map<int64_t, int64_t> executions;
  entry.walk([&](ExecCollectiveOpInterface op) {
    int64_t times = 1;
    for (auto loop = op->getParentOfType<ForOp>(); loop; loop = loop->getParentOfType<ForOp>())
      times *= loop.getIterations();
    executions[collective(op)] += times;
  });
  auto ports = [&](StringRef name) {
    json::Array list;
    if (auto attr = entry->getAttrOfType<ArrayAttr>(name))
      for (auto port : attr.getAsRange<DictionaryAttr>()) {
        json::Object object = portJson(port);
        if (auto gives = port.getAs<graph::GivesAttr>("gives"))
          object["gives"] = graph::stringifyGives(gives.getValue()).str();
        list.push_back(std::move(object));
      }
    return list;
  };
  entry.walk([&](ExecStreamOpInterface op) {
    for (std::optional<int64_t> event : {op.getRecordedEvent(), op.getAwaitedEvent()})
      events = std::max(events, event.value_or(-1) + 1);
  });
  json::Array inputs = ports("exec.inputs");
  if (failed(addFills(entry, inputs)))
    return failure();
  EntryUses uses = usesOf(entry);
  auto indices = [](const std::set<int64_t> &set) {
    return json::Array(std::vector<int64_t>(set.begin(), set.end()));
  };
  json::Array used;
  for (auto [id, times] : executions)
    used.push_back(json::Object{{"id", id}, {"executions", times}});
  json::Object object{
      {"name", entry.getName().str()},
      {"counts", std::move(*counts)},
      {"inputs", std::move(inputs)},
      {"outputs", ports("exec.outputs")},
      {"states", json::Object{{"reads", indices(uses.statesRead)}, {"writes", indices(uses.statesWritten)}}},
      {"params", json::Object{{"reads", indices(uses.paramsRead)}, {"updates", indices(uses.paramsUpdated)}}},
      {"collectives", std::move(used)},
      {"calls", callsJson(entry.getBody().front())}};
  if (auto role = entry->getAttrOfType<graph::RoleAttr>(graph::kRoleAttr))
    object["role"] = graph::stringifyRole(role.getValue()).str();
  if (auto part = entry->getAttrOfType<graph::StagePartAttr>(graph::kStagePartAttr))
    object["stage_part"] = graph::stringifyStagePart(part.getValue()).str();
  if (auto flops = entry->getAttrOfType<DenseI64ArrayAttr>(dist::kPaddingFlopsAttr))
    object["padding_flops"] = json::Array{flops[0], flops[1]};
  addBuffers(entry);
  entries.push_back(std::move(object));
  return success();
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
  if (auto states = module->getAttrOfType<ArrayAttr>("exec.states"))
    for (auto state : states.getAsRange<DictionaryAttr>()) {
      json::Object object = portJson(state);
      if (auto held = state.getAs<StringAttr>("held"))
        countElements(object, held.getValue());
      auto clear = state.getAs<graph::ClearAttr>("clear");
      object["clear"] = graph::stringifyClear(clear ? clear.getValue() : graph::Clear::AtStart).str();
      if (auto fill = state.getAs<graph::FillAttr>("fill"))
        object["fill"] = graph::stringifyFillSource(fill.getSource()).str();
      if (auto holds = state.getAs<StringAttr>("holds"))
        object["holds"] = holds.getValue().str();
      stateList.push_back(std::move(object));
    }
  for (auto &[name, object] : params)
    paramList.push_back(std::move(object));
  if (auto attr = module->getAttrOfType<DenseI64ArrayAttr>("tessera.eos"))
    eos = numbers(attr.asArrayRef());
  auto generate = module->getAttrOfType<graph::GenerateAttr>(graph::kGenerateAttr);
  json::Value generateJson = nullptr;
  if (generate)
    generateJson = json::Object{{"batch", generate.getBatch()},
                                {"chunk", generate.getChunk()},
                                {"max_seq_len", generate.getMaxSeqLen()},
                                {"vocab", generate.getVocab()},
                                {"eos", std::move(eos)}};
  if (generate && generate.getRewind() >= 0)
    (*generateJson.getAsObject())["rewind"] = generate.getRewind();
  json::Value trainJson = nullptr;
  auto train = module->getAttrOfType<graph::TrainAttr>(graph::kTrainAttr);
  if (train) {
    json::Object fields{{"batch", train.getBatch()},
                        {"seq", train.getSeq()},
                        {"micro_batches", train.getMicroBatches()},
                        {"vocab", train.getVocab()}};
    if (FloatAttr scale = train.getLossScale())
      fields["loss_scale"] = scale.getValueAsDouble();
    if (int64_t flops = train.getFlopsPerToken())
      fields["flops_per_token"] = flops;
    if (StringAttr state = train.getGradientState())
      fields["gradient_state"] = state.getValue();
    trainJson = std::move(fields);
  }
  json::Object document{{"version", 2},
                        {"task", stringAttr("tessera.task", generate ? "generate"
                                                            : train  ? "train"
                                                                     : "")},
                        {"dtype", stringAttr("tessera.dtype", "")},
                        {"target", target.driver},
                        {"model", stringAttr("tessera.model", "")},
                        {"architecture", stringAttr("graph.architecture", "")},
                        {target.driver, std::move(target.facts)},
                        {"generate", std::move(generateJson)},
                        {"train", std::move(trainJson)},
                        {"mesh", std::move(meshJson)},
                        {"arena_bytes", intAttr(kArenaAttr, 0)},
                        {"memory", arenaJson()},
                        {"saved", savedJson()},
                        {"params", std::move(paramList)},
                        {"states", std::move(stateList)},
                        {"matmuls", json::Array(matmuls)},
                        {"groups", json::Array(groups)},
                        {"collectives", json::Array(collectives)},
                        {"entries", json::Array(entries)}};
  // One stream, which computes, and no events need no word.
  if (auto streams = module->getAttrOfType<ArrayAttr>(kStreamsAttr)) {
    json::Array kinds;
    for (auto kind : streams.getAsRange<StringAttr>())
      kinds.push_back(kind.getValue().str());
    document["streams"] = std::move(kinds);
  }
  if (events > 0)
    document["events"] = events;
  if (auto slots = module->getAttrOfType<DenseI64ArrayAttr>(kSlotBytesAttr)) {
    json::Object bytes;
    for (auto [number, size] : llvm::enumerate(slots.asArrayRef()))
      if (size > 0)
        bytes[graph::stringifySlot(graph::Slot(number))] = size;
    document["slot_bytes"] = std::move(bytes);
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(document));
  return text;
}

} // namespace tessera::exec
