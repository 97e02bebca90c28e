// Renaming values, permuting independent ops, functions and their arguments changes no collective of random
// programs.
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/MachineDescription.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Reference/RandomProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <random>

using namespace mlir;
using namespace tessera;

namespace {
using Collectives = std::map<std::string, int64_t>;

/// What communicates in the program of one rank: kind, axes, dimensions, local types; executions of each.
Collectives collectives(ModuleOp module) {
  Collectives found;
  module.walk([&](CollectiveOpInterface op) {
    if (!op.communicates())
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << op->getName();
    for (NamedAttribute attr : op->getAttrs())
      if (attr.getName() != "why")
        os << " " << attr.getName() << "=" << attr.getValue();
    os << " " << op.getMoved().getType() << " -> " << op.getArrived().getType();
    found[text] += graph::executionsOf(op);
  });
  return found;
}

/// Seconds that these take in all.
double seconds(ModuleOp module) {
  double sum = 0;
  const Machine machine = dist::machineOf(module);
  module.walk([&](CollectiveOpInterface op) {
    if (!op.communicates())
      return;
    auto sharding = dist::getShardingAttr(op.getMoved().getType());
    const Mesh mesh = dist::lookupMesh(op, sharding.getMesh()).getMesh().toMesh();
    sum += double(graph::executionsOf(op)) * dist::collectiveTime(machine, mesh, op);
  });
  return sum;
}

/// Another order of the block's ops that its dependencies allow, blocks inside included.
void permute(Block &block, std::mt19937_64 &rng) {
  SmallVector<Operation *> left;
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        permute(nested, rng);
    if (!op.hasTrait<OpTrait::IsTerminator>())
      left.push_back(&op);
  }
  llvm::SmallPtrSet<Operation *, 32> waiting(left.begin(), left.end());
  auto isReady = [&](Operation *op) {
    return !op->walk([&](Operation *inner) {
                for (Value operand : inner->getOperands())
                  if (Operation *maker = operand.getDefiningOp();
                      maker && waiting.contains(maker) && maker != op)
                    return WalkResult::interrupt();
                return WalkResult::advance();
              }).wasInterrupted();
  };
  while (!left.empty()) {
    SmallVector<size_t> ready;
    for (auto [i, op] : llvm::enumerate(left))
      if (isReady(op))
        ready.push_back(i);
    size_t pick = ready[rng() % ready.size()];
    Operation *op = left[pick];
    left.erase(left.begin() + pick);
    waiting.erase(op);
    op->moveBefore(&block, block.back().hasTrait<OpTrait::IsTerminator>() ? Block::iterator(block.back())
                                                                          : block.end());
  }
}

void permuteArguments(func::FuncOp function, std::mt19937_64 &rng) {
  unsigned n = function.getNumArguments();
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq(n));
  std::shuffle(order.begin(), order.end(), rng);
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Type> types;
  for (unsigned i : order) {
    types.push_back(function.getArgument(i).getType());
    attrs.push_back(function.getArgAttrDict(i) ? function.getArgAttrDict(i)
                                               : DictionaryAttr::get(function.getContext()));
  }
  SmallVector<unsigned> end(n, n);
  SmallVector<Location> locs(n, function.getLoc());
  ASSERT_TRUE(succeeded(function.insertArguments(end, types, attrs, locs)));
  for (auto [to, from] : llvm::enumerate(order))
    function.getArgument(from).replaceAllUsesWith(function.getArgument(n + unsigned(to)));
  llvm::BitVector old(2 * n);
  old.set(0, n);
  ASSERT_TRUE(succeeded(function.eraseArguments(old)));
}

/// Every graph.name, of arguments, results and values, by another one.
void rename(ModuleOp module, std::mt19937_64 &rng) {
  std::map<StringAttr, StringAttr, bool (*)(StringAttr, StringAttr)> names(
      [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  auto renamed = [&](StringAttr name) {
    StringAttr &other = names[name];
    if (!other)
      other = StringAttr::get(module.getContext(),
                              "n" + std::to_string(rng() % 1000000) + "x" + std::to_string(names.size()));
    return other;
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr))
        function.setArgAttr(i, graph::kNameAttr, renamed(name));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto name = function.getResultAttrOfType<StringAttr>(i, graph::kNameAttr))
        function.setResultAttr(i, graph::kNameAttr, renamed(name));
  }
  module.walk([&](graph::NameOp op) { op.setNameAttr(renamed(op.getNameAttr())); });
}

/// Empty if the pipeline refuses the program.
std::optional<Collectives> partitioned(ModuleOp module) {
  PassManager pm(module.getContext());
  buildPhases(pm, Rung::Sharded, Rung::Spmd, {});
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  if (failed(pm.run(module)))
    return std::nullopt;
  return collectives(module);
}

/// Changes 200 random programs by `change` and compares. So many as `known` may get another plan whose time
/// is close.
void keepCollectives(llvm::function_ref<void(ModuleOp, std::mt19937_64 &)> change, int known = 0) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, graph::GraphDialect, dist::DistDialect>();
  int programs = 0, changed = 0, close = 0;
  int64_t seen = 0;
  for (uint64_t seed = 1; programs < 200; ++seed) {
    OwningOpRef<ModuleOp> module = randomProgram(context, seed);
    std::mt19937_64 rng(seed);
    OwningOpRef<ModuleOp> other(cast<ModuleOp>(module.get()->clone()));
    change(*other, rng);
    auto want = partitioned(*module), have = partitioned(*other);
    ASSERT_EQ(want.has_value(), have.has_value()) << "seed " << seed;
    if (!want || want->empty())
      continue;
    ++programs;
    for (const auto &[text, times] : *want)
      seen += times;
    if (*want == *have)
      continue;
    // Known: what a loop carries may stay a sum or not, and of two such plans whose times are close the order
    // of ops may decide.
    const double before = seconds(*module), after = seconds(*other);
    if (std::abs(after - before) <= 0.1 * std::max(before, after)) {
      ++close;
      continue;
    }
    ++changed;
    std::string gone, come;
    for (const auto &[text, times] : *want)
      if (auto at = have->find(text); at == have->end() || at->second != times)
        gone += "\n  " + std::to_string(times) + " x " + text;
    for (const auto &[text, times] : *have)
      if (auto at = want->find(text); at == want->end() || at->second != times)
        come += "\n  " + std::to_string(times) + " x " + text;
    ADD_FAILURE() << "seed " << seed << ": gone:" << gone << "\nnew:" << come;
  }
  EXPECT_LE(close, known);
  std::cout << programs << " programs with " << seen << " collectives, " << changed << " changed, " << close
            << " to a plan whose time is close\n";
}

TEST(Stability, OpsInAnotherOrderKeepTheCollectives) {
  keepCollectives(
      [](ModuleOp module, std::mt19937_64 &rng) {
        for (auto function : module.getOps<func::FuncOp>())
          permute(function.getBody().front(), rng);
      },
      /*known=*/1);
}

TEST(Stability, ArgumentsInAnotherOrderKeepTheCollectives) {
  keepCollectives([](ModuleOp module, std::mt19937_64 &rng) {
    for (auto function : module.getOps<func::FuncOp>())
      permuteArguments(function, rng);
  });
}

TEST(Stability, OtherNamesKeepTheCollectives) {
  keepCollectives([](ModuleOp module, std::mt19937_64 &rng) { rename(module, rng); });
}
} // namespace
