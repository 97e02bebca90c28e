//===- Check.cpp - The executable against one device ----------------------===//
#include "tessera/Execution/Check.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Execution/Compare.h"
#include "tessera/Execution/ShortRounding.h"
#include "tessera/Interfaces/Interfaces.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Pipelines/Frontend.h"
#include "tessera/Pipelines/Phases.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <map>
#include <numeric>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;

namespace tessera {

namespace {
constexpr int64_t kMostRanks = 64, kCutPositions = 16;
constexpr double kMostFlops = 6e10; ///< for the interpreter: about a minute
constexpr double kBound = 1e-4;     ///< of float32: sums in other orders
/// Of the largest element, in 16 bits: what rounding may be of a result.
constexpr double kLittleRounding = 0.1, kMostlyRounding = 0.5;
constexpr uint64_t kSeed = 1;
constexpr int64_t kThreads = 2; ///< of each rank: kernels that are parted, as they run afterwards

/// What is compared: the object that OUT is linked from, its ports on rung spmd, and its program on rung
/// step.
struct CheckedProgram {
  ModuleOp step;
  const std::vector<EntryPorts> &ports;
  const std::function<void(ModuleOp)> &onSpmd;
};

class Checker {
public:
  Checker(const CheckedProgram &checked, const std::string &object, const CompileOptions &options)
      : checked(checked), object(object), options(options) {}

  Result<std::string> run() {
    if (Status s = prepare(); !s)
      return s.takeFailure();
    if (Status s = compareWithInterpreter(); !s)
      return s.takeFailure();
    if (Status s = compareWithOneRank(); !s)
      return s.takeFailure();
    if (!firstOfRounding.empty())
      notes.push_back("little but rounding is left of some results, first of " + firstOfRounding);
    std::string line;
    llvm::raw_string_ostream os(line);
    os << "equal to one device: largest difference " << llvm::format("%.2g", worst.relative) << " at "
       << (worst.where.empty() ? "no output" : worst.where);
    for (size_t i = 0; i < notes.size(); ++i)
      os << (i ? "; " : " (") << notes[i];
    return line + (notes.empty() ? "" : ")");
  }

private:
  /// Devices that can run what was compiled, weights, and a mesh that this machine can run.
  Status prepare() {
    if (Status s = runtime::findDevices(options.target); !s)
      return Failure{"cannot check the executable", "--check with --target=" + options.target,
                     "it runs on this machine, and " + s.failure().why,
                     "or leave --check out; no executable was written"};
    auto from = checked.step->getAttrOfType<StringAttr>("tessera.model");
    weights = isProgramText(options) && from ? from.str() : options.model;
    auto file = io::ModelFile::open(weights);
    if (file)
      model = file.take();
    else if (!isProgramText(options)) // the files a program in text names may be elsewhere
      return file.takeFailure();
    if (!hasWeights())
      notes.push_back("random weights");
    if (Status s = fitsThisMachine(); !s)
      return s;
    std::string error;
    std::optional<Mesh> mesh = dist::parseMeshSpec(options.mesh, error);
    mesh1 = options.mesh;
    if (!mesh || mesh->numDevices() <= kMostRanks)
      return {};
    while (mesh->numDevices() > kMostRanks) {
      auto &axis = *llvm::max_element(mesh->axes, [&](const MeshAxis &a, const MeshAxis &b) {
        return a.size / splitOf(a.name) < b.size / splitOf(b.name);
      });
      const int64_t whole = splitOf(axis.name), pieces = axis.size / whole;
      if (pieces <= 1)
        return Failure{"cannot check", "--mesh=" + options.mesh,
                       "more than " + std::to_string(kMostRanks) +
                           " ranks, and the sub-axes of --shard do not let an axis be cut",
                       "leave --check out, or check a smaller mesh"};
      axis.size = whole * ((pieces + 1) / 2);
    }
    mesh1.clear();
    for (const MeshAxis &axis : mesh->axes)
      mesh1 += (mesh1.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
    notes.push_back("mesh cut to " + mesh1);
    return {};
  }

  /// Every rank runs in this process: weights and states must fit. What they take besides is not counted, so
  /// what is refused does not run.
  Status fitsThisMachine() const {
    std::map<std::string, double> bytes; // of all entries, by name
    for (const EntryPorts &entry : checked.ports)
      for (const Port &port : entry.arguments) {
        const double bits = port.held ? 4 : port.shape.elementType.getIntOrFloatBitWidth();
        double elements = 1;
        for (int64_t size : port.shape.global)
          elements *= double(size);
        bytes[port.name] = elements * bits / 8;
      }
    double taken = 0;
    for (const auto &[name, of] : bytes)
      taken += of;
    double there = double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
    if (rlimit limit; getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      there = std::min(there, double(limit.rlim_cur));
    if (taken <= there)
      return {};
    std::string why;
    llvm::raw_string_ostream(why) << llvm::formatv(
        "all ranks run on this machine, weights and states take {0:f1} GB, and it gives {1:f1} GB",
        taken / 1e9, there / 1e9);
    return Failure{
        "cannot check the executable", "--check", why,
        "leave --check out, or check a model of the same kind with fewer layers; no executable was "
        "written"};
  }

  /// What the size of an axis must stay a multiple of: `--shard` may name its sub-axes, `tp:(2)4`.
  int64_t splitOf(llvm::StringRef axis) const {
    int64_t least = 1;
    llvm::Regex subAxis("([A-Za-z_][A-Za-z_0-9]*):\\(([0-9]+)\\)([0-9]+)");
    llvm::SmallVector<llvm::StringRef> found;
    for (llvm::StringRef rest = options.shard; subAxis.match(rest, &found);
         rest = rest.substr(size_t(found[0].end() - rest.begin()))) {
      int64_t before = 1, size = 1;
      if (found[1] == axis && !found[2].getAsInteger(10, before) && !found[3].getAsInteger(10, size) &&
          before > 0 && size > 0)
        least = std::lcm(least, before * size);
    }
    return least;
  }

  bool hasWeights() const { return model && model->hasWeights(); }
  bool isWholeMesh() const { return mesh1 == options.mesh; }

  ExecutionOptions execution(const std::string &mesh) const {
    ExecutionOptions execution;
    execution.compile = options;
    execution.compile.savedBytes = -1; // those of the program that is checked
    execution.compile.mesh = mesh;
    if (mesh.empty()) {
      execution.compile.shard.clear();
      execution.compile.machine.clear(); // it may speak of axes
    } else {
      execution.onSpmd = checked.onSpmd;
    }
    return execution;
  }

  static bool bringsMesh(ModuleOp module) { return bool(dist::getMesh(module)); }

  /// Keeps the largest difference; a Failure if one is too large.
  Status keep(const std::vector<Difference> &differences, const std::string &against) {
    auto infinite = llvm::find_if(differences, [](const Difference &d) { return !d.finite; });
    if (infinite != differences.end() && !llvm::is_contained(notes, kNotFinite))
      notes.push_back(kNotFinite);
    for (const Difference &difference : differences) {
      if (difference.tooLarge()) {
        // An integer may follow an infinite float; a finite float does not.
        if (!difference.finite || (difference.integer && infinite != differences.end()))
          return Failure{"cannot compare with one device", infinite->where,
                         "it has numbers that are infinite or none",
                         "check the weights, and try a type of wider range (--dtype=bf16 or f32); if they "
                         "stay, report it with "
                         "the command line; no executable was written"};
        std::string why;
        llvm::raw_string_ostream(why)
            << "the largest difference from " << against << " is "
            << llvm::format("%.2g", difference.relative) << " of the largest element, allowed is "
            << llvm::format("%.2g", difference.allowed);
        return Failure{
            "not equal to one device", difference.where, why,
            "this is a mistake of the compiler: report it with the command line; no executable was written"};
      }
      if (difference.follows)
        continue;
      if (isLittleButRounding(difference)) {
        if (firstOfRounding.empty())
          firstOfRounding = difference.where;
      } else if (difference.relative >= worst.relative) {
        worst = difference;
      }
    }
    return {};
  }

  /// By the runs that round at random; in 32 bits whatever is allowed more for them.
  bool isLittleButRounding(const Difference &difference) const {
    auto known = carried.find(difference.where);
    return roundsShort ? known != carried.end() && known->second > kMostlyRounding
                       : difference.relative > kBound;
  }

  //===--------------------------------------------------------------------===//
  // Against the interpreter
  //===--------------------------------------------------------------------===//

  static double flopsOf(ModuleOp module) {
    double flops = 0;
    module.walk([&](CostOpInterface op) {
      if (op->getNumRegions() == 0) // of others the regions are walked
        flops += timesRun(op) * op.getCost().flops;
    });
    return flops;
  }

  /// The program that the interpreter can run: of a model few layers of each run, and few positions.
  Result<OwningOpRef<ModuleOp>> smallProgram(MLIRContext &context) {
    if (isProgramText(options))
      return OwningOpRef<ModuleOp>(cast<ModuleOp>(checked.step->clone()));
    CompileOptions cut = options;
    cut.cutsRuns = true;
    cut.savedBytes = -1; // those of all layers
    cut.maxSeqLen = options.maxSeqLen ? std::min(options.maxSeqLen, kCutPositions) : kCutPositions;
    Result<OwningOpRef<ModuleOp>> loaded = loadModel(context, cut);
    if (!loaded)
      return loaded.takeFailure();
    OwningOpRef<ModuleOp> module = loaded.take();
    DiagnosticCollector diagnostics(context);
    PassManager pm(&context);
    buildPhases(pm, Rung::Graph, Rung::Step, cut);
    if (failed(pm.run(*module)))
      return diagnostics.failure("cannot cut the model", options.model);
    notes.push_back("interpreted with the first layers of each kind and " + std::to_string(cut.maxSeqLen) +
                    " positions at most");
    return module;
  }

  Status compareWithInterpreter() {
    Result<OwningOpRef<ModuleOp>> small = smallProgram(*checked.step.getContext());
    if (!small)
      return small.takeFailure();
    ModuleOp module = **small;
    const ShortRounding cut = shortRounding(module), all = shortRounding(checked.step);
    roundsShort = bool(all);
    shortBound = std::max(kBound, all.error());
    if (flopsOf(module) > kMostFlops) {
      bool chooses = false;
      module.walk([&](graph::TopKOp) { chooses = true; });
      if (chooses && all)
        return Failure{"cannot check", options.model,
                       "in 16 bits choices of experts may turn by rounding, and it is too large for the "
                       "interpreter, which would say how far that carries its numbers",
                       "check it with --dtype=f32, or leave --check out; no executable was written"};
      notes.push_back("too large to interpret");
      return {};
    }
    ExecutionJudgement judgement;
    judgement.execution = execution(mesh1);
    judgement.bounds.relative = kBound;
    judgement.bounds.roundsWider = true;
    judgement.bounds.integersFollow = bool(cut); // which of two near logits is larger
    judgement.bounds.logitsOfTokens = chosenTokens(module);
    judgement.seed = kSeed;
    judgement.threads = kThreads;
    NamedValues parameters;
    if (hasWeights()) {
      for (auto parameter : module.getOps<graph::ParameterOp>()) {
        if (parameter->hasAttr(graph::kStateOfAttr)) { // begins as zeros
          parameters[parameter.getSymName().str()] =
              ReferenceTensor(cast<RankedTensorType>(parameter.getType()));
          continue;
        }
        auto value = readParameter(*model, parameter);
        if (!value)
          return value.takeFailure();
        parameters[parameter.getSymName().str()] = value.take();
        parameters[parameter.getSymName().str()].roundToType();
      }
      judgement.weights = weights;
      judgement.parameters = &parameters;
    }
    TurnedChoices turned;
    auto differences = judgeExecution(module, judgement, &turned);
    if (!differences)
      return differences.takeFailure();
    // What rounding does to the program that was interpreted, as many times more as it adds up in all of it.
    double allowed = kBound;
    // Where rounding is much of a result that says nothing of the others: it is bounded for itself.
    for (const Difference &difference : *differences)
      if (!difference.follows && difference.carried <= kLittleRounding)
        allowed = std::max(allowed, difference.allowed);
    for (const Difference &difference : *differences)
      carried[difference.where] =
          difference.carried * std::sqrt(std::max(1.0, all.every / std::max(1.0, cut.every)));
    if (cut)
      shortBound = std::max(allowed * std::max(1.0, all.error() / cut.error()), 3 * turned.error);
    if (turned.all)
      notes.push_back(std::to_string(turned.close) + " of " + std::to_string(turned.all) +
                      " choices of experts may turn by rounding, and may be either way");
    return keep(*differences, "the interpreter");
  }

  //===--------------------------------------------------------------------===//
  // Against one rank
  //===--------------------------------------------------------------------===//

  Status compareWithOneRank() {
    if (bringsMesh(checked.step)) { // its shardings are part of the program
      notes.push_back("not compared with one rank: the program brings its own mesh");
      return {};
    }
    OwningOpRef<ModuleOp> one(cast<ModuleOp>(checked.step->clone()));
    std::vector<GlobalCall> calls = randomCalls(*one, checked.step, kSeed, 2), expected = calls;
    Result<CompiledProgram> single = CompiledProgram::compile(*one, execution(""));
    if (!single)
      return single.takeFailure();
    OwningOpRef<ModuleOp> again(isWholeMesh() ? ModuleOp() : cast<ModuleOp>(checked.step->clone()));
    auto target = resolveTarget(options.target, options.targetOptions);
    if (!target)
      return target.takeFailure();
    Result<CompiledProgram> whole = isWholeMesh() ? CompiledProgram::load(object, checked.ports, **target)
                                                  : CompiledProgram::compile(*again, execution(mesh1));
    if (!whole)
      return whole.takeFailure();
    runtime::RunOptions run;
    run.threads = kThreads;
    if (hasWeights())
      run.weights = weights;
    // Sums in other orders: what ranks hold of one element may differ by what results may.
    Bounds bounds;
    bounds.integersFollow = roundsShort || !firstOfRounding.empty();
    bounds.logitsOfTokens = chosenTokens(checked.step);
    bounds.relative = roundsShort ? shortBound : kBound;
    bounds.carried = carried;
    auto tolerance = [&](size_t call, const Port &port) {
      auto known = carried.find(whereIs(calls, call, port));
      return std::max(bounds.relative, known == carried.end() ? 0 : known->second);
    };
    for (auto [program, result] : {std::pair(&*single, &expected), std::pair(&*whole, &calls)})
      if (Status s = program->run(*result, run, tolerance); !s)
        return s;
    return keep(compareCalls(expected, calls, {}, bounds), "the executable of one rank");
  }

  CheckedProgram checked;
  const std::string &object;
  const CompileOptions &options;
  std::string weights; ///< the files that `model` reads
  std::unique_ptr<io::ModelFile> model;
  std::string mesh1; ///< the mesh that runs
  static constexpr const char *kNotFinite = "some of the numbers are infinite or none";
  std::vector<std::string> notes;
  Difference worst;
  std::string firstOfRounding;           ///< results of programs in 32 bits that differ by more than kBound
  bool roundsShort = false;              ///< the program has floats, or caches, of few bits
  std::map<std::string, double> carried; ///< by rounding, as Bounds::carried
  double shortBound = kBound;            ///< of the whole program, where it rounds to few bits
};
} // namespace

void OneDeviceCheck::onSpmd(ModuleOp module) {
  if (fault)
    fault(module);
  ports = entryPorts(module);
}

Result<std::string> OneDeviceCheck::check(const std::string &object, const CompileOptions &options) {
  return Checker({*step, ports, fault}, object, options).run();
}

} // namespace tessera
