//===- RepeatedWork.cpp - A warning of ranks that do the same -------------===//
#include "RepeatedWork.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Executions.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"
#include "tessera/Interfaces/Collective.h"
#include "tessera/Interfaces/Interfaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera::dist;

namespace tessera {
namespace {

/// The part of the work from which on it is said unasked.
constexpr double kMost = 0.5;
/// Functions that compute less than this part of what the largest does are not asked (drawing a token); one
/// token's layers are, beside those of a chunk.
constexpr double kWorthAWord = 0.001;

/// FLOPs of a rank in one run of a function, and those that all ranks along one axis do alike.
struct Work {
  std::string function;
  double all = 0, alike = 0;
  llvm::MapVector<StringRef, double> byOp; ///< of those alike
};

/// Some operand or result is in pieces, or a sum in terms, over `axis`.
bool isSplit(Operation *op, const AxisRef &axis, const Mesh &mesh) {
  auto lies = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    ShardingAttr attr = type ? getShardingAttr(type) : ShardingAttr();
    return attr && llvm::any_of(attr.toSharding(mesh).usedAxes(),
                                [&](const AxisRef &used) { return used.overlaps(axis); });
  };
  return llvm::any_of(op->getOperands(), lies) || llvm::any_of(op->getResults(), lies);
}

Work workOf(func::FuncOp function, const AxisRef &axis, const Mesh &mesh) {
  Work work{function.getSymName().str(), 0, 0, {}};
  function.walk([&](Operation *op) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || op->getNumRegions() || isa<CollectiveOpInterface>(op))
      return;
    double flops = double(graph::executionsOf(op)) * cost.getCost().flops;
    work.all += flops;
    if (isSplit(op, axis, mesh))
      return;
    work.alike += flops;
    work.byOp[graph::knownAs(op)] += flops;
  });
  return work;
}

/// What is to be said of the axis; empty: nothing. The function speaks for it that repeats least.
std::string warning(ModuleOp program, const AxisRef &axis, const Mesh &mesh, StringRef given) {
  std::vector<Work> works;
  double largest = 0;
  for (auto function : program.getOps<func::FuncOp>()) {
    works.push_back(workOf(function, axis, mesh));
    largest = std::max(largest, works.back().all);
  }
  const Work *least = nullptr;
  for (const Work &work : works)
    if (work.all > 0 && work.all >= kWorthAWord * largest &&
        (!least || work.alike * least->all < least->alike * work.all))
      least = &work;
  if (!least || least->alike <= kMost * least->all)
    return {};
  const std::string name = toString(axis, mesh);
  if (least->alike == least->all)
    return llvm::formatv("warning (--mesh={0}): nothing that is computed is split over {1}, so its ranks all "
                         "do the same; leave {1} out, or give it a dimension with --shard\n",
                         given, name);
  auto most =
      llvm::max_element(least->byOp, [](const auto &a, const auto &b) { return a.second < b.second; });
  return llvm::formatv(
      "warning (--mesh={0}): the ranks of {1} do {2:F0} % of what is computed in @{3} alike, "
      "most of it {4}; give {1} a dimension of that with --shard, or leave it out\n",
      given, name, 100 * least->alike / least->all, least->function, most->first);
}

} // namespace

std::string repeatedWork(ModuleOp program, const CompileOptions &options, ArrayRef<StringRef> known) {
  MeshOp meshOp = dist::getMesh(program);
  if (!meshOp)
    return {};
  Mesh mesh = meshOp.getMesh().toMesh();
  std::string text;
  for (auto [i, axis] : llvm::enumerate(mesh.axes))
    if (axis.size > 1 && !llvm::is_contained(known, StringRef(axis.name)))
      text += warning(program, wholeAxis(mesh, int(i)), mesh, options.mesh);
  return text;
}

} // namespace tessera
