// What random programs have to hold, or property tests are blind for it.
#include "tessera/Reference/RandomProgram.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <iostream>

using namespace mlir;
using namespace tessera;

// A slice, or another carried value, is yielded in the place of a carried value: it lies and is padded as it
// was. Of two hundred programs some dozens have loops.
TEST(RandomPrograms, LoopsYieldWhatTheyAreGiven) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, graph::GraphDialect, dist::DistDialect>();
  int slices = 0, others = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto module = randomProgram(context, seed);
    ASSERT_TRUE(module) << "seed " << seed;
    module->walk([&](graph::RepeatOp op) {
      Block &body = op.getBody(0);
      const size_t carried = op.getInits().size();
      for (auto [place, value] : llvm::enumerate(body.getTerminator()->getOperands().take_front(carried)))
        if (auto given = dyn_cast<BlockArgument>(value); given && given.getOwner() == &body) {
          slices += given.getArgNumber() > carried;
          others += given.getArgNumber() <= carried && given.getArgNumber() != 1 + place;
        }
    });
  }
  EXPECT_GE(slices, 5);
  EXPECT_GE(others, 5); // some swap without being drawn for it
  std::cout << slices << " slices, " << others << " other carried values\n";
}
