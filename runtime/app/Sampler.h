// Choosing a token from logits.
#ifndef TESSERA_RUNTIME_APP_SAMPLER_H
#define TESSERA_RUNTIME_APP_SAMPLER_H

#include <cstdint>

namespace tessera::runtime {

// Draws from softmax(logits / temperature) cut to the smallest set of most likely tokens whose probabilities
// reach `topP` (ties: lower ids first). In double, with one random number that depends on (seed, prompt,
// step) only. temperature > 0. Returns -1 if the logits are not finite. Cost: O(vocab), plus sorting of the
// likely part if topP < 1.
int32_t sampleToken(const float *logits, int64_t vocab, double temperature, double topP, uint64_t seed,
                    int64_t prompt, int64_t step);

} // namespace tessera::runtime
#endif
