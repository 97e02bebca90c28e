// Sizes of the fake program's model (FakeProgram.cpp), shared with the tests' reference.
#ifndef TESSERA_RUNTIME_TEST_FAKEMODEL_H
#define TESSERA_RUNTIME_TEST_FAKEMODEL_H

#include <cstdint>

namespace fake {
constexpr int64_t V = 37, D = 12, B = 3, C = 4, L = 32; // vocabulary, width, batch, chunk, longest context
constexpr int32_t endToken = 36;
} // namespace fake
#endif
