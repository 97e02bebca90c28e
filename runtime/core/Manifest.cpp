#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Sends.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera::runtime {

using Json = nlohmann::json;

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::string toString(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

static constexpr std::pair<CollectiveKind, const char *> kindNames[] = {
    {CollectiveKind::AllReduce, "all_reduce"},
    {CollectiveKind::AllGather, "all_gather"},
    {CollectiveKind::ReduceScatter, "reduce_scatter"},
    {CollectiveKind::AllToAll, "all_to_all"},
    {CollectiveKind::CollectivePermute, "collective_permute"},
    {CollectiveKind::GroupedSend, "grouped_send"}};

const char *kindName(CollectiveKind kind) {
  for (auto &[value, name] : kindNames)
    if (value == kind)
      return name;
  return "";
}

const BufferSpec *EntrySpec::input(std::string_view name) const {
  for (const BufferSpec &buffer : inputs)
    if (buffer.name == name)
      return &buffer;
  return nullptr;
}

const BufferSpec *EntrySpec::output(std::string_view name) const {
  for (const BufferSpec &buffer : outputs)
    if (buffer.name == name)
      return &buffer;
  return nullptr;
}

void EntrySpec::checkCounts(const std::vector<int64_t> &values) const {
  if (values.size() != counts.size())
    throw Error("cannot call entry " + name, std::to_string(values.size()) + " counts",
                "it takes " + std::to_string(counts.size()), "give one for each of its \"counts\" in the manifest");
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] < counts[i].least || values[i] > counts[i].most)
      throw Error("cannot call entry " + name, "count " + std::to_string(i),
                  std::to_string(values[i]) + " is outside [" + std::to_string(counts[i].least) + ", " +
                      std::to_string(counts[i].most) + "]",
                  "stay within what was compiled");
}

int64_t Manifest::entryIndex(std::string_view name) const {
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].name == name)
      return i;
  return -1;
}

[[noreturn]] static void damaged(const std::string &where, const std::string &why) {
  throw Error("cannot read the program's manifest", where, why,
              "compile the program again with this version of llm-compile");
}

// Structural mistakes that later code must not meet; `where` names the entry.
namespace {
struct Checker {
  const Manifest &m;

  void require(bool ok, const std::string &where, const std::string &why) const {
    if (!ok)
      damaged(where, why);
  }
  void axes(const AxisList &axes, const std::string &where) const {
    for (const SubAxis &axis : axes)
      require(m.mesh.has(axis), where, "axis " + axis.axis + " does not fit the mesh " + m.mesh.describe());
  }
  void shards(const Shape &shape, const Shape &local, const Sharding &sharding,
              const std::string &where) const {
    require(shape.size() == local.size() && shape.size() == sharding.size(), where,
            "shape, local and sharding differ in rank");
    for (size_t i = 0; i < shape.size(); ++i) {
      axes(sharding[i], where);
      require(shape[i] >= 0 && local[i] >= 0 && local[i] * shardCount(sharding[i]) >= shape[i], where,
              "shards of " + toString(local) + " do not cover " + toString(shape));
    }
  }
  void buffer(const BufferSpec &b, const std::string &where) const {
    shards(b.shape, b.local, b.sharding, where);
    require(b.bytes >= io::bytesOf(b.dtype, elementCount(b.local)), where, "holds fewer bytes than its elements have");
    require(b.offset >= 0 && b.bytes >= 0 && b.offset <= m.arenaBytes - b.bytes, where,
            "lies outside the arena");
  }
  void param(const ParamSpec &p) const {
    std::string where = "parameter " + p.name;
    shards(p.shape, p.local, p.sharding, where);
    axes(p.layerSharding, where);
    require(io::traits(p.dtype).narrow, where, std::string("no weights can be held as ") + io::traits(p.dtype).name);
    require(!p.packOutDims || io::traits(p.dtype).pack, where, std::string("there is no packed form of ") + io::traits(p.dtype).name);
    require(p.layers >= 0, where, "a negative number of layers");
    require(!p.packOutDims || (*p.packOutDims >= 0 && *p.packOutDims <= int64_t(p.shape.size())), where,
            "out_dims is out of range");
    int64_t rowElements = p.shape.empty() ? 1 : elementCount(Shape(p.shape.begin() + 1, p.shape.end()));
    int64_t total = 0;
    for (const ParamSource &s : p.sources) {
      require(s.slice.size() == s.reshape.size() && s.permute.size() == s.reshape.size(), where,
              "slice, permute and reshape differ in rank");
      require(elementCount(s.shape) == elementCount(s.reshape), where,
              "reshape changes the number of elements");
      std::vector<bool> seen(s.permute.size());
      int64_t count = 1;
      for (size_t i = 0; i < s.slice.size(); ++i) {
        auto [begin, end] = s.slice[i];
        require(0 <= begin && begin <= end && end <= s.reshape[i], where, "slice is out of range");
        count *= end - begin;
        int64_t to = s.permute[i];
        require(to >= 0 && to < int64_t(seen.size()) && !seen[to], where, "permute is no permutation");
        seen[to] = true;
      }
      require(rowElements > 0 && count % rowElements == 0, where, "a source does not fill whole rows");
      total += count;
    }
    require(total == elementCount(p.shape), where, "the sources do not fill the shape");
  }
  void collective(const CollectiveSpec &c, size_t id) const {
    std::string where = "collective " + std::to_string(id) + " " + kindName(c.kind);
    require(c.group >= 0 && c.group < int64_t(m.groups.size()), where, "no such group");
    int64_t size = shardCount(m.groups[c.group]), rank = c.shape.size();
    bool usesDim = c.kind == CollectiveKind::AllGather || c.kind == CollectiveKind::ReduceScatter ||
                   c.kind == CollectiveKind::AllToAll;
    require(!usesDim || (c.dim >= 0 && c.dim < rank), where, "dim is out of range");
    bool splits = c.kind == CollectiveKind::ReduceScatter || c.kind == CollectiveKind::AllToAll;
    require(!splits || c.shape[c.dim] % size == 0, where, "dim does not divide by the group");
    require(c.kind != CollectiveKind::AllToAll || (c.dim2 >= 0 && c.dim2 < rank), where,
            "dim2 is out of range");
    std::vector<bool> receives(size), sends(size);
    for (auto [from, to] : c.pairs) {
      require(from >= 0 && from < size && to >= 0 && to < size && !receives[to] && !sends[from], where,
              "pairs are no partial permutation");
      receives[to] = sends[from] = true;
    }
    if (c.kind == CollectiveKind::GroupedSend)
      layouts(c, where);
  }
  // Both layouts are of one tensor, and whoever sends is in the group of its receiver.
  void layouts(const CollectiveSpec &c, const std::string &where) const {
    shards(c.global, c.shape, c.from, where);
    require(c.to.size() == c.global.size(), where, "global and to differ in rank");
    for (const AxisList &dim : c.to)
      axes(dim, where);
    require(c.shape == localShape(c.global, c.from), where, "shape is none of a shard of global");
    for (int64_t rank = 0; rank < m.mesh.size(); ++rank) {
      std::vector<int64_t> group = m.mesh.group(rank, m.groups[c.group]);
      for (const SentBox &box : boxesReceived(m.mesh, c, rank))
        require(std::find(group.begin(), group.end(), box.sender) != group.end(), where, "a box comes from outside the group");
    }
  }
  void all() const {
    require(m.arenaBytes >= 0 && m.batch > 0 && m.mesh.size() > 0, "top level", "a size is not positive");
    for (const AxisList &group : m.groups)
      axes(group, "groups");
    for (const ParamSpec &p : m.params)
      param(p);
    for (const BufferSpec &s : m.states)
      buffer(s, "state " + s.name);
    for (size_t i = 0; i < m.matmuls.size(); ++i) {
      const MatmulSpec &mm = m.matmuls[i];
      std::string where = "matmul " + std::to_string(i);
      require(mm.m >= 0 && mm.n >= 0 && mm.k >= 0 && mm.param < int64_t(m.params.size()), where,
              "out of range");
      require(mm.param < 0 || m.params[mm.param].packOutDims, where, "its parameter is not packed");
      if (mm.param >= 0) {
        const ParamSpec &p = m.params[mm.param];
        int64_t n = elementCount(Shape(p.local.begin(), p.local.begin() + *p.packOutDims));
        require(mm.n == n && mm.n * mm.k == elementCount(p.local), where, "does not fit parameter " + p.name);
      }
    }
    for (size_t i = 0; i < m.collectives.size(); ++i)
      collective(m.collectives[i], i);
    for (const EntrySpec &e : m.entries) {
      for (const CountSpec &c : e.counts)
        require(c.least >= 0 && c.least <= c.most, "entry " + e.name, "a count has no values between its bounds");
      for (const BufferSpec &b : e.inputs)
        buffer(b, "entry " + e.name + ", input " + b.name);
      for (const BufferSpec &b : e.outputs)
        buffer(b, "entry " + e.name + ", output " + b.name);
      for (auto [id, executions] : e.collectives)
        require(id >= 0 && id < int64_t(m.collectives.size()) && executions >= 0, "entry " + e.name,
                "names a collective that does not exist");
    }
  }
};
} // namespace

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

static io::DType readDType(const Json &json, const std::string &where) {
  std::string name = json.at("dtype");
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

static BufferSpec readBuffer(const Json &json) {
  BufferSpec buffer;
  buffer.name = json.at("name");
  buffer.dtype = readDType(json, buffer.name);
  buffer.shape = json.at("shape").get<Shape>();
  buffer.local = json.at("local").get<Shape>();
  buffer.sharding = readSharding(json.at("sharding"));
  buffer.offset = json.at("offset");
  buffer.bytes = json.value("bytes", io::bytesOf(buffer.dtype, elementCount(buffer.local)));
  return buffer;
}

static ParamSpec readParam(const Json &json) {
  ParamSpec param;
  param.name = json.at("name");
  param.dtype = readDType(json, "parameter " + param.name);
  param.layers = json.value("layers", int64_t(0));
  param.shape = json.at("shape").get<Shape>();
  param.local = json.at("local").get<Shape>();
  param.sharding = readSharding(json.at("sharding"));
  if (json.contains("layer_sharding"))
    param.layerSharding = readAxes(json.at("layer_sharding"));
  for (const Json &source : json.at("sources")) {
    ParamSource s;
    s.name = source.at("name");
    s.shape = source.at("shape").get<Shape>();
    s.reshape = source.value("reshape", s.shape);
    if (source.contains("slice"))
      s.slice = readPairs(source.at("slice"));
    else
      for (int64_t size : s.reshape)
        s.slice.emplace_back(0, size);
    if (source.contains("permute"))
      s.permute = source.at("permute").get<std::vector<int64_t>>();
    else
      for (size_t i = 0; i < s.reshape.size(); ++i)
        s.permute.push_back(i);
    param.sources.push_back(std::move(s));
  }
  if (json.contains("pack") && !json.at("pack").is_null())
    param.packOutDims = json.at("pack").at("out_dims").get<int64_t>();
  return param;
}

static CollectiveSpec readCollective(const Json &json) {
  CollectiveSpec c;
  std::string kind = json.at("kind"), op = json.value("op", "sum");
  bool known = false;
  for (auto &[value, name] : kindNames)
    if (kind == name)
      c.kind = value, known = true;
  if (!known || (op != "sum" && op != "max"))
    damaged("collectives", "unknown kind or op: " + kind + ", " + op);
  c.op = op == "max" ? ReduceOp::Max : ReduceOp::Sum;
  c.type = readDType(json, "collectives");
  bool reduces = c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::ReduceScatter;
  if (reduces && !io::traits(c.type).reduce)
    damaged("collectives", std::string("there are no sums of ") + io::traits(c.type).name);
  c.group = json.at("group");
  c.shape = json.at("shape").get<Shape>();
  c.dim = json.value("dim", int64_t(0));
  c.dim2 = json.value("dim2", int64_t(0));
  if (json.contains("pairs"))
    c.pairs = readPairs(json.at("pairs"));
  if (c.kind == CollectiveKind::GroupedSend) {
    c.global = json.at("global").get<Shape>();
    c.from = readSharding(json.at("from"));
    c.to = readSharding(json.at("to"));
  }
  c.why = json.value("why", "");
  return c;
}

static EntrySpec readEntry(const Json &json) {
  EntrySpec entry;
  entry.name = json.at("name");
  for (const Json &count : json.value("counts", Json::array()))
    entry.counts.push_back({count.at(0).get<int64_t>(), count.at(1).get<int64_t>()});
  for (const Json &input : json.at("inputs"))
    entry.inputs.push_back(readBuffer(input));
  for (const Json &output : json.at("outputs"))
    entry.outputs.push_back(readBuffer(output));
  for (const Json &use : json.value("collectives", Json::array()))
    entry.collectives.emplace_back(use.at("id").get<int64_t>(), use.at("executions").get<int64_t>());
  if (auto flops = json.find("padding_flops"); flops != json.end()) {
    entry.paddingFlops = flops->at(0).get<int64_t>();
    entry.flops = flops->at(1).get<int64_t>();
  }
  return entry;
}

Manifest Manifest::parse(std::string_view text) {
  Manifest m;
  try {
    Json json = Json::parse(text);
    if (json.at("version") != 1)
      damaged("version", "is not 1");
    m.task = json.at("task");
    m.dtype = json.at("dtype");
    m.target = json.at("target");
    m.model = json.at("model");
    m.architecture = json.value("architecture", "");
    if (json.contains("cpu")) {
      m.cpuName = json.at("cpu").value("name", "");
      m.cpuFeatures = json.at("cpu").value("features", std::vector<std::string>());
    }
    m.batch = json.value("batch", int64_t(1));
    m.maxSeqLen = json.value("max_seq_len", int64_t(0));
    m.chunk = json.value("chunk", int64_t(0));
    m.vocab = json.value("vocab", int64_t(0));
    m.eos = json.value("eos", std::vector<int64_t>());
    std::vector<MeshAxis> axes;
    for (const Json &axis : json.at("mesh"))
      axes.push_back({axis.at(0).get<std::string>(), axis.at(1).get<int64_t>()});
    for (const MeshAxis &axis : axes)
      if (axis.size < 1)
        damaged("mesh", "axis " + axis.name + " is smaller than 1");
    m.mesh = Mesh(std::move(axes));
    m.arenaBytes = json.at("arena_bytes");
    for (const Json &param : json.at("params"))
      m.params.push_back(readParam(param));
    for (const Json &state : json.at("states"))
      m.states.push_back(readBuffer(state));
    for (const Json &mm : json.at("matmuls"))
      m.matmuls.push_back({mm.at("m"), mm.at("n"), mm.at("k"), mm.value("param", int64_t(-1))});
    for (const Json &group : json.at("groups"))
      m.groups.push_back(readAxes(group));
    for (const Json &collective : json.at("collectives"))
      m.collectives.push_back(readCollective(collective));
    for (const Json &entry : json.at("entries"))
      m.entries.push_back(readEntry(entry));
  } catch (const Json::exception &e) {
    damaged("manifest", e.what());
  }
  Checker{m}.all();
  return m;
}

} // namespace tessera::runtime
