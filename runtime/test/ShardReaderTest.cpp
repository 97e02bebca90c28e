// Shards of parameters against the definition in docs/Manifest.md, element by element.
#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

namespace tessera::runtime {

namespace {

std::string tempFile() {
  char name[] = "/tmp/tessera-shard-XXXXXX";
  int file = mkstemp(name);
  close(file);
  return name;
}

// A file of f32 tensors whose element i of tensor t is 1000 t + i.
struct File {
  std::string path = tempFile();
  std::unique_ptr<io::ModelFile> model;
  explicit File(const std::vector<std::pair<std::string, Shape>> &tensors) {
    std::vector<std::vector<float>> data;
    std::vector<io::TensorToWrite> list;
    for (auto &[name, shape] : tensors) {
      data.emplace_back(elementCount(shape));
      std::iota(data.back().begin(), data.back().end(), 1000.0f * float(data.size() - 1));
    }
    for (size_t t = 0; t < tensors.size(); ++t)
      list.push_back({tensors[t].first, io::DType::F32, tensors[t].second, data[t].data()});
    check(io::writeSafetensors(path, list));
    model = take(io::ModelFile::open(path));
  }
  ~File() { unlink(path.c_str()); }
};

ParamSource source(std::string name, Shape shape, Shape reshape,
                   std::vector<std::pair<int64_t, int64_t>> slice = {}, std::vector<int64_t> permute = {}) {
  ParamSource s{std::move(name), std::move(shape), std::move(reshape), std::move(slice), std::move(permute)};
  if (s.slice.empty())
    for (int64_t size : s.reshape)
      s.slice.emplace_back(0, size);
  if (s.permute.empty())
    for (size_t i = 0; i < s.reshape.size(); ++i)
      s.permute.push_back(int64_t(i));
  return s;
}

// The parameter's global layer, by the definition: reshape, slice, permute, reshape, concatenate.
std::vector<float> globalLayer(const ParamSpec &p, const io::ModelFile &model, int64_t layer) {
  std::vector<float> result;
  for (const ParamSource &s : p.sources) {
    const io::TensorInfo *tensor = model.find(p.layers ? layerName(s.name, layer) : s.name);
    std::vector<float> data(tensor->elements);
    check(model.readRange(*tensor, 0, tensor->elements, data.data()));
    Shape view;
    for (int64_t from : s.permute)
      view.push_back(s.slice[from].second - s.slice[from].first);
    for (int64_t i = 0; i < elementCount(view); ++i) {
      Shape at(view.size());
      int64_t rest = i;
      for (int64_t d = int64_t(view.size()) - 1; d >= 0; --d)
        at[s.permute[d]] = rest % view[d] + s.slice[s.permute[d]].first, rest /= view[d];
      int64_t flat = 0;
      for (size_t d = 0; d < at.size(); ++d)
        flat = flat * s.reshape[d] + at[d];
      result.push_back(data[flat]);
    }
  }
  return result;
}

// The local shard of `rank`, by the definition.
std::vector<float> localShard(const ParamSpec &p, const Mesh &mesh, int64_t rank,
                              const std::vector<float> &global) {
  std::vector<float> result;
  for (int64_t i = 0; i < elementCount(p.local); ++i) {
    int64_t rest = i, flat = 0, scale = 1;
    bool inside = true;
    for (int64_t d = int64_t(p.local.size()) - 1; d >= 0; --d) {
      int64_t at = rest % p.local[d] + mesh.index(rank, p.sharding[d]) * p.local[d];
      rest /= p.local[d];
      inside &= at < p.shape[d];
      flat += at * scale;
      scale *= p.shape[d];
    }
    result.push_back(inside ? global[flat] : 0);
  }
  return result;
}

ParamSpec param(Shape shape, Sharding sharding, std::vector<ParamSource> sources, int64_t layers = 0) {
  ParamSpec p;
  p.name = "p", p.layers = layers, p.shape = shape, p.sharding = sharding, p.sources = std::move(sources);
  for (size_t d = 0; d < shape.size(); ++d)
    p.local.push_back((shape[d] + shardCount(sharding[d]) - 1) / shardCount(sharding[d]));
  return p;
}

// readAs gives what read gives, rounded.
void expectRounded(const ShardReader &reader, io::DType type, int64_t layer, int64_t step,
                   const std::vector<float> &floats) {
  std::vector<char> want(size_t(io::bytesOf(type, int64_t(floats.size())))), got(want.size(), -1);
  io::traits(type).narrow(floats.data(), int64_t(floats.size()), want.data());
  for (int64_t begin = 0; begin < reader.rows(); begin += step)
    reader.readAs(type, layer, begin, std::min(step, reader.rows() - begin),
                  got.data() + io::bytesOf(type, begin * reader.columns()));
  ASSERT_EQ(got, want) << io::traits(type).name << " layer " << layer;
}

void expectShards(const ParamSpec &p, const Mesh &mesh, const io::ModelFile &model) {
  for (int64_t rank = 0; rank < mesh.size(); ++rank)
    for (int64_t outDims = 0; outDims <= int64_t(p.shape.size()); ++outDims) {
      ShardReader reader(p, outDims, mesh, rank, model);
      ASSERT_EQ(reader.rows() * reader.columns(), elementCount(p.local));
      for (int64_t layer = 0; layer < std::max<int64_t>(p.layers, 1); ++layer) {
        std::vector<float> want = localShard(p, mesh, rank, globalLayer(p, model, layer));
        // All at once, and in pieces of other sizes.
        for (int64_t step : {reader.rows(), int64_t(3)}) {
          std::vector<float> got(want.size(), -1);
          for (int64_t begin = 0; begin < reader.rows(); begin += step)
            reader.read(layer, begin, std::min(step, reader.rows() - begin),
                        got.data() + begin * reader.columns());
          ASSERT_EQ(got, want) << "rank " << rank << " out dims " << outDims << " layer " << layer;
          for (io::DType type : {io::DType::F32, io::DType::BF16, io::DType::F16})
            expectRounded(reader, type, layer, step, want);
        }
        reader.release(layer);
      }
    }
}

const Sharding none2 = {{}, {}};

} // namespace

TEST(ShardReader, WholeTensor) {
  File file({{"w", {5, 7}}});
  expectShards(param({5, 7}, none2, {source("w", {5, 7}, {5, 7})}), Mesh(), *file.model);
}

TEST(ShardReader, ShardsThatDoNotDivideArePadded) {
  File file({{"w", {6, 5, 4}}});
  Mesh mesh({{"a", 4}, {"b", 3}});
  AxisList a = {{"a", 1, 4}}, b = {{"b", 1, 3}};
  for (Sharding s : {Sharding{a, {}, {}}, Sharding{{}, a, b}, Sharding{b, a, {}},
                     Sharding{{{"a", 2, 2}}, {{"a", 1, 2}, {"b", 1, 3}}, {}}})
    expectShards(param({6, 5, 4}, s, {source("w", {6, 5, 4}, {6, 5, 4})}), mesh, *file.model);
}

TEST(ShardReader, HeadsSplitOutOfOneDimension) {
  // q [kv_heads, group, head_dim, hidden] from [12, 10], kv_heads = 3 over 2: one whole head of padding.
  File file({{"q", {12, 10}}});
  expectShards(param({3, 2, 2, 10}, {{{"tp", 1, 2}}, {}, {}, {}}, {source("q", {12, 10}, {3, 2, 2, 10})}),
               Mesh({{"tp", 2}}), *file.model);
  // o [hidden, kv_heads, group, head_dim] from [10, 12]: the columns are sharded.
  File other({{"o", {10, 12}}});
  expectShards(param({10, 3, 2, 2}, {{}, {{"tp", 1, 2}}, {}, {}}, {source("o", {10, 12}, {10, 3, 2, 2})}),
               Mesh({{"tp", 2}}), *other.model);
}

TEST(ShardReader, FusedWeightsAreSlicedAndTransposed) {
  // GPT-2: [hidden, 3 * heads * head_dim], input-major; the part in the middle, output-major.
  File file({{"h.0.c_attn", {8, 36}}, {"h.1.c_attn", {8, 36}}});
  ParamSource s =
      source("h.{}.c_attn", {8, 36}, {8, 3, 4, 3}, {{0, 8}, {1, 2}, {0, 4}, {0, 3}}, {1, 2, 3, 0});
  for (Sharding sharding :
       {Sharding{{}, {}, {}}, Sharding{{{"tp", 1, 3}}, {}, {}}, Sharding{{}, {}, {{"tp", 1, 3}}}})
    expectShards(param({4, 3, 8}, sharding, {s}, 2), Mesh({{"tp", 3}}), *file.model);
}

TEST(ShardReader, SourcesAreConcatenated) {
  File file({{"a", {3, 4}}, {"b", {2, 4}}, {"c", {4}}});
  expectShards(param({6, 4}, {{{"tp", 1, 4}}, {}},
                     {source("a", {3, 4}, {3, 4}), source("b", {2, 4}, {2, 4}), source("c", {4}, {4})}),
               Mesh({{"tp", 4}}), *file.model);
}

TEST(ShardReader, RowsThatCutThroughADimension) {
  // Adjacent pairs of rows become halves: rotary layouts. [12, 5] -> [3, 2, 2, 5] -> permuted -> [12, 5]
  // again.
  File file({{"w", {12, 5}}});
  expectShards(param({12, 5}, {{{"tp", 1, 5}}, {}}, {source("w", {12, 5}, {3, 2, 2, 5}, {}, {0, 2, 1, 3})}),
               Mesh({{"tp", 5}}), *file.model);
  // Columns gathered across what were rows.
  expectShards(param({5, 12}, none2, {source("w", {12, 5}, {12, 5}, {}, {1, 0})}), Mesh(), *file.model);
  expectShards(param({10, 6}, {{}, {{"tp", 1, 4}}}, {source("w", {12, 5}, {12, 5}, {}, {1, 0})}),
               Mesh({{"tp", 4}}), *file.model);
}

TEST(ShardReader, OneDimensional) {
  File file({{"w", {13}}});
  expectShards(param({13}, {{{"tp", 1, 4}}}, {source("w", {13}, {13})}), Mesh({{"tp", 4}}), *file.model);
}

TEST(ShardReader, NamesWhatDoesNotMatch) {
  File file({{"l.0.w", {4, 4}}, {"l.1.w", {4, 5}}});
  auto fail = [&](ParamSpec p, const std::string &why) {
    try {
      ShardReader reader(p, 1, Mesh(), 0, *file.model);
      ADD_FAILURE();
    } catch (const Error &e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  };
  fail(param({4, 4}, none2, {source("l.{}.w", {4, 4}, {4, 4})}, 2), "l.1.w");
  fail(param({4, 4}, none2, {source("x", {4, 4}, {4, 4})}), "no such tensor");
}

// A stage's layer 0 is one of the model's.
TEST(ShardReader, StagesReadTheLayersOfTheModel) {
  File file({{"l.0.w", {3, 5}}, {"l.1.w", {3, 5}}, {"l.2.w", {3, 5}}, {"head", {3, 5}}});
  const ParamSpec whole = param({3, 5}, none2, {source("l.{}.w", {3, 5}, {3, 5})}, 3);
  ParamSpec last = whole;
  last.layers = 2;
  last.firstLayer = 1;
  auto layers = [](const ShardReader &reader, std::vector<int64_t> numbers) {
    std::vector<float> values(numbers.size() * 15);
    for (size_t i = 0; i < numbers.size(); ++i)
      reader.read(numbers[i], 0, 3, values.data() + i * 15);
    return values;
  };
  EXPECT_EQ(layers(ShardReader(last, 1, Mesh(), 0, *file.model), {0, 1}),
            layers(ShardReader(whole, 1, Mesh(), 0, *file.model), {1, 2}));
  EXPECT_EQ(layers(ShardReader(last, 1, Mesh(), 0, 42), {0, 1}),
            layers(ShardReader(whole, 1, Mesh(), 0, 42), {1, 2}));
  EXPECT_EQ(tensorName(last, last.sources[0], 1), "l.2.w");
  // What is no stack has no layer to be counted from.
  ParamSpec head = param({3, 5}, none2, {source("head", {3, 5}, {3, 5})}), ofStage = head;
  ofStage.firstLayer = 1;
  EXPECT_EQ(layers(ShardReader(ofStage, 1, Mesh(), 0, 42), {0}),
            layers(ShardReader(head, 1, Mesh(), 0, 42), {0}));
  EXPECT_EQ(tensorName(ofStage, head.sources[0], 0), "head");
}

TEST(ShardReader, MadeUpValuesDependOnTheGlobalIndexOnly) {
  ParamSpec whole = param({6, 10}, none2, {source("blk.{}.w.weight", {6, 10}, {6, 10})}, 2);
  ShardReader one(whole, 1, Mesh(), 0, 42);
  std::vector<float> global(60), second(60), otherSeed(60);
  one.read(0, 0, 6, global.data());
  one.read(1, 0, 6, second.data());
  ShardReader(whole, 1, Mesh(), 0, 43).read(0, 0, 6, otherSeed.data());
  EXPECT_NE(global, second);
  EXPECT_NE(global, otherSeed);
  ParamSpec other = whole; // of the same shape
  other.name = "q";
  std::vector<float> otherName(60);
  ShardReader(other, 1, Mesh(), 0, 42).read(0, 0, 6, otherName.data());
  EXPECT_NE(global, otherName);
  double squares = 0;
  for (float x : global)
    squares += double(x) * x;
  EXPECT_NEAR(std::sqrt(squares / 60), 0.02, 0.005);
  Mesh mesh({{"a", 4}});
  ParamSpec sharded = param({6, 10}, {{{"a", 2, 2}}, {{"a", 1, 2}}}, whole.sources, 2);
  for (int64_t rank = 0; rank < 4; ++rank) {
    ShardReader reader(sharded, 1, mesh, rank, 42);
    std::vector<float> local(elementCount(sharded.local));
    reader.read(0, 0, reader.rows(), local.data());
    EXPECT_EQ(local, localShard(sharded, mesh, rank, global));
  }
  // What they lie around says the manifest, not a name.
  for (double mean : {0.0, 1.0, -3.0}) {
    ParamSpec norm = param({50}, {{}}, {source("norm.weight", {50}, {50})});
    norm.mean = mean;
    std::vector<float> scale(50);
    ShardReader(norm, 0, Mesh(), 0, 1).read(0, 0, 1, scale.data());
    for (float x : scale)
      EXPECT_NEAR(x, mean, 0.1);
  }
  // How far they lie, too: none at all for a bias and for the scale of a norm.
  for (double deviation : {0.0, 1e-3, 0.02, 0.37}) {
    ParamSpec matrix = param({20000}, {{}}, {source("matrix.weight", {20000}, {20000})});
    matrix.mean = 0.5;
    matrix.deviation = deviation;
    std::vector<float> values(20000);
    ShardReader(matrix, 0, Mesh(), 0, 1).read(0, 0, 1, values.data());
    double sum = 0, squares = 0;
    for (float x : values) {
      sum += x - 0.5;
      squares += (x - 0.5) * (x - 0.5);
    }
    EXPECT_NEAR(std::sqrt(squares / 20000), deviation, deviation * 0.015);
    EXPECT_NEAR(sum / 20000, 0, deviation * 0.03);
  }
}

TEST(ShardReader, BlocksOfAnotherTypeAreRefused) {
  File file({{"w", {4, 64}}});
  ShardReader reader(param({4, 64}, none2, {source("w", {4, 64}, {4, 64})}), 1, Mesh(), 0, *file.model);
  const uint8_t *rows[4];
  std::vector<uint8_t> madeUp;
  EXPECT_THROW(reader.blockRows(io::DType::Q8_0, 0, 0, 4, rows, madeUp), Error);
}

// Rows one behind the other are read in one go, those of a view that turns them each by itself.
TEST(ShardReader, BlocksThatArePutTogetherAreThoseOfTheirRows) {
  constexpr int64_t rows = 6, rowBytes = 34; // two blocks of MXFP4
  std::vector<uint8_t> blocks(rows * 32), scales(rows * 2);
  for (size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = uint8_t(i * 37 + i / 7);
  std::iota(scales.begin(), scales.end(), uint8_t(100));
  const std::string path = tempFile();
  check(io::writeSafetensors(path, {{"w_blocks", io::DType::U8, {rows, 2, 16}, blocks.data()},
                                    {"w_scales", io::DType::U8, {rows, 2}, scales.data()}}));
  std::unique_ptr<io::ModelFile> model = take(io::ModelFile::open(path));
  unlink(path.c_str());
  const io::TensorInfo *tensor = model->find("w_blocks");
  ASSERT_TRUE(tensor && tensor->blocks);
  for (bool turned : {false, true}) {
    ParamSource from = turned ? source("w_blocks", {rows, 64}, {3, 2, 64}, {}, {1, 0, 2})
                              : source("w_blocks", {rows, 64}, {rows, 64});
    ShardReader reader(param({rows, 64}, none2, {from}), 1, Mesh(), 0, *model);
    for (int64_t begin = 0; begin < rows; ++begin) {
      const uint8_t *got[rows];
      std::vector<uint8_t> madeUp;
      reader.blockRows(io::DType::MXFP4, 0, begin, rows - begin, got, madeUp);
      for (int64_t row = begin; row < rows; ++row) {
        uint8_t want[rowBytes];
        tensor->blocks->read(2 * (turned ? row % 3 * 2 + row / 3 : row), 2, want);
        EXPECT_EQ(memcmp(got[row - begin], want, rowBytes), 0) << turned << ", row " << row;
      }
    }
  }
}

// Every rank makes up the same rows, and takes its columns of them.
TEST(ShardReader, MadeUpBlocksDoNotDependOnTheMesh) {
  Mesh mesh({{"tp", 3}});
  ParamSpec p = param({5, 2, 32}, {{{"tp", 1, 3}}, {}, {}}, {source("w", {5, 64}, {5, 2, 32})});
  ParamSpec columns = param({5, 2, 32}, {{}, {}, {{"tp", 1, 3}}}, p.sources);
  ShardReader whole(param({5, 2, 32}, {{}, {}, {}}, p.sources), 1, Mesh(), 0, 7);
  const uint8_t *all[5], *some[5];
  std::vector<uint8_t> allBytes, someBytes;
  whole.blockRows(io::DType::Q5_0, 0, 0, 5, all, allBytes);
  for (int64_t rank = 0; rank < 3; ++rank) {
    ShardReader rows(p, 1, mesh, rank, 7);
    rows.blockRows(io::DType::Q5_0, 0, 0, 2, some, someBytes);
    for (int64_t i = 0; i < 2; ++i)
      if (2 * rank + i < 5)
        EXPECT_EQ(memcmp(some[i], all[2 * rank + i], 44), 0) << rank;
      else
        EXPECT_EQ(some[i], nullptr);
    ShardReader part(columns, 1, mesh, rank, 7);
    part.blockRows(io::DType::Q5_0, 0, 0, 5, some, someBytes);
    EXPECT_EQ(memcmp(some[4], all[4], 44), 0) << rank;
    // 32 over 3 is 11, of each of the two.
    ASSERT_EQ(part.chunks().size(), 2u);
    EXPECT_EQ(part.chunks()[1].place, 32 + 11 * rank);
    EXPECT_EQ(part.chunks()[1].count, rank == 2 ? 10 : 11);
  }
}

} // namespace tessera::runtime
