// A training run's state for tests: parameters of every kind that the importer's map makes, with values that
// say where they belong, on any mesh; ranks as threads.
#ifndef TESSERA_RUNTIME_CHECKPOINT_TEST_TESTRUN_H
#define TESSERA_RUNTIME_CHECKPOINT_TEST_TESTRUN_H

#include "TestFiles.h"
#include "ThreadPlane.h"
#include "tessera/runtime/checkpoint/Checkpoint.h"

#include <thread>

namespace tessera::checkpoint::test {

using runtime::Mesh;
using runtime::ParamSource;
using runtime::ParamSpec;
using runtime::Shape;
using runtime::Sharding;

inline ParamSource source(std::string name, Shape shape, Shape reshape,
                          std::vector<std::pair<int64_t, int64_t>> slice = {},
                          std::vector<int64_t> permute = {}) {
  ParamSource s{std::move(name), std::move(shape), std::move(reshape), std::move(slice), std::move(permute)};
  for (size_t d = s.slice.size(); d < s.reshape.size(); ++d)
    s.slice.emplace_back(0, s.reshape[d]);
  for (size_t d = s.permute.size(); d < s.reshape.size(); ++d)
    s.permute.push_back(int64_t(d));
  return s;
}

inline ParamSpec param(std::string name, int64_t layers, Shape shape, std::vector<ParamSource> sources,
                       io::DType dtype = io::DType::F32) {
  ParamSpec p;
  p.name = std::move(name);
  p.dtype = dtype;
  p.layers = layers;
  p.shape = p.local = std::move(shape);
  p.sharding.resize(p.shape.size());
  p.sources = std::move(sources);
  return p;
}

// Weights as importers map them: plain, stored input-major, one tensor that three parameters share, one
// parameter of two tensors, dimensions that the file has otherwise, vectors.
inline std::vector<ParamSpec> modelParams(io::DType dtype = io::DType::F32) {
  return {
      param("embed", 0, {7, 6}, {source("wte.weight", {7, 6}, {7, 6})}, dtype),
      param("norm", 3, {6}, {source("h.{}.norm", {6}, {6})}, dtype),
      param("up", 3, {8, 6}, {source("h.{}.up", {6, 8}, {6, 8}, {}, {1, 0})}, dtype),
      param("q", 3, {2, 3, 6}, {source("h.{}.qkv", {18, 6}, {3, 2, 3, 6}, {{0, 1}})}, dtype),
      param("k", 3, {2, 3, 6}, {source("h.{}.qkv", {18, 6}, {3, 2, 3, 6}, {{1, 2}})}, dtype),
      param("v", 3, {6, 2, 3}, {source("h.{}.qkv", {18, 6}, {3, 2, 3, 6}, {{2, 3}}, {3, 0, 1, 2})}, dtype),
      param("gated", 3, {2, 5, 6}, {source("h.{}.a", {5, 6}, {5, 6}), source("h.{}.b", {5, 6}, {5, 6})},
            dtype),
      param("skewed", 0, {4, 6}, {source("skewed", {24}, {6, 4})}, dtype),
      param("one", 0, {}, {source("one", {1}, {1})}, dtype),
  };
}

// Dimensions over axes, where the parameter has them.
inline std::vector<ParamSpec> sharded(std::vector<ParamSpec> params, const runtime::AxisList &first,
                                      const runtime::AxisList &second = {}) {
  for (ParamSpec &p : params) {
    if (!p.shape.empty())
      p.sharding[0] = first;
    if (p.shape.size() > 1)
      p.sharding[1] = second;
    p.local = runtime::localShape(p.shape, p.sharding);
  }
  return params;
}

// Element `index` of a layer, as bits of the type: every one another.
inline uint32_t bitsOf(size_t param, int64_t layer, int64_t index, int64_t step) {
  return uint32_t(step * 20011 + int64_t(param) * 1009 + layer * 101 + index + 1);
}

// A rank's piece, element by element as docs/Manifest.md says; padding holds what must not get into a file.
inline std::vector<char> pieceOf(const ParamSpec &p, size_t number, int64_t layer, int64_t step,
                                 const Mesh &mesh, int64_t rank) {
  const size_t bytes = size_t(io::blockBytes(p.dtype));
  std::vector<char> piece(size_t(runtime::elementCount(p.local)) * bytes);
  for (int64_t local = 0; local < runtime::elementCount(p.local); ++local) {
    int64_t rest = local, global = 0, scale = 1;
    bool padding = false;
    for (size_t d = p.shape.size(); d-- > 0;) {
      int64_t index = mesh.index(rank, p.sharding[d]) * p.local[d] + rest % p.local[d];
      padding |= index >= p.shape[d];
      global += index * scale;
      scale *= p.shape[d];
      rest /= p.local[d];
    }
    uint32_t bits = padding ? 0x7fc07fc0u : bitsOf(number, layer, global, step);
    std::memcpy(piece.data() + size_t(local) * bytes, &bits, bytes);
  }
  return piece;
}

struct State {
  std::string file;
  std::vector<ParamSpec> params;
  std::vector<size_t> numbers = {}; // of each in the model; empty: as they stand
};

// The same parameters as two stages of a pipeline have them: the second one all layers but the first, and
// what is no stack, but for the first of these.
inline State inStages(const State &model, const runtime::AxisList &along) {
  State stages{model.file, {}, {}};
  for (size_t i = 0; i < model.params.size(); ++i)
    for (int64_t stage : {0, 1}) {
      ParamSpec p = model.params[i];
      if (p.layers == 0 && stage != (i > 0))
        continue;
      p.heldAlong = along;
      p.heldAt = stage;
      p.firstLayer = p.layers == 0 ? 0 : stage;
      p.layers = p.layers == 0 ? 0 : stage == 0 ? 1 : p.layers - 1;
      stages.params.push_back(p);
      stages.numbers.push_back(i);
    }
  return stages;
}

struct TrainingRun {
  Mesh mesh;
  std::vector<State> states;
  std::vector<std::pair<std::string, std::string>> texts = {{"config.json", "{\"model_type\": \"x\"}"},
                                                            {"tokenizer.json", "{}"}};
  int64_t begun = -1; // the step that it goes on from

  // Saves as all ranks; what each of them returned has to be the same.
  Status save(const std::string &folder, int64_t step, int64_t keep, FileSystem &files = realFiles()) const {
    Meeting meeting(mesh.size());
    std::vector<Status> results(size_t(mesh.size()));
    std::vector<std::thread> ranks;
    for (int64_t rank = 0; rank < mesh.size(); ++rank)
      ranks.emplace_back([&, rank] {
        ThreadPlane plane(meeting, rank);
        SaveRequest request;
        request.begun = begun;
        request.place = {step, step - 1, step * 8, 1024.5, 3, 64, 18446744073709551615u};
        std::vector<char> held;
        for (const State &state : states)
          request.files.push_back({state.file, &state.params, [&, rank](int64_t p, int64_t layer) {
                                     const ParamSpec &param = state.params[size_t(p)];
                                     EXPECT_TRUE(runtime::holds(param, mesh, rank));
                                     held = pieceOf(
                                         param, state.numbers.empty() ? size_t(p) : state.numbers[size_t(p)],
                                         param.firstLayer + layer, step, mesh, rank);
                                     return held.data();
                                   }});
        if (rank == 0)
          request.texts = texts;
        results[size_t(rank)] = Store(folder, keep, files).save(request, mesh, plane);
      });
    for (std::thread &rank : ranks)
      rank.join();
    for (const Status &result : results)
      EXPECT_EQ(result ? "" : result.failure().message(), results[0] ? "" : results[0].failure().message());
    return results[0];
  }
};

inline TrainingRun onOneRank() { return {Mesh(), {{"model.safetensors", modelParams()}}}; }

// The step whose values the weights at `folder` hold; -1: they are no save's.
inline int64_t stepOfWeights(const io::ModelFile &model) {
  const io::TensorInfo *embed = model.find("wte.weight");
  if (!embed)
    return -1;
  uint32_t first;
  std::memcpy(&first, embed->data, 4);
  int64_t step = int64_t(first) / 20011;
  for (int64_t i = 0; i < embed->elements; ++i) {
    uint32_t bits;
    std::memcpy(&bits, embed->data + i * 4, 4);
    if (bits != bitsOf(0, 0, i, step))
      return -1;
  }
  return step;
}

} // namespace tessera::checkpoint::test
#endif
