//===- MeshSpec.cpp - What --mesh and --shard say -------------------------===//
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"

#include "tessera/Analysis/Sharding/Sharding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tessera;
using namespace tessera::dist;
using llvm::StringRef;

static std::string inQuotes(StringRef text) { return ("'" + text + "'").str(); }

static bool isName(StringRef text) {
  return !text.empty() && (llvm::isAlpha(text[0]) || text[0] == '_') &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.'; });
}

/// Nonempty parts of `text` between `separator`; none, and an error, if one is empty.
static std::optional<llvm::SmallVector<StringRef>> parts(StringRef text, char separator, StringRef option,
                                                         std::string &error) {
  llvm::SmallVector<StringRef> list;
  if (text.trim().empty())
    return list;
  text.split(list, separator);
  for (StringRef &part : list)
    part = part.trim();
  // Named by its neighbour: whoever reads this has been told the flag with all of its text.
  for (auto [at, part] : llvm::enumerate(list))
    if (part.empty()) {
      const std::string where = at ? "behind " + inQuotes(list[at - 1]) : "at the beginning";
      error = "empty item (" + where + " in " + option.str() + "): nothing stands there; remove the '" +
              separator + "'";
      return std::nullopt;
    }
  return list;
}

std::optional<Mesh> tessera::dist::parseMeshSpec(StringRef text, std::string &error) {
  Mesh mesh;
  auto items = parts(text, ',', "--mesh", error);
  if (!items)
    return std::nullopt;
  int64_t ranks = 1;
  for (StringRef item : *items) {
    auto [name, number] = item.split('=');
    name = name.trim();
    number = number.trim();
    int64_t size;
    if (!item.contains('=') || !isName(name) || number.empty() ||
        !llvm::all_of(number, [](char c) { return llvm::isDigit(c) || c == '-'; })) {
      error = "malformed mesh axis (" + inQuotes(item) + "): it is no NAME=SIZE; try --mesh=dp=2,tp=2";
      return std::nullopt;
    }
    if (number.getAsInteger(10, size)) {
      error = "mesh too large (" + inQuotes(item) + "): more than " + std::to_string(kMaxRanks) +
              " ranks; use fewer";
      return std::nullopt;
    }
    if (size < 1) {
      error =
          "wrong mesh axis (" + inQuotes(item) + "): its size is less than 1; give it a size of at least 1";
      return std::nullopt;
    }
    if (mesh.find(name)) {
      error = "repeated mesh axis (" + inQuotes(item) + "): axis " + name.str() +
              " has a size already; name every axis once";
      return std::nullopt;
    }
    if (size > kMaxRanks / ranks) {
      error = "mesh too large (" + inQuotes(text) + "): more than " + std::to_string(kMaxRanks) +
              " ranks; use fewer";
      return std::nullopt;
    }
    ranks *= size;
    mesh.axes.push_back({name.str(), size});
  }
  return mesh;
}

/// `a` or `a:(1)2`.
static std::optional<AxisRef> parseAxis(StringRef text, StringRef item, const Mesh &mesh,
                                        std::string &error) {
  auto [name, rest] = text.split(':');
  auto index = mesh.find(name);
  if (!index) {
    std::string all;
    for (const MeshAxis &axis : mesh.axes)
      all += (all.empty() ? "" : ", ") + axis.name;
    error = "unknown axis " + inQuotes(name) + " (--shard item " + inQuotes(item) + "): the mesh has " +
            (all.empty() ? "none" : all) + "; add it to --mesh";
    return std::nullopt;
  }
  AxisRef axis = wholeAxis(mesh, *index);
  if (!text.contains(':'))
    return axis;
  if (!rest.consume_front("(") || rest.consumeInteger(10, axis.pre) || !rest.consume_front(")") ||
      rest.consumeInteger(10, axis.size) || !rest.empty()) {
    error = "malformed sub-axis " + inQuotes(text) + " (--shard item " + inQuotes(item) +
            "): it is no AXIS:(PRE)SIZE; try " + name.str() + ":(1)2";
    return std::nullopt;
  }
  return axis;
}

std::optional<std::vector<ShardItem>> tessera::dist::parseShardSpec(StringRef text, const Mesh &mesh,
                                                                    std::string &error) {
  auto items = parts(text, ',', "--shard", error);
  if (!items)
    return std::nullopt;
  std::vector<ShardItem> result;
  for (StringRef item : *items) {
    auto [left, right] = item.split('=');
    StringRef value, dim = left.trim();
    if (left.contains(':')) {
      std::tie(value, dim) = left.split(':');
      value = value.trim();
      dim = dim.trim();
    }
    if (!item.contains('=') || !isName(dim) || (left.contains(':') && value.empty()) ||
        right.trim().empty()) {
      error = "malformed item (--shard item " + inQuotes(item) +
              "): it is no [VALUE:]DIM=AXIS[+AXIS...]; try heads=tp";
      return std::nullopt;
    }
    ShardItem parsed = {value.str(), dim.str(), {}, item.str()};
    // `-`: asked for to be whole.
    auto axes = parts(right.trim() == "-" ? StringRef() : right, '+', "--shard", error);
    if (!axes)
      return std::nullopt;
    for (StringRef name : *axes) {
      auto axis = parseAxis(name, item, mesh, error);
      if (!axis)
        return std::nullopt;
      parsed.axes.push_back(*axis);
    }
    auto isWrong = [&](const AxisList &axes) {
      Sharding probe(1);
      probe.dims[0].axes = axes;
      std::string wrong = verifySharding(probe, mesh, 1);
      if (wrong.empty())
        return false;
      StringRef what = wrong;
      what.consume_front("dimension 0: ");
      error = "wrong axes (--shard item " + inQuotes(item) + "): " + what.str() +
              "; name every axis once, in pieces that divide it";
      return true;
    };
    // Each as it is written, then side by side.
    if (llvm::any_of(parsed.axes, [&](const AxisRef &axis) { return isWrong({axis}); }))
      return std::nullopt;
    mergeAdjacent(parsed.axes);
    if (isWrong(parsed.axes))
      return std::nullopt;
    for (const ShardItem &other : result)
      if (other.value == parsed.value && other.dim == parsed.dim) {
        error = "repeated item (--shard item " + inQuotes(item) + "): " + inQuotes(other.text) +
                (other.axes == parsed.axes ? " says the same" : " says something else") +
                " about the same dimension; keep one";
        return std::nullopt;
      }
    result.push_back(std::move(parsed));
  }
  return result;
}

static const StringRef batchDim[] = {"batch"};
static const StringRef tensorDims[] = {"heads", "kv_heads", "ffn", "vocab"};
static const StringRef contextDims[] = {"seq", "context"};
static const StringRef seqDim[] = {"seq"};
static const StringRef expertDim[] = {"expert"};
static const StringRef layerDim[] = {"layer"};

static llvm::ArrayRef<StandardAxis> standardAxes() {
  static const StandardAxis axes[] = {
      {"dp", batchDim, {}},
      {"fsdp", batchDim, {}, /*largestFreeWeightDim=*/true},
      {"tp", tensorDims, tensorDims},
      {"cp", contextDims, {}},
      {"sp", seqDim, {}},
      {"ep", expertDim, expertDim},
      {"pp", layerDim, layerDim},
  };
  return axes;
}

const StandardAxis *tessera::dist::findStandardAxis(StringRef name) {
  const auto *it = llvm::find_if(standardAxes(), [&](const StandardAxis &axis) { return axis.name == name; });
  return it == standardAxes().end() ? nullptr : it;
}

std::string tessera::dist::standardAxisNames() {
  return llvm::join(llvm::map_range(standardAxes(), [](const StandardAxis &axis) { return axis.name.str(); }),
                    ", ");
}

std::string tessera::dist::checkAxesUsed(const Mesh &mesh, llvm::ArrayRef<ShardItem> items) {
  for (auto [i, axis] : llvm::enumerate(mesh.axes)) {
    bool used = false;
    for (const ShardItem &item : items)
      for (const AxisRef &ref : item.axes)
        used |= ref.axis == int(i);
    if (!used && !findStandardAxis(axis.name))
      return "axis without a meaning ('" + axis.name + "' in --mesh): it is none of the standard axes (" +
             standardAxisNames() + ") and no --shard item uses it; add --shard=DIM=" + axis.name;
  }
  return "";
}
