// Products of many rows with weights in blocks: panels that end within a matrix, numbers of rows that fill no
// tile, what is done to the sums.
#include "FileRows.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tessera::runtime {

using io::DType;

namespace {
// A whole matrix, held in blocks.
struct HeldMatrix {
  HeldMatrix(DType type, int64_t n, int64_t k) : HeldMatrix(type, n, FileRows(type, n, k, uint32_t(n))) {}
  HeldMatrix(DType type, int64_t n, FileRows given)
      : file(std::move(given)), weight(n, io::BlockColumns({file.columns}, {file.columns})),
        memory(size_t(weight.bytes(type)), "weights") {
    const int64_t k = file.columns;
    weight.writeHeader(type, {{0, int32_t(k)}}, memory.data());
    std::vector<const uint8_t *> rows;
    for (int64_t i = 0; i < n; ++i)
      rows.push_back(file.row(i));
    weight.writeRows(type, {{0, int32_t(k)}}, 0, n, rows.data(), memory.data());
  }
  FileRows file;
  BlockWeight weight;
  Memory memory;
};

// Numbers of a type: its bytes, and what they say.
struct Numbers {
  Numbers(DType type, int64_t count, uint32_t seed) : bytes(size_t(io::bytesOf(type, count))) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    wide.resize(size_t(count));
    for (float &value : wide)
      value = normal(random);
    io::traits(type).narrow(wide.data(), count, bytes.data());
    io::traits(type).widen(bytes.data(), count, wide.data());
  }
  std::vector<char> bytes;
  std::vector<float> wide;
};
} // namespace

// A product of few of these rows gives each the bits that it has among all of them.
TEST(BlockProduct, ManyRowsEachAsAmongFew) {
  ThreadPool pool(2, [] {});
  constexpr int64_t n = 83, k = 768; // 83 columns of y are two panels, 24 sub-blocks several
  for (DType type : blockTypes()) {
    HeldMatrix w(type, n, k);
    for (DType xType : {DType::F32, DType::BF16}) {
      SCOPED_TRACE(testing::Message() << io::dtypeName(type) << " by " << io::dtypeName(xType));
      constexpr int64_t most = 513;
      Numbers x(xType, most * k, 1);
      std::vector<float> all(size_t(most * n), NAN), some(size_t(most * n), NAN);
      Gemm(most, w.weight, {xType, DType::F32, DType::F32}, pool)
          .run(x.bytes.data(), w.memory.data(), all.data());
      for (int64_t r : {int64_t(0), int64_t(7), most - 1})
        for (int64_t i = 0; i < n; i += 41) {
          double sum = 0, size = 0;
          for (int64_t c = 0; c < k; ++c) {
            double term = double(x.wide[size_t(r * k + c)]) * w.file.wide[size_t(i * k + c)];
            sum += term, size += std::fabs(term);
          }
          ASSERT_NEAR(all[size_t(r * n + i)], sum, 2e-6 * size) << "row " << r << ", column " << i;
        }
      for (int64_t rows : {5, 7, 13, 64}) {
        Gemm product(rows, w.weight, {xType, DType::F32, DType::F32}, pool);
        product.run(x.bytes.data(), w.memory.data(), some.data());
        ASSERT_EQ(memcmp(some.data(), all.data(), size_t(rows * n) * 4), 0) << rows << " rows";
      }
    }
  }
}

// Codes that are looked up as pairs go into a row's sums in one order, however few rows stand beside it: a
// token has the same bits whether it is decoded or part of a prompt.
TEST(BlockProduct, FewRowsOfPairsEachAsAmongMany) {
  ThreadPool pool(2, [] {});
  constexpr int64_t n = 83, k = 768, many = 9;
  for (DType type : blockTypes()) {
    if (type == DType::Q8_0 || type == DType::FP8)
      continue; // codes of 8 bits are not looked up
    HeldMatrix w(type, n, k);
    Numbers x(DType::BF16, many * k, 1);
    auto product = [&](int64_t rows) {
      std::vector<float> y(size_t(rows * n), NAN);
      Gemm gemm(rows, w.weight, {DType::BF16, DType::F32, DType::F32}, pool);
      gemm.run(x.bytes.data(), w.memory.data(), y.data());
      return y;
    };
    const std::vector<float> all = product(many);
    if (!BlockProduct(w.weight, many, pool, DType::BF16).takesBfloat16())
      GTEST_SKIP() << "this CPU multiplies no pairs";
    for (int64_t rows : {1, 2, 3, 4}) {
      const std::vector<float> few = product(rows);
      EXPECT_EQ(memcmp(few.data(), all.data(), few.size() * 4), 0)
          << rows << " rows by " << io::dtypeName(type);
    }
  }
}

// A row for each code of 8 bits, and for each scale that is a power of 2: the smallest are no normal numbers,
// and what is no number stays none.
TEST(BlockProduct, EveryFloatOfEightBitsAndEveryPowerOfTwo) {
  ThreadPool pool(2, [] {});
  for (DType type : {DType::FP8, DType::MXFP4}) {
    const int64_t n = type == DType::FP8 ? 256 : 255, k = io::blockElements(type);
    FileRows rows(type, n, k, 1);
    std::fill(rows.data.begin(), rows.data.end(), uint8_t(0));
    const float one = 1;
    for (int64_t i = 0; i < n; ++i) {
      uint8_t *row = rows.data.data() + i * rows.rowBytes;
      if (type == DType::FP8)
        memcpy(row, &one, 4), row[4] = uint8_t(i);
      else
        row[0] = uint8_t(i), row[1] = 2; // 1 times it
    }
    io::dequantize(type, rows.data.data(), n * k, rows.wide.data());
    HeldMatrix w(type, n, rows);
    for (int64_t m : {1, 4, 9}) {
      std::vector<float> x(size_t(m * k), 0), y(size_t(m * n), -1);
      for (int64_t r = 0; r < m; ++r)
        x[size_t(r * k)] = 1;
      Gemm(m, w.weight, {DType::F32, DType::F32, DType::F32}, pool).run(x.data(), w.memory.data(), y.data());
      for (int64_t i = 0; i < m * n; ++i) {
        const float wanted = rows.wide[size_t(i % n * k)];
        ASSERT_TRUE(std::isnan(wanted) ? std::isnan(y[size_t(i)]) : y[size_t(i)] == wanted)
            << io::dtypeName(type) << " " << i % n << " of " << m << " rows: " << y[size_t(i)] << ", not "
            << wanted;
      }
    }
  }
}

TEST(BlockProduct, AddsAndRoundsColumnByColumn) {
  constexpr int64_t n = 150, k = 96; // columns of both threads, which end within a unit
  HeldMatrix w(DType::Q4_1, n, k);
  for (int threads : {1, 2})
    for (int64_t m : {1, 3, 9})
      for (DType type : {DType::F32, DType::BF16, DType::F16}) {
        SCOPED_TRACE(testing::Message()
                     << m << " rows of " << io::dtypeName(type) << ", " << threads << " threads");
        ThreadPool pool(threads, [] {});
        Numbers x(type, m * k, 1), bias(type, n, 2), y(type, m * n, 3);
        GemmEpilogue epilogue{/*bias=*/true, /*addend=*/true, ProductFunction::Relu};
        std::vector<float> addend = y.wide;
        Gemm product(m, w.weight, {type, DType::F32, type}, pool, epilogue);
        product.run(x.bytes.data(), w.memory.data(), y.bytes.data(), bias.bytes.data(), y.bytes.data());
        io::traits(type).widen(y.bytes.data(), m * n, y.wide.data());
        double rounding = type == DType::F32 ? 2e-6 : type == DType::F16 ? 1e-3 : 8e-3;
        for (int64_t r = 0; r < m; ++r)
          for (int64_t i = 0; i < n; ++i) {
            double sum = addend[size_t(r * n + i)] + bias.wide[size_t(i)], size = std::fabs(sum);
            for (int64_t c = 0; c < k; ++c) {
              double term = double(x.wide[size_t(r * k + c)]) * w.file.wide[size_t(i * k + c)];
              sum += term, size += std::fabs(term);
            }
            sum = std::max(sum, 0.0);
            ASSERT_NEAR(y.wide[size_t(r * n + i)], sum, 2e-6 * size + rounding * sum)
                << "row " << r << ", column " << i;
          }
      }
}

} // namespace tessera::runtime
