//===- RandomProgramsTest.cpp - Partitioned against unpartitioned ---------===//
//
// Random programs on random meshes: after the whole way to rung spmd the numbers are the same. TESSERA_RANDOM_PROGRAMS sets how many.
//
//===----------------------------------------------------------------------===//
#include "RandomPrograms.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Pipelines/Register.h"
#include "tessera/Pipelines/Sharding.h"
#include "tessera/Reference/Judge.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static uint64_t numPrograms() {
  const char *text = std::getenv("TESSERA_RANDOM_PROGRAMS");
  return text ? std::strtoull(text, nullptr, 10) : 1000;
}

TEST(RandomPrograms, SameNumbersAfterSharding) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  uint64_t collectives = 0;
  for (uint64_t seed = 1; seed <= numPrograms(); ++seed) {
    RandomProgram program = drawProgram(seed);
    std::string what = "seed " + std::to_string(seed) + ", mesh=" + program.mesh + " shard=" + program.shard + "\n" + program.text;
    auto before = parseSourceString<ModuleOp>(program.text, &context);
    ASSERT_TRUE(before) << what;
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager pm(&context);
    ShardingOptions options;
    options.mesh = program.mesh;
    options.shard = program.shard;
    buildShardingPipeline(pm, options);
    ASSERT_TRUE(succeeded(pm.run(*after))) << what;
    after->walk([&](Operation *op) { collectives += isa<dist::DistDialect>(op->getDialect()) && !isa<dist::MeshOp>(op); });

    auto function = *before->getOps<func::FuncOp>().begin(), local = *after->getOps<func::FuncOp>().begin();
    std::vector<ReferenceTensor> inputs = randomInputs(function, seed);
    auto expected = interpretGlobally(function, inputs);
    auto found = interpretGlobally(local, std::move(inputs));
    ASSERT_TRUE(succeeded(expected)) << what;
    ASSERT_TRUE(succeeded(found)) << what;
    for (auto [i, pair] : llvm::enumerate(llvm::zip(*expected, *found)))
      ASSERT_LE(relativeError(std::get<0>(pair), std::get<1>(pair)), 1e-9) << "result " << i << " of " << what;
  }
  // The draw is worth something: most programs talk.
  EXPECT_GT(collectives, numPrograms());
}
