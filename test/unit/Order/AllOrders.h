// What a program may do: every order in which its streams can run, found by trying. Knows nothing of clocks.
#ifndef TESSERA_TEST_UNIT_ORDER_ALLORDERS_H
#define TESSERA_TEST_UNIT_ORDER_ALLORDERS_H

#include "tessera/Analysis/Arena/ArenaProgram.h"

#include <random>
#include <string>

namespace tessera::test {

/// Runs `program` with every count that its loops may have, in every order that streams and events allow.
/// Empty if all of them do the same and begin and end with stream 0; else what can happen.
std::string whatCanGoWrong(const ArenaProgram &program, int streams);

/// Which of the rare things a random program may have.
struct RandomOrderOptions {
  int streams = 2;
  bool events = true; ///< records and waits at random
  bool loops = false;
  bool layers = false; ///< in loops: accesses by the number of the round
  bool flights = false;
  bool communicates = false;
};
ArenaProgram randomOrderProgram(std::mt19937 &random, const RandomOrderOptions &options);

/// One line an item.
std::string printProgram(const ArenaProgram &program);

} // namespace tessera::test
#endif
