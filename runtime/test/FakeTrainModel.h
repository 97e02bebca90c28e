// Sizes of the fake training program (FakeTrain.cpp), shared with the tests' reference.
#ifndef TESSERA_RUNTIME_TEST_FAKETRAINMODEL_H
#define TESSERA_RUNTIME_TEST_FAKETRAINMODEL_H

#include <cstdint>

namespace fake {
// Vocabulary, rows of a step, micro-batches, rows of a whole one, tokens of a row.
constexpr int64_t V = 11, B = 5, M = 2, R = (B + M - 1) / M, S = 6;
// What a position adds to the logit of `id`.
constexpr double ofPosition(int64_t position, int64_t id) { return position == id ? 0.5 : 0; }
} // namespace fake
#endif
