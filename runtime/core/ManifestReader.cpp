// The manifest's JSON to data. Every field that stands there is read, here and nowhere else.
#include "CallReader.h"
#include "ManifestCheck.h"
#include "ManifestNames.h"
#include "tessera/runtime/core/Fields.h"

#include <algorithm>

namespace tessera::runtime {

// The value called `text` in `names`, an error that says `what` otherwise.
template <typename Value, size_t N>
static Value byName(const std::pair<Value, const char *> (&names)[N], const std::string &text,
                    const std::string &where) {
  for (auto &[value, name] : names)
    if (text == name)
      return value;
  damaged(where, "\"" + text + "\" is not known");
}

static AxisList readAxes(const Json &json) {
  AxisList axes;
  for (const Json &axis : json)
    axes.push_back({axis.at(0).get<std::string>(), axis.at(1).get<int64_t>(), axis.at(2).get<int64_t>()});
  return axes;
}

static Sharding readSharding(const Json &json) {
  Sharding sharding;
  for (const Json &dim : json)
    sharding.push_back(readAxes(dim));
  return sharding;
}

static io::DType readDType(Fields &fields, const std::string &where, const char *field = "dtype",
                           bool maybeBlocks = false) {
  std::string name = fields[field];
  if (std::optional<io::DType> type = io::weightTypeFromFileName(name);
      maybeBlocks && type && io::isQuantized(*type))
    return *type;
  if (std::optional<io::DType> type = io::dtypeFromName(name))
    return *type;
  damaged(where, "dtype " + name + " is not supported");
}

static std::vector<std::pair<int64_t, int64_t>> readPairs(const Json &json) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const Json &pair : json)
    pairs.emplace_back(pair.at(0).get<int64_t>(), pair.at(1).get<int64_t>());
  return pairs;
}

// The fields that states, inputs and outputs share, into `buffer`. States may be in blocks.
static void readBuffer(Fields &fields, BufferSpec &buffer, bool maybeBlocks = false) {
  buffer.name = fields.get<std::string>("name");
  buffer.dtype = readDType(fields, buffer.name, "dtype", maybeBlocks);
  buffer.shape = fields["shape"].get<Shape>();
  buffer.local = fields["local"].get<Shape>();
  buffer.sharding = readSharding(fields["sharding"]);
  buffer.offset = fields["offset"];
  buffer.bytes = fields.get("bytes", io::bytesOf(buffer.dtype, elementCount(buffer.local)));
}

const char *slotName(Slot slot) {
  static constexpr const char *names[kSlots] = {"whole", "until_input_gradient", "from_input_gradient"};
  return names[size_t(slot)];
}

static StateSpec readState(const Json &json) {
  Fields fields(json, "states");
  StateSpec state;
  readBuffer(fields, state, /*maybeBlocks=*/true);
  state.clear = byName(clearNames, fields["clear"], "state " + state.name);
  if (const Json *fill = fields.find("fill"))
    state.fill = byName(fillNames, *fill, "state " + state.name);
  state.holds = fields.get<std::string>("holds", "");
  const Shape &local = state.local;
  if (io::isQuantized(state.dtype) &&
      (state.fill != Fill::Caller || local.empty() || state.shape.size() != local.size() ||
       local.back() % io::blockElements(state.dtype) != 0 || state.shape.back() != local.back()))
    damaged("state " + state.name, "is in blocks that its rows are not made of");
  fields.checkAllRead();
  return state;
}

static InputSpec readInput(const Json &json, const std::string &where) {
  Fields fields(json, where + ", inputs");
  InputSpec input;
  readBuffer(fields, input);
  if (const Json *fill = fields.find("fill")) {
    if (fill->is_string()) {
      input.fill = byName(fillNames, *fill, where + ", input " + input.name);
    } else {
      Fields from(*fill, where + ", input " + input.name);
      input.fill = Fill::Output;
      input.entry = from["entry"];
      input.output = from["output"];
      from.checkAllRead();
    }
  }
  fields.checkAllRead();
  return input;
}

static OutputSpec readOutput(const Json &json, const std::string &where) {
  Fields fields(json, where + ", outputs");
  OutputSpec output;
  readBuffer(fields, output);
  if (const Json *gives = fields.find("gives"))
    output.gives = byName(givesNames, *gives, where + ", output " + output.name);
  fields.checkAllRead();
  return output;
}

static ParamSource readSource(const Json &json, const std::string &where) {
  Fields fields(json, where);
  ParamSource source;
  source.name = fields.get<std::string>("name");
  source.shape = fields["shape"].get<Shape>();
  source.reshape = fields.get("reshape", source.shape);
  if (const Json *slice = fields.find("slice"))
    source.slice = readPairs(*slice);
  else
    for (int64_t size : source.reshape)
      source.slice.emplace_back(0, size);
  if (const Json *permute = fields.find("permute"))
    source.permute = permute->get<std::vector<int64_t>>();
  else
    for (size_t i = 0; i < source.reshape.size(); ++i)
      source.permute.push_back(i);
  fields.checkAllRead();
  return source;
}

static ParamSpec readParam(const Json &json) {
  Fields fields(json, "params");
  ParamSpec param;
  param.name = fields.get<std::string>("name");
  std::string where = "parameter " + param.name;
  param.dtype = readDType(fields, where);
  param.layers = fields.get("layers", int64_t(0));
  param.shape = fields["shape"].get<Shape>();
  param.local = fields["local"].get<Shape>();
  param.sharding = readSharding(fields["sharding"]);
  if (const Json *axes = fields.find("layer_sharding"))
    param.layerSharding = readAxes(*axes);
  for (const Json &source : fields["sources"])
    param.sources.push_back(readSource(source, where));
  if (const Json *pack = fields.find("pack")) {
    Fields form(*pack, where);
    param.packOutDims = form["out_dims"].get<int64_t>();
    form.checkAllRead();
  }
  for (const Json &held : fields.get("held", Json::array()))
    param.held.push_back(io::weightTypeFromFileName(held.get<std::string>()).value_or(io::DType::Bool));
  param.variable = fields.get("variable", false);
  param.layerBytes = fields.get("layer_bytes", int64_t(0));
  param.mean = fields.get("mean", 0.0);
  param.deviation = fields.get("deviation", param.deviation);
  param.state = fields.get<std::string>("state", "");
  param.of = fields.get("of", int64_t(-1));
  fields.checkAllRead();
  return param;
}

static MatmulSpec readMatmul(const Json &json) {
  Fields fields(json, "matmuls");
  MatmulSpec spec{fields["m"], fields["n"], fields["k"], fields.get("param", int64_t(-1))};
  spec.x = readDType(fields, "matmuls", "x");
  spec.w = readDType(fields, "matmuls", "w");
  spec.y = readDType(fields, "matmuls", "y");
  if (readDType(fields, "matmuls", "sum") != MatmulSpec::sum)
    damaged("matmuls", "adds up in " + fields.get<std::string>("sum") + "; only " +
                           io::traits(MatmulSpec::sum).name + " is supported");
  spec.xTransposed = fields.get("x_transposed", false);
  spec.wTransposed = fields.get("w_transposed", false);
  spec.bias = fields.get("bias", false);
  spec.addend = fields.get("addend", false);
  std::string name = fields.get<std::string>("function", productFunctionName(ProductFunction::None));
  std::optional<ProductFunction> function = productFunctionFromName(name);
  if (!function)
    damaged("matmuls", "has the function \"" + name + "\", which no product computes");
  spec.function = *function;
  spec.groups = fields.get("groups", int64_t(0));
  spec.pieces = fields.get("pieces", Shape());
  fields.checkAllRead();
  return spec;
}

static CollectiveSpec readCollective(const Json &json) {
  Fields fields(json, "collectives");
  CollectiveSpec c;
  std::string kind = fields["kind"], op = fields.get<std::string>("op", "none");
  std::optional<CollectiveKind> knownKind = collectiveFromName(kind);
  std::optional<Reduction> knownOp = reductionFromName(op);
  if (!knownKind || !knownOp)
    damaged("collectives", "unknown kind or op: " + kind + ", " + op);
  c.kind = *knownKind;
  c.op = *knownOp;
  c.type = readDType(fields, "collectives");
  c.group = fields["group"];
  c.elements = fields["elements"];
  c.rows = fields.get<int64_t>("rows", 1);
  c.cut = fields.get<int64_t>("cut", 0);
  if (const Json *width = fields.find("width")) {
    c.width = width->get<int64_t>();
    if (c.width < 1)
      damaged("collectives", "a row has " + std::to_string(c.width) + " elements");
    c.received = fields["received"];
    c.evenMoved = fields["even_moved"];
    c.mostMoved = fields["most_moved"];
  }
  if (c.kind == CollectiveKind::GroupedSend) {
    c.global = fields["global"].get<Shape>();
    if (const Json *at = fields.find("at")) {
      c.at = at->get<Shape>();
      c.size = fields["size"].get<Shape>();
    }
    c.mostMoved = fields["most_moved"];
  }
  if (const Json *mirrored = fields.find("mirrored")) {
    c.mirrored = readAxes(*mirrored);
  } else if (c.kind == CollectiveKind::GroupedSend || c.kind == CollectiveKind::CollectivePermute) {
    c.from = readSharding(fields["from"]);
    c.to = readSharding(fields["to"]);
  }
  c.why = fields.get<std::string>("why", "");
  fields.checkAllRead();
  return c;
}

static EntrySpec readEntry(const Json &json) {
  Fields fields(json, "entries");
  EntrySpec entry;
  entry.name = fields.get<std::string>("name");
  std::string where = "entry " + entry.name;
  if (const Json *role = fields.find("role"))
    entry.role = byName(roleNames, *role, where);
  if (const Json *part = fields.find("stage_part"))
    entry.part = byName(partNames, *part, where);
  if (const Json *counts = fields.find("counts"))
    for (auto [least, most] : readPairs(*counts))
      entry.counts.push_back({least, most});
  for (const Json &input : fields["inputs"])
    entry.inputs.push_back(readInput(input, where));
  for (const Json &output : fields["outputs"])
    entry.outputs.push_back(readOutput(output, where));
  if (const Json *states = fields.find("states")) {
    Fields uses(*states, where + ", states");
    entry.statesRead = uses["reads"].get<std::vector<int64_t>>();
    entry.statesWritten = uses["writes"].get<std::vector<int64_t>>();
    uses.checkAllRead();
  }
  if (const Json *params = fields.find("params")) {
    Fields uses(*params, where + ", params");
    entry.paramsRead = uses["reads"].get<std::vector<int64_t>>();
    entry.paramsUpdated = uses["updates"].get<std::vector<int64_t>>();
    uses.checkAllRead();
  }
  if (const Json *collectives = fields.find("collectives"))
    for (const Json &use : *collectives) {
      Fields one(use, where + ", collectives");
      entry.collectives.emplace_back(one["id"].get<int64_t>(), one["executions"].get<int64_t>());
      one.checkAllRead();
    }
  if (const Json *calls = fields.find("calls"))
    entry.calls = readCalls(*calls, where + ", calls");
  if (const Json *flops = fields.find("padding_flops")) {
    entry.paddingFlops = flops->at(0).get<int64_t>();
    entry.flops = flops->at(1).get<int64_t>();
  }
  fields.checkAllRead();
  return entry;
}

// The whole entry with `role`, which must be the only one; -1 if there is none.
static int64_t onlyEntry(const std::vector<EntrySpec> &entries, Role role) {
  int64_t found = -1;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].role == role && entries[i].part == StagePart::Whole) {
      if (found >= 0)
        damaged("entry " + entries[i].name, "has the role of entry " + entries[found].name);
      found = int64_t(i);
    }
  return found;
}

// The same of entries that stages of a pipeline have for their part of the role.
static int64_t onlyEntryOrPart(const std::vector<EntrySpec> &entries, Role role) {
  int64_t whole = onlyEntry(entries, role);
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].role == role && entries[i].part == StagePart::Forward) {
      if (whole >= 0)
        damaged("entry " + entries[i].name, "has the role of entry " + entries[whole].name);
      whole = int64_t(i);
    }
  return whole;
}

// Those that take prompts, by the positions that they take.
static std::vector<GenerateSpec::Prompt> readPrompts(const std::vector<EntrySpec> &entries, int64_t chunk) {
  std::vector<GenerateSpec::Prompt> prompts;
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].role == Role::Prompt) {
      const InputSpec *ids = entries[i].input(Fill::TokenIds);
      const bool isSized = ids && ids->shape.size() == 2 && entries[i].part == StagePart::Whole;
      prompts.push_back({isSized ? ids->shape[1] : chunk, int64_t(i)});
    }
  std::sort(prompts.begin(), prompts.end(), [](const GenerateSpec::Prompt &a, const GenerateSpec::Prompt &b) {
    return a.positions < b.positions;
  });
  for (size_t i = 0; i + 1 < prompts.size(); ++i)
    if (prompts[i].positions == prompts[i + 1].positions)
      damaged("entry " + entries[prompts[i + 1].entry].name,
              "has the role of entry " + entries[prompts[i].entry].name);
  return prompts;
}

// The state that `fill` fills, which must be the only one; -1 if there is none.
static int64_t onlyState(const std::vector<StateSpec> &states, Fill fill) {
  int64_t found = -1;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].fill == fill) {
      if (found >= 0)
        damaged("state " + states[i].name, "is filled as state " + states[found].name + " is");
      found = int64_t(i);
    }
  return found;
}

static GenerateSpec readGenerate(const Json &json, const std::vector<EntrySpec> &entries,
                                 const std::vector<StateSpec> &states) {
  Fields fields(json, "generate");
  GenerateSpec g;
  g.batch = fields["batch"];
  g.chunk = fields["chunk"];
  g.maxSeqLen = fields["max_seq_len"];
  g.vocab = fields["vocab"];
  g.eos = fields.get("eos", std::vector<int64_t>());
  if (const Json *rewind = fields.find("rewind"))
    g.rewind = rewind->get<int64_t>();
  g.prompts = readPrompts(entries, g.chunk);
  g.prompt = g.prompts.empty() ? -1 : g.prompts.back().entry;
  g.next = onlyEntryOrPart(entries, Role::Next);
  g.logits = onlyEntry(entries, Role::Logits);
  g.draw = onlyEntry(entries, Role::Draw);
  g.tokenState = onlyState(states, Fill::TokenIds);
  g.positionState = onlyState(states, Fill::Positions);
  fields.checkAllRead();
  return g;
}

static TrainSpec readTrain(const Json &json, const std::vector<EntrySpec> &entries) {
  Fields fields(json, "train");
  TrainSpec t;
  t.batch = fields["batch"];
  t.seq = fields["seq"];
  t.microBatches = fields["micro_batches"];
  t.vocab = fields["vocab"];
  if (const Json *scale = fields.find("loss_scale"))
    t.lossScale = scale->get<double>();
  t.flopsPerToken = fields.get("flops_per_token", int64_t(0));
  t.gradientState = fields.get<std::string>("gradient_state", "");
  t.train = onlyEntry(entries, Role::Train);
  t.evaluate = onlyEntry(entries, Role::Evaluate);
  t.trainDropout = onlyEntry(entries, Role::TrainDropout);
  fields.checkAllRead();
  return t;
}

static PipelineSpec readPipeline(const Json &json) {
  Fields fields(json, "pipeline");
  PipelineSpec p;
  p.axis = fields.get<std::string>("axis");
  for (const Json &stage : fields["stages"]) {
    Fields one(stage, "pipeline, stages");
    p.stages.push_back({one["program"], one["first_layer"], one["layers"], one["at"]});
    one.checkAllRead();
  }
  p.schedule = fields.get<std::string>("schedule");
  p.lists = fields["lists"].get<std::vector<std::string>>();
  p.sendBuffers = fields["send_buffers"];
  for (const Json &shared : fields["shared"]) {
    Fields one(shared, "pipeline, shared");
    PipelineSpec::Shared weight{one.get<std::string>("parameter"), {0, 0}};
    auto stages = one["stages"].get<std::vector<int64_t>>();
    if (stages.size() != 2)
      damaged("pipeline, shared", std::to_string(stages.size()) + " stages have " + weight.parameter +
                                      "; only two can share a parameter");
    std::copy(stages.begin(), stages.end(), weight.stages);
    p.shared.push_back(std::move(weight));
    one.checkAllRead();
  }
  if (const Json *groups = fields.find("groups"))
    p.groups = *groups;
  if (const Json *times = fields.find("times"))
    p.times = times->get<std::map<std::string, std::vector<double>>>();
  fields.checkAllRead();
  return p;
}

static SavedSpec readSaved(const Json &json) {
  Fields fields(json, "saved");
  SavedSpec s;
  s.value = fields.get<std::string>("value");
  s.dtype = fields.get<std::string>("dtype");
  s.shape = fields.get<Shape>("shape");
  s.bytes = fields["bytes"];
  fields.checkAllRead();
  return s;
}

static StreamKind readStream(const Json &json) {
  auto kind = json.get<std::string>();
  if (kind != "compute" && kind != "communication")
    damaged("streams", "has an unknown kind of stream, \"" + kind + "\"");
  return kind == "compute" ? StreamKind::Compute : StreamKind::Communication;
}

static void readTop(const Json &json, Manifest &m) {
  Fields fields(json, "top level");
  if (fields["version"] != 2)
    damaged("version", "is not 2");
  m.task = fields.get<std::string>("task");
  m.dtype = fields.get<std::string>("dtype");
  m.target = fields.get<std::string>("target");
  m.model = fields.get<std::string>("model");
  m.architecture = fields.get<std::string>("architecture", "");
  if (const Json *section = fields.find(m.target.c_str()))
    m.section = section->dump();
  std::vector<MeshAxis> axes;
  for (const Json &axis : fields["mesh"])
    axes.push_back({axis.at(0).get<std::string>(), axis.at(1).get<int64_t>()});
  for (const MeshAxis &axis : axes)
    if (axis.size < 1)
      damaged("mesh", "axis " + axis.name + " is smaller than 1");
  m.mesh = Mesh(std::move(axes));
  if (const Json *streams = fields.find("streams")) {
    m.streams.clear();
    for (const Json &stream : *streams)
      m.streams.push_back(readStream(stream));
  }
  m.events = fields.get<int64_t>("events", 0);
  m.arenaBytes = fields["arena_bytes"];
  if (const Json *slots = fields.find("slot_bytes")) {
    Fields bytes(*slots, "slot_bytes");
    for (int slot = 0; slot < kSlots; ++slot)
      m.slotBytes[size_t(slot)] = bytes.get<int64_t>(slotName(Slot(slot)), 0);
    bytes.checkAllRead();
  }
  if (const Json *memory = fields.find("memory"))
    m.memory = memory->get<std::map<std::string, std::map<std::string, int64_t>>>();
  if (const Json *saved = fields.find("saved"))
    for (const Json &value : *saved)
      m.saved.push_back(readSaved(value));
  for (const Json &param : fields["params"])
    m.params.push_back(readParam(param));
  for (const Json &state : fields["states"])
    m.states.push_back(readState(state));
  for (const Json &matmul : fields["matmuls"])
    m.matmuls.push_back(readMatmul(matmul));
  for (const Json &group : fields["groups"])
    m.groups.push_back(readAxes(group));
  for (const Json &collective : fields["collectives"])
    m.collectives.push_back(readCollective(collective));
  for (const Json &entry : fields["entries"])
    m.entries.push_back(readEntry(entry));
  if (const Json *generate = fields.find("generate"))
    m.generate = readGenerate(*generate, m.entries, m.states);
  if (const Json *train = fields.find("train"))
    m.train = readTrain(*train, m.entries);
  if (const Json *pipeline = fields.find("pipeline"))
    m.pipeline = readPipeline(*pipeline);
  fields.checkAllRead();
}

Manifest Manifest::parse(std::string_view text) {
  Manifest m;
  try {
    readTop(Json::parse(text), m);
  } catch (const Json::exception &e) {
    damaged("manifest", e.what());
  }
  checkManifest(m);
  return m;
}

} // namespace tessera::runtime
