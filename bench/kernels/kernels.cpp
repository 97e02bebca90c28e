// Speed of compiled kernels: attention (prefill, decode) and rms_norm, on one and two threads.
//
//   bench-kernels [THREADS]
//
// Prints one line a case: time of the fastest and the median of many runs, and the rate of the fastest.
// Threads spin between runs, as the runtime's pool does under load; each takes one contiguous half of the
// iterations.

#include "AttentionReference.h"
#include "KernelHarness.h"

#include "tessera/Target/CPU/AttentionKernel.h"
#include "tessera/Target/CPU/TargetInfo.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

using namespace tessera;
using namespace tessera::test;

namespace {

double processorSeconds() { return double(clock()) / CLOCKS_PER_SEC; }

/// Runs `work(thread)` on every thread, again and again.
class Team {
public:
  explicit Team(int threads) : threads(threads) {
    for (int t = 1; t < threads; ++t)
      workers.emplace_back([this, t] {
        for (int64_t seen = 0;;) {
          while (round.load(std::memory_order_acquire) == seen)
            ;
          ++seen;
          if (stop)
            return;
          (*work)(t);
          done.fetch_add(1, std::memory_order_release);
        }
      });
  }
  ~Team() {
    stop = true;
    round.fetch_add(1, std::memory_order_release);
    for (std::thread &worker : workers)
      worker.join();
  }
  void run(const std::function<void(int)> &function) {
    work = &function;
    done = 0;
    round.fetch_add(1, std::memory_order_release);
    function(0);
    while (done.load(std::memory_order_acquire) != threads - 1)
      ;
  }

private:
  int threads;
  std::vector<std::thread> workers;
  const std::function<void(int)> *work = nullptr;
  std::atomic<int64_t> round{0};
  std::atomic<int> done{0};
  std::atomic<bool> stop{false};
};

struct Times {
  double fastest, median;
};

Times measure(Team &team, int threads, KernelFn fn, std::vector<void *> buffers, std::vector<int64_t> scalars,
              int64_t count, int runs) {
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    auto start = std::chrono::steady_clock::now();
    team.run(
        [&](int t) { fn(buffers.data(), scalars.data(), count * t / threads, count * (t + 1) / threads); });
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds.front(), seconds[seconds.size() / 2]};
}

void attention(const char *name, int threads, int64_t seq, int64_t first, int64_t context, int64_t kvHeads,
               int64_t group, int64_t headDim) {
  AttentionShape shape = make(/*batch=*/1, seq, context, kvHeads, group, headDim);
  shape.layers = 8; // layers take turns: caches come from where they would in a model
  VectorUnit unit = llvm::cantFail(resolveCPUTarget("native")).vectorUnit();
  double compiled = processorSeconds();
  auto kernels = CompiledKernels::fromBuilder([&](mlir::ModuleOp module) {
    module.push_back(buildAttentionKernel(module.getLoc(), "attention", shape, unit));
  });
  compiled = processorSeconds() - compiled;
  if (!kernels.error.empty()) {
    fprintf(stderr, "error: %s\n", kernels.error.c_str());
    exit(1);
  }
  auto q = randomFloats(seq * kvHeads * group * headDim, 1),
       k = randomFloats(8 * context * kvHeads * headDim, 2),
       v = randomFloats(8 * context * kvHeads * headDim, 3);
  Buffer<float> out(q.size);
  Buffer<int32_t> positions(seq);
  double pairs = 0;
  for (int64_t i = 0; i < seq; ++i) {
    positions[i] = int32_t(first + i);
    pairs += double(first + i + 1) * kvHeads * group;
  }
  Team team(threads);
  std::vector<Times> times;
  for (int64_t layer = 0; layer < 8; ++layer)
    times.push_back(measure(team, threads, kernels.get("attention"),
                            {q.data, k.data, v.data, positions.data, out.data}, {layer, 0},
                            attentionIterations(shape, unit.lanes), 40));
  std::sort(times.begin(), times.end(), [](const Times &x, const Times &y) { return x.median < y.median; });
  double flops = pairs * headDim * 4;
  printf("%-34s %d threads  fastest %8.1f us  median %8.1f us  %7.1f GFLOP/s (causal)  compile %.2f s\n",
         name, threads, times[4].fastest * 1e6, times[4].median * 1e6, flops / times[4].fastest * 1e-9,
         compiled);
}

void rmsNorm(int threads, int64_t rows, int64_t columns) {
  std::string r = std::to_string(rows), n = std::to_string(columns), full = "tensor<" + r + "x" + n + "xf32>",
              tile = "tensor<1x" + n + "xf32>";
  std::string text = R"(
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
func.func @k(%a: FULL, %w: tensor<Nxf32>, %out: FULL, %begin: index, %end: index) -> FULL attributes {tessera.kernel} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %begin to %end step %c1 iter_args(%o = %out) -> (FULL) {
    %x = tensor.extract_slice %a[%i, 0][1, N][1, 1] : FULL to TILE
    %se = tensor.empty() : tensor<1xf32>
    %si = linalg.fill ins(%zero : f32) outs(%se : tensor<1xf32>) -> tensor<1xf32>
    %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : TILE) outs(%si : tensor<1xf32>) {
    ^bb0(%v: f32, %acc: f32):
      %m = arith.mulf %v, %v : f32
      %t = arith.addf %acc, %m : f32
      linalg.yield %t : f32 } -> tensor<1xf32>
    %e = tensor.empty() : TILE
    %y = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %s, %w : TILE, tensor<1xf32>, tensor<Nxf32>) outs(%e : TILE) {
    ^bb0(%v: f32, %sum: f32, %g: f32, %u: f32):
      %size = arith.constant N.0 : f32
      %eps = arith.constant 1.0e-5 : f32
      %mean = arith.divf %sum, %size : f32
      %me = arith.addf %mean, %eps : f32
      %scale = math.rsqrt %me : f32
      %xs = arith.mulf %v, %scale : f32
      %res = arith.mulf %xs, %g : f32
      linalg.yield %res : f32 } -> TILE
    %n = tensor.insert_slice %y into %o[%i, 0][1, N][1, 1] : TILE into FULL
    scf.yield %n : FULL
  }
  return %r : FULL
})";
  auto replace = [&](const std::string &what, const std::string &with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
      text.replace(at, what.size(), with);
  };
  replace("FULL", full);
  replace("TILE", tile);
  replace("1, N]", "1, " + n + "]");
  replace("<Nx", "<" + n + "x");
  replace("constant N.0", "constant " + n + ".0");
  double compiled = processorSeconds();
  auto kernels = CompiledKernels::fromText(text);
  compiled = processorSeconds() - compiled;
  if (!kernels.error.empty()) {
    fprintf(stderr, "error: %s\n", kernels.error.c_str());
    exit(1);
  }
  auto x = randomFloats(rows * columns, 1), w = randomFloats(columns, 2);
  Buffer<float> y(rows * columns);
  Team team(threads);
  Times times = measure(team, threads, kernels.get("k"), {x.data, w.data, y.data}, {}, rows, 200);
  printf("rms_norm %4ld x %-20ld %d threads  fastest %8.1f us  median %8.1f us  %7.1f GB/s           compile "
         "%.2f s\n",
         long(rows), long(columns), threads, times.fastest * 1e6, times.median * 1e6,
         2e-9 * rows * columns * sizeof(float) / times.fastest, compiled);
}

} // namespace

int main(int argc, char **argv) {
  int most = argc > 1 ? std::max(1, atoi(argv[1])) : 2;
  for (int threads = 1; threads <= most; threads *= 2) {
    attention("prefill 128 at 0, 9 heads x 64", threads, 128, 0, 512, 3, 3, 64);
    attention("prefill 128 at 384, 9 heads x 64", threads, 128, 384, 512, 3, 3, 64);
    attention("prefill 128 at 384, 32 heads x 128", threads, 128, 384, 512, 8, 4, 128);
    attention("decode at 511, 9 heads x 64", threads, 1, 511, 512, 3, 3, 64);
    attention("decode at 2047, 9 heads x 64", threads, 1, 2047, 2048, 3, 3, 64);
    attention("decode at 2047, 32 heads x 128", threads, 1, 2047, 2048, 8, 4, 128);
    rmsNorm(threads, 128, 576);
    rmsNorm(threads, 1, 576);
  }
  return 0;
}
