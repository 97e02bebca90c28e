// bench/matmul [--threads=N] [--backward|--blocks]: products of SmolLM2's shapes in float32, and the
// streaming read that bounds those with one row. Weights of a shape are copied until they fill 128 MB, and
// the copies take turns: as in a model, no product finds its weights in a cache. Medians over rounds; read
// and products are interleaved. Then the products of backward at GPT-2's shapes: operands read where they
// lie, against copies that turn them lane by lane and the product of those. Then those of many rows by
// weights in quantized blocks, against the same product of floats.
#include "tessera/runtime/core/Wait.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

using namespace tessera::runtime;

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Sums the buffer with all threads: bytes a second.
static double readBandwidth(ThreadPool &pool, const Memory &memory) {
  std::vector<float> sums(pool.size() * 16);
  double start = seconds();
  pool.parallel(pool.size(), [&](int part) {
    typedef float Vec __attribute__((vector_size(64)));
    Range range = splitRange(int64_t(memory.bytes() / 512), pool.size(), part);
    const Vec *p = reinterpret_cast<const Vec *>(memory.data());
    Vec a[8] = {};
    for (int64_t i = range.begin; i < range.end; ++i)
      for (int j = 0; j < 8; ++j)
        a[j] += p[i * 8 + j];
    for (int j = 0; j < 8; ++j)
      sums[part * 16] += a[j][0];
  });
  double elapsed = seconds() - start;
  volatile float keep = sums[0];
  (void)keep;
  return double(memory.bytes()) / elapsed;
}

// out[j, i] = in[i, j], as a kernel of ours would copy it: rows of `out` split over the threads.
static void turn(ThreadPool &pool, const float *in, int64_t rows, int64_t columns, float *out) {
  pool.parallel(pool.size(), [&](int part) {
    Range range = splitRange(columns, pool.size(), part);
    for (int64_t j = range.begin; j < range.end; ++j)
      for (int64_t i = 0; i < rows; ++i)
        out[j * rows + i] = in[i * columns + j];
  });
}

static double timed(const std::function<void()> &run) {
  double start = seconds();
  run();
  return seconds() - start;
}

static void benchBackward(ThreadPool &pool) {
  printf("\nbackward of y[1024, out] = x[1024, in] . w[out, in]^T\n%6s %6s %-3s %-14s %10s %14s %14s\n",
         "out", "in", "", "by", "GFLOP/s", "time / copied", "time / product");
  constexpr int64_t rows = 1024;
  for (auto [out, in] : {std::pair<int64_t, int64_t>{768, 768}, {3072, 768}, {768, 3072}})
    for (bool ofWeight : {false, true}) {
      // dx = dy . w reads w across; dw = dy^T . x reads both across.
      int64_t m = ofWeight ? out : rows, n = in, k = ofWeight ? rows : out;
      GemmOrientation across{ofWeight, true};
      std::vector<float> x(m * k, 0.5f), w(n * k, 0.25f), xTurned(m * k), wTurned(n * k), y(m * n);
      Gemm direct(m, n, k, {}, false, pool, {}, across), straight(m, n, k, {}, false, pool);
      std::vector<double> where, copied, product;
      for (int round = 0; round < 15; ++round) {
        where.push_back(timed([&] { direct.run(x.data(), w.data(), y.data()); }));
        copied.push_back(timed([&] {
          if (ofWeight)
            turn(pool, x.data(), k, m, xTurned.data());
          turn(pool, w.data(), k, n, wTurned.data());
          straight.run(ofWeight ? xTurned.data() : x.data(), wTurned.data(), y.data());
        }));
        product.push_back(timed([&] { straight.run(x.data(), w.data(), y.data()); }));
      }
      double t = median(where);
      printf("%6ld %6ld %-3s %-14s %10.1f %14.2f %14.2f\n", long(out), long(in), ofWeight ? "dw" : "dx",
             direct.implementation(), 2.0 * m * n * k / t / 1e9, t / median(copied), t / median(product));
      fflush(stdout);
    }
}

static void benchBlocks(ThreadPool &pool) {
  using tessera::io::DType;
  printf("\nrows by weights in blocks, the fastest in GFLOP/s\n%5s %6s %6s", "m", "n", "k");
  const std::vector<DType> types = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q4_K,
                                    DType::Q6_K, DType::FP8,  DType::MXFP4};
  for (DType x : {DType::F32, DType::BF16}) {
    printf(" | %6s:", x == DType::F32 ? "float" : "bf16");
    for (DType type : types)
      printf(" %5s", tessera::io::dtypeName(type));
  }
  printf("\n");
  for (int64_t m : {16, 128, 512})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{576, 768}, {192, 768}, {1536, 768}, {768, 1536}}) {
      printf("%5ld %6ld %6ld", long(m), long(n), long(k));
      std::vector<float> x(size_t(m * k)), y(size_t(m * n));
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = float(i * 7 % 23) / 16 - 0.5f;
      const double flops = 2.0 * double(m * n * k);
      auto rate = [&](Gemm &product, const void *rows, const void *w) {
        double fastest = INFINITY; // other work on the machine disturbs it least
        for (int round = 0; round < 15; ++round)
          fastest = std::min(fastest, timed([&] { product.run(rows, w, y.data()); }));
        return flops / fastest / 1e9;
      };
      for (DType xType : {DType::F32, DType::BF16}) {
        std::vector<char> rows(size_t(tessera::io::bytesOf(xType, m * k)));
        tessera::io::traits(xType).narrow(x.data(), m * k, rows.data());
        PackedLayout layout(n, k, xType);
        Memory floats(size_t(layout.bytes()), "weights");
        std::vector<float> plain(size_t(n * k), 0.25f);
        layout.packRows(0, n, plain.data(), floats.data());
        Gemm ofFloats(m, n, k, {xType, xType, xType}, true, pool);
        printf(" | %6.0f:", rate(ofFloats, rows.data(), floats.data()));
        for (DType type : types) {
          BlockWeight weight(n, tessera::io::BlockColumns({k}, {k}));
          Memory held(size_t(weight.bytes(type)), "weights");
          weight.writeHeader(type, {{0, int32_t(k)}}, held.data());
          for (size_t i = 0; i < plain.size(); ++i)
            plain[i] = float(i * 5 % 31) / 8 - 1.9f;
          const int64_t rowBytes = tessera::io::bytesOf(type, k);
          std::vector<uint8_t> file(size_t(n * rowBytes));
          tessera::io::traits(type).narrow(plain.data(), n * k, file.data());
          std::vector<const uint8_t *> starts;
          for (int64_t i = 0; i < n; ++i)
            starts.push_back(file.data() + i * rowBytes);
          weight.writeRows(type, {{0, int32_t(k)}}, 0, n, starts.data(), held.data());
          Gemm product(m, weight, {xType, xType, xType}, pool);
          printf(" %5.0f", rate(product, rows.data(), held.data()));
        }
      }
      printf("\n");
      fflush(stdout);
    }
}

int main(int argc, char **argv) {
  int threads = 2;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]).rfind("--threads=", 0) == 0)
      threads = std::atoi(argv[i] + 10);
  setBusyThreads(threads);
  ThreadPool pool(threads);
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--backward")
      return benchBackward(pool), 0;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--blocks")
      return benchBlocks(pool), 0;
  constexpr int64_t bytes = 128 << 20;
  Memory weights(bytes, "weights");
  memset(weights.data(), 0, bytes);
  float *w = reinterpret_cast<float *>(weights.data());
  for (int64_t i = 0; i < bytes / 4; ++i)
    w[i] = 1e-3f * float(i % 7);
  printf("%d threads\n%6s %6s %6s %-18s %10s %10s %10s\n", threads, "m", "n", "k", "by", "GFLOP/s", "GB/s",
         "of read");
  struct {
    int64_t n, k;
  } shapes[] = {{576, 576}, {192, 576}, {1536, 576}, {576, 1536}, {49152, 576}};
  for (int64_t m : {1, 2, 4, 128})
    for (auto [n, k] : shapes) {
      PackedLayout layout(n, k, tessera::io::DType::F32);
      int64_t copies = bytes / layout.bytes();
      std::vector<float> x(m * k, 1.0f), y(m * n);
      Gemm gemm(m, n, k, GemmTypes{}, true, pool);
      std::vector<double> reads, products;
      double flops = 2.0 * m * n * k * copies, read = double(layout.bytes()) * copies;
      for (int round = 0; round < 7; ++round) {
        reads.push_back(readBandwidth(pool, weights));
        int64_t used = m == 1 ? copies : std::max<int64_t>(1, copies / 8);
        double start = seconds();
        for (int64_t i = 0; i < used; ++i)
          gemm.run(x.data(), weights.data() + i * (copies / used) * layout.bytes(), y.data());
        products.push_back((seconds() - start) * double(copies) / double(used));
      }
      double t = median(products);
      printf("%6ld %6ld %6ld %-18s %10.1f %10.1f %9.0f%%\n", long(m), long(n), long(k), gemm.implementation(),
             flops / t / 1e9, read / t / 1e9, 100 * read / t / median(reads));
      fflush(stdout);
    }
  benchBackward(pool);
  benchBlocks(pool);
}
