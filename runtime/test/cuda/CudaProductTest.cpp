// Products of the driver `cuda` on a device: a GPU, or the stand-in.
#include "CudaProduct.h"
#include "CudaMachine.h"
#include "TrialNumbers.h"
#include "tessera/runtime/io/DType.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace tessera::runtime {
namespace {

TEST(CudaProducts, OfNarrowTypes) {
  Machine m;
  Operands o;
  for (io::DType type : {io::DType::F32, io::DType::BF16, io::DType::F16})
    for (io::DType result : {type, io::DType::F32}) {
      MatmulSpec spec;
      spec.m = o.m, spec.n = o.n, spec.k = o.k, spec.x = spec.w = type, spec.y = result;
      std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
      Buffer x = upload(m, type, o.x), w = upload(m, type, o.w);
      Buffer y = m.device->allocate(size_t(io::bytesOf(result, o.m * o.n)), "a result", MemoryUse::Arena);
      m.compute->multiply(*product, {x.address(), w.address(), y.address()});
      std::vector<char> held(y.bytes());
      m.compute->download(held.data(), y.address(), held.size());
      m.compute->synchronize();
      std::vector<float> got(o.m * o.n);
      io::traits(result).widen(held.data(), o.m * o.n, got.data());
      for (int64_t i = 0; i < o.m; ++i)
        for (int64_t j = 0; j < o.n; ++j) // small whole numbers: exact in every type
          ASSERT_EQ(got[size_t(i * o.n + j)], o.sum(i, j)) << i << " " << j;
    }
}

// Of narrow types too: what lies as [k, m] and [k, n] is read where it lies.
TEST(CudaProducts, OfTransposedOperands) {
  Machine m;
  Operands o;
  std::vector<float> x(o.x.size()), w(o.w.size());
  for (int64_t l = 0; l < o.k; ++l) {
    for (int64_t i = 0; i < o.m; ++i)
      x[size_t(l * o.m + i)] = o.x[size_t(i * o.k + l)];
    for (int64_t j = 0; j < o.n; ++j)
      w[size_t(l * o.n + j)] = o.w[size_t(j * o.k + l)];
  }
  for (io::DType type : {io::DType::F32, io::DType::BF16})
    for (int choice = 0; choice < 4; ++choice) {
      MatmulSpec spec;
      spec.m = o.m, spec.n = o.n, spec.k = o.k, spec.x = spec.w = type;
      spec.xTransposed = choice % 2, spec.wTransposed = choice / 2;
      std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
      Buffer xs = upload(m, type, spec.xTransposed ? x : o.x),
             ws = upload(m, type, spec.wTransposed ? w : o.w);
      Buffer y = m.device->allocate(size_t(o.m * o.n) * 4, "a result", MemoryUse::Arena);
      m.compute->multiply(*product, {xs.address(), ws.address(), y.address()});
      std::vector<float> got = m.read(y.address(), size_t(o.m * o.n));
      for (int64_t i = 0; i < o.m * o.n; ++i)
        ASSERT_EQ(got[size_t(i)], o.sum(i / o.n, i % o.n)) << choice << " " << i;
    }
}

// One operand, or all of them, four bytes behind where the algorithm wants them.
TEST(CudaProducts, AtAddressesThatAreBarelyAligned) {
  Machine m;
  const int64_t rows = 5, n = 36, k = 24;
  std::vector<float> x = numbers(rows * k, 5), w = numbers(n * k, 7);
  MatmulSpec spec;
  spec.m = rows, spec.n = n, spec.k = k;
  std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
  Buffer memory =
      m.device->allocate(size_t(n * k + rows * k + rows * n + 12) * 4, "operands", MemoryUse::Arena);
  for (int which : {1, 2, 4, 7}) {
    char *atX = memory.address() + (which & 1) * 4;
    char *atW = memory.address() + (rows * k + 4) * 4 + (which >> 1 & 1) * 4;
    char *atY = memory.address() + (rows * k + n * k + 8) * 4 + (which >> 2 & 1) * 4;
    m.compute->upload(atX, x.data(), x.size() * 4);
    m.compute->upload(atW, w.data(), w.size() * 4);
    m.compute->multiply(*product, {atX, atW, atY});
    std::vector<float> got = m.read(atY, size_t(rows * n));
    for (int64_t i = 0; i < rows * n; ++i) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += x[size_t(i / n * k + l)] * w[size_t(i % n * k + l)];
      ASSERT_EQ(got[size_t(i)], sum) << which << " " << i;
    }
  }
}

TEST(CudaProducts, WithABiasLessAlignedThanTheLibraryReads) {
  Machine m;
  Operands o;
  MatmulSpec spec;
  spec.m = o.m, spec.n = o.n, spec.k = o.k, spec.bias = true;
  std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr);
  Buffer x = upload(m, io::DType::F32, o.x), w = upload(m, io::DType::F32, o.w),
         b = upload(m, io::DType::F32, o.w), y = upload(m, io::DType::F32, o.w);
  expectParts(errorOf([&] {
                m.compute->multiply(*product, {x.address(), w.address(), y.address(), b.address() + 4});
              }),
              {"cannot multiply matrices (rank 0, GPU 0", "plain bias", "not aligned to 16 bytes"});
}

TEST(CudaProducts, ByEveryAlgorithmThatIsProposed) {
  Machine m;
  Operands o;
  CudaProducts products(m.cuda());
  ProductShape shape;
  shape.m = o.m, shape.n = o.n, shape.k = o.k;
  CudaProduct product(products, shape);
  for (float &number : o.w) // more digits than TF32 has
    number = number * 4096 + 1;
  Buffer x = upload(m, io::DType::F32, o.x), w = upload(m, io::DType::F32, o.w);
  for (const ProductAlgorithm &candidate : product.candidates(8)) {
    ASSERT_TRUE(product.choose(candidate.algorithm));
    Buffer y = upload(m, io::DType::F32, numbers(o.m * o.n, 5));
    m.compute->multiply(product, {x.address(), w.address(), y.address()});
    std::vector<float> got = m.read(y.address(), size_t(o.m * o.n));
    for (int64_t i = 0; i < o.m * o.n; ++i)
      ASSERT_EQ(got[size_t(i)], o.sum(i / o.n, i % o.n));
  }
}

// Sums of float16 in float32, and parts of them, too: 2048 + 1 is 2048 in 16 bits.
TEST(CudaProducts, OfFloat16AreSummedInFloat32) {
  Machine m;
  CudaProducts products(m.cuda());
  ProductShape shape;
  shape.m = 1, shape.n = 8, shape.k = 64, shape.x = shape.w = shape.y = io::DType::F16;
  CudaProduct product(products, shape);
  std::vector<float> ones(64, 1), row(64, 1), w;
  row[0] = 2048, row[63] = -2048;
  for (int i = 0; i < 8; ++i)
    w.insert(w.end(), row.begin(), row.end());
  Buffer x = upload(m, io::DType::F16, ones), weights = upload(m, io::DType::F16, w);
  for (const ProductAlgorithm &candidate : product.candidates(8)) {
    ASSERT_TRUE(product.choose(candidate.algorithm));
    Buffer y = m.device->allocate(8 * 2, "a result", MemoryUse::Arena);
    m.compute->multiply(product, {x.address(), weights.address(), y.address()});
    uint16_t held[8];
    m.compute->download(held, y.address(), sizeof(held));
    m.compute->synchronize();
    float got[8];
    io::traits(io::DType::F16).widen(held, 8, got);
    for (float one : got)
      EXPECT_EQ(one, 62);
  }
}

TEST(CudaProducts, OfTypesThatDoNotGoTogether) {
  Machine m;
  MatmulSpec spec;
  spec.m = spec.n = spec.k = 16;
  spec.w = io::DType::BF16;
  expectParts(errorOf([&] { m.device->createProduct(spec, nullptr); }),
              {"cannot multiply matrices (rank 0, GPU 0", "f32 bf16 f32 16x16x16"});
}

// What trials multiply: finite numbers of both signs, of whatever type they are taken to be.
TEST(TrialNumbers, AreNumbersOfEveryType) {
  int negative = 0;
  std::set<uint16_t> different;
  for (uint64_t i = 0; i < 4096; ++i) {
    uint16_t bits = TrialNumbers::number(i), next = TrialNumbers::number(i + 1);
    float asBF16, asF16, asF32;
    io::traits(io::DType::BF16).widen(reinterpret_cast<const char *>(&bits), 1, &asBF16);
    io::traits(io::DType::F16).widen(reinterpret_cast<const char *>(&bits), 1, &asF16);
    uint32_t both = uint32_t(bits) << 16 | next;
    memcpy(&asF32, &both, sizeof(both));
    for (float value : {asBF16, asF16, asF32}) {
      EXPECT_GE(std::abs(value), 0.125f);
      EXPECT_LE(std::abs(value), 2);
    }
    negative += asBF16 < 0;
    different.insert(bits);
  }
  EXPECT_NEAR(negative, 2048, 200);
  EXPECT_GT(different.size(), 950u); // of 1024
}

TEST(TrialNumbers, GoWhenTrialsAreOver) {
  Machine m;
  constexpr size_t count = 50001; // several copies of what the host makes, and a part of one
  Buffer memory = m.device->allocate(count * 4, "a buffer", MemoryUse::Arena);
  {
    TrialNumbers numbers(m.cuda());
    numbers.fill(memory.address(), count * 4);
    m.cuda().waitForStream(m.cuda().serviceStream());
    for (float value : m.read(memory.address(), count))
      EXPECT_GE(std::abs(value), 0.125f);
  }
  EXPECT_EQ(m.read(memory.address(), count), std::vector<float>(count));
}

TEST(CudaProducts, AreMeasuredOnceAndKept) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / ("choices." + std::to_string(getpid()));
  Variable tuning("TESSERA_TUNING", folder.string());
  Operands o;
  for (int turn = 0; turn < 2; ++turn) {
    Machine m;
    Buffer arena = m.device->allocate(100000, "the arena", MemoryUse::Arena);
    Buffer weights = m.device->allocate(20000, "the weights", MemoryUse::Weights);
    MatmulSpec spec;
    spec.m = o.m, spec.n = o.n, spec.k = o.k;
    std::unique_ptr<Product> product = m.device->createProduct(spec, nullptr),
                             same = m.device->createProduct(spec, nullptr);
    testing::internal::CaptureStderr();
    m.device->tuneProducts(arena, weights);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); // of the stand-in: nothing beyond an end was read
    EXPECT_EQ(m.read(arena.address(), 25000), std::vector<float>(25000, 0));
    EXPECT_FALSE(fs::is_empty(folder));
    Buffer x = upload(m, io::DType::F32, o.x), w = upload(m, io::DType::F32, o.w);
    m.compute->multiply(*same, {x.address(), w.address(), arena.address()});
    EXPECT_EQ(m.read(arena.address(), size_t(o.m * o.n)).back(), o.sum(o.m - 1, o.n - 1));
  }
  fs::remove_all(folder);
}

} // namespace
} // namespace tessera::runtime
