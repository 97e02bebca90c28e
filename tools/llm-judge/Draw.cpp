//===- Draw.cpp - Random programs as the judge takes them -----------------===//
#include "Draw.h"

#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Execution/Compare.h"
#include "tessera/Reference/RandomProgram.h"

using namespace mlir;
using namespace tessera;

static constexpr int kMostRedrawn = 50;
/// What runs in float64 are held to, 1e-9, is 2^23 of its roundings. Gradients that carry roundings of
/// float32 by this carry those of float64 by a tenth of it.
static constexpr double kMostCarried = 0.05;

/// Backward of every second program computes all again that loops do not carry.
static LogicalResult addGradients(ModuleOp module, uint64_t seed) {
  graph::Recompute recompute;
  recompute.all = seed % 2 == 0;
  for (auto func : module.getOps<func::FuncOp>())
    if (failed(graph::addVectorJacobianProduct(func, recompute)))
      return failure();
  return success();
}

DrawnProgram tessera::drawProgram(MLIRContext &context, uint64_t seed, const DrawOptions &draw) {
  RandomProgramOptions options;
  if (draw.machine) { // every rank is a thread
    options.maxRanks = 8;
    options.shardedLayers = false;
    options.manyLoops = true;
  }
  SmallVector<StringRef> names;
  StringRef(draw.types).split(names, ',');
  StringRef name = names[seed % names.size()];
  options.floats = name == "bf16"  ? RandomProgramOptions::Floats::BF16
                   : name == "f16" ? RandomProgramOptions::Floats::F16
                                   : RandomProgramOptions::Floats::F32;
  options.experts = draw.experts;
  if (draw.gradients) { // backward is three times as long, and placement takes longer than that
    options.caches = options.regions = false;
    options.maxOps = 7;
  }
  bool isShort = options.floats != RandomProgramOptions::Floats::F32;
  DrawnProgram drawn;
  for (; drawn.redrawn <= kMostRedrawn; ++drawn.redrawn) {
    drawn.module = randomProgram(context, seed + (uint64_t(drawn.redrawn) << 40), options);
    if (draw.gradients && drawn.module && failed(addGradients(*drawn.module, seed)))
      drawn.module = nullptr;
    if ((!draw.machine && !draw.gradients) || !drawn.module)
      break;
    ExecutionJudgement judgement;
    judgement.seed = seed;
    Result<double> error = roundingError(*drawn.module, judgement);
    double most = !draw.machine ? kMostCarried : isShort ? 0x1p-4 : 1e-6;
    if (error && *error <= most)
      break;
  }
  return drawn;
}
