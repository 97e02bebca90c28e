#include "tessera/runtime/cpu/Gemm.h"
#include "Dnnl.h"
#include "GemmKernels.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace tessera::runtime {

// Threads run oneDNN as those of a program do: without a team of libgomp each.
class WithoutTeams : public testing::Environment {
  void SetUp() override { keepDnnlSingleThreaded(); }
};
static testing::Environment *const withoutTeams = testing::AddGlobalTestEnvironment(new WithoutTeams);

static std::vector<float> randomVector(int64_t n, int seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> v(n);
  for (float &x : v)
    x = uniform(rng);
  return v;
}

// Row-major numbers of a type: what it gives back of `values` rounded to it.
struct Stored {
  Stored(io::DType type, const std::vector<float> &values)
      : wide(values.size()), data(size_t(io::bytesOf(type, int64_t(values.size()))) + 1) {
    io::traits(type).narrow(values.data(), int64_t(values.size()), data.data());
    io::traits(type).widen(data.data(), int64_t(values.size()), wide.data());
  }
  std::vector<float> wide;
  std::vector<char> data;
};

// Largest relative error of rounding to the type.
static double roundingOf(io::DType type) {
  return type == io::DType::F32 ? 0 : type == io::DType::F16 ? 0x1p-11 : 0x1p-8;
}

// Row-major [rows, columns] of `type`, the other way round.
static std::vector<char> turned(io::DType type, const std::vector<char> &data, int64_t rows,
                                int64_t columns) {
  auto bytes = size_t(io::blockBytes(type));
  std::vector<char> result(data.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      memcpy(&result[size_t(j * rows + i) * bytes], &data[size_t(i * columns + j) * bytes], bytes);
  return result;
}

static void checkProduct(int64_t m, int64_t n, int64_t k, GemmTypes types, bool packed, int threads,
                         GemmOrientation transposed = {}, GemmEpilogue epilogue = {}) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " of " << io::dtypeName(types.x)
                                  << " and " << io::dtypeName(types.w) << " to " << io::dtypeName(types.y)
                                  << " packed " << packed << " threads " << threads << " transposed "
                                  << transposed.x << transposed.w << " adds " << epilogue.addend);
  ThreadPool pool(threads, keepDnnlSingleThreaded);
  Stored x(types.x, randomVector(m * k, 1)), w(types.w, randomVector(n * k, 2));
  size_t yBytes = size_t(io::bytesOf(types.y, m * n));
  std::vector<char> y(yBytes + 1, 77);
  PackedLayout layout(n, k, types.w);
  Memory packedData(layout.bytes(), "test");
  layout.packRows(0, n, w.wide.data(), packedData.data());
  size_t rowBytes = size_t(io::bytesOf(types.w, k));
  std::vector<char> row(rowBytes);
  for (int64_t i = 0; i < n; ++i) {
    layout.unpackRow(i, packedData.data(), row.data());
    ASSERT_EQ(memcmp(row.data(), w.data.data() + size_t(i) * rowBytes, rowBytes), 0) << "row " << i;
  }
  Gemm gemm(m, n, k, types, packed, pool, epilogue, transposed);
  if (transposed.x)
    x.data = turned(types.x, x.data, m, k);
  if (transposed.w)
    w.data = turned(types.w, w.data, n, k);
  // Added in place and from elsewhere.
  Stored added(types.y, randomVector(m * n, 3));
  for (bool inPlace : {true, false}) {
    if (epilogue.addend)
      memcpy(y.data(), inPlace ? added.data.data() : y.data(), yBytes);
    gemm.run(x.data.data(), packed ? packedData.data() : w.data.data(), y.data(), nullptr,
             !epilogue.addend ? nullptr
             : inPlace        ? y.data()
                              : added.data.data());
    if (epilogue.addend && inPlace) {
      std::vector<char> first = y;
      gemm.run(x.data.data(), packed ? packedData.data() : w.data.data(), y.data(), nullptr,
               added.data.data());
      ASSERT_EQ(first, y);
    }
  }
  std::vector<float> got(size_t(m * n));
  io::traits(types.y).widen(y.data(), m * n, got.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double want = epilogue.addend ? added.wide[i * n + j] : 0;
      for (int64_t l = 0; l < k; ++l)
        want += double(x.wide[i * k + l]) * w.wide[j * k + l];
      ASSERT_NEAR(got[i * n + j], want,
                  1e-5 * std::sqrt(double(k)) + 1e-6 + roundingOf(types.y) * std::fabs(want))
          << i << ", " << j << " by " << gemm.implementation();
    }
  EXPECT_EQ(y.back(), 77);
}

static constexpr io::DType F32 = io::DType::F32, BF16 = io::DType::BF16, F16 = io::DType::F16;

TEST(Gemm, AllShapesAgainstPlainLoops) {
  setBusyThreads(1000);
  for (GemmTypes types : {GemmTypes{}, GemmTypes{BF16, BF16, F32}, GemmTypes{F16, F16, F16}})
    for (int threads : {1, 2, 3})
      for (bool packed : {true, false})
        for (int64_t m : {1, 2, 3, 4, 6, 7, 13, 33, 128})
          for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1},
                              {16, 16},
                              {27, 80},
                              {80, 27},
                              {64, 48},
                              {192, 577},
                              {389, 48},
                              {257, 130},
                              {130, 300}})
            checkProduct(m, n, k, types, packed, threads);
}

// As backward reads its operands: what lies the other way round is read where it lies.
TEST(Gemm, TransposedOperands) {
  setBusyThreads(1000);
  for (GemmTypes types : {GemmTypes{}, GemmTypes{BF16, BF16, F32}, GemmTypes{BF16, BF16, BF16},
                          GemmTypes{F16, F16, F32}, GemmTypes{F32, F16, BF16}})
    for (int threads : {1, 2, 3})
      for (auto [xTransposed, wTransposed] :
           {std::pair<bool, bool>{true, false}, {false, true}, {true, true}})
        for (int64_t m : {1, 2, 7, 33, 65, 200})
          for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {16, 16}, {15, 80}, {80, 27}, {193, 130}})
            for (bool adds : {false, true})
              for (bool packed : {false, true})
                if (!packed || !wTransposed)
                  checkProduct(m, n, k, types, packed, threads, {xTransposed, wTransposed},
                               {/*bias=*/false, adds});
}

TEST(Gemm, AddsToWhatLiesThere) {
  for (GemmTypes types : {GemmTypes{}, GemmTypes{BF16, BF16, F32}, GemmTypes{F16, F16, F16}})
    for (bool packed : {true, false})
      for (int64_t m : {1, 5, 128})
        for (int64_t n : {80, 700})
          for (int64_t k : {27, 28})
            checkProduct(m, n, k, types, packed, 2, {}, {/*bias=*/false, /*addend=*/true});
}

TEST(Gemm, PackedWeightsHaveOneOrientation) {
  ThreadPool pool(1, keepDnnlSingleThreaded);
  EXPECT_THROW(Gemm(2, 64, 64, {}, /*packed=*/true, pool, {}, {false, true}), Error);
}

TEST(Gemm, EveryMixtureOfTypes) {
  for (io::DType x : {F32, BF16, F16})
    for (io::DType w : {F32, BF16, F16})
      for (io::DType y : {F32, BF16, F16})
        for (bool packed : {true, false})
          for (int64_t m : {1, 5, 130})
            for (int64_t k : {83, 84})
              checkProduct(m, 40, k, {x, w, y}, packed, 2);
}

TEST(Gemm, ManyRowsDoNotFallBackToReferenceCode) {
  ThreadPool pool(2, keepDnnlSingleThreaded);
  for (GemmTypes types : {GemmTypes{}, GemmTypes{BF16, BF16, BF16}})
    for (bool packed : {true, false})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{576, 576}, {192, 576}, {27, 80}, {49152, 64}}) {
        Gemm gemm(128, n, k, types, packed, pool);
        EXPECT_NE(std::string(gemm.implementation()).substr(0, 3), "ref");
      }
  // The products of backward are the library's too.
  for (GemmOrientation transposed : {GemmOrientation{true, true}, GemmOrientation{false, true}})
    for (bool adds : {false, true}) {
      Gemm gemm(768, 768, 1024, {}, /*packed=*/false, pool, {/*bias=*/false, adds}, transposed);
      EXPECT_STRNE(gemm.implementation(), "own") << transposed.x << adds;
    }
}

// Of a plain W that is larger than x each thread reads its share of the columns.
TEST(Gemm, PartsOfColumns) {
  setBusyThreads(1000);
  for (GemmTypes types : {GemmTypes{}, GemmTypes{BF16, BF16, F32}, GemmTypes{BF16, BF16, BF16}})
    for (int threads : {2, 3})
      for (GemmOrientation transposed :
           {GemmOrientation{}, GemmOrientation{false, true}, GemmOrientation{true, true}})
        for (auto [n, k] : {std::pair<int64_t, int64_t>{259, 83}, {512, 64}, {1000, 31}})
          for (int64_t m : {192, 256})
            checkProduct(m, n, k, types, /*packed=*/false, threads, transposed);
}

// Products of one shape share code while they live side by side, but only those that read and write alike.
TEST(Gemm, PackedAndPlainWeightsOfOneShapeAreReadEachInItsWay) {
  constexpr int64_t m = 128, n = 80, k = 48;
  for (io::DType type : {F32, BF16}) {
    ThreadPool pool(1, keepDnnlSingleThreaded);
    Stored x(type, randomVector(m * k, 1)), w(type, randomVector(n * k, 2));
    PackedLayout layout(n, k, type);
    Memory packedData(layout.bytes(), "test");
    layout.packRows(0, n, w.wide.data(), packedData.data());
    Gemm packed(m, n, k, {type, type, F32}, true, pool), plain(m, n, k, {type, type, F32}, false, pool),
        narrow(m, n, k, {type, type, type}, true, pool);
    std::vector<float> a(m * n), b(m * n), c(m * n);
    std::vector<char> narrowed(size_t(io::bytesOf(type, m * n)));
    packed.run(x.data.data(), packedData.data(), a.data());
    plain.run(x.data.data(), w.data.data(), b.data());
    narrow.run(x.data.data(), packedData.data(), narrowed.data());
    io::traits(type).widen(narrowed.data(), m * n, c.data());
    for (int64_t i = 0; i < m * n; ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-5) << i << " by " << packed.implementation();
      ASSERT_NEAR(a[i], c[i], 1e-5 + roundingOf(type) * std::fabs(a[i])) << i;
    }
  }
}

TEST(Gemm, Bfloat16HalvesTheBytesOfPackedWeights) {
  EXPECT_EQ(2 * PackedLayout(576, 1536, BF16).bytes(), PackedLayout(576, 1536, F32).bytes());
  EXPECT_EQ(2 * PackedLayout(576, 1536, F16).bytes(), PackedLayout(576, 1536, F32).bytes());
}

// A type that nobody multiplies is an error, not float32.
TEST(Gemm, TypesWithoutKernelsAreRefused) {
  using io::DType;
  ThreadPool pool(1, keepDnnlSingleThreaded);
  for (GemmTypes types : {GemmTypes{DType::F32, DType::Q8_0, DType::F32},
                          {DType::F32, DType::F64, DType::F32},
                          {DType::I32, DType::F32, DType::F32},
                          {DType::F32, DType::F32, DType::I32}})
    EXPECT_THROW(Gemm(2, 64, 64, types, false, pool), Error);
  EXPECT_THROW(PackedLayout(64, 64, DType::Q8_0), Error);
}

TEST(Gemm, EmptyInnerDimensionGivesZeros) {
  ThreadPool pool(1, keepDnnlSingleThreaded);
  std::vector<float> y(6, 5.0f);
  Gemm(2, 3, 0, {}, true, pool).run(nullptr, nullptr, y.data());
  EXPECT_EQ(y, std::vector<float>(6, 0.0f));
}

// Machines differ; the code for all of them must be right on this one, as far as it can run them.
TEST(Gemm, KernelsOfEveryInstructionSet) {
  const io::DType types[] = {F32, BF16, F16}; // in the order of WeightFormat
  for (const GemmKernels *kernels : runnableKernels())
    for (int format = 0; format < 3; ++format)
      for (int64_t m : {1, 2, 3, 5, 6, 8, 11})
        for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {17, 33}, {64, 48}, {150, 577}}) {
          const GemmKernelSet &set = (*kernels)[WeightFormat(format)];
          Stored w(types[format], randomVector(n * k, 2));
          std::vector<float> x = randomVector(m * k, 1), y(m * n), z(m * n);
          PackedLayout layout(n, k, types[format]);
          Memory packed(layout.bytes(), "test");
          layout.packRows(0, n, w.wide.data(), packed.data());
          PackedWeight weight = {layout.n, layout.k, layout.block, layout.paddedN, layout.paddedK};
          int64_t units = (n + 15) / 16;
          // In two uneven shares of the columns.
          set.packedColumns(weight, packed.data(), m, x.data(), y.data(), 0, units / 3);
          set.packedColumns(weight, packed.data(), m, x.data(), y.data(), units / 3, units);
          set.plainColumns(m, n, k, x.data(), w.data.data(), z.data(), 0, n / 3);
          set.plainColumns(m, n, k, x.data(), w.data.data(), z.data(), n / 3, n);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double want = 0;
              for (int64_t l = 0; l < k; ++l)
                want += double(x[i * k + l]) * w.wide[j * k + l];
              ASSERT_NEAR(y[i * n + j], want, 1e-5 * std::sqrt(double(k))) << format;
              ASSERT_NEAR(z[i * n + j], want, 1e-5 * std::sqrt(double(k))) << format;
            }
          // A row has the same bits alone, and in one share of the columns.
          std::vector<float> alone(n), turned(m * n), turnedAlone(n);
          set.transposedColumns(m, n, k, x.data(), w.data.data(), turned.data(), 0, units / 3);
          set.transposedColumns(m, n, k, x.data(), w.data.data(), turned.data(), units / 3, units);
          for (int64_t i = 0; i < m; ++i) {
            set.packedColumns(weight, packed.data(), 1, &x[i * k], alone.data(), 0, units);
            ASSERT_EQ(memcmp(alone.data(), &y[i * n], n * 4), 0) << format << " row " << i << " of " << m;
            set.plainColumns(1, n, k, &x[i * k], w.data.data(), alone.data(), 0, n);
            ASSERT_EQ(memcmp(alone.data(), &z[i * n], n * 4), 0) << format << " row " << i << " of " << m;
            set.transposedColumns(1, n, k, &x[i * k], w.data.data(), turnedAlone.data(), 0, units);
            ASSERT_EQ(memcmp(turnedAlone.data(), &turned[i * n], n * 4), 0) << format << " row " << i;
          }
        }
}

// A bias, and what is done to sums, whatever computes them.
TEST(Gemm, BiasAndFunction) {
  for (GemmTypes types : {GemmTypes{}, GemmTypes{BF16, BF16, F32}, GemmTypes{BF16, BF16, BF16}})
    for (bool packed : {true, false})
      for (int64_t m : {1, 5, 130})
        for (int64_t k : {27, 28}) {
          const int64_t n = 40;
          ThreadPool pool(2, keepDnnlSingleThreaded);
          Stored x(types.x, randomVector(m * k, 1)), w(types.w, randomVector(n * k, 2)),
              bias(types.y, randomVector(n, 3));
          PackedLayout layout(n, k, types.w);
          Memory packedData(layout.bytes(), "test");
          layout.packRows(0, n, w.wide.data(), packedData.data());
          std::vector<char> y(size_t(io::bytesOf(types.y, m * n)));
          Gemm(m, n, k, types, packed, pool, {/*bias=*/true, /*addend=*/false, ProductFunction::Relu})
              .run(x.data.data(), packed ? packedData.data() : w.data.data(), y.data(), bias.data.data());
          std::vector<float> got(size_t(m * n));
          io::traits(types.y).widen(y.data(), m * n, got.data());
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              double want = bias.wide[size_t(j)];
              for (int64_t l = 0; l < k; ++l)
                want += double(x.wide[size_t(i * k + l)]) * w.wide[size_t(j * k + l)];
              want = std::max(want, 0.0);
              ASSERT_NEAR(got[size_t(i * n + j)], want, 1e-4 + roundingOf(types.y) * want)
                  << i << ", " << j << " packed " << packed << " k " << k;
            }
        }
}

// Few rows of bfloat16 by packed weights of bfloat16 go by pairs, where the CPU multiplies these.
TEST(Gemm, FewRowsOfBfloat16GoByPairs) {
  ThreadPool pool(2, keepDnnlSingleThreaded);
  const std::string pairs = packedPairColumns() ? "own:pairs" : "own";
  for (io::DType y : {F32, BF16, F16})
    EXPECT_EQ(Gemm(16, 80, 48, {BF16, BF16, y}, true, pool).implementation(), pairs);
  EXPECT_STREQ(Gemm(16, 80, 47, {BF16, BF16, F32}, true, pool).implementation(), "own");
  EXPECT_STREQ(Gemm(16, 80, 48, {BF16, BF16, F32}, false, pool).implementation(), "own");
  EXPECT_STREQ(Gemm(16, 80, 48, {BF16, F16, F32}, true, pool).implementation(), "own");
  EXPECT_STREQ(Gemm(16, 80, 48, {F32, BF16, F32}, true, pool).implementation(), "own");
  if (!packedPairColumns())
    return;
  for (int64_t m : {1, 2, 3, 5, 6, 7, 16})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 2}, {17, 34}, {64, 48}, {150, 578}}) {
      SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k);
      // The rows begin at an odd element.
      std::vector<float> values = randomVector(1 + m * k, 1);
      Stored x(BF16, values), w(BF16, randomVector(n * k, 2));
      const auto *rows = reinterpret_cast<const uint16_t *>(x.data.data()) + 1;
      PackedLayout layout(n, k, BF16);
      Memory packed(layout.bytes(), "test");
      layout.packRows(0, n, w.wide.data(), packed.data());
      const PackedWeight weight = {layout.n, layout.k, layout.block, layout.paddedN, layout.paddedK};
      const int64_t units = (n + 15) / 16;
      std::vector<float> got(size_t(m * n)), alone(static_cast<size_t>(n));
      packedPairColumns()(weight, packed.data(), m, rows, got.data(), 0, units / 3);
      packedPairColumns()(weight, packed.data(), m, rows, got.data(), units / 3, units);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double want = 0;
          for (int64_t l = 0; l < k; ++l)
            want += double(x.wide[size_t(1 + i * k + l)]) * w.wide[size_t(j * k + l)];
          ASSERT_NEAR(got[size_t(i * n + j)], want, 1e-5 * std::sqrt(double(k))) << i << ", " << j;
        }
        // A row has the same bits alone, and in one share of the columns.
        packedPairColumns()(weight, packed.data(), 1, rows + i * k, alone.data(), 0, units);
        ASSERT_EQ(memcmp(alone.data(), &got[size_t(i * n)], size_t(n) * 4), 0) << "row " << i;
      }
    }
}

// Subnormal numbers, infinities and NaN widen as the table says, in every set of instructions.
TEST(Gemm, EveryHalfAsWeight) {
  std::vector<uint16_t> halves(65536);
  std::vector<float> want(65536), got(65536);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = uint16_t(i);
  io::traits(F16).widen(halves.data(), 65536, want.data());
  const float one = 1;
  for (const GemmKernels *kernels : runnableKernels()) {
    // A weight of one packed block of 65536 rows of one element.
    (*kernels)[WeightFormat::F16].packedColumns({65536, 1, 65536, 65536, 1}, halves.data(), 1, &one,
                                                got.data(), 0, 4096);
    for (size_t i = 0; i < halves.size(); ++i)
      ASSERT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i;
  }
}

// What fails on a worker of the pool is an Error of the caller, and the next product is none the worse.
TEST(Gemm, AnErrorOfOneDnnOnAWorkerReachesTheCaller) {
  static std::thread::id caller;
  static std::atomic<int> failed;
  static int workers;
  static decltype(Dnnl::table().primitive_execute) execute;
  caller = std::this_thread::get_id();
  execute = Dnnl::table().primitive_execute;
  for (int threads : {2, 3}) {
    workers = threads - 1;
    failed = 0;
    ThreadPool pool(threads, keepDnnlSingleThreaded);
    const int64_t m = 64 * threads, n = 48, k = 32;
    std::vector<float> x(size_t(m * k), 1), w(size_t(n * k), 2), y(size_t(m * n));
    Gemm gemm(m, n, k, {}, /*packed=*/false, pool);
    ASSERT_STRNE(gemm.implementation(), "own");
    Dnnl::table().primitive_execute = [](const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                         const dnnl_exec_arg_t *arguments) {
      if (std::this_thread::get_id() != caller) {
        ++failed;
        return dnnl_out_of_memory;
      }
      while (failed < workers) // the caller must not take over what a worker shall fail at
        std::this_thread::yield();
      return execute(primitive, stream, count, arguments);
    };
    try {
      gemm.run(x.data(), w.data(), y.data());
      ADD_FAILURE() << "no error with " << threads << " threads";
    } catch (const Error &error) {
      EXPECT_STREQ(error.what(), "cannot compute a product (oneDNN): status 1");
    }
    Dnnl::table().primitive_execute = execute;
    gemm.run(x.data(), w.data(), y.data());
    for (float value : y)
      ASSERT_EQ(value, 2 * k);
  }
}

// Products of one shape share their code: ranks that are threads run it at once, each on its own numbers.
TEST(Gemm, ThreadsShareTheCodeOfAShape) {
  const int64_t m = 96, n = 80, k = 40;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([=] {
      keepDnnlSingleThreaded();
      ThreadPool pool(1, keepDnnlSingleThreaded);
      std::vector<float> x(size_t(m * k), float(rank)), w(size_t(n * k), 2), y(size_t(m * n));
      for (int round = 0; round < 20; ++round) {
        Gemm gemm(m, n, k, {}, /*packed=*/false, pool);
        gemm.run(x.data(), w.data(), y.data());
        for (float value : y)
          ASSERT_EQ(value, float(rank * 2 * k));
      }
    });
  for (std::thread &rank : ranks)
    rank.join();
}

} // namespace tessera::runtime
