//===- PlacementText.cpp - Placement cases as text ------------------------===//
#include "tessera/AutoParallel/PlacementText.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace tessera;
using llvm::StringRef;

static constexpr double kElementBytes = 4;

static std::string axesText(const AxisList &axes, const Mesh &mesh) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : ",") + toString(axis, mesh);
  return "{" + text + "}";
}

std::string tessera::toString(const ReshardStep &step, const Mesh &mesh) {
  std::string text = toString(step.kind);
  for (auto [i, move] : llvm::enumerate(step.moves)) {
    text += (i ? " " : "") + axesText(move.axes, mesh);
    if (move.from >= 0 && move.to >= 0)
      text += llvm::formatv(" {0}->{1}", move.from, move.to);
    else if (move.from >= 0 || move.to >= 0)
      text += llvm::formatv(" {0}", std::max(move.from, move.to));
  }
  return text;
}

static std::string join(llvm::ArrayRef<std::string> parts, StringRef separator) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : separator.str()) + part;
  return text.empty() ? "-" : text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::optional<PlacementCase> PlacementCase::parse(const PropagationCase &text, const Machine &machine,
                                                  std::string &error) {
  PlacementCase result(text, machine);
  for (const PropagationCase::Line &line : text.placement)
    if (!result.parseLine(line.text, line.number, error)) {
      error = "line " + std::to_string(line.number) + ": " + error;
      return std::nullopt;
    }
  if (llvm::is_contained(text.opNames, "manual")) {
    error = "line " + std::to_string(text.placement.front().number) + ": a manual region is not placed";
    return std::nullopt;
  }
  return result;
}

std::optional<int> PlacementCase::opCalled(StringRef name, std::string &error) const {
  size_t count = llvm::count(text->opNames, name);
  if (count == 1)
    return int(llvm::find(text->opNames, name) - text->opNames.begin());
  error = (count ? "several ops are called '" : "no op is called '") + name.str() + "'";
  return std::nullopt;
}

bool PlacementCase::parseLine(StringRef content, int line, std::string &error) {
  auto [word, rest] = content.split(' ');
  rest = rest.trim();
  if (word.empty())
    return true;
  if (word == "machine") {
    auto parsed = parseMachine(rest, error);
    if (parsed)
      machine = *parsed;
    return parsed.has_value();
  }
  if (word == "flops") {
    auto op = opCalled(rest.split(' ').first, error);
    double number = 0;
    if (op &&
        (rest.split(' ').second.trim().getAsDouble(number) || !(number >= 0) || !std::isfinite(number))) {
      error = "expected flops OP NUMBER";
      return false;
    }
    if (op)
      flops.push_back({*op, number});
    return op.has_value();
  }
  if (word == "expect")
    return parseExpect(rest, line, error);
  error = "unknown word 'place " + word.str() + "': machine, flops, expect, or nothing";
  return false;
}

bool PlacementCase::parseExpect(StringRef content, int line, std::string &error) {
  auto [word, rest] = content.split(' ');
  rest = rest.trim();
  Expectation expectation{line, word.str(), rest.str()};
  if (word == "bytes") {
    expectation.atMost = rest.consume_front("<=");
    if (rest.trim().getAsDouble(expectation.number)) {
      error = "expected bytes NUMBER or bytes <= NUMBER";
      return false;
    }
  } else if (word != "collectives") {
    auto op = opCalled(word, error);
    if (!op)
      return false;
    if (word == "return" || word == "edge") {
      error = "'" + word.str() + "' hands a value over and runs with nothing";
      return false;
    }
    // Read and printed again, so that spaces do not matter.
    const PropagationOp &graphOp = text->graph.ops[size_t(*op)];
    auto [left, right] = rest.split("->");
    PlacementDecision wanted;
    auto read = [&](StringRef side, llvm::ArrayRef<int> tensors, std::vector<Sharding> &into) {
      side = side.trim();
      while (!side.empty()) {
        size_t next = side.find('[', 1);
        auto sharding = parseSharding(side.take_front(next).trim(), text->graph.mesh, error);
        if (!sharding)
          return false;
        size_t index = into.size();
        if (index < tensors.size() &&
            sharding->dims.size() != text->graph.tensors[size_t(tensors[index])].shape.size()) {
          error = "sharding " + toString(*sharding, text->graph.mesh) + " has another rank than '" +
                  text->tensorNames[size_t(tensors[index])] + "'";
          return false;
        }
        into.push_back(*sharding);
        side = side.drop_front(std::min(next, side.size()));
      }
      if (into.size() != tensors.size())
        error = llvm::formatv("'{0}' has {1} tensors on this side of ->, not {2}", expectation.what,
                              tensors.size(), into.size());
      return into.size() == tensors.size();
    };
    if (!read(left, graphOp.operands, wanted.operands) || !read(right, graphOp.results, wanted.results))
      return false;
    expectation.text = runsWith(*op, wanted);
  }
  expectations.push_back(std::move(expectation));
  return true;
}

//===----------------------------------------------------------------------===//
// Placing
//===----------------------------------------------------------------------===//

namespace {
/// Values of the program: of a tensor what an op makes, and what is read (they differ where the tensor is
/// pinned).
class ProgramOfCase {
public:
  ProgramOfCase(const PropagationCase &text, llvm::ArrayRef<std::pair<int, double>> flops) : text(text) {
    size_t tensors = text.graph.tensors.size();
    llvm::SmallVector<bool> isMade(tensors, false), isRead(tensors, false);
    for (const PropagationOp &op : text.graph.ops) {
      for (int result : op.results)
        isMade[size_t(result)] = true;
      for (int operand : op.operands)
        isRead[size_t(operand)] = true;
    }
    read.assign(tensors, -1);
    for (size_t t = 0; t < tensors; ++t)
      if (!isMade[t] || handsOver(t))
        read[t] = add(int(t), /*fixed=*/true);
    for (auto [i, op] : llvm::enumerate(text.graph.ops)) {
      if (isHandOver(i))
        continue;
      ProgramOp entry;
      entry.rule = op.rule.withWindows();
      for (int operand : op.operands)
        entry.operands.push_back(valueOf(operand));
      for (int result : op.results) {
        int value = add(result, /*fixed=*/false);
        entry.results.push_back(value);
        bool pinned = size_t(result) < text.annotated.size() && text.annotated[size_t(result)];
        if (pinned || !isRead[size_t(result)])
          program.uses.push_back({value, closed(result)});
        read[size_t(result)] = pinned ? add(result, /*fixed=*/true) : value;
      }
      setWork(entry, int(i), flops);
      program.ops.push_back(std::move(entry));
      ops.push_back(int(i));
    }
    for (auto [i, op] : llvm::enumerate(text.graph.ops)) // a loop's yield is made after its edge stands
      if (isHandOver(i))
        for (int operand : op.operands)
          program.uses.push_back({valueOf(operand), closed(op.results.front())});
  }

  PlacementProgram program;
  std::vector<int> ops;     ///< of the case's graph
  std::vector<int> tensors; ///< of each value

private:
  bool isHandOver(size_t op) const { return text.opNames[op] == "return" || text.opNames[op] == "edge"; }
  /// The tensor is the result of such an op.
  bool handsOver(size_t tensor) const {
    for (auto [i, op] : llvm::enumerate(text.graph.ops))
      if (isHandOver(i) && llvm::is_contained(op.results, int(tensor)))
        return true;
    return false;
  }
  Sharding closed(int tensor) const {
    Sharding sharding = text.graph.tensors[size_t(tensor)].sharding;
    for (DimSharding &dim : sharding.dims) {
      dim.open = false;
      dim.priority.reset();
    }
    return sharding;
  }
  int add(int tensor, bool fixed) {
    ProgramValue value;
    value.shape = text.graph.tensors[size_t(tensor)].shape;
    value.elementBytes = kElementBytes;
    value.sharding = closed(tensor);
    value.fixed = fixed;
    program.values.push_back(std::move(value));
    tensors.push_back(tensor);
    return int(program.values.size()) - 1;
  }
  /// A tensor that is read before its op stands lies as propagation says.
  int valueOf(int tensor) {
    return read[size_t(tensor)] >= 0 ? read[size_t(tensor)] : read[size_t(tensor)] = add(tensor, true);
  }

  void setWork(ProgramOp &entry, int op, llvm::ArrayRef<std::pair<int, double>> flops) const {
    entry.flops = 1;
    for (const Factor &factor : entry.rule.factors)
      entry.flops *= double(factor.size);
    if (llvm::any_of(entry.rule.factors,
                     [](const Factor &factor) { return factor.kind == FactorKind::Reduction; }))
      entry.flops *= 2;
    for (auto [known, number] : flops)
      if (known == op)
        entry.flops = number;
    for (const auto &list : {entry.operands, entry.results})
      for (int value : list) {
        double elements = kElementBytes;
        for (int64_t size : program.values[size_t(value)].shape)
          elements *= double(size);
        entry.bytes += elements;
      }
  }

  const PropagationCase &text;
  std::vector<int> read;
};
} // namespace

std::optional<PlacedCase> PlacementCase::place() const {
  const Mesh &mesh = text->graph.mesh;
  ProgramOfCase built(*text, flops);
  ReshardCosts costs(mesh, machine);
  PlacedCase placed;
  ProgramPlacementOptions settings;
  settings.leastGain = kWorthMoreMessages;
  placed.decision = placeProgram(built.program, costs, settings);
  placed.ops = built.ops;
  if (!std::isfinite(placed.decision.time))
    return std::nullopt;
  for (auto [v, value] : llvm::enumerate(built.program.values)) {
    Sharding made = value.sharding;
    std::vector<Sharding> needed;
    auto need = [&](const Sharding &sharding) {
      if (llvm::none_of(needed, [&](const Sharding &known) { return known.samePlacement(sharding); }))
        needed.push_back(sharding);
    };
    for (auto [op, decision] : llvm::zip(built.program.ops, placed.decision.ops)) {
      for (auto [result, sharding] : llvm::zip(op.results, decision.results))
        if (result == int(v))
          made = sharding;
      for (auto [operand, sharding] : llvm::zip(op.operands, decision.operands))
        if (operand == int(v))
          need(sharding);
    }
    for (const ProgramUse &use : built.program.uses)
      if (use.value == int(v))
        need(use.sharding);
    for (const Sharding &to : needed) {
      if (made.samePlacement(to))
        continue;
      auto plan = planForMachine(machine, mesh, value.shape, kElementBytes, made, to);
      if (!plan)
        return std::nullopt;
      for (const ReshardStep &step : plan->steps)
        placed.collectives.push_back(toString(step, mesh));
      placed.bytes += plan->received * kElementBytes;
      placed.reshards.push_back({built.tensors[v], made, to, std::move(*plan)});
    }
  }
  return placed;
}

std::string PlacementCase::runsWith(int op, const PlacementDecision &decision) const {
  std::string line;
  for (const Sharding &sharding : decision.operands)
    line += (line.empty() ? "" : " ") + toString(sharding, text->graph.mesh);
  line += line.empty() ? "->" : " ->";
  for (const Sharding &sharding : decision.results)
    line += " " + toString(sharding, text->graph.mesh);
  return line;
}

std::vector<std::string> PlacementCase::run(std::string *report) const {
  auto placed = place();
  if (!placed)
    return {"the program cannot be placed: a value is wanted as a partial sum that no op makes"};
  std::string collectives = join(placed->collectives, "; ");
  if (report) {
    for (auto [op, decision] : llvm::zip(placed->ops, placed->decision.ops))
      *report += "run " + text->opNames[size_t(op)] + " " + runsWith(op, decision) + "\n";
    for (const PlacedReshard &reshard : placed->reshards) {
      std::vector<std::string> steps;
      for (const ReshardStep &step : reshard.plan.steps)
        steps.push_back(toString(step, text->graph.mesh));
      *report +=
          llvm::formatv("reshard {0} {1} -> {2}: {3}, {4} bytes\n", text->tensorNames[size_t(reshard.tensor)],
                        toString(reshard.from, text->graph.mesh), toString(reshard.to, text->graph.mesh),
                        join(steps, "; "), int64_t(reshard.plan.received * kElementBytes));
    }
    *report += "collectives " + collectives + "\n";
    *report += llvm::formatv("bytes {0}\n", int64_t(placed->bytes));
  }
  std::vector<std::string> failures;
  for (const Expectation &expectation : expectations) {
    std::string got;
    bool holds = false;
    if (expectation.what == "bytes") {
      got = std::to_string(int64_t(placed->bytes));
      holds = expectation.atMost ? placed->bytes <= expectation.number : placed->bytes == expectation.number;
    } else if (expectation.what == "collectives") {
      got = collectives;
      holds = got == expectation.text;
    } else {
      for (auto [op, decision] : llvm::zip(placed->ops, placed->decision.ops))
        if (text->opNames[size_t(op)] == expectation.what)
          got = runsWith(op, decision);
      holds = got == expectation.text;
    }
    if (!holds)
      failures.push_back("line " + std::to_string(expectation.line) + ": " + expectation.what + " is " + got +
                         ", expected " + expectation.text);
  }
  return failures;
}
