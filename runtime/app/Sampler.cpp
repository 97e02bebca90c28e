#include "Sampler.h"
#include "tessera/runtime/core/ShardReader.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::runtime {

int32_t sampleToken(const float *logits, int64_t vocab, double temperature, double topP, uint64_t seed,
                    int64_t prompt, int64_t step) {
  float top = logits[0];
  for (int64_t i = 0; i < vocab; ++i) {
    if (std::isnan(logits[i]) || logits[i] == INFINITY)
      return -1;
    top = std::max(top, logits[i]);
  }
  if (top == -INFINITY) // all tokens are masked
    return -1;
  std::vector<double> weight(vocab);
  double total = 0;
  for (int64_t i = 0; i < vocab; ++i)
    total += weight[i] = std::exp((double(logits[i]) - top) / temperature);

  double u = double(randomBits(seed, uint64_t(prompt), uint64_t(step)) >> 11) * 0x1p-53;
  auto draw = [&](auto begin, auto end, double mass, auto idOf) {
    double target = u * mass, sum = 0;
    int32_t last = idOf(*begin);
    for (auto it = begin; it != end; ++it) {
      int32_t id = idOf(*it);
      if (weight[id] == 0)
        continue;
      last = id;
      if ((sum += weight[id]) > target)
        break;
    }
    return last;
  };
  // Tokens below (1 - topP) / vocab together weigh less than 1 - topP: the set is complete without them.
  std::vector<int32_t> likely;
  double least = topP < 1 ? total * (1 - topP) / double(vocab) : 0;
  for (int64_t i = 0; i < vocab; ++i)
    if (weight[i] >= least)
      likely.push_back(int32_t(i));
  auto identity = [](int32_t id) { return id; };
  if (topP >= 1)
    return draw(likely.begin(), likely.end(), total, identity);
  std::sort(likely.begin(), likely.end(),
            [&](int32_t a, int32_t b) { return weight[a] != weight[b] ? weight[a] > weight[b] : a < b; });
  double mass = 0;
  size_t kept = 0;
  while (kept < likely.size() && (kept == 0 || mass < topP * total))
    mass += weight[likely[kept++]];
  return draw(likely.begin(), likely.begin() + kept, mass, identity);
}

} // namespace tessera::runtime
