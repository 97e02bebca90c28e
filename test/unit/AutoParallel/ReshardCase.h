//===- ReshardCase.h - A reshard in words, for tests ------------*- C++ -*-===//
#ifndef TESSERA_TEST_UNIT_AUTOPARALLEL_RESHARDCASE_H
#define TESSERA_TEST_UNIT_AUTOPARALLEL_RESHARDCASE_H

#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/RandomReshards.h"
#include "tessera/AutoParallel/ReshardPlanner.h"
#include "tessera/Support/Shapes.h"

#include <gtest/gtest.h>

namespace tessera {

/// What the compiler takes where the first try is not one step at the bound.
inline ReshardOptions strided() {
  ReshardOptions options;
  options.strided = options.jointAllToAll = options.pointToPoint = true;
  return options;
}

/// A mesh, a shape, and the shardings at both ends, of their texts.
struct Case {
  Mesh mesh;
  Shape shape;
  Sharding from, to;

  Case(llvm::StringRef meshText, llvm::StringRef shapeText, llvm::StringRef fromText, llvm::StringRef toText)
      : mesh(tessera::mesh(meshText)) {
    std::string error;
    shape = *parseShape(shapeText, error);
    from = sharding(fromText, mesh);
    to = sharding(toText, mesh);
  }
  Case(const RandomReshard &drawn) : mesh(drawn.mesh), shape(drawn.shape), from(drawn.from), to(drawn.to) {}

  ReshardPlan plan(const ReshardOptions &options = {}) const {
    auto result = planReshard(mesh, shape, from, to, options);
    EXPECT_TRUE(result) << text();
    if (!result)
      return {};
    EXPECT_EQ(replayPlan(mesh, shape, from, to, *result), "") << text() << toString(*result, mesh, shape);
    return *result;
  }
  std::string text() const {
    return shapeText(shape) + " " + toString(from, mesh) + " -> " + toString(to, mesh) + "\n";
  }
  double fraction(double elements) const {
    for (int64_t n : shape)
      elements /= double(n);
    return elements;
  }
};

} // namespace tessera
#endif
