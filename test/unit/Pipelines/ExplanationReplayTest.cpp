// Explanations of random programs, replayed: the ops between which a collective is said to stand hand a value
// from one to the other, what is said to have caused it makes it go when it is taken away, and what is
// suggested sends the bytes that were predicted.
#include "ChangedProgram.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Dist/Transforms/WeightGathers.h"
#include "tessera/Dialect/Graph/IR/Branch.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Explanation.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Reference/RandomProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <regex>
#include <set>

using namespace mlir;
using namespace tessera;

namespace {
/// One program of rung step, as its explanation sees it, and what can be asked of it.
class Program {
public:
  explicit Program(ModuleOp module) : module(module) {}

  Operation *opAt(const std::string &where) const { return tessera::opAt(module, where); }

  /// Whether what stands at `where` hands out `value`, past names, pins, barriers and groups, as explanations
  /// call it: an op's place, or an argument's. What a branch or a manual region gives is what it yields, too.
  static bool isFrom(Value value, const std::string &where) {
    while (true) {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        Operation *parent = argument.getOwner()->getParentOp();
        if (auto region = dyn_cast<dist::ManualComputationOp>(parent)) {
          value = region.getInputs()[argument.getArgNumber()];
          continue;
        }
        auto flow = dyn_cast<DataFlowOpInterface>(parent);
        Value stack;
        if (flow)
          for (const StackEdge &edge : flow.getStackEdges())
            if (llvm::is_contained(edge.slices, value))
              stack = edge.stack;
        if (stack) {
          value = stack;
          continue;
        }
        return isAt(flow ? parent->getLoc() : argument.getLoc(), where);
      }
      Operation *op = value.getDefiningOp();
      if (isa<graph::IfOp, dist::ManualComputationOp>(op))
        return isAt(op->getLoc(), where) || llvm::any_of(op->getRegions(), [&](Region &region) {
                 unsigned number = cast<OpResult>(value).getResultNumber();
                 return isFrom(region.front().getTerminator()->getOperand(number), where);
               });
      if (!isa<graph::NameOp, dist::ConstraintOp, dist::PropagationBarrierOp, dist::ShardingGroupOp>(op))
        return isAt(op->getLoc(), where);
      value = op->getOperand(0);
    }
  }

  /// A branch or a region whose result nobody wants reads what it yields.
  static bool reads(Operation *op, const Endpoint &from) {
    auto isFromThere = [&](Value value) { return isFrom(value, from.where); };
    return llvm::any_of(op->getOperands(), isFromThere) ||
           (isa<graph::IfOp, dist::ManualComputationOp>(op) && llvm::any_of(op->getResults(), isFromThere));
  }

private:
  ModuleOp module;
};

/// The ops of a name that `op`, which makes a sum, adds up what they give: itself or before it, with nothing
/// but sums on the way.
void findSummed(Operation *op, StringRef name, std::set<Operation *> &found, std::set<Operation *> &seen) {
  if (!op || !seen.insert(op).second)
    return;
  if (op->getName().stripDialect() == name)
    found.insert(op);
  for (Value operand : op->getOperands())
    findSummed(operand.getDefiningOp(), name, found, seen);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      findSummed(&inner, name, found, seen);
}

/// (kind, axes) of each collective with how often it stands there, and bytes of all, in one run.
struct Counted {
  std::map<std::pair<std::string, std::vector<std::string>>, int> kinds;
  int64_t bytes = 0;
};

Counted count(ModuleOp spmd) {
  Counted counted;
  spmd.walk([&](CollectiveOpInterface op) {
    if (!op.communicates())
      return;
    const Mesh mesh = dist::getMesh(spmd).getMesh().toMesh();
    std::vector<std::string> axes;
    for (const AxisRef &axis : op.getGroupAxes(mesh))
      axes.push_back(toString(axis, mesh));
    ++counted.kinds[{op->getName().stripDialect().str(), axes}];
    counted.bytes += graph::executionsOf(op) * dist::bytesSent(op, mesh);
  });
  return counted;
}

bool partition(ModuleOp step, const std::string &shard) {
  PassManager pm(step.getContext());
  CompileOptions options;
  options.shard = shard;
  buildPhases(pm, Rung::Sharded, Rung::Spmd, options);
  ScopedDiagnosticHandler quiet(step.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(pm.run(step));
}

int64_t sumOf(const std::vector<StepTotals> &steps) {
  int64_t bytes = 0;
  for (const StepTotals &step : steps)
    bytes += step.collectiveBytes;
  return bytes;
}

class Replay {
public:
  Replay(ModuleOp step, const Explanation &explanation, uint64_t seed)
      : step(step), explanation(explanation), seed(seed), program(step) {
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(step->clone());
    EXPECT_TRUE(partition(*copy, explanation.shard));
    before = count(*copy);
  }

  int run() {
    for (const CollectiveExplanation &collective : explanation.collectives) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ": " + collective.kind + " over " +
                   llvm::join(collective.axes, ",") + " " + collective.from + " -> " + collective.to +
                   " between " + collective.producer.op + " " + collective.producer.where + " and " +
                   collective.consumer.op + " " + collective.consumer.where + ": " + collective.dimension +
                   ": " + collective.why);
      checkEnds(collective);
      checkRemoval(collective);
      checkReduction(collective);
    }
    return int(explanation.collectives.size());
  }

private:
  /// Both ends stand in the program that was written, and one reads the other.
  void checkEnds(const CollectiveExplanation &collective) {
    if (collective.producer.op.find(" and ") != std::string::npos ||
        collective.consumer.op.find(" and ") != std::string::npos)
      return; // a bundle has many
    const StringRef producer = collective.producer.op, consumer = collective.consumer.op;
    Operation *from = program.opAt(collective.producer.where), *to = program.opAt(collective.consumer.where);
    if (!producer.starts_with("argument ")) {
      ASSERT_TRUE(from);
      EXPECT_EQ(producer.split(' ').first.str(), from->getName().stripDialect().str());
    }
    ASSERT_TRUE(to);
    if (consumer == "the caller")
      EXPECT_TRUE(isa<func::ReturnOp>(to));
    else if (consumer == "the next iteration")
      EXPECT_TRUE(isa<graph::YieldOp>(to));
    else
      EXPECT_EQ(consumer.split(' ').first.str(), to->getName().stripDialect().str());
    EXPECT_TRUE(from == to || Program::reads(to, collective.producer));
  }

  /// Without what is named the collective is gone, and as many bytes are sent as was said.
  void checkRemoval(const CollectiveExplanation &collective) {
    // Only the sum itself is the region's doing; other collectives on its way are checked like any.
    if (StringRef(collective.why).starts_with("manual_computation yields") &&
        StringRef(collective.kind).contains("reduce"))
      return checkYielded(collective);
    ASSERT_FALSE(collective.searchEnded);
    const bool isDecided = !collective.decidedBy.empty();
    ASSERT_NE(bool(collective.remove), isDecided);
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(step->clone());
    const std::string shard =
        isDecided ? withoutItems(explanation.shard, collective.decidedByItems) : collective.remove->shard;
    for (const SaidSharding &said : isDecided ? collective.decidedBy : collective.remove->leftOut)
      EXPECT_TRUE(takeOut(*copy, said)) << said.what << " " << said.where;
    if (collective.remove && !collective.remove->becomes.empty())
      checkBecomes(collective, *copy);
    ASSERT_TRUE(partition(*copy, shard));
    Counted after = count(*copy);
    const auto kind = std::make_pair(collective.kind, collective.axes);
    EXPECT_LT(after.kinds[kind], before.kinds[kind]);
    EXPECT_EQ(before.bytes, sumOf(explanation.steps));
    if (collective.remove)
      EXPECT_EQ(after.bytes, sumOf(collective.remove->after)) << changeText(*collective.remove);
  }

  /// What is said to stand in its place does, in the changed program.
  void checkBecomes(const CollectiveExplanation &collective, ModuleOp changed) {
    ExplainOptions options = withoutSearch();
    options.shard = collective.remove->shard;
    Result<Explanation> explained = explainSharding(changed, options);
    ASSERT_TRUE(explained);
    EXPECT_TRUE(llvm::any_of(explained->collectives, [&](const CollectiveExplanation &other) {
      return other.kind == collective.remove->becomes && other.axes == collective.axes &&
             other.producer.where == collective.producer.where &&
             other.consumer.where == collective.consumer.where;
    })) << changeText(*collective.remove);
  }

  /// Where a region is said to yield terms of a sum: once it yields copies, nobody adds up.
  void checkYielded(const CollectiveExplanation &collective) {
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(step->clone());
    dist::ManualComputationOp region = regionAt(*copy, collective.producer.where);
    ASSERT_TRUE(region);
    for (size_t i = 0; i < region.getNumResults(); ++i)
      changeBoundary(region, /*isOperand=*/false, i, [](Sharding &sharding) {
        sharding.partial.clear();
        sharding.partialKind = PartialKind::None;
      });
    ASSERT_TRUE(partition(*copy, explanation.shard));
    const auto kind = std::make_pair(collective.kind, collective.axes);
    EXPECT_LT(count(*copy).kinds[kind], before.kinds[kind]);
  }

  /// Where a dimension is said to be summed over in pieces, nothing is left to sum up once it is whole.
  void checkReduction(const CollectiveExplanation &collective) {
    static const std::regex form(R"((\w+) reduces over .*?, sharded over \{(.*?)\})");
    std::smatch match;
    if (!std::regex_search(collective.why, match, form) || collective.why.find("; ") == std::string::npos)
      return;
    if (collective.producer.op.find(" and ") != std::string::npos)
      return; // a bundle has sums of several, and says where one of them stands
    OwningOpRef<ModuleOp> copy = cast<ModuleOp>(step->clone());
    Program changed(*copy);
    std::set<Operation *> ops, seen;
    findSummed(changed.opAt(collective.producer.where), match[1].str(), ops, seen);
    EXPECT_FALSE(ops.empty()) << "no " << match[1] << " is summed up";
    dist::MeshOp meshOp = dist::getMesh(*copy);
    const Mesh mesh = meshOp.getMesh().toMesh();
    for (Operation *op : ops)
      for (OpOperand &operand : op->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type)
          continue;
        OpBuilder builder(op);
        operand.set(dist::ConstraintOp::create(
            builder, op->getLoc(), type, operand.get(),
            dist::ShardingAttr::get(op->getContext(), "mesh", Sharding(type.getRank()), mesh)));
      }
    Result<Explanation> explained = explainSharding(*copy, withoutSearch());
    ASSERT_TRUE(explained);
    for (const CollectiveExplanation &other : explained->collectives)
      EXPECT_FALSE(other.producer.where == collective.producer.where && other.why == collective.why &&
                   other.consumer.where == collective.consumer.where)
          << other.kind << " stays though " << match[1] << " reads everything whole";
  }

  ExplainOptions withoutSearch() const {
    ExplainOptions options;
    options.shard = explanation.shard;
    options.suggest = false;
    return options;
  }

  ModuleOp step;
  const Explanation &explanation;
  uint64_t seed;
  Program program;
  Counted before;
};

/// How many collectives of it were replayed; none if it has no explanation.
int replay(ModuleOp module, const std::string &shard, uint64_t seed) {
  ExplainOptions options;
  options.shard = shard;
  Result<Explanation> explained = explainSharding(module, options);
  return explained ? Replay(module, *explained, seed).run() : 0;
}

/// The program of a seed as it is when nothing is left to fold, every line numbered.
OwningOpRef<ModuleOp> drawn(MLIRContext &context, uint64_t seed) {
  OwningOpRef<ModuleOp> module = randomProgram(context, seed);
  PassManager pm(&context); // what compiling folds is gone from the start, and equal ops are one
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  EXPECT_TRUE(succeeded(pm.run(*module)));
  numberLines(*module);
  return module;
}

/// Programs in which items of --shard have to go, with what the program says or with regions; and in which
/// one collective gives way to another.
TEST(ExplanationReplay, OfProgramsWhoseItemsGo) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, graph::GraphDialect, dist::DistDialect>();
  int without = 0, withRegions = 0, becoming = 0;
  for (uint64_t seed : {75, 170, 194}) {
    OwningOpRef<ModuleOp> module = drawn(context, seed);
    ExplainOptions options;
    options.shard = asItems(*module);
    Result<Explanation> explained = explainSharding(*module, options);
    ASSERT_TRUE(explained);
    Replay(*module, *explained, seed).run();
    for (const CollectiveExplanation &collective : explained->collectives) {
      withRegions += !collective.decidedByItems.empty();
      if (!collective.remove)
        continue;
      const Suggestion &remove = *collective.remove;
      without += !remove.without.empty();
      becoming += !remove.becomes.empty();
    }
  }
  std::cout << without << " by items that go, " << withRegions << " by regions with such items, " << becoming
            << " give way to another\n";
  EXPECT_GT(without, 0);
  EXPECT_GT(withRegions, 0);
  EXPECT_GT(becoming, 0);
}

TEST(ExplanationReplay, OfRandomPrograms) {
  const char *full = std::getenv("TESSERA_FULL"), *chosen = std::getenv("TESSERA_SEED");
  const bool isFull = full && StringRef(full) == "1";
  const int programs = isFull ? 300 : 30;
  // 300 programs have seeds 1 to 300 and a few more; a sample begins somewhere among them: the
  // default one where bundles of bundles are cut, which the one before it has not.
  uint64_t seed = isFull ? 1 : 1 + 30 * ((std::strtoull(chosen ? chosen : "1", nullptr, 10) + 1) % 10);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, graph::GraphDialect, dist::DistDialect>();
  int collectives = 0, ofItems = 0;
  for (int n = 0; n < programs; ++seed) {
    OwningOpRef<ModuleOp> module = drawn(context, seed);
    const int found = replay(*module, "", seed);
    collectives += found;
    n += found > 0;
    if (found > 0 && (isFull || n % 3 == 0)) { // the same with flags for annotations
      SCOPED_TRACE("as items of --shard");
      const std::string shard = asItems(*module);
      ofItems += replay(*module, shard, seed);
    }
  }
  std::cout << collectives << " collectives of " << programs << " programs, " << ofItems
            << " more where --shard says what annotations did\n";
  EXPECT_GT(ofItems, 0);
}
} // namespace
