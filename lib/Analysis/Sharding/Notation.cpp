//===- Notation.cpp - Meshes, shardings and rules as text -----------------===//
#include "tessera/Analysis/Sharding/Notation.h"

#include "tessera/Analysis/Sharding/StepKind.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ErrorHandling.h"

using namespace tessera;
using llvm::StringRef;

static std::string quoted(StringRef text) { return ("'" + text + "'").str(); }

static bool isName(StringRef text) {
  return !text.empty() && (llvm::isAlpha(text[0]) || text[0] == '_') &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::optional<Mesh> tessera::parseMesh(StringRef text, std::string &error, int64_t maxRanks) {
  Mesh mesh;
  text = text.trim();
  text.consume_front("mesh ");
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(text, words, " ,");
  int64_t devices = 1;
  for (StringRef word : words) {
    auto [name, number] = word.split('=');
    if (!word.contains('=')) {
      name = word.rtrim("0123456789");
      number = word.drop_front(name.size());
    }
    int64_t size;
    if (!isName(name) || number.getAsInteger(10, size) || size < 1) {
      error = "mesh axis " + quoted(word) + " is not a name and a size of at least 1";
      return std::nullopt;
    }
    if (mesh.find(name)) {
      error = "mesh axis " + quoted(name) + " stands twice";
      return std::nullopt;
    }
    if (size > maxRanks / devices) {
      error = "mesh has more than " + std::to_string(maxRanks) + " ranks";
      return std::nullopt;
    }
    devices *= size;
    mesh.axes.push_back({name.str(), size});
  }
  return mesh;
}

/// Sizes and their sums with shard counts stay far from overflow.
static constexpr int64_t kMaxDimension = int64_t(1) << 40;

std::optional<Shape> tessera::parseShape(StringRef text, std::string &error) {
  Shape shape;
  text = text.trim();
  if (text.empty())
    return shape;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0 || size > kMaxDimension) {
      error = "shape " + quoted(text) + ": " + quoted(part) + " is not a size";
      return std::nullopt;
    }
    shape.push_back(size);
  }
  return shape;
}

static std::optional<AxisRef> parseAxis(StringRef text, const Mesh &mesh, std::string &error) {
  auto [name, rest] = text.split(':');
  auto index = mesh.find(name);
  if (!index) {
    error = "axis " + quoted(name) + " is not in the mesh";
    return std::nullopt;
  }
  AxisRef axis = wholeAxis(mesh, *index);
  if (text.contains(':')) {
    if (!rest.consume_front("(") || rest.consumeInteger(10, axis.pre) || !rest.consume_front(")") ||
        rest.consumeInteger(10, axis.size) || !rest.empty()) {
      error = "sub-axis " + quoted(text) + " is not of the form name:(pre)size";
      return std::nullopt;
    }
  }
  return axis;
}

std::optional<AxisList> tessera::parseAxes(StringRef text, const Mesh &mesh, std::string &error) {
  AxisList axes;
  text = text.trim();
  if (text.empty() || text == "-")
    return axes;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto axis = parseAxis(part.trim(), mesh, error);
    if (!axis)
      return std::nullopt;
    axes.push_back(*axis);
  }
  return axes;
}

static std::optional<DimSharding> parseDim(StringRef text, const Mesh &mesh, std::string &error) {
  DimSharding dim;
  StringRef whole = text = text.trim();
  if (size_t space = text.find(' '); space != StringRef::npos) {
    StringRef word = text.drop_front(space).trim();
    int priority;
    // An axis list may hold spaces after commas: only `pN` at the end is a priority.
    word = word.substr(word.rfind(' ') == StringRef::npos ? 0 : word.rfind(' ') + 1);
    if (word.consume_front("p") && !word.getAsInteger(10, priority)) {
      dim.priority = priority;
      text = text.drop_back(word.size() + 1).rtrim();
    }
  }
  dim.open = text.consume_back("?");
  if (text.empty() && !dim.open) {
    error = "dimension " + quoted(whole) + " is empty: write - (closed) or ? (open)";
    return std::nullopt;
  }
  auto axes = parseAxes(text, mesh, error);
  if (!axes)
    return std::nullopt;
  dim.axes = *axes;
  return dim;
}

std::optional<Sharding> tessera::parseSharding(StringRef text, const Mesh &mesh, std::string &error) {
  Sharding result;
  text = text.trim();
  StringRef whole = text;
  if (text.starts_with("[")) {
    size_t end = text.find(']');
    if (end == StringRef::npos) {
      error = "sharding " + quoted(whole) + " lacks ']'";
      return std::nullopt;
    }
    StringRef body = text.slice(1, end);
    text = text.drop_front(end + 1).ltrim();
    llvm::SmallVector<StringRef> parts;
    if (!body.trim().empty())
      body.split(parts, '/');
    for (StringRef part : parts) {
      auto dim = parseDim(part, mesh, error);
      if (!dim)
        return std::nullopt;
      result.dims.push_back(*dim);
    }
  } else {
    error = "sharding " + quoted(whole) + " does not start with '['";
    return std::nullopt;
  }
  while (!text.empty()) {
    AxisList *list = nullptr;
    if (text.consume_front("R"))
      list = &result.replicated;
    else if (text.consume_front("Umax") || text.consume_front("U max"))
      list = &result.partial, result.partialKind = PartialKind::Max;
    else if (text.consume_front("U"))
      list = &result.partial, result.partialKind = PartialKind::Sum;
    size_t end = text.find('}');
    if (!list || !text.consume_front("{") || end == StringRef::npos) {
      error = "sharding " + quoted(whole) + ": expected R{..}, U{..} or Umax{..} after ']'";
      return std::nullopt;
    }
    auto axes = parseAxes(text.take_front(end - 1), mesh, error);
    if (!axes)
      return std::nullopt;
    if (!list->empty()) {
      error = "sharding " + quoted(whole) + ": " +
              (list == &result.partial ? "it is a sum or a maximum, not both: one U{..} or Umax{..}"
                                       : "one R{..} names all axes");
      return std::nullopt;
    }
    *list = *axes;
    llvm::sort(*list);
    text = text.drop_front(end).ltrim();
  }
  error = verifySharding(result, mesh, int64_t(result.dims.size()));
  if (!error.empty()) {
    error = "sharding " + quoted(whole) + ": " + error;
    return std::nullopt;
  }
  return result;
}

namespace {
/// Recursive descent over one rule.
struct RuleParser {
  StringRef text;
  std::string &error;
  ShardingRule rule;
  llvm::StringMap<int> names;
  llvm::StringSet<> sized;

  bool fail(const llvm::Twine &what) {
    error = ("rule: " + what + (text.empty() ? "" : " at '" + text.take_front(20) + "'")).str();
    return false;
  }
  bool take(StringRef token) {
    text = text.ltrim();
    return text.consume_front(token);
  }
  StringRef word() {
    text = text.ltrim();
    StringRef result = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    text = text.drop_front(result.size());
    return result;
  }
  bool tensors(llvm::SmallVectorImpl<TensorFactors> &out) {
    if (!take("("))
      return fail("expected '('");
    if (take(")"))
      return true;
    do {
      TensorFactors tensor;
      if (!take("["))
        return fail("expected '['");
      if (!take("]")) {
        do {
          auto &dim = tensor.dims.emplace_back();
          do {
            StringRef name = word();
            if (name == "1")
              continue;
            if (!isName(name))
              return fail("expected a factor");
            auto [it, isNew] = names.try_emplace(name, int(rule.factors.size()));
            if (isNew)
              rule.addFactor(-1);
            dim.push_back(it->second);
          } while (take("*"));
        } while (take(","));
        if (!take("]"))
          return fail("expected ']'");
      }
      out.push_back(std::move(tensor));
    } while (take(","));
    return take(")") || fail("expected ')'");
  }
  bool groups(llvm::SmallVectorImpl<llvm::SmallVector<int, 2>> &out) {
    out.emplace_back();
    while (!take("}")) {
      if (take(";")) {
        out.emplace_back();
        continue;
      }
      take(",");
      int operand;
      if (word().getAsInteger(10, operand))
        return fail("expected an operand number");
      out.back().push_back(operand);
    }
    return true;
  }
  int factor() {
    StringRef name = word();
    auto it = names.find(name);
    if (it != names.end())
      return it->second;
    fail("unknown factor " + quoted(name));
    return -1;
  }
  /// `k of i at 3`, separated by commas.
  bool windows() {
    while (!take("}")) {
      take(",");
      Window window{};
      if ((window.part = factor()) < 0)
        return false;
      if (!take("of"))
        return fail("expected PART of WHOLE at NUMBER");
      if ((window.whole = factor()) < 0)
        return false;
      if (!take("at") || word().getAsInteger(10, window.begin))
        return fail("expected PART of WHOLE at NUMBER");
      rule.windows.push_back(window);
    }
    return true;
  }
  bool attribute() {
    StringRef key = "sizes"; // `{i=8, j=4}` alone
    if (!take("{")) {
      key = word();
      if (!take("=") || !take("{"))
        return fail("expected ATTRIBUTE={..}");
    }
    if (key == "linear")
      return groups(rule.linear);
    if (key == "max_linear")
      return groups(rule.maxLinear);
    if (key == "window")
      return windows();
    while (!take("}")) {
      take(",");
      const int number = this->factor();
      if (number < 0)
        return false;
      Factor &factor = rule.factors[number];
      if (key == "reduction" || key == "max_reduction") {
        factor.kind = FactorKind::Reduction;
        factor.combine = key == "reduction" ? PartialKind::Sum : PartialKind::Max;
      } else if (key == "need_replication") {
        factor.kind = FactorKind::NeedReplication;
      } else if (key == "permutation") {
        factor.kind = FactorKind::Permutation;
      } else if (key == "sizes") {
        if (!take("=") || word().getAsInteger(10, factor.size) || factor.size < 1)
          return fail("expected FACTOR=SIZE");
      } else {
        return fail("unknown attribute " + quoted(key));
      }
    }
    return true;
  }
};
} // namespace

/// Fills the one unknown factor of each dimension from its size, until nothing changes.
static void deriveSizes(ShardingRule &rule, llvm::ArrayRef<TensorFactors> tensors,
                        llvm::ArrayRef<Shape> shapes, bool &changed) {
  for (auto [tensor, shape] : llvm::zip(tensors, shapes)) {
    for (size_t d = 0; d < std::min(tensor.dims.size(), shape.size()); ++d) {
      int64_t known = 1;
      int unknown = -1, unknowns = 0;
      for (int factor : tensor.dims[d]) {
        if (rule.factors[factor].size < 0)
          unknown = factor, ++unknowns;
        else
          known *= rule.factors[factor].size;
      }
      if (unknowns == 1 && known > 0) {
        rule.factors[unknown].size = shape[d] / known;
        changed = true;
      }
    }
  }
}

/// A factor that nothing passes through, or whose pieces move, may have other sizes in other tensors (a
/// concatenation, a slice, a pad): it has the largest. Returns `shapes` with that size in those places.
static std::vector<Shape> unifySizes(ShardingRule &rule, llvm::ArrayRef<TensorFactors> tensors,
                                     llvm::ArrayRef<Shape> shapes) {
  std::vector<Shape> result(shapes.begin(), shapes.end());
  for (auto [tensor, shape] : llvm::zip(tensors, result))
    for (auto [dim, size] : llvm::zip(tensor.dims, shape)) {
      Factor *factor = dim.size() == 1 ? &rule.factors[dim.front()] : nullptr;
      if (factor && (factor->kind == FactorKind::NeedReplication || factor->kind == FactorKind::Permutation))
        size = factor->size = std::max(size, factor->size);
    }
  return result;
}

std::optional<ShardingRule> tessera::parseShardingRule(StringRef text, llvm::ArrayRef<Shape> operandShapes,
                                                       llvm::ArrayRef<Shape> resultShapes,
                                                       std::string &error) {
  RuleParser parser{text, error, {}, {}, {}};
  if (!parser.tensors(parser.rule.operands))
    return std::nullopt;
  if (!parser.take("->")) {
    parser.fail("expected '->'");
    return std::nullopt;
  }
  if (!parser.tensors(parser.rule.results))
    return std::nullopt;
  while (!parser.text.trim().empty())
    if (!parser.attribute())
      return std::nullopt;
  ShardingRule &rule = parser.rule;
  for (bool changed = true; changed;) {
    changed = false;
    deriveSizes(rule, rule.operands, operandShapes, changed);
    deriveSizes(rule, rule.results, resultShapes, changed);
  }
  for (const auto &entry : parser.names)
    if (rule.factors[entry.second].size < 0) {
      error = "rule: the size of factor " + quoted(entry.first()) + " is unknown; give sizes={" +
              entry.first().str() + "=N}";
      return std::nullopt;
    }
  // Twice: the largest may come last.
  std::vector<Shape> operands, results;
  for (int time = 0; time < 2; ++time) {
    operands = unifySizes(rule, rule.operands, operandShapes);
    results = unifySizes(rule, rule.results, resultShapes);
  }
  if (std::string wrong = rule.verify(operands, results); !wrong.empty()) {
    error = "rule: " + wrong;
    return std::nullopt;
  }
  return rule;
}

Mesh tessera::mesh(StringRef text) {
  std::string error;
  auto result = parseMesh(text, error);
  if (!result)
    llvm::report_fatal_error(llvm::Twine(error), /*gen_crash_diag=*/false);
  return *result;
}

Sharding tessera::sharding(StringRef text, const Mesh &mesh) {
  std::string error;
  auto result = parseSharding(text, mesh, error);
  if (!result)
    llvm::report_fatal_error(llvm::Twine(error), /*gen_crash_diag=*/false);
  return *result;
}

const char *tessera::toString(StepKind kind) {
  switch (kind) {
  case StepKind::AllSlice:
    return "SL";
  case StepKind::AllGather:
    return "AG";
  case StepKind::AllReduce:
    return "AR";
  case StepKind::ReduceScatter:
    return "RS";
  case StepKind::AllToAll:
    return "A2A";
  case StepKind::CollectivePermute:
    return "CP";
  case StepKind::Contribute:
    return "CT";
  case StepKind::GroupedSend:
    return "P2P";
  }
  return "?";
}
