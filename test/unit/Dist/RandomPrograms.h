//===- RandomPrograms.h - Small programs drawn at random --------*- C++ -*-===//
#ifndef TESSERA_TEST_UNIT_DIST_RANDOMPROGRAMS_H
#define TESSERA_TEST_UNIT_DIST_RANDOMPROGRAMS_H

#include <cstdint>
#include <string>

namespace tessera::test {

/// A module of rung step, and a mesh and shardings of its dimensions.
struct RandomProgram {
  std::string text, mesh, shard;
};

/// Draws a function of 3 to 10 ops over dimensions of sizes 1 to 7, parameters, sometimes a repeat; and one to three axes of sizes 2 to 4 on
/// some of its dimensions. The same for the same seed.
RandomProgram drawProgram(uint64_t seed);

} // namespace tessera::test
#endif
