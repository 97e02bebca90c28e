// Where the weights of a program lie.
#include "tessera/runtime/device/Weights.h"
#include "tessera/runtime/cpu/Driver.h"

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

Manifest threeLayers(const std::string &field) {
  return Manifest::parse(
      R"({"version": 2, "task": "none", "dtype": "f32", "target": "cpu", "model": "/m", "mesh": [], "arena_bytes": 64,
    "params": [{"name": "n", "dtype": "f32", "layers": 3, "shape": [5], "local": [5], "sharding": [[]], "sources": [{"name": "n.{}", "shape": [5]}])" +
      field + R"(}], "states": [], "matmuls": [], "groups": [], "collectives": [], "entries": []})");
}

// All bytes of the weights, with made-up values.
std::vector<float> load(const Manifest &manifest) {
  WeightPlan plan(manifest, cpuDriver());
  BoardEntry entry;
  ThreadPool pool(2);
  std::unique_ptr<Device> device = cpuDriver().open({0, pool, entry});
  Buffer weights = device->allocate(size_t(plan.bytes()), "weights", MemoryUse::Weights);
  ts_program program = {};
  std::unique_ptr<Module> module = device->load(program);
  WeightOrigin origin;
  origin.seed = 7;
  loadWeights(plan, manifest.mesh, 0, origin, *device, *module, weights.address(), pool, {});
  const float *values = reinterpret_cast<const float *>(weights.address());
  return std::vector<float>(values, values + plan.bytes() / 4);
}

TEST(Weights, LayersLieAsFarApartAsTheManifestSays) {
  std::vector<float> beside = load(threeLayers("")), apart = load(threeLayers(R"(, "layer_bytes": 48)"));
  ASSERT_EQ(beside.size(), 16u); // 60 bytes, rounded up
  ASSERT_EQ(apart.size(), 48u);  // 144 bytes
  for (size_t i = 0; i < 3 * 12; ++i)
    EXPECT_EQ(apart[i], i % 12 < 5 ? beside[i / 12 * 5 + i % 12] : 0.0f) << i;
}

} // namespace
} // namespace tessera::runtime
