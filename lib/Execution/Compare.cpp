//===- Compare.cpp - The machine against the interpreter ------------------===//
#include "tessera/Execution/Compare.h"

#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Reference/Judge.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

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
      if (port.kind == "parameter" && !values.count(port.name)) {
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
        if (port.kind == "input") {
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
      if (port.kind == "state" && !states.count(port.name))
        states[port.name] = ReferenceTensor(port.shape.elementType, port.shape.global);
      const NamedValues &from = port.kind == "state"       ? states
                                : port.kind == "parameter" ? parameters
                                                           : call.inputs;
      arguments.push_back(from.at(port.name));
    }
    auto results = interpretGlobally(func, std::move(arguments), options);
    if (failed(results))
      return failure();
    for (auto [port, value] : llvm::zip_equal(entry->results, *results)) {
      if (port.kind == "state")
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

static double largestOf(const ReferenceTensor &value) {
  double largest = 0;
  for (double x : value.f)
    if (std::isfinite(x))
      largest = std::max(largest, std::fabs(x));
  return largest;
}

/// What `found` may be off, relative to the largest element. In 16 bits a rounded run that overflows says
/// that the program may.
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

std::vector<Difference> compareCalls(const std::vector<GlobalCall> &expected,
                                     const std::vector<GlobalCall> &found,
                                     const std::vector<std::vector<GlobalCall>> &rounded,
                                     const Bounds &bounds) {
  std::vector<Difference> list;
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(expected, found))) {
    const auto &[want, have] = pair;
    for (bool state : {false, true})
      for (const auto &[name, value] : state ? want.states : want.outputs) {
        std::vector<const ReferenceTensor *> runs;
        for (const std::vector<GlobalCall> &run : rounded)
          runs.push_back(&(state ? run[i].states : run[i].outputs).at(name));
        Difference difference;
        difference.where =
            "call " + std::to_string(i) + " of " + want.entry + ", " + (state ? "state " : "output ") + name;
        difference.relative = relativeError(value, (state ? have.states : have.outputs).at(name));
        difference.allowed = allowedError(value, runs, bounds);
        list.push_back(std::move(difference));
      }
  }
  return list;
}

/// Holds 16-bit floats anywhere.
static bool hasShortFloats(ModuleOp module) {
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

Result<std::vector<Difference>> judgeExecution(ModuleOp step, const ExecutionJudgement &judgement) {
  OwningOpRef<ModuleOp> named(cast<ModuleOp>(step->clone()));
  completePorts(*named);
  NamedValues parameters =
      judgement.parameters ? *judgement.parameters : randomParameters(*named, step, judgement.seed);
  std::vector<GlobalCall> expected = randomCalls(*named, step, judgement.seed, judgement.rounds),
                          found = expected;
  const std::vector<GlobalCall> drawn = expected;
  std::vector<std::vector<GlobalCall>> rounded;
  {
    DiagnosticCollector diagnostics(*step.getContext());
    if (failed(interpretCalls(*named, parameters, expected)))
      return diagnostics.failure("cannot interpret the program", "");
  }
  // Interprets with random rounding.
  auto roundAtRandom = [&]() -> Status {
    DiagnosticCollector diagnostics(*step.getContext());
    for (int run = 0; run < judgement.bounds.roundings; ++run) {
      InterpreterOptions options;
      options.randomRounding = judgement.seed * 64 + uint64_t(run) + 1;
      rounded.push_back(drawn);
      if (failed(interpretCalls(*named, parameters, rounded.back(), options)))
        return diagnostics.failure("cannot interpret the program with random rounding", "");
    }
    return {};
  };
  if (hasShortFloats(*named))
    if (Status s = roundAtRandom(); !s)
      return s.takeFailure();
  llvm::SmallString<128> weights;
  auto remove = llvm::make_scope_exit([&] {
    if (!weights.empty())
      (void)llvm::sys::fs::remove(weights);
  });
  if (judgement.weights.empty() && !parameters.empty()) {
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("tessera-judge", "safetensors", weights))
      return Failure{"cannot write weights", "", error.message(), "make room in TMPDIR"};
    if (Status s = writeParameters(*named, parameters, std::string(weights)); !s)
      return s.takeFailure();
  }
  // The interpreter may be asked again: what is compiled is a copy.
  OwningOpRef<ModuleOp> compiled(cast<ModuleOp>(named->clone()));
  Result<CompiledProgram> program = CompiledProgram::compile(*compiled, judgement.execution);
  if (!program)
    return program.takeFailure();
  runtime::RunOptions run;
  run.threads = judgement.threads;
  run.weights = judgement.weights.empty() ? std::string(weights) : judgement.weights;
  if (Status s = program->run(found, run, rounded.empty() ? 1e-4 : 1.0, judgement.runner); !s)
    return s.takeFailure();
  std::vector<Difference> differences = compareCalls(expected, found, rounded, judgement.bounds);
  if (!rounded.empty() ||
      llvm::none_of(differences, [](const Difference &difference) { return difference.tooLarge(); }))
    return differences;
  // Beyond the bound of float32 only what rounding itself can do to an ill-conditioned program.
  if (Status s = roundAtRandom(); !s)
    return s.takeFailure();
  return compareCalls(expected, found, rounded, judgement.bounds);
}

} // namespace tessera
