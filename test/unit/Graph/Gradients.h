#ifndef TESSERA_TEST_UNIT_GRAPH_GRADIENTS_H
#define TESSERA_TEST_UNIT_GRAPH_GRADIENTS_H

#include "Parse.h"

#include "tessera/Dialect/Graph/Transforms/Differentiate.h"
#include "tessera/Reference/Judge.h"

#include "mlir/IR/Verifier.h"

#include <cmath>
#include <random>

namespace tessera::test {

using Tensors = std::vector<ReferenceTensor>;

/// Floats between -1 and 1, or 0.5 and 1.5; integers from -1 to 4.
inline Tensors drawInputs(mlir::func::FuncOp func, uint64_t seed, bool positive) {
  std::mt19937_64 random(seed);
  Tensors inputs;
  for (mlir::Type type : func.getArgumentTypes()) {
    ReferenceTensor tensor(mlir::cast<mlir::RankedTensorType>(type));
    for (double &x : tensor.f) {
      double unit = double(random() >> 11) * 0x1p-53;
      x = positive ? 0.5 + unit : 2 * unit - 1;
    }
    for (int64_t &x : tensor.i)
      x = tensor.elementType.isInteger(1) ? int64_t(random() % 2) : int64_t(random() % 6) - 1;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

inline Tensors runFunction(mlir::func::FuncOp func, const Tensors &inputs) {
  auto results = interpretGlobally(func, inputs);
  if (failed(results)) {
    ADD_FAILURE() << "does not run";
    return {};
  }
  return std::move(*results);
}

/// Sum of the products of float results with `seeds`.
inline double weighed(const Tensors &results, const Tensors &seeds) {
  double sum = 0;
  size_t next = 0;
  for (const ReferenceTensor &result : results) {
    if (!result.isFloat())
      continue;
    const ReferenceTensor &seed = seeds[next++];
    for (size_t i = 0; i < result.f.size(); ++i)
      if (seed.f[i] != 0)
        sum += seed.f[i] * result.f[i];
  }
  return sum;
}

/// `func` with gradients, on `inputs`: those of float arguments.
struct WithGradients {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Tensors seeds, gradients;

  WithGradients(mlir::func::FuncOp func, const Tensors &inputs, uint64_t seed,
                const graph::Recompute &recompute = {}) {
    module = func->getParentOfType<mlir::ModuleOp>().clone();
    auto copy = module->lookupSymbol<mlir::func::FuncOp>(func.getSymName());
    unsigned arguments = func.getNumArguments(), results = func.getNumResults();
    if (failed(graph::addVectorJacobianProduct(copy, recompute)) || failed(verify(*module))) {
      ADD_FAILURE() << "is not differentiated";
      return;
    }
    Tensors all = drawInputs(copy, seed * 77 + 5, false);
    std::copy(inputs.begin(), inputs.end(), all.begin());
    seeds.assign(all.begin() + arguments, all.end());
    Tensors given = runFunction(copy, all);
    if (given.size() > results)
      gradients.assign(given.begin() + results, given.end());
  }
};

/// Central differences, with an error of the fourth power of the step, in every element of every float
/// argument.
inline void expectGradients(mlir::func::FuncOp func, uint64_t seed, bool positive, const std::string &text,
                            const graph::Recompute &recompute = {}) {
  Tensors inputs = drawInputs(func, seed, positive);
  WithGradients with(func, inputs, seed, recompute);
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isFloat())
      continue;
    ASSERT_LT(next, with.gradients.size()) << text;
    const ReferenceTensor &gradient = with.gradients[next++];
    double largest = 1e-3, worst = 0;
    size_t where = 0;
    for (size_t j = 0; j < gradient.f.size(); ++j) {
      auto at = [&](double step) {
        Tensors moved = inputs;
        moved[i].f[j] += step;
        return weighed(runFunction(func, moved), with.seeds);
      };
      constexpr double h = 1e-3;
      double difference = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      double off = std::fabs(difference - gradient.f[j]);
      largest = std::max(largest, std::fabs(difference));
      if (!(off <= worst)) {
        worst = off;
        where = j;
      }
    }
    EXPECT_LE(worst, 1e-6 * largest) << "argument " << i << ", element " << where << ", seed " << seed << "\n"
                                     << text;
  }
}

/// Writes out every op that has a decomposition; there must be one.
inline void writeOut(mlir::ModuleOp module) {
  llvm::SmallVector<DecomposableOpInterface> ops;
  module.walk([&](DecomposableOpInterface op) { ops.push_back(op); });
  for (DecomposableOpInterface op : ops) {
    mlir::OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder, op->getOperands()));
    op->erase();
  }
  EXPECT_FALSE(ops.empty());
}

inline void expectSameGradients(mlir::func::FuncOp a, mlir::func::FuncOp b, uint64_t seed, bool positive,
                                const std::string &text) {
  Tensors inputs = drawInputs(a, seed, positive);
  WithGradients first(a, inputs, seed), second(b, inputs, seed);
  ASSERT_EQ(first.gradients.size(), second.gradients.size());
  for (size_t i = 0; i < first.gradients.size(); ++i) {
    const std::vector<double> &x = first.gradients[i].f, &y = second.gradients[i].f;
    double largest = 1e-3;
    for (double value : x)
      largest = std::max(largest, std::fabs(value));
    for (size_t j = 0; j < x.size(); ++j)
      EXPECT_NEAR(x[j], y[j], 1e-11 * largest) << "gradient " << i << ", element " << j << "\n" << text;
  }
}

} // namespace tessera::test
#endif
