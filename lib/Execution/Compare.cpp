//===- Compare.cpp - The machine against the interpreter ------------------===//
#include "tessera/Execution/Compare.h"

#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Reference/Judge.h"

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
      for (auto [port, value] : llvm::zip_equal(entry.arguments, random))
        if (port.kind == graph::Kind::Input) {
          value.roundToType();
          calls.back().inputs[port.name] = std::move(value);
        }
    }
  return calls;
}

LogicalResult interpretCalls(ModuleOp module, const NamedValues &parameters, std::vector<GlobalCall> &calls,
                             const InterpreterOptions &options) {
  NamedValues states;
  std::vector<EntryPorts> entries = entryPorts(module);
  for (GlobalCall &call : calls) {
    func::FuncOp func = entryOf(module, call.entry);
    auto entry = llvm::find_if(entries, [&](const EntryPorts &other) { return other.name == call.entry; });
    std::vector<ReferenceTensor> arguments;
    for (const Port &port : entry->arguments) {
      if (port.kind == graph::Kind::State && !states.count(port.name))
        states[port.name] = ReferenceTensor(port.shape.elementType, port.shape.global);
      const NamedValues &from = port.kind == graph::Kind::State       ? states
                                : port.kind == graph::Kind::Parameter ? parameters
                                                                      : call.inputs;
      arguments.push_back(from.at(port.name));
    }
    auto results = interpretGlobally(func, std::move(arguments), options);
    if (failed(results))
      return failure();
    for (auto [port, value] : llvm::zip_equal(entry->results, *results)) {
      if (port.kind == graph::Kind::State)
        call.states[port.name] = states[port.name] = std::move(value);
      else
        call.outputs[port.name] = std::move(value);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// What `found` may be off, relative to the largest element; `rounded`: what it is in the runs that round at
/// random.
static double allowedError(const ReferenceTensor &expected,
                           const std::vector<const ReferenceTensor *> &rounded, const Bounds &bounds) {
  if (!expected.isFloat())
    return 0;
  if (rounded.empty())
    return bounds.relative;
  double most = 0;
  for (const ReferenceTensor *run : rounded)
    most = std::max(most, relativeError(expected, *run));
  double unit = expected.elementType.isBF16() ? 0x1p-7 : expected.elementType.isF16() ? 0x1p-10 : 0x1p-23;
  return std::max(3 * most + unit, expected.elementType.getIntOrFloatBitWidth() > 16 ? bounds.relative : 0);
}

/// Calls `visit` with every output and state of every call: where it is, its value, and how to find it in
/// other runs of the same calls.
static void forEachResult(
    const std::vector<GlobalCall> &calls,
    llvm::function_ref<void(const std::string &, const ReferenceTensor &,
                            llvm::function_ref<const ReferenceTensor &(const std::vector<GlobalCall> &)>)>
        visit) {
  for (auto [i, call] : llvm::enumerate(calls))
    for (bool state : {false, true})
      for (const auto &[name, value] : state ? call.states : call.outputs)
        visit(
            "call " + std::to_string(i) + " of " + call.entry + ", " + (state ? "state " : "output ") + name,
            value, [&, i = i, &name = name](const std::vector<GlobalCall> &other) -> const ReferenceTensor & {
              return (state ? other[i].states : other[i].outputs).at(name);
            });
}

std::vector<Difference> compareCalls(const std::vector<GlobalCall> &expected,
                                     const std::vector<GlobalCall> &found,
                                     const std::vector<std::vector<GlobalCall>> &rounded,
                                     const Bounds &bounds) {
  std::vector<Difference> list;
  forEachResult(expected, [&](const std::string &where, const ReferenceTensor &value, auto in) {
    std::vector<const ReferenceTensor *> runs;
    for (const std::vector<GlobalCall> &run : rounded)
      runs.push_back(&in(run));
    Difference difference{where, relativeError(value, in(found)), allowedError(value, runs, bounds)};
    difference.integer = !value.isFloat();
    if (difference.integer && bounds.integersFollow)
      difference.allowed = 1, difference.follows = true;
    for (auto [a, b] : llvm::zip(value.f, in(found).f)) // minus infinity on both sides: a mask
      difference.finite &= (std::isfinite(a) && std::isfinite(b)) || a == b;
    list.push_back(std::move(difference));
  });
  return list;
}

bool hasShortFloats(ModuleOp module) {
  auto isShort = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && isa<FloatType>(shaped.getElementType()) && shaped.getElementTypeBitWidth() <= 16;
  };
  return module
      .walk([&](Operation *op) {
        for (Region &region : op->getRegions())
          for (Block &block : region)
            if (llvm::any_of(block.getArgumentTypes(), isShort))
              return WalkResult::interrupt();
        return llvm::any_of(op->getResultTypes(), isShort) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// A program with complete ports, its calls, and what the interpreter says of them.
struct Interpretation {
  OwningOpRef<ModuleOp> program;
  NamedValues parameters;
  std::vector<GlobalCall> drawn, expected;
  std::vector<std::vector<GlobalCall>> rounded; ///< as `expected`, in runs that round at random

  static Result<Interpretation> of(ModuleOp step, const ExecutionJudgement &judgement) {
    Interpretation made;
    made.program = cast<ModuleOp>(step->clone());
    completePorts(*made.program);
    made.parameters =
        judgement.parameters ? *judgement.parameters : randomParameters(*made.program, step, judgement.seed);
    made.drawn = made.expected = randomCalls(*made.program, step, judgement.seed, judgement.rounds);
    DiagnosticCollector diagnostics(*step.getContext());
    if (failed(interpretCalls(*made.program, made.parameters, made.expected)))
      return diagnostics.failure("cannot interpret the program", "");
    return made;
  }

  Status roundAtRandom(uint64_t seed, int runs) {
    DiagnosticCollector diagnostics(*program->getContext());
    for (int run = 0; run < runs; ++run) {
      InterpreterOptions options;
      options.randomRounding = seed * 64 + uint64_t(run) + 1;
      rounded.push_back(drawn);
      if (failed(interpretCalls(*program, parameters, rounded.back(), options)))
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
  forEachResult(made->expected, [&](const std::string &, const ReferenceTensor &value, auto in) {
    if (llvm::any_of(value.f, [](double x) { return !std::isfinite(x); }))
      most = std::numeric_limits<double>::infinity();
    for (const std::vector<GlobalCall> &run : made->rounded)
      most = std::max(most, relativeError(value, in(run)));
  });
  return most;
}

Result<std::vector<Difference>> judgeExecution(ModuleOp step, const ExecutionJudgement &judgement) {
  Result<Interpretation> made = Interpretation::of(step, judgement);
  if (!made)
    return made.takeFailure();
  auto &[named, parameters, drawn, expected, rounded] = *made;
  if (hasShortFloats(*named))
    if (Status s = made->roundAtRandom(judgement.seed, judgement.bounds.roundings); !s)
      return s.takeFailure();
  std::vector<GlobalCall> found = drawn;
  std::optional<ScratchFile> weights;
  if (judgement.weights.empty() && !parameters.empty()) {
    auto file = ScratchFile::create("tessera-judge", "safetensors");
    if (!file)
      return file.takeFailure();
    weights = file.take();
    if (Status s = writeParameters(*named, parameters, weights->path()); !s)
      return s.takeFailure();
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
      return (port.kind == graph::Kind::State ? result.states : result.outputs).at(port.name);
    };
    std::vector<const ReferenceTensor *> runs;
    for (const std::vector<GlobalCall> &run : made->rounded)
      runs.push_back(&of(run[call]));
    return 2 * allowedError(of(made->expected[call]), runs, judgement.bounds);
  };
  if (Status s = program->run(found, run, tolerance, judgement.runner); !s)
    return s.takeFailure();
  return compareCalls(expected, found, rounded, judgement.bounds);
}

} // namespace tessera
