// bench/matmul [--threads=N]: products of SmolLM2's shapes in float32, and the streaming read that bounds
// those with one row. Weights of a shape are copied until they fill 128 MB, and the copies take turns: as in
// a model, no product finds its weights in a cache. Medians over rounds; read and products are interleaved.
#include "tessera/runtime/core/Wait.h"
#include "tessera/runtime/cpu/Gemm.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

int main(int argc, char **argv) {
  int threads = 2;
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]).rfind("--threads=", 0) == 0)
      threads = std::atoi(argv[i] + 10);
  setBusyThreads(threads);
  ThreadPool pool(threads);
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
}
