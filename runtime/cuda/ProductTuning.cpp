// Which algorithm each product takes: measured on rank 0, the same on all ranks.
#include "CudaProduct.h"
#include "CudaTimer.h"
#include "ProductChoices.h"
#include "TrialNumbers.h"

#include <algorithm>

namespace tessera::runtime {

using namespace cuda;

namespace {

constexpr int mostCandidates = 8;

// Times of products on the service stream, in memory that nothing uses yet, and that is zeros afterwards.
class Trials {
public:
  Trials(CudaDevice &device, const Buffer &arena, const Buffer &weights)
      : device_(device), arena_(arena), weights_(weights), numbers_(device), timer_(device) {}

  // Whether the operands find room: x, the bias and y, which is the addend too, at the start of the arena, w
  // in the weights, or behind them.
  bool fits(const CudaProduct &p) const {
    int64_t inArena = bytesInArena(p), arena = int64_t(arena_.bytes());
    return inArena <= arena && (p.bytesW() <= int64_t(weights_.bytes()) || inArena + p.bytesW() <= arena);
  }

  // The fastest of those that the library proposes; none if all of them fail.
  std::optional<ProductAlgorithm> fastest(const CudaProduct &product) {
    std::optional<ProductAlgorithm> best;
    float least = 0;
    for (const ProductAlgorithm &candidate : product.candidates(mostCandidates)) {
      std::optional<float> time = measure(product, candidate);
      if (time && (!best || *time < least)) {
        best = candidate;
        least = *time;
      }
    }
    return best;
  }

private:
  static int64_t roundUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }
  static int64_t bytesInArena(const CudaProduct &p) {
    return roundUp(p.bytesX()) + roundUp(p.bytesBias()) + roundUp(p.bytesY());
  }

  // In milliseconds. Each turn reads other weights, as the layers of a model do: what the cache keeps from
  // turn to turn is nobody's speed.
  std::optional<float> measure(const CudaProduct &p, const ProductAlgorithm &algorithm) {
    char *x = arena_.address(), *bias = x + roundUp(p.bytesX()), *y = bias + roundUp(p.bytesBias());
    bool ownWeights = p.bytesW() <= int64_t(weights_.bytes());
    char *w = ownWeights ? weights_.address() : y + roundUp(p.bytesY());
    int64_t places = ownWeights ? std::max<int64_t>(int64_t(weights_.bytes()) / roundUp(p.bytesW()), 1) : 1;
    places = std::min<int64_t>(places, CudaTimer::kTurns);
    // Again for each: y is what was added up before.
    numbers_.fill(arena_.address(), size_t(bytesInArena(p)));
    numbers_.fill(w, size_t((places - 1) * roundUp(p.bytesW()) + p.bytesW()));
    return timer_.median("measure a product", [&](int turn, CUstream stream) {
      const char *from = w + turn % places * roundUp(p.bytesW());
      return p.enqueue(algorithm, device_.spareWorkspace(), stream, {x, from, y, bias, y}) ==
             CUBLAS_STATUS_SUCCESS;
    });
  }

  CudaDevice &device_;
  const Buffer &arena_, &weights_;
  TrialNumbers numbers_;
  CudaTimer timer_;
};

} // namespace

std::string CudaProducts::machine() const {
  const CudaProperties &gpu = device_.properties();
  return gpu.name + ", " + std::to_string(gpu.multiprocessors) + " multiprocessors, cuBLASLt " +
         std::to_string(library_.cublasLtGetVersion());
}

void CudaProducts::tune(const Buffer &arena, const Buffer &weights) {
  if (device_.settings().deterministic)
    return;
  HostPlane *plane = device_.options().plane;
  bool decides = !plane || plane->rank() == 0;
  std::vector<cublasLtMatmulAlgo_t> algorithms(living_.size());
  if (decides) {
    ProductChoices choices(machine(), [&](const std::string &why) { device_.remark(why); });
    Trials trials(device_, arena, weights);
    for (size_t i = 0; i < living_.size(); ++i) {
      CudaProduct &product = *living_[i];
      std::string key = product.shape().key();
      std::optional<cublasLtMatmulAlgo_t> before = choices.find(key);
      if (!(before && product.choose(*before)) && trials.fits(product)) {
        if (auto best = trials.fastest(product))
          product.choose(best->algorithm);
        choices.add(key, product.chosen().algorithm);
      }
      algorithms[i] = product.chosen().algorithm;
    }
    choices.save();
  }
  if (!plane || plane->ranks() == 1)
    return;
  // A rank whose GPU cannot take rank 0's choice keeps the library's first proposal.
  plane->broadcast(algorithms.data(), algorithms.size() * sizeof(cublasLtMatmulAlgo_t), 0);
  for (size_t i = 0; i < living_.size(); ++i)
    living_[i]->choose(algorithms[i]);
}

} // namespace tessera::runtime
