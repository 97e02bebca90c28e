// Random programs, loops and all: the gradients along a random direction are what differences say.
#include "Gradients.h"

#include "tessera/Reference/RandomProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The error of the derivative along a direction, relative to the sum of what its elements give; infinite
/// where the program is not smooth enough there for two steps to agree. An element at a kink spoils one draw
/// of inputs, a wrong gradient all.
static double errorOf(func::FuncOp func, uint64_t seed) {
  Tensors inputs = randomInputs(func, seed);
  WithGradients with(func, inputs, seed);
  std::mt19937_64 random(seed);
  double along = 0, size = 1e-6;
  Tensors direction;
  size_t next = 0;
  for (const ReferenceTensor &input : inputs) {
    direction.push_back(input);
    if (!input.isFloat())
      continue;
    const ReferenceTensor &gradient = with.gradients[next++];
    for (size_t j = 0; j < gradient.f.size(); ++j) {
      double &d = direction.back().f[j] = double(random() >> 11) * 0x1p-52 - 1;
      along += d * gradient.f[j];
      size += std::fabs(d * gradient.f[j]);
    }
  }
  auto difference = [&](double h) {
    auto at = [&](double step) {
      Tensors moved = inputs;
      for (size_t i = 0; i < moved.size(); ++i)
        for (size_t j = 0; j < moved[i].f.size(); ++j)
          moved[i].f[j] += step * direction[i].f[j];
      return weighed(runFunction(func, moved), with.seeds);
    };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  };
  return std::fabs(difference(2e-5) - along) / size;
}

TEST(DerivativeOfRandomPrograms, IsWhatDifferencesSay) {
  Program context("");
  RandomProgramOptions options;
  options.shardings = false;
  options.caches = options.regions = false;
  options.manyLoops = true;
  options.functions = 1;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    auto module = randomProgram(testContext(), seed, options);
    ASSERT_TRUE(module);
    auto func = *module->getOps<func::FuncOp>().begin();
    double best = INFINITY;
    for (uint64_t draw = 0; draw < 5 && best > 1e-6; ++draw)
      best = std::min(best, errorOf(func, 1000 * seed + draw));
    if (best > 1e-6)
      module->dump();
    ASSERT_LE(best, 1e-6) << "seed " << seed;
  }
}
