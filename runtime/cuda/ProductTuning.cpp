// Which algorithm each product takes: measured on one rank, the same on all that have it.
#include "CudaProduct.h"
#include "CudaTimer.h"
#include "ProductChoices.h"
#include "TrialNumbers.h"

#include <algorithm>

namespace tessera::runtime {

using namespace cuda;

namespace {

constexpr int mostCandidates = 16;

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
    std::string times;
    for (const ProductAlgorithm &candidate : product.candidates(mostCandidates)) {
      std::optional<float> time = measure(product, candidate);
      if (time && (!best || *time < least)) {
        best = candidate;
        least = *time;
      }
      char text[32];
      snprintf(text, sizeof text, " %.4f", time ? double(*time) : 0.);
      times += text;
    }
    if (device_.settings().verbose)
      fprintf(stderr, "%s: %s: ms%s\n", device_.describe().c_str(), product.shape().key().c_str(),
              times.c_str());
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

// Those of `own` that this rank decides, measured now or before.
Choices CudaProducts::fastest(const std::set<std::string> &own, const Buffer &arena, const Buffer &weights) {
  if (own.empty())
    return {};
  ProductChoices choices(machine(), [&](const std::string &why) { device_.remark(why); });
  Trials trials(device_, arena, weights);
  Choices decided;
  for (CudaProduct *product : living_) {
    std::string key = product->shape().key();
    if (!own.count(key))
      continue;
    std::optional<cublasLtMatmulAlgo_t> before = choices.find(key);
    if (!(before && product->choose(*before)) && trials.fits(*product)) {
      if (auto best = trials.fastest(*product))
        product->choose(best->algorithm);
      choices.add(key, product->chosen().algorithm);
    }
    decided[key] = ProductChoices::textOf(product->chosen().algorithm);
  }
  choices.save();
  return decided;
}

void tuneProducts(CudaProducts *products, CudaDevice &device, const Buffer &arena, const Buffer &weights) {
  if (device.settings().deterministic)
    return;
  std::set<std::string> keys;
  if (products)
    keys = products->keys();
  Choices choices = agree(device.options().plane, keys, [&](const std::set<std::string> &own) {
    return products ? products->fastest(own, arena, weights) : Choices();
  });
  if (products)
    products->take(choices);
}

std::set<std::string> CudaProducts::keys() const {
  std::set<std::string> keys;
  for (const CudaProduct *product : living_)
    keys.insert(product->shape().key());
  return keys;
}

// A rank whose GPU cannot take another's choice keeps the library's first proposal.
void CudaProducts::take(const Choices &choices) {
  for (CudaProduct *product : living_)
    if (auto at = choices.find(product->shape().key()); at != choices.end())
      if (std::optional<cublasLtMatmulAlgo_t> algorithm = ProductChoices::algorithmOf(at->second))
        product->choose(*algorithm);
}

} // namespace tessera::runtime
