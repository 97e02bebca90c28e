// The kernels that make up weights, run by the engine of the stand-in: the very bits of the host's.
#include "DeviceHarness.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/ShardReader.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cstring>

namespace tessera::runtime {
namespace {

using namespace tessera::test;

DeviceKernels compileKernels() {
  return DeviceKernels::compile([](mlir::ModuleOp module) {
    mlir::MLIRContext *context = module.getContext();
    context->getOrLoadDialect<graph::GraphDialect>();
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(
        R"(graph.parameter @a : tensor<8xf32> from [#graph.source<"a", file = [8]>]
           graph.parameter @b : tensor<8xbf16> from [#graph.source<"b", file = [8]>]
           graph.parameter @c : tensor<8xf16> from [#graph.source<"c", file = [8]>]
           graph.parameter @d : tensor<8xf16> from [#graph.source<"d", file = [8]>])",
        context);
    ASSERT_TRUE(parsed);
    module.getBodyRegion().takeBody(parsed->getBodyRegion());
  });
}

struct Case {
  const char *name;
  Shape shape;
  Sharding sharding;
  int64_t rowDims, layers;
  double mean = 0, deviation = 0.02;
};

/// All layers of a shard as the kernel leaves them, each followed by `gap` elements that nobody may touch.
std::vector<char> byKernel(const DeviceKernels &kernels, const ShardReader &reader, io::DType type,
                           int64_t layers, int64_t gap, uint64_t seed) {
  RandomRows rows = reader.random();
  int64_t stride = reader.rows() * reader.columns() + gap, width = io::bytesOf(type, 1);
  std::vector<char> out(size_t(layers * stride * width), 0x5a);
  DeviceMemory memory;
  memory.add(out.data(), out.size(), true);
  memory.add(rows.globalRows.data(), rows.globalRows.size() * 8, false);
  memory.add(rows.globalColumns.data(), rows.globalColumns.size() * 8, false);
  uint32_t scale, mean;
  std::memcpy(&scale, &rows.scale, 4);
  std::memcpy(&mean, &rows.mean, 4);
  EXPECT_EQ(kernels.run(TESSERA_RANDOM_KERNEL + std::string(io::traits(type).name),
                        {out.data(), rows.globalRows.data(), rows.globalColumns.data()},
                        {reader.rows(), reader.columns(), rows.tail, stride, int64_t(rows.seed),
                         int64_t(scale), int64_t(mean)},
                        layers * reader.rows(), memory, seed, /*races=*/true),
            "");
  return out;
}

TEST(RandomWeights, AreTheHostsBits) {
  DeviceKernels kernels = compileKernels();
  ASSERT_EQ(kernels.error, "");
  EXPECT_EQ(kernels.threads.size(), 3u); // one a type, not one a parameter
  EXPECT_EQ(kernels.threads.at("tessera_random_bf16"), TESSERA_RANDOM_THREADS);
  Mesh mesh({{"tp", 3}, {"dp", 2}});
  AxisList tp = {{"tp", 1, 3}}, dp = {{"dp", 1, 2}};
  for (const Case &c : {Case{"a matrix, more columns than threads", {5, 600}, {{}, {}}, 1, 2},
                        Case{"rows that do not divide", {7, 40}, {tp, {}}, 1, 3},
                        Case{"columns that do not divide, rows over the other axis", {4, 50}, {dp, tp}, 1, 2},
                        Case{"heads, the last rank has one less", {5, 2, 4, 6}, {tp, {}, {}, dp}, 3, 1},
                        Case{"a scale", {130}, {tp}, 0, 2, 1.0, 0},
                        Case{"far from each other", {130}, {tp}, 0, 2, -0.3, 1.7}})
    for (io::DType type : {io::DType::F32, io::DType::BF16, io::DType::F16})
      for (int64_t rank = 0; rank < mesh.size(); ++rank) {
        ParamSpec param;
        param.name = c.name;
        param.dtype = type;
        param.shape = c.shape;
        param.sharding = c.sharding;
        param.layers = c.layers;
        param.mean = c.mean;
        param.deviation = c.deviation;
        param.local = localShape(c.shape, c.sharding);
        ShardReader reader(param, c.rowDims, mesh, rank, 7);
        const int64_t gap = 3;
        int64_t size = reader.rows() * reader.columns(), width = io::bytesOf(type, 1);
        std::vector<char> got = byKernel(kernels, reader, type, c.layers, gap, uint64_t(rank) + 1);
        for (int64_t layer = 0; layer < c.layers; ++layer) {
          std::vector<char> expected(size_t(size * width));
          reader.readAs(type, layer, 0, reader.rows(), expected.data());
          const char *at = got.data() + layer * (size + gap) * width;
          EXPECT_EQ(std::memcmp(at, expected.data(), expected.size()), 0)
              << c.name << ", " << io::traits(type).name << ", rank " << rank << ", layer " << layer;
          EXPECT_EQ(std::string(at + size * width, size_t(gap * width)),
                    std::string(size_t(gap * width), 0x5a));
        }
      }
}

} // namespace
} // namespace tessera::runtime
