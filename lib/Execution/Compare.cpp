//===- Compare.cpp - The machine against the interpreter ------------------===//
#include "tessera/Execution/Compare.h"

#include "tessera/Dialect/Graph/IR/HeldAttr.h"
#include "tessera/Execution/ShortRounding.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Reference/Judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tessera {

static func::FuncOp entryOf(ModuleOp module, const std::string &name) {
  return module.lookupSymbol<func::FuncOp>(name);
}

NamedValues randomParameters(ModuleOp module, ModuleOp drawn, uint64_t seed) {
  NamedValues values;
  for (const EntryPorts &entry : entryPorts(module)) {
    std::vector<ReferenceTensor> random = randomInputs(entryOf(drawn, entry.name), seed);
    for (auto [port, value] : llvm::zip_equal(entry.arguments, random))
      if (port.kind == graph::Kind::Parameter && !values.count(port.name)) {
        auto symbol = module.lookupSymbol<graph::ParameterOp>(port.name);
        if (symbol && symbol->hasAttr(graph::kStateOfAttr)) // begins as zeros wherever it runs
          value.f.assign(value.f.size(), 0);
        value.roundToType();
        values[port.name] = std::move(value);
      }
  }
  return values;
}

std::vector<GlobalCall> randomCalls(ModuleOp module, ModuleOp drawn, uint64_t seed, int rounds) {
  std::vector<GlobalCall> calls;
  for (int round = 0; round < rounds; ++round)
    for (const EntryPorts &entry : entryPorts(module)) {
      calls.push_back({entry.name, {}, {}, {}});
      std::vector<ReferenceTensor> random =
          randomInputs(entryOf(drawn, entry.name), seed + 7919 * uint64_t(round));
      for (auto [i, port, value] : llvm::enumerate(entry.arguments, random)) {
        // What fills a state has a meaning: zeros and what other rows left would be few of its values.
        bool isFilled = bool(entryOf(drawn, entry.name).getArgAttr(unsigned(i), graph::kFillAttr));
        if (port.kind == graph::Kind::Input || (port.kind == graph::Kind::State && isFilled)) {
          value.roundToType();
          calls.back().inputs[port.name] = std::move(value);
        }
      }
    }
  return calls;
}

LogicalResult interpretCalls(ModuleOp module, const NamedValues &parameters, std::vector<GlobalCall> &calls,
                             const InterpreterOptions &options) {
  NamedValues states, weights = parameters;
  std::vector<EntryPorts> entries = entryPorts(module);
  for (GlobalCall &call : calls) {
    func::FuncOp func = entryOf(module, call.entry);
    auto entry = llvm::find_if(entries, [&](const EntryPorts &other) { return other.name == call.entry; });
    std::vector<ReferenceTensor> arguments;
    for (const Port &port : entry->arguments) {
      if (port.kind == graph::Kind::State && call.inputs.count(port.name))
        states[port.name] = call.inputs.at(port.name);
      if (port.kind == graph::Kind::State && !states.count(port.name))
        states[port.name] = ReferenceTensor(port.shape.elementType, port.shape.global);
      const NamedValues &from = port.kind == graph::Kind::State       ? states
                                : port.kind == graph::Kind::Parameter ? weights
                                                                      : call.inputs;
      arguments.push_back(from.at(port.name));
    }
    auto results = interpretGlobally(func, std::move(arguments), options);
    if (failed(results))
      return failure();
    for (auto [port, value] : llvm::zip_equal(entry->results, *results)) {
      if (port.kind == graph::Kind::State)
        call.states[port.name] = states[port.name] = std::move(value);
      else if (port.kind == graph::Kind::Parameter)
        call.states[port.name] = weights[port.name] = std::move(value);
      else
        call.outputs[port.name] = std::move(value);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// `run` with what is expected in the places of numbers that are not finite on either side.
static ReferenceTensor finitePart(const ReferenceTensor &expected, const ReferenceTensor &run) {
  ReferenceTensor part = run;
  for (auto [x, y] : llvm::zip(expected.f, part.f))
    if (!std::isfinite(x) || !std::isfinite(y))
      y = x;
  return part;
}

static double largestElement(const ReferenceTensor &value) {
  double largest = 0;
  for (double x : value.f)
    largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  return largest;
}

/// What `found` may be off by, by runs that round at random. Always finite: where one of them overflows, the
/// others say how far rounding carries the rest.
static double carriedError(const ReferenceTensor &expected,
                           const std::vector<const ReferenceTensor *> &rounded) {
  if (!expected.isFloat() || rounded.empty())
    return 0;
  double most = 0;
  for (const ReferenceTensor *run : rounded)
    for (auto [x, y] : llvm::zip(expected.f, finitePart(expected, *run).f))
      most = std::isfinite(x) ? std::max(most, std::abs(x - y)) : most;
  double unit = expected.elementType.isBF16() ? 0x1p-7 : expected.elementType.isF16() ? 0x1p-10 : 0x1p-23;
  return 3 * most + unit * largestElement(expected);
}

/// Relative to the largest element, or to what rounding makes where that is more.
static double allowedError(const ReferenceTensor &expected,
                           const std::vector<const ReferenceTensor *> &rounded, const Bounds &bounds) {
  if (!expected.isFloat())
    return 0;
  const double carried = carriedError(expected, rounded);
  return std::max(carried > 0 ? carried / std::max(carried, largestElement(expected)) : 0, bounds.relative);
}

/// How far the chosen logits lie below the largest ones of their rows, relative to the largest element.
/// Infinite where an id is none of the row's; a row that is not finite has no largest.
static double distanceFromLargest(const ReferenceTensor &ids, const ReferenceTensor &logits) {
  double most = 0, scale = 0;
  size_t rows = ids.i.size(), columns = rows ? logits.f.size() / rows : 0;
  for (size_t row = 0; row < rows; ++row) {
    llvm::ArrayRef<double> of = llvm::ArrayRef<double>(logits.f).slice(row * columns, columns);
    double largest = *std::max_element(of.begin(), of.end());
    if (!std::isfinite(largest) || llvm::any_of(of, [](double x) { return std::isnan(x); }))
      continue;
    for (double x : of)
      scale = std::isfinite(x) ? std::max(scale, std::abs(x)) : scale;
    bool known = ids.i[row] >= 0 && size_t(ids.i[row]) < columns;
    most = std::max(most, known ? largest - of[size_t(ids.i[row])] : std::numeric_limits<double>::infinity());
  }
  return scale > 0 && std::isfinite(most) ? most / scale : most;
}

namespace {
/// An output or a state of a call, to be found in several runs of the same calls.
struct ResultPlace {
  size_t call;
  std::string entry, name;
  bool state;

  const ReferenceTensor &in(const std::vector<GlobalCall> &calls) const {
    return (state ? calls[call].states : calls[call].outputs).at(name);
  }
  /// The same in all of `runs`.
  std::vector<const ReferenceTensor *> inAll(const std::vector<std::vector<GlobalCall>> &runs) const {
    std::vector<const ReferenceTensor *> list;
    for (const std::vector<GlobalCall> &run : runs)
      list.push_back(&in(run));
    return list;
  }
  std::string whereIn(const std::vector<GlobalCall> &calls) const {
    return callText(calls, call) + ", " + (state ? "state " : "output ") + name;
  }
};
} // namespace

static std::vector<ResultPlace> resultPlaces(const std::vector<GlobalCall> &calls) {
  std::vector<ResultPlace> places;
  for (auto [i, call] : llvm::enumerate(calls))
    for (bool state : {false, true})
      for (const auto &[name, value] : state ? call.states : call.outputs)
        places.push_back({i, call.entry, name, state});
  return places;
}

std::vector<Difference> compareCalls(const std::vector<GlobalCall> &expected,
                                     const std::vector<GlobalCall> &found,
                                     const std::vector<std::vector<GlobalCall>> &rounded,
                                     const Bounds &bounds) {
  std::vector<Difference> list;
  for (const ResultPlace &place : resultPlaces(expected)) {
    const ReferenceTensor &wanted = place.in(expected), &value = place.in(found);
    const std::vector<const ReferenceTensor *> runs = place.inAll(rounded);
    const double carried = carriedError(wanted, runs);
    Difference difference{place.whereIn(expected), relativeError(wanted, value, carried),
                          allowedError(wanted, runs, bounds)};
    double largest = largestElement(wanted);
    for (const ReferenceTensor *run : runs)
      largest = std::max(largest, largestElement(*run));
    difference.carried = largest > 0 ? carried / largest : 0;
    if (auto other = bounds.carried.find(difference.where); other != bounds.carried.end())
      difference.allowed = std::max(difference.allowed, other->second);
    difference.integer = !wanted.isFloat();
    auto logits = bounds.logitsOfTokens.find({place.entry, place.name});
    if (difference.integer && bounds.integersFollow && !place.state &&
        logits != bounds.logitsOfTokens.end()) {
      ResultPlace from{place.call, place.entry, logits->second, false};
      difference.relative = distanceFromLargest(value, from.in(found));
      difference.allowed = allowedError(from.in(expected), from.inAll(rounded), bounds);
    } else if (difference.integer && bounds.integersFollow) {
      difference.allowed = 1, difference.follows = true;
    }
    for (auto [a, b] : llvm::zip(wanted.f, value.f)) // minus infinity on both sides: a mask
      difference.finite &= (std::isfinite(a) && std::isfinite(b)) || a == b;
    list.push_back(std::move(difference));
  }
  return list;
}

ChosenTokens chosenTokens(ModuleOp module) {
  ChosenTokens chosen;
  for (auto func : module.getOps<func::FuncOp>()) {
    std::string tokens, logits;
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      auto gives = func.getResultAttrOfType<graph::GivesAttr>(i, graph::kGivesAttr);
      auto name = func.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
      if (gives && name)
        (gives.getValue() == graph::Gives::Logits ? logits : tokens) = name.str();
    }
    if (!tokens.empty() && !logits.empty())
      chosen[{func.getName().str(), tokens}] = logits;
  }
  return chosen;
}

namespace {
/// A program with complete ports, its calls, and what the interpreter says of them.
struct Interpretation {
  OwningOpRef<ModuleOp> program;
  NamedValues parameters;
  std::vector<GlobalCall> drawn, expected;
  std::vector<std::vector<GlobalCall>> rounded; ///< as `expected`, in runs that round at random
  CloseChoices choices;

  static Result<Interpretation> of(ModuleOp step, const ExecutionJudgement &judgement) {
    Interpretation made;
    made.program = cast<ModuleOp>(step->clone());
    completePorts(*made.program);
    made.parameters =
        judgement.parameters ? *judgement.parameters : randomParameters(*made.program, step, judgement.seed);
    made.drawn = made.expected = randomCalls(*made.program, step, judgement.seed, judgement.rounds);
    DiagnosticCollector diagnostics(*step.getContext());
    InterpreterOptions options;
    options.choices = &made.choices;
    made.choices.begin(CloseChoices::Run::Exact);
    if (failed(interpretCalls(*made.program, made.parameters, made.expected, options)))
      return diagnostics.failure("cannot interpret the program", "");
    return made;
  }

  Status roundAtRandom(uint64_t seed, int runs) {
    return runAtRandom(seed, runs, CloseChoices::Run::Rounded, rounded);
  }

  /// Goes on from there: what becomes of choices that are close.
  Status turnChoices(const ExecutionJudgement &judgement, TurnedChoices &turned) {
    turned.all = choices.all();
    turned.close = choices.close();
    if (turned.all == 0)
      return {};
    choices.turnClosest();
    std::vector<std::vector<GlobalCall>> runs;
    if (Status s =
            runAtRandom(judgement.seed + 1, judgement.bounds.roundings, CloseChoices::Run::Turned, runs);
        !s)
      return s;
    for (const ResultPlace &place : resultPlaces(expected))
      if (place.in(expected).isFloat())
        for (const ReferenceTensor *run : place.inAll(runs))
          turned.error =
              std::max(turned.error, relativeError(place.in(expected), finitePart(place.in(expected), *run)));
    if (turned.close > 0)
      std::move(runs.begin(), runs.end(), std::back_inserter(rounded));
    return {};
  }

private:
  Status runAtRandom(uint64_t seed, int runs, CloseChoices::Run kind,
                     std::vector<std::vector<GlobalCall>> &into) {
    DiagnosticCollector diagnostics(*program->getContext());
    for (int run = 0; run < runs; ++run) {
      InterpreterOptions options;
      options.randomRounding = seed * 64 + uint64_t(run) + 1;
      options.choices = &choices;
      choices.begin(kind);
      into.push_back(drawn);
      if (failed(interpretCalls(*program, parameters, into.back(), options)))
        return diagnostics.failure("cannot interpret the program with random rounding", "");
    }
    return {};
  }
};
} // namespace

Result<double> roundingError(ModuleOp step, const ExecutionJudgement &judgement) {
  Result<Interpretation> made = Interpretation::of(step, judgement);
  if (!made)
    return made.takeFailure();
  if (Status s = made->roundAtRandom(judgement.seed, judgement.bounds.roundings); !s)
    return s.takeFailure();
  double most = 0;
  for (const ResultPlace &place : resultPlaces(made->expected)) {
    const ReferenceTensor &value = place.in(made->expected);
    if (llvm::any_of(value.f, [](double x) { return !std::isfinite(x); }))
      most = std::numeric_limits<double>::infinity();
    for (const ReferenceTensor *run : place.inAll(made->rounded))
      most = std::max(most, relativeError(value, *run));
  }
  return most;
}

Result<std::vector<Difference>> judgeExecution(ModuleOp step, const ExecutionJudgement &judgement,
                                               TurnedChoices *turned) {
  Result<Interpretation> made = Interpretation::of(step, judgement);
  if (!made)
    return made.takeFailure();
  auto &[named, parameters, drawn, expected, rounded, choices] = *made;
  if (shortRounding(*named)) {
    if (Status s = made->roundAtRandom(judgement.seed, judgement.bounds.roundings); !s)
      return s.takeFailure();
    TurnedChoices unasked;
    if (choices.close() > 0 || turned)
      if (Status s = made->turnChoices(judgement, turned ? *turned : unasked); !s)
        return s.takeFailure();
  }
  std::vector<GlobalCall> found = drawn;
  std::optional<ScratchFile> weights;
  if (judgement.weights.empty() && !parameters.empty()) {
    auto file = ScratchFile::create("tessera-judge", "safetensors");
    if (!file)
      return file.takeFailure();
    weights = file.take();
    if (Status s = writeParameters(*named, parameters, weights->path()); !s)
      return s.takeFailure();
    for (auto parameter : named->getOps<graph::ParameterOp>()) // they are floats now
      parameter->removeAttr(graph::kHeldAttr);
  }
  // The interpreter may be asked again: what is compiled is a copy.
  OwningOpRef<ModuleOp> compiled(cast<ModuleOp>(named->clone()));
  Result<CompiledProgram> program = CompiledProgram::compile(*compiled, judgement.execution);
  if (!program)
    return program.takeFailure();
  runtime::RunOptions run;
  run.threads = judgement.threads;
  run.weights = weights ? weights->path() : judgement.weights;
  // Each copy may be off by what is allowed, to either side.
  auto tolerance = [made = &*made, &judgement](size_t call, const Port &port) {
    auto of = [&](const GlobalCall &result) -> const ReferenceTensor & {
      return (port.kind == graph::Kind::Output ? result.outputs : result.states).at(port.name);
    };
    std::vector<const ReferenceTensor *> runs;
    for (const std::vector<GlobalCall> &run : made->rounded)
      runs.push_back(&of(run[call]));
    return 2 * allowedError(of(made->expected[call]), runs, judgement.bounds);
  };
  if (Status s = program->run(found, run, tolerance, judgement.runner); !s)
    return s.takeFailure();
  std::vector<Difference> differences = compareCalls(expected, found, rounded, judgement.bounds);
  // Rounding to 32 bits carries results that far only where terms cancel: all that is left of the gradient of
  // a bias of keys is rounding.
  auto isOffByRounding = [](const Difference &d) { return d.tooLarge() && d.finite && !d.integer; };
  if (judgement.bounds.roundsWider && rounded.empty() && llvm::any_of(differences, isOffByRounding)) {
    if (Status s = made->roundAtRandom(judgement.seed, judgement.bounds.roundings); !s)
      return s.takeFailure();
    differences = compareCalls(expected, found, rounded, judgement.bounds);
  }
  return differences;
}

} // namespace tessera
