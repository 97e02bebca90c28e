//===- Program.cpp - Same numbers before and after a pipeline? ------------===//
#include "Program.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Execution/Compare.h"
#include "tessera/Pipelines/Diagnostics.h"
#include "tessera/Reference/Judge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace tessera;

static LogicalResult fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "\n";
  return failure();
}

static FailureOr<SmallVector<func::FuncOp>> findEntries(ModuleOp module, StringRef entry, StringRef where) {
  SmallVector<func::FuncOp> found;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && (entry.empty() || entry == "*" ? func.isPublic() : func.getName() == entry))
      found.push_back(func);
  if (found.empty())
    return fail("entry (" + where + "): " +
                (entry.empty() || entry == "*" ? std::string("no public function with a body")
                                               : ("no function @" + entry).str()));
  if (entry.empty())
    found.resize(1);
  return found;
}

static std::string resultName(func::FuncOp func, unsigned i) {
  auto name = func.getResultAttrOfType<StringAttr>(i, graph::kNameAttr);
  return "#" + std::to_string(i) + (name ? " " + name.getValue().str() : "");
}

/// Runs one seed; prints the error of results. The number of results above the tolerance, or failure.
static FailureOr<unsigned> compare(func::FuncOp before, func::FuncOp after, uint64_t seed,
                                   const ProgramJudgement &judgement) {
  std::vector<ReferenceTensor> inputs = randomInputs(before, seed);
  auto expected = interpretGlobally(before, inputs);
  if (failed(expected))
    return failure();
  auto found = interpretGlobally(after, std::move(inputs));
  if (failed(found))
    return failure();
  if (expected->size() != found->size())
    return fail("results (" + after.getName() + "): " + llvm::Twine(found->size()) + " after the pipeline, " +
                llvm::Twine(expected->size()) +
                " before; only pipelines that keep the signature can be judged");
  double largest = 0;
  for (const ReferenceTensor &tensor : *expected)
    for (double x : tensor.f)
      largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
  unsigned bad = 0;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(*expected, *found))) {
    double error = relativeError(std::get<0>(pair), std::get<1>(pair), judgement.floor * largest);
    bool ok = error <= judgement.tolerance;
    bad += !ok;
    if (!ok || judgement.everyResult)
      llvm::outs() << "seed " << seed << " result " << resultName(before, unsigned(i)) << ": relative error "
                   << llvm::format("%.3g", error) << (ok ? "" : "  TOO LARGE") << "\n";
  }
  return bad;
}

/// `FAULT:OP`: at every op OP of the program after the pipeline. neg: its first result changes sign. crash:
/// abort. hang: never ends. late: dies of the signal that ends what never ends.
static void applyBreak(ModuleOp module, StringRef text) {
  auto [fault, name] = text.split(':');
  SmallVector<Operation *> found;
  module.walk([&, name = name](Operation *op) {
    if (op->getName().getStringRef() == name)
      found.push_back(op);
  });
  for (Operation *op : found) {
    if (fault == "crash")
      abort();
    while (fault == "hang")
      sleep(1);
    if (fault == "late") // as if its time were over
      raise(SIGALRM);
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    auto neg = graph::NegOp::create(builder, op->getLoc(), result.getType(), result);
    result.replaceAllUsesExcept(neg, neg);
  }
}

std::string ProgramJudgement::flags() const {
  if (!machine)
    return "--pipeline='" + pipeline + "'";
  return "--rung=" + rungName(*machine).str() + (mesh.empty() ? "" : " --mesh=" + mesh) +
         (shard.empty() ? "" : " --shard=" + shard) + (target == "cpu" ? "" : " --target=" + target) +
         (targetOptions.empty() ? "" : " --target-options=" + targetOptions) +
         (runner.empty() ? "" : " --runner='" + runner + "'");
}

/// Compiled and run, against the interpreter.
static FailureOr<unsigned> judgeOnMachine(ModuleOp before, const ProgramJudgement &judgement, uint64_t seed,
                                          Coverage *coverage) {
  ExecutionJudgement execution;
  execution.seed = seed;
  execution.bounds.relative = judgement.tolerance;
  execution.execution.through = *judgement.machine;
  execution.execution.compile.mesh = judgement.mesh;
  execution.execution.compile.shard = judgement.shard;
  execution.execution.compile.target = judgement.target;
  execution.execution.compile.targetOptions = parseTargetOptions(judgement.targetOptions);
  execution.runner = judgement.runner;
  execution.execution.onSpmd = [&](ModuleOp spmd) {
    if (!judgement.breakOp.empty())
      applyBreak(spmd, judgement.breakOp);
    if (judgement.print)
      spmd.print(llvm::outs());
    if (coverage) {
      coverage->countOps(before);
      coverage->countCollectives(spmd);
      coverage->countPairs(spmd);
      coverage->countTraits(spmd);
    }
  };
  execution.execution.onExec = [&](ModuleOp exec) {
    if (coverage)
      coverage->countWeights(exec);
  };
  Result<std::vector<Difference>> differences = judgeExecution(before, execution);
  if (!differences)
    return fail(differences.failure().message());
  unsigned bad = 0;
  double least = std::numeric_limits<double>::infinity(); // of the errors that are too large
  for (const Difference &difference : *differences) {
    bad += difference.tooLarge();
    if (difference.tooLarge())
      least = std::min(least, difference.relative);
    if (difference.tooLarge() || judgement.everyResult)
      llvm::outs() << "seed " << seed << " " << difference.where << ": relative error "
                   << llvm::format("%.3g", difference.relative)
                   << (difference.tooLarge() ? "  TOO LARGE, allowed is " : ", allowed is ")
                   << llvm::format("%.3g", difference.allowed) << "\n";
  }
  // A sine of a large number, a sum that cancels: the bound is for programs that float32 keeps to it. Of 16
  // bits it is made of rounding errors.
  if (Result<double> rounding = bad ? roundingError(before, execution) : Result<double>(0.0);
      rounding && *rounding > judgement.tolerance && 3 * *rounding >= least)
    llvm::outs() << "rounding alone carries a result of this program by " << llvm::format("%.3g", *rounding)
                 << " of its largest element: this need not be a fault\n";
  return bad;
}

FailureOr<unsigned> tessera::judgeProgram(ModuleOp before, const ProgramJudgement &judgement,
                                          Coverage *coverage) {
  if (judgement.machine) {
    unsigned bad = 0;
    for (unsigned run = 0; run < judgement.runs; ++run) {
      FailureOr<unsigned> more = judgeOnMachine(before, judgement, judgement.seed + run, coverage);
      if (failed(more))
        return failure();
      bad += *more;
    }
    return bad;
  }
  OwningOpRef<ModuleOp> after(before.clone());
  PassManager manager(before.getContext());
  std::string pipelineError;
  llvm::raw_string_ostream pipelineErrors(pipelineError);
  if (failed(parsePassPipeline(judgement.pipeline, manager, pipelineErrors)))
    return fail("pipeline (" + judgement.pipeline + "): " + StringRef(pipelineError).rtrim());
  { // errors are printed by themselves
    ScopedDiagnosticHandler handler(before.getContext(), [&](Diagnostic &said) {
      if (said.getSeverity() != DiagnosticSeverity::Warning || !judgement.everyResult)
        return failure();
      std::string where = describeLocation(said.getLocation());
      llvm::errs() << "warning" << (where.empty() ? "" : " (" + where + ")") << ": " << said.str() << "\n";
      return success();
    });
    if (failed(manager.run(*after)))
      return failure();
  }
  if (!judgement.breakOp.empty())
    applyBreak(*after, judgement.breakOp);
  if (judgement.print)
    after->print(llvm::outs());
  if (coverage) {
    coverage->countOps(before);
    coverage->countCollectives(*after);
  }
  auto entries = findEntries(before, judgement.entry, judgement.where);
  if (failed(entries))
    return failure();
  unsigned bad = 0;
  for (func::FuncOp first : *entries) {
    auto second = after->lookupSymbol<func::FuncOp>(first.getName());
    if (!second)
      return fail("entry (@" + first.getName() + "): the pipeline removed it; choose another with --entry");
    for (unsigned run = 0; run < judgement.runs; ++run) {
      auto worse = compare(first, second, judgement.seed + run, judgement);
      if (failed(worse))
        return failure();
      bad += *worse;
    }
  }
  return bad;
}

//===----------------------------------------------------------------------===//
// In a child
//===----------------------------------------------------------------------===//

/// The first error of a program that is refused, without what differs from program to program.
static std::string essence(StringRef text) {
  size_t at = text.find("error: ");
  if (at != StringRef::npos)
    text = text.drop_front(at);
  text = text.take_until([](char c) { return c == '\n'; });
  std::string kept;
  for (char c : text)
    if (!isdigit(static_cast<unsigned char>(c)))
      kept += c;
  // Up to the first value, type or list: these shrink.
  return StringRef(kept)
      .take_until([](char c) { return c == '[' || c == '<' || c == '(' || c == '"'; })
      .rtrim()
      .str();
}

bool Outcome::same(const Outcome &other) const {
  return kind == other.kind && (kind == Good || kind == Numbers || kind == Timeout ||
                                (kind == Crash ? text == other.text : essence(text) == essence(other.text)));
}

Outcome tessera::isolated(unsigned seconds, llvm::function_ref<FailureOr<unsigned>(Coverage &)> judge) {
  llvm::outs().flush();
  int ends[2];
  if (pipe(ends) != 0)
    return {Outcome::Refused, "error: no pipe for the child process", ""};
  pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return {Outcome::Refused, "error: no child process", ""};
  }
  if (child == 0) {
    // Whatever it says goes to the parent; a crash dies of its signal, without a trace.
    close(ends[0]);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM})
      signal(number, SIG_DFL);
    alarm(seconds);
    Coverage counted;
    auto bad = judge(counted);
    if (succeeded(bad) && *bad == 0)
      llvm::outs() << "\f" << counted.toJson();
    llvm::outs().flush();
    _exit(failed(bad) ? 2 : *bad ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  auto [said, json] = StringRef(text).split('\f');
  Outcome outcome{Outcome::Good, said.str(), json.str()};
  if (WIFSIGNALED(status)) {
    outcome.kind = WTERMSIG(status) == SIGALRM ? Outcome::Timeout : Outcome::Crash;
    outcome.text = outcome.kind == Outcome::Timeout ? "no end after " + std::to_string(seconds) + " s"
                                                    : "signal " + std::to_string(WTERMSIG(status));
  } else if (WEXITSTATUS(status)) {
    outcome.kind = WEXITSTATUS(status) == 1 ? Outcome::Numbers : Outcome::Refused;
  }
  return outcome;
}

Outcome tessera::judgeIsolated(ModuleOp before, const ProgramJudgement &judgement, unsigned seconds) {
  return isolated(seconds, [&](Coverage &) { return judgeProgram(before, judgement); });
}
