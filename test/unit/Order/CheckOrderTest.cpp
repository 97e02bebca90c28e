// checkOrder against all orders in which random programs can run: it lets nothing pass that can go wrong, and
// refuses nothing in vain but what its contract says.
#include "AllOrders.h"

#include "tessera/Analysis/Order/Order.h"

#include <gtest/gtest.h>

#include <iostream>

using namespace tessera;
using namespace tessera::test;

namespace {
struct Agreement {
  int programs = 0, wrong = 0, inVain = 0;
};
} // namespace

static Agreement compare(RandomOrderOptions options, int programs, unsigned seed) {
  std::mt19937 random(seed);
  Agreement found;
  for (; found.programs < programs; ++found.programs) {
    options.streams = 2 + int(random() % 2);
    ArenaProgram program = randomOrderProgram(random, options);
    std::string wrong = whatCanGoWrong(program, options.streams);
    auto violation = checkOrder(program, options.streams);
    found.wrong += !wrong.empty();
    if (!wrong.empty() && !violation) {
      ADD_FAILURE() << "passes, but " << wrong << " can happen:\n" << printProgram(program);
      break;
    }
    if (wrong.empty() && violation) {
      if (!found.inVain++ && !options.layers)
        std::cout << "refused in vain: " << violation->tag << " " << violation->what << "\n"
                  << printProgram(program);
    }
  }
  std::cout << found.programs << " programs, " << found.wrong << " can go wrong, " << found.inVain
            << " refused in vain\n";
  EXPECT_GT(found.wrong, programs / 10);
  EXPECT_LT(found.wrong, programs * 19 / 20);
  return found;
}

TEST(CheckOrder, StraightPrograms) { EXPECT_EQ(compare({}, 20000, 1).inVain, 0); }

TEST(CheckOrder, WorkInFlight) {
  RandomOrderOptions options;
  options.flights = options.communicates = true;
  EXPECT_EQ(compare(options, 20000, 2).inVain, 0);
}

TEST(CheckOrder, Loops) {
  RandomOrderOptions options;
  options.loops = true;
  Agreement found = compare(options, 20000, 3);
  EXPECT_LT(found.inVain, 60);
}

TEST(CheckOrder, LayersInLoops) {
  RandomOrderOptions options;
  options.loops = options.layers = options.flights = true;
  Agreement found = compare(options, 20000, 4);
  EXPECT_LT(found.inVain, 400);
}
