// Which algorithm each product takes: measured on rank 0, the same on all ranks.
#include "CudaProduct.h"
#include "CudaStream.h"
#include "ProductChoices.h"

#include <algorithm>

namespace tessera::runtime {

using namespace cuda;

namespace {

constexpr int mostCandidates = 8;

// Times of products on the service stream, in memory that nothing uses yet: zeros times zeros leave zeros.
class Trials {
public:
  Trials(CudaDevice &device, const Buffer &arena, const Buffer &weights)
      : device_(device), arena_(arena), weights_(weights) {
    for (CUevent *event : {&begin_, &end_})
      device.expect(device.cuda().cuEventCreate(event, CU_EVENT_DEFAULT), "create an event");
  }
  ~Trials() {
    device_.cuda().cuEventDestroy(begin_);
    device_.cuda().cuEventDestroy(end_);
  }

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

  // The median of a few turns, in milliseconds. Each turn reads other weights, as the layers of a model do:
  // what the cache keeps from turn to turn is nobody's speed.
  std::optional<float> measure(const CudaProduct &p, const ProductAlgorithm &algorithm) {
    const CudaLibrary &cuda = device_.cuda();
    CUstream stream = device_.serviceStream();
    char *x = arena_.address(), *bias = x + roundUp(p.bytesX()), *y = bias + roundUp(p.bytesBias());
    bool ownWeights = p.bytesW() <= int64_t(weights_.bytes());
    char *w = ownWeights ? weights_.address() : y + roundUp(p.bytesY());
    int64_t places = ownWeights ? std::max<int64_t>(int64_t(weights_.bytes()) / roundUp(p.bytesW()), 1) : 1;
    std::vector<float> times;
    for (int turn = 0; turn < 6; ++turn) {
      const char *from = w + turn % places * roundUp(p.bytesW());
      device_.expect(cuda.cuEventRecord(begin_, stream), "measure a product");
      if (p.enqueue(algorithm, device_.spareWorkspace(), stream, {x, from, y, bias, y}) !=
          CUBLAS_STATUS_SUCCESS)
        return std::nullopt;
      device_.given(cuda.cuEventRecord(end_, stream), "measure a product");
      device_.waitForStream(stream);
      float time = 0;
      device_.expect(cuda.cuEventElapsedTime(&time, begin_, end_), "measure a product");
      if (turn > 0) // the first one loads the code
        times.push_back(time);
    }
    std::nth_element(times.begin(), times.begin() + long(times.size()) / 2, times.end());
    return times[times.size() / 2];
  }

  CudaDevice &device_;
  const Buffer &arena_, &weights_;
  CUevent begin_ = nullptr, end_ = nullptr;
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
    ProductChoices choices(machine());
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
