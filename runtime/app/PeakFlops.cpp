#include "PeakFlops.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace tessera::runtime {

static double sumOverRanks(HostPlane &plane, double mine) {
  std::vector<double> all(plane.rank() == 0 ? size_t(plane.ranks()) : 0);
  plane.gather(&mine, sizeof mine, all.data(), 0);
  double sum = std::accumulate(all.begin(), all.end(), 0.0);
  plane.broadcast(&sum, sizeof sum, 0);
  return sum;
}

static double measureProduct(Rank &rank, const MatmulSpec &trial) {
  using Clock = std::chrono::steady_clock;
  Device &device = rank.device();
  Stream &stream = rank.compute();
  std::unique_ptr<Product> product = device.createProduct(trial, nullptr);
  auto matrix = [&](io::DType type, int64_t elements) {
    auto bytes = size_t(io::bytesOf(type, elements));
    Buffer memory = device.allocate(bytes, "a product to measure", MemoryUse::Arena);
    stream.fill(memory.address(), 0x3c, bytes); // a number between 0.01 and 1.1 in every type
    return memory;
  };
  Buffer x = matrix(trial.x, trial.m * trial.k), w = matrix(trial.w, trial.n * trial.k),
         y = matrix(trial.y, trial.m * trial.n);
  auto multiply = [&] {
    stream.multiply(*product, {x.address(), w.address(), y.address()});
    stream.synchronize();
  };
  multiply(); // whatever comes first is slower
  double best = 0;
  for (int window = 0; window < 3; ++window) {
    rank.plane().barrier(); // cores that ranks share are shared while this is measured, too
    int64_t products = 0;
    const auto start = Clock::now();
    double seconds = 0;
    for (; seconds < 0.025; ++products) {
      multiply();
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    double flops = 2 * double(trial.m) * double(trial.n) * double(trial.k) * double(products);
    best = std::max(best, sumOverRanks(rank.plane(), flops / seconds));
  }
  return best;
}

double measurePeakFlops(Rank &rank) {
  const std::vector<MatmulSpec> &all = rank.manifest().matmuls;
  auto largest = std::max_element(all.begin(), all.end(), [](const MatmulSpec &a, const MatmulSpec &b) {
    return double(a.m) * double(a.n) * double(a.k) < double(b.m) * double(b.n) * double(b.k);
  });
  if (largest == all.end() || io::isQuantized(largest->w))
    return measureFlops(rank, io::DType::F32, io::DType::F32, io::DType::F32);
  return measureFlops(rank, largest->x, largest->w, largest->y);
}

double measureFlops(Rank &rank, io::DType x, io::DType w, io::DType y) {
  MatmulSpec trial;
  // Large enough that its operands are read from the caches, and for every thread as much.
  trial.n = trial.k = 384;
  trial.m = trial.n * rank.pool().size();
  trial.x = x;
  trial.w = w;
  trial.y = y;
  return measureProduct(rank, trial);
}

double modelFlopsUtilization(const TrainSpec &spec, double tokensPerSecond, double peak) {
  return spec.flopsPerToken > 0 ? tokensPerSecond * double(spec.flopsPerToken) / peak : NAN;
}

void checkPeakFlops(const std::string &what, const Manifest &manifest, const std::optional<double> &given) {
  if (given && (!manifest.train || manifest.train->flopsPerToken == 0))
    throw Error(what, "--peak-flops", "this program does not say what the model computes: there is no MFU",
                manifest.train ? "compile the model itself, or leave it out" : "leave it out");
}

} // namespace tessera::runtime
