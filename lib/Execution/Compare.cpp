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

static double largestElement(const ReferenceTensor &value) {
  double largest = 0;
  for (double x : value.f)
    largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  return largest;
}

/// The largest difference between elements that are finite in both.
static double largestDifference(const ReferenceTensor &a, const ReferenceTensor &b) {
  double most = 0;
  for (auto [x, y] : llvm::zip(a.f, b.f))
    most = std::isfinite(x) && std::isfinite(y) ? std::max(most, std::abs(x - y)) : most;
  return most;
}

/// What `found` may be off by, by runs that round at random; 0 without. Always finite: where one of them
/// overflows, the others say how far rounding carries the rest.
static double carriedError(const ReferenceTensor &expected, const RoundedRuns &rounded,
                           const std::string &where) {
  if (!expected.isFloat() || rounded.empty())
    return 0;
  double unit = expected.elementType.isBF16() ? 0x1p-7 : expected.elementType.isF16() ? 0x1p-10 : 0x1p-23;
  return 3 * rounded.at(where).most + unit * largestElement(expected);
}

/// Relative to the largest element, or to `carried` if that is more.
static double allowedError(const ReferenceTensor &expected, double carried, const Bounds &bounds) {
  if (!expected.isFloat())
    return 0;
  return std::max(carried > 0 ? carried / std::max(carried, largestElement(expected)) : 0, bounds.relative);
}

/// How far the chosen logits lie below the largest ones of their rows, relative to the largest element, or to
/// `least` if that is more. Infinite where an id is none of the row's; a row that is not finite has no
/// largest.
static double distanceFromLargest(const ReferenceTensor &ids, const ReferenceTensor &logits, double least) {
  double most = 0, scale = least;
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

static std::string whereOf(const std::vector<GlobalCall> &calls, size_t call, const std::string &name,
                           bool isState) {
  return callText(calls, call) + ", " + (isState ? "state " : "output ") + name;
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
  std::string whereIn(const std::vector<GlobalCall> &calls) const {
    return whereOf(calls, call, name, state);
  }
};
} // namespace

std::string whereIs(const std::vector<GlobalCall> &calls, size_t call, const Port &port) {
  return whereOf(calls, call, port.name, port.kind != graph::Kind::Output);
}

static std::vector<ResultPlace> resultPlaces(const std::vector<GlobalCall> &calls) {
  std::vector<ResultPlace> places;
  for (auto [i, call] : llvm::enumerate(calls))
    for (bool state : {false, true})
      for (const auto &[name, value] : state ? call.states : call.outputs)
        places.push_back({i, call.entry, name, state});
  return places;
}

void RoundedRuns::add(const std::vector<GlobalCall> &expected, const std::vector<GlobalCall> &run) {
  for (const ResultPlace &place : resultPlaces(expected)) {
    Place &known = places[place.whereIn(expected)];
    known.most = std::max(known.most, largestDifference(place.in(expected), place.in(run)));
    known.largest = std::max(known.largest, largestElement(place.in(run)));
  }
}

std::vector<Difference> compareCalls(const std::vector<GlobalCall> &expected,
                                     const std::vector<GlobalCall> &found, const RoundedRuns &rounded,
                                     const Bounds &bounds) {
  std::vector<Difference> list;
  for (const ResultPlace &place : resultPlaces(expected)) {
    const ReferenceTensor &wanted = place.in(expected), &value = place.in(found);
    const std::string where = place.whereIn(expected);
    const double carried = carriedError(wanted, rounded, where);
    Difference difference{where, relativeError(wanted, value, carried),
                          allowedError(wanted, carried, bounds)};
    const double largest = std::max(largestElement(wanted), rounded.at(where).largest);
    difference.carried = largest > 0 ? carried / largest : 0;
    if (auto other = bounds.carried.find(where); other != bounds.carried.end())
      difference.allowed = std::max(difference.allowed, other->second);
    difference.integer = !wanted.isFloat();
    auto logits = bounds.logitsOfTokens.find({place.entry, place.name});
    if (difference.integer && bounds.integersFollow && !place.state &&
        logits != bounds.logitsOfTokens.end()) {
      ResultPlace from{place.call, place.entry, logits->second, false};
      const double ofLogits = carriedError(from.in(expected), rounded, from.whereIn(expected));
      difference.relative = distanceFromLargest(value, from.in(found), ofLogits);
      difference.allowed = allowedError(from.in(expected), ofLogits, bounds);
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
  RoundedRuns rounded;
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
    return runAtRandom(seed, runs, CloseChoices::Run::Rounded,
                       [&](const std::vector<GlobalCall> &run) { rounded.add(expected, run); });
  }

  /// Goes on from there: what becomes of choices that are close.
  Status turnChoices(const ExecutionJudgement &judgement, TurnedChoices &turned) {
    turned.all = choices.all();
    turned.close = choices.close();
    if (turned.all == 0)
      return {};
    choices.turnClosest();
    const bool areClose = turned.close > 0;
    return runAtRandom(judgement.seed + 1, judgement.bounds.roundings, CloseChoices::Run::Turned,
                       [&](const std::vector<GlobalCall> &run) {
                         for (const ResultPlace &place : resultPlaces(expected)) {
                           const double most = largestDifference(place.in(expected), place.in(run));
                           if (most > 0)
                             turned.error = std::max(turned.error, most / largestElement(place.in(expected)));
                         }
                         if (areClose)
                           rounded.add(expected, run);
                       });
  }

  Status runAtRandom(uint64_t seed, int runs, CloseChoices::Run kind,
                     llvm::function_ref<void(const std::vector<GlobalCall> &)> visit) {
    DiagnosticCollector diagnostics(*program->getContext());
    for (int run = 0; run < runs; ++run) {
      InterpreterOptions options;
      options.randomRounding = seed * 64 + uint64_t(run) + 1;
      options.choices = &choices;
      choices.begin(kind);
      std::vector<GlobalCall> calls = drawn;
      if (failed(interpretCalls(*program, parameters, calls, options)))
        return diagnostics.failure("cannot interpret the program with random rounding", "");
      visit(calls);
    }
    return {};
  }
};
} // namespace

Result<double> roundingError(ModuleOp step, const ExecutionJudgement &judgement) {
  Result<Interpretation> made = Interpretation::of(step, judgement);
  if (!made)
    return made.takeFailure();
  double most = 0;
  for (const ResultPlace &place : resultPlaces(made->expected))
    if (llvm::any_of(place.in(made->expected).f, [](double x) { return !std::isfinite(x); }))
      most = std::numeric_limits<double>::infinity();
  Status ran =
      made->runAtRandom(judgement.seed, judgement.bounds.roundings, CloseChoices::Run::Rounded,
                        [&](const std::vector<GlobalCall> &run) {
                          for (const ResultPlace &place : resultPlaces(made->expected))
                            most = std::max(most, relativeError(place.in(made->expected), place.in(run)));
                        });
  if (!ran)
    return ran.takeFailure();
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
  std::vector<GlobalCall> found;
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
    const GlobalCall &result = made->expected[call];
    const ReferenceTensor &wanted =
        (port.kind == graph::Kind::Output ? result.outputs : result.states).at(port.name);
    const double carried = carriedError(wanted, made->rounded, whereIs(made->expected, call, port));
    return 2 * allowedError(wanted, carried, judgement.bounds);
  };
  std::vector<Difference> differences;
  auto runAndCompare = [&](bool runs) -> Status {
    if (runs) {
      found = made->drawn;
      if (Status s = program->run(found, run, tolerance, judgement.runner); !s)
        return s;
    }
    Bounds bounds = judgement.bounds;
    bounds.integersFollow |= bounds.roundsWider && !made->rounded.empty(); // from what is but rounding
    differences = compareCalls(made->expected, found, made->rounded, bounds);
    return {};
  };
  Status ran = runAndCompare(true);
  // Rounding to 32 bits carries results far only where terms cancel: all that is left of the gradient of a
  // bias of keys is rounding. Then all is compared once more, with what runs say that round at random.
  auto isOffByRounding = [](const Difference &d) { return d.tooLarge() && d.finite && !d.integer; };
  const bool isOff = ran ? llvm::any_of(differences, isOffByRounding) : ran.failure().what == kRanksDisagree;
  if (judgement.bounds.roundsWider && rounded.empty() && isOff) {
    if (Status s = made->roundAtRandom(judgement.seed, judgement.bounds.roundings); !s)
      return s.takeFailure();
    if (choices.close() > 0) // one that turned says nothing of rounding
      rounded = {};
    ran = runAndCompare(/*runs=*/!ran);
  }
  if (!ran)
    return ran.takeFailure();
  return differences;
}

} // namespace tessera
