//===- PaddedWork.cpp - A warning of ranks that work on padding -----------===//
#include "PaddedWork.h"

#include "tessera/Analysis/DimNames/DimNames.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/PaddingCost.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera::dist;

namespace tessera {

/// The part of something that is padding from which on it is said unasked.
static constexpr double kMost = 0.5;

/// Functions that compute less than this part of what the largest does are not spoken of (drawing a token).
static constexpr double kWorthAWord = 0.01;

std::string paddedWork(ModuleOp program, const CompileOptions &options) {
  MeshOp meshOp = dist::getMesh(program);
  if (!meshOp)
    return {};
  Mesh mesh = meshOp.getMesh().toMesh();
  DimNames names(program);
  names.nameOperands(program);
  PaddingCost cost = paddingCost(program, mesh, names);
  double worst = kMost;
  std::string what, most;
  auto look = [&](double padding, double all, const std::string &text, const std::string &dim) {
    if (all > 0 && padding / all > worst && !dim.empty()) {
      worst = padding / all;
      what = text;
      most = dim;
    }
  };
  double largest = 0;
  for (const auto &[name, flops] : cost.functions)
    largest = std::max(largest, flops.all);
  for (const auto &[name, flops] : cost.functions)
    if (flops.all >= kWorthAWord * largest)
      look(flops.padding, flops.all, "what a rank computes in @" + name, flops.most);
  auto lookAt = [&](double PaddingShare::*held, const std::string &text) {
    // Of one dimension: two that pad a value would count it twice.
    auto dim = llvm::max_element(
        cost.dims, [&](const PaddedDim &a, const PaddedDim &b) { return a.share.*held < b.share.*held; });
    if (dim != cost.dims.end())
      look(dim->share.*held, cost.total.*held, text, headline(*dim));
  };
  lookAt(&PaddingShare::weightBytes, "the weights that a rank holds");
  lookAt(&PaddingShare::stateBytes, "the states that a rank holds");
  if (most.empty())
    return {};
  return llvm::formatv(
      "warning (--mesh={0}): {1:F0} % of {2} is padding, most of it {3}; give the axis a size "
      "that divides, or another dimension\n",
      options.mesh, 100 * worst, what, most);
}

} // namespace tessera
