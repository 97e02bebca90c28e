//===- PropagationText.cpp - Propagation cases as text --------------------===//
#include "tessera/Analysis/Sharding/PropagationText.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace tessera;
using llvm::StringRef;

namespace {
class CaseParser {
public:
  CaseParser(StringRef text, std::string &error) : text(text), error(error) {}

  std::optional<std::vector<PropagationCase>> parse() {
    cases.emplace_back();
    llvm::SmallVector<StringRef> lines;
    text.split(lines, '\n');
    for (StringRef written : lines) {
      ++line;
      std::string content = oneSpaced(written.split('#').first);
      if (!content.empty() && !parseLine(content)) {
        // One line that a terminal can show, whatever the file is.
        std::string shown = llvm::StringRef(error).take_front(300).str() + (error.size() > 300 ? "..." : "");
        std::replace_if(shown.begin(), shown.end(), [](char c) { return !llvm::isPrint(c); }, '?');
        error = "line " + std::to_string(line) + ": " + shown;
        return std::nullopt;
      }
    }
    if (cases.front().name.empty() && cases.front().graph.tensors.empty())
      cases.erase(cases.begin());
    return std::move(cases);
  }

private:
  /// Words with one space between them, whatever stood there.
  static std::string oneSpaced(StringRef text) {
    std::string result;
    for (char c : text.trim())
      if (!llvm::isSpace(c))
        result += c;
      else if (result.back() != ' ')
        result += ' ';
    return result;
  }
  bool fail(const llvm::Twine &what) {
    error = what.str();
    return false;
  }
  PropagationCase &current() { return cases.back(); }
  const Mesh &mesh() { return current().graph.mesh; }

  std::optional<int> tensor(StringRef name) {
    auto it = llvm::find(current().tensorNames, name);
    if (it != current().tensorNames.end())
      return int(it - current().tensorNames.begin());
    fail("no tensor is called '" + name + "'");
    return std::nullopt;
  }
  bool tensorList(StringRef names, llvm::SmallVectorImpl<int> &out) {
    llvm::SmallVector<StringRef> parts;
    llvm::SplitString(names, parts, " ,");
    for (StringRef part : parts) {
      auto index = tensor(part);
      if (!index)
        return false;
      out.push_back(*index);
    }
    return true;
  }
  /// `A B -> c d`
  bool arrow(StringRef content, llvm::SmallVectorImpl<int> &operands, llvm::SmallVectorImpl<int> &results) {
    if (!content.contains("->"))
      return fail("expected OPERANDS -> RESULTS");
    auto [left, right] = content.split("->");
    return tensorList(left, operands) && tensorList(right, results);
  }
  std::vector<Shape> shapes(llvm::ArrayRef<int> tensors) {
    std::vector<Shape> result;
    for (int t : tensors)
      result.push_back(current().graph.tensors[t].shape);
    return result;
  }
  bool sameShapes(llvm::ArrayRef<int> tensors) {
    auto all = shapes(tensors);
    return llvm::all_equal(all) || fail("tensors have different shapes");
  }

  bool parseLine(StringRef content) {
    auto [word, rest] = content.split(' ');
    rest = rest.trim();
    if (word == "case") {
      cases.emplace_back();
      current().name = rest.str();
      return true;
    }
    if (word == "mesh") {
      if (!current().graph.tensors.empty())
        return fail("the mesh stands before the tensors");
      if (!current().graph.mesh.axes.empty())
        return fail("the case has a mesh already; start another case");
      auto result = parseMesh(rest, error);
      if (result)
        current().graph.mesh = *result;
      return result.has_value();
    }
    if (word == "strategy")
      return parseStrategy(rest);
    if (word == "tensor")
      return parseTensor(rest);
    if (word == "op")
      return parseOp(rest.split(' ').first, rest.split(' ').second);
    if (word == "barrier")
      return parseBarrier(rest);
    if (word == "manual")
      return parseManual(rest);
    if (word == "edge") {
      llvm::SmallVector<int> sources, target;
      if (!arrow(rest, sources, target))
        return false;
      if (target.size() != 1)
        return fail("an edge has one target");
      auto all = sources;
      all.push_back(target[0]);
      if (!sameShapes(all))
        return false;
      current().graph.addDataFlowEdge(sources, target[0]);
      current().opNames.push_back("edge");
      return true;
    }
    if (word == "group") {
      llvm::SmallVector<int> members;
      if (!tensorList(rest, members) || !sameShapes(members))
        return false;
      current().graph.groups.emplace_back(members.begin(), members.end());
      return true;
    }
    if (word == "expect")
      return parseExpect(rest);
    if (word == "place") {
      current().placement.push_back({line, rest.str()});
      return true;
    }
    return fail("unknown word '" + word + "'");
  }

  bool parseStrategy(StringRef name) {
    if (name.equals_insensitive("basic"))
      current().strategy = PropagationStrategy::Basic;
    else if (name.equals_insensitive("aggressive"))
      current().strategy = PropagationStrategy::Aggressive;
    else if (name.equals_insensitive("full"))
      current().strategy = PropagationStrategy::Full;
    else
      return fail("unknown strategy '" + name + "': basic, aggressive or full");
    return true;
  }

  /// `?`, or nothing but R{..} and U{..}: open everywhere.
  std::optional<Sharding> shardingOf(StringRef content, size_t rank) {
    std::string open;
    if (content == "?" || content.starts_with("R{") || content.starts_with("U")) {
      for (size_t d = 0; d < rank; ++d)
        open += d ? "/?" : "?";
      content.consume_front("?");
      content = open = ("[" + open + "] " + content).str();
    }
    auto sharding = parseSharding(content, mesh(), error);
    if (sharding && sharding->dims.size() != rank) {
      fail("sharding " + content + " has " + llvm::Twine(sharding->dims.size()) + " dimensions, the tensor " +
           llvm::Twine(rank));
      return std::nullopt;
    }
    return sharding;
  }

  bool parseTensor(StringRef content) {
    auto [name, rest] = content.split(' ');
    size_t written = rest.find_first_of("[?RU");
    auto shape = parseShape(rest.take_front(written).trim(), error);
    if (!shape)
      return false;
    if (llvm::is_contained(current().tensorNames, name))
      return fail("tensor '" + name + "' stands twice");
    std::optional<Sharding> sharding;
    if (written != StringRef::npos && !(sharding = shardingOf(rest.drop_front(written), shape->size())))
      return fail("tensor '" + name + "': " + std::string(error));
    current().graph.addTensor(*shape, sharding);
    current().tensorNames.push_back(name.str());
    current().annotated.push_back(sharding.has_value());
    return true;
  }

  bool parseOp(StringRef name, StringRef content) {
    // A name may have a colon inside.
    size_t colon = content.find(':');
    while (colon != StringRef::npos && !content.drop_front(colon + 1).ltrim().starts_with("("))
      colon = content.find(':', colon + 1);
    StringRef tensors = content.take_front(colon),
              ruleText = colon == StringRef::npos ? "" : content.drop_front(colon + 1);
    llvm::SmallVector<int> operands, results;
    if (!arrow(tensors, operands, results))
      return false;
    std::optional<ShardingRule> rule;
    if (ruleText.empty()) {
      if (results.empty())
        return fail("an op without a result needs a rule");
      auto all = operands;
      all.append(results);
      if (!sameShapes(all))
        return false;
      rule = elementwiseRule(current().graph.tensors[results.front()].shape, int(operands.size()));
      rule->results.resize(results.size(), rule->results.front());
    } else if (!(rule = parseShardingRule(ruleText, shapes(operands), shapes(results), error))) {
      return false;
    }
    current().graph.ops.push_back({*rule, operands, results});
    current().opNames.push_back(name.str());
    return true;
  }

  bool parseBarrier(StringRef content) {
    auto [word, tensors] = content.split(' ');
    llvm::SmallVector<int> operands, results;
    if (!arrow(tensors, operands, results))
      return false;
    auto all = operands;
    all.append(results);
    if (operands.size() != 1 || results.size() != 1)
      return fail("a barrier has one operand and one result");
    if (!sameShapes(all))
      return false;
    PropagationOp op(elementwiseRule(current().graph.tensors[operands[0]].shape, 1), operands, results);
    auto direction = llvm::StringSwitch<std::optional<Direction>>(word)
                         .CaseLower("forward", Direction::Forward)
                         .CaseLower("backward", Direction::Backward)
                         .CaseLower("none", Direction::None)
                         .CaseLower("both", Direction::Both)
                         .Default(std::nullopt);
    if (!direction)
      return fail("unknown direction '" + word + "': forward, backward, none or both");
    op.allowed = *direction;
    current().graph.ops.push_back(std::move(op));
    current().opNames.push_back("barrier");
    return true;
  }

  bool parseManual(StringRef content) {
    auto [axes, tensors] = content.split('}');
    if (!axes.consume_front("{"))
      return fail("expected manual {AXES} OUTSIDE -> INSIDE");
    auto manual = parseAxes(axes, mesh(), error);
    llvm::SmallVector<int> outside, inside;
    if (!manual || !arrow(tensors, outside, inside))
      return false;
    if (outside.size() != 1 || inside.size() != 1 ||
        current().graph.tensors[outside[0]].shape.size() != current().graph.tensors[inside[0]].shape.size())
      return fail("manual joins one tensor and its local part");
    for (auto [whole, local] :
         llvm::zip(current().graph.tensors[outside[0]].shape, current().graph.tensors[inside[0]].shape))
      if (local > whole)
        return fail("the local part '" + current().tensorNames[inside[0]] + "' is larger than '" +
                    current().tensorNames[outside[0]] + "'");
    PropagationOp op(elementwiseRule(current().graph.tensors[inside[0]].shape, 1), outside, inside);
    op.manual = *manual;
    current().graph.ops.push_back(std::move(op));
    current().opNames.push_back("manual");
    return true;
  }

  bool parseExpect(StringRef content) {
    auto [name, rest] = content.split(' ');
    auto index = tensor(name);
    if (!index)
      return false;
    auto sharding = shardingOf(rest, current().graph.tensors[*index].shape.size());
    if (!sharding)
      return false;
    current().expectations.push_back({line, *index, *sharding});
    return true;
  }

  StringRef text;
  std::string &error;
  int line = 0;
  std::vector<PropagationCase> cases;
};
} // namespace

std::optional<std::vector<PropagationCase>> tessera::parsePropagationCases(StringRef text,
                                                                           std::string &error) {
  return CaseParser(text, error).parse();
}

std::vector<std::string> PropagationCase::run(std::string *report) {
  PropagationResult result = propagate(graph, strategy);
  for (const GroupConstraint &constraint : result.constraints) {
    tensorNames.resize(graph.tensors.size());
    tensorNames[constraint.constrained] = tensorNames[constraint.member] + "'";
  }
  if (report) {
    for (const std::string &warning : result.warnings)
      *report += "warning: " + warning + "\n";
    for (auto [name, tensor] : llvm::zip(tensorNames, graph.tensors))
      *report += name + " " + toString(tensor.sharding, graph.mesh) + "\n";
  }
  std::vector<std::string> failures;
  for (const Expectation &expectation : expectations) {
    std::string expected = toString(expectation.sharding, graph.mesh);
    std::string got = toString(graph.tensors[expectation.tensor].sharding, graph.mesh);
    if (expected != got)
      failures.push_back("line " + std::to_string(expectation.line) + ": " + tensorNames[expectation.tensor] +
                         " is " + got + ", expected " + expected);
  }
  return failures;
}
