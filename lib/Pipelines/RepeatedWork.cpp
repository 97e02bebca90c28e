//===- RepeatedWork.cpp - A warning of ranks that do the same -------------===//
#include "RepeatedWork.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
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

/// FLOPs in one run of a function, and those that all ranks along one axis do alike.
struct Work {
  std::string function;
  double all = 0, alike = 0;
  double ofRank = 0;                       ///< of all what one rank does
  llvm::MapVector<StringRef, double> byOp; ///< of those alike
};

/// Some operand or result is in pieces, or a sum in terms, over `axis`; of a manual one every rank has its
/// own.
bool isSplit(Operation *op, const AxisRef &axis, const Mesh &mesh) {
  if (auto manual = op->getParentOfType<ManualComputationOp>();
      manual &&
      llvm::any_of(manual.getManualAxes(mesh), [&](const AxisRef &own) { return own.overlaps(axis); }))
    return true;
  auto lies = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    ShardingAttr attr = type ? getShardingAttr(type) : ShardingAttr();
    return attr && llvm::any_of(attr.toSharding(mesh).usedAxes(),
                                [&](const AxisRef &used) { return used.overlaps(axis); });
  };
  return llvm::any_of(op->getOperands(), lies) || llvm::any_of(op->getResults(), lies);
}

Work workOf(func::FuncOp function, const AxisRef &axis, const Mesh &mesh) {
  Work work{function.getSymName().str()};
  function.walk([&](Operation *op) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (!cost || op->getNumRegions() || isa<CollectiveOpInterface>(op))
      return;
    // What is split counts whole, whatever part of it is left to a rank: else the larger an axis, the more of
    // the work would seem to be alike.
    const bool split = isSplit(op, axis, mesh);
    const double ranks = split ? double(mesh.axes[size_t(axis.axis)].size) : 1;
    const double ofRank = double(graph::executionsOf(op)) * cost.getCost().flops, flops = ofRank * ranks;
    work.ofRank += ofRank;
    work.all += flops;
    if (split)
      return;
    work.alike += flops;
    work.byOp[graph::knownAs(op)] += flops;
  });
  return work;
}

/// What is to be said of the axis; empty: nothing. The function of all programs speaks for it that repeats
/// least.
std::string warning(ArrayRef<ModuleOp> programs, const AxisRef &axis, const Mesh &mesh, StringRef given) {
  std::vector<Work> works;
  double largest = 0;
  for (ModuleOp program : programs)
    for (auto function : program.getOps<func::FuncOp>()) {
      works.push_back(workOf(function, axis, mesh));
      largest = std::max(largest, works.back().ofRank);
    }
  const Work *least = nullptr;
  for (const Work &work : works)
    if (work.all > 0 && work.ofRank >= kWorthAWord * largest &&
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

std::string repeatedWork(ArrayRef<ModuleOp> programs, const CompileOptions &options,
                         ArrayRef<StringRef> known) {
  MeshOp meshOp = dist::getMesh(programs.front());
  if (!meshOp)
    return {};
  Mesh mesh = meshOp.getMesh().toMesh();
  std::string text;
  for (auto [i, axis] : llvm::enumerate(mesh.axes))
    if (axis.size > 1 && !llvm::is_contained(known, StringRef(axis.name)))
      text += warning(programs, wholeAxis(mesh, int(i)), mesh, options.mesh);
  return text;
}

} // namespace tessera
