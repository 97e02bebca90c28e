// Axes in every order and selection, held to all assignments of axes to factors.
#include "AllAssignments.h"

#include "tessera/AutoParallel/PlacementText.h"

#include <cstdlib>
#include <deque>

using namespace tessera;

// TESSERA_FULL: 2,000 programs. The gap that is printed is to all assignments.
TEST(PlacementMoves, AreAsGoodAsAllAssignments) {
  struct Kind {
    const char *mesh;
    int ops;
  };
  constexpr double kMostAssignments = 2e6;
  const Kind kinds[] = {{"x4 y2", 5}, {"x2 y2 z2", 3}, {"x2 y2 z2 w2", 2}, {"x2 y4", 4}};
  std::deque<ReshardCosts> known; // of enumerations: programs of one mesh ask for the same reshards
  for (const Kind &kind : kinds)
    known.emplace_back(mesh(kind.mesh), Machine());
  const char *full = std::getenv("TESSERA_FULL");
  const int wanted = full && std::string(full) == "1" ? 2000 : 24;
  int programs = 0, equal = 0, complete = 0;
  double most = 0;
  for (unsigned seed = 0; programs < wanted; ++seed) {
    const size_t which = seed % std::size(kinds);
    const Kind &kind = kinds[which];
    RandomProgram p(kind.mesh, kind.ops, seed);
    ReshardCosts own(p.mesh, Machine());
    Enumeration all(p.program, known[which]);
    if (all.count() > kMostAssignments)
      continue;
    ProgramDecision placed = placeProgram(p.program, own);
    double least = all.least(placed.time);
    ++programs;
    complete += placed.boundsAll;
    equal += placed.time <= least * (1 + 1e-9);
    most = std::max(most, placed.time / least - 1);
    EXPECT_LE(placed.lowerBound, placed.boundsAll ? least * (1 + 1e-9) : INFINITY) << "seed " << seed;
    if (placed.time > least * (1 + 1e-9))
      std::printf("seed %u: %.3f us, least %.3f us, bound %.3f us\n", seed, placed.time * 1e6, least * 1e6,
                  placed.lowerBound * 1e6);
    if (programs % 100 == 0) {
      std::printf("%d programs\n", programs);
      std::fflush(stdout);
    }
  }
  EXPECT_GE(equal, programs * 199 / 200);
  EXPECT_LE(most, 0.05);
  EXPECT_GE(complete, programs / 2); // what is small is searched whole, and then the gap is to all
  std::printf(
      "%d of %d programs as good as all assignments, others at most %.1f %% over; %d searched whole\n", equal,
      programs, 100 * most, complete);
}

// All ranks along z would repeat the product (70 us), although bytes would be fewer.
TEST(PlacementMoves, WorkIsDividedWhateverTheOrderOfTheResultsAxes) {
  for (const char *result : {"[x,z/-]", "[z,x/-]"}) {
    std::string error,
        text = std::string("case S3\nmesh x4 z4\ntensor A 64x1024 [-/x]\ntensor B 1024x64 [x/-]\n"
                           "tensor out 64x64 ") +
               result +
               "\nop dot A B -> out : ([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}\nplace\n";
    auto cases = parsePropagationCases(text, error);
    ASSERT_TRUE(cases && cases->size() == 1) << error;
    cases->front().run();
    auto placement = PlacementCase::parse(cases->front(), Machine(), error);
    ASSERT_TRUE(placement) << error;
    EXPECT_LE(placement->place()->decision.time, 25e-6) << result;
  }
}
