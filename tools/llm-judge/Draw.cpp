//===- Draw.cpp - Random programs as the judge takes them -----------------===//
#include "Draw.h"

#include "tessera/Execution/Compare.h"
#include "tessera/Reference/RandomProgram.h"

using namespace mlir;
using namespace tessera;

static constexpr int kMostRedrawn = 50;

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
  bool isShort = options.floats != RandomProgramOptions::Floats::F32;
  DrawnProgram drawn;
  for (; drawn.redrawn <= kMostRedrawn; ++drawn.redrawn) {
    drawn.module = randomProgram(context, seed + (uint64_t(drawn.redrawn) << 40), options);
    if (!draw.machine || !drawn.module)
      break;
    ExecutionJudgement judgement;
    judgement.seed = seed;
    Result<double> error = roundingError(*drawn.module, judgement);
    if (error && *error <= (isShort ? 0x1p-4 : 1e-6))
      break;
  }
  return drawn;
}
