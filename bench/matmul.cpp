// bench/matmul [--threads=N] [--backward]: products of SmolLM2's shapes in float32, and the streaming read
// that bounds those with one row. Weights of a shape are copied until they fill 128 MB, and the copies take
// turns: as in a model, no product finds its weights in a cache. Medians over rounds; read and products are
// interleaved. Then the products of backward at GPT-2's shapes: operands read where they lie, against copies
// that turn them lane by lane and the product of those.
#include "tessera/runtime/core/Wait.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <algorithm>
#include <chrono>
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
}
