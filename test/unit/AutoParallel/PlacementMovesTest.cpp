// Axes in every order and selection, held to all assignments of axes to factors.
#include "AllAssignments.h"

#include "tessera/AutoParallel/PlacementText.h"

using namespace tessera;

TEST(PlacementMoves, AreAsGoodAsAllAssignments) {
  int programs = 0, equal = 0;
  double most = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    bool three = seed % 2;
    RandomProgram p(three ? "x2 y2 z2" : "x4 y2", three ? 1 : 2, seed);
    ReshardCosts costs(p.mesh, Machine());
    Enumeration all(p.program, costs);
    ReshardCosts own(p.mesh, Machine());
    ProgramPlacementOptions settings;
    settings.anyGain = true;
    double least = all.least(), time = placeProgram(p.program, own, settings).time;
    double usual = placeProgram(p.program, own).time;
    ++programs;
    EXPECT_GE(time, least * (1 - 1e-9)) << "seed " << seed;
    EXPECT_LE(usual, least * 1.15) << "seed " << seed;
    equal += time <= least * (1 + 1e-9);
    most = std::max(most, time / least - 1);
    if (time > least * (1 + 1e-9))
      std::printf("seed %u: %.3f us, least %.3f us\n", seed, time * 1e6, least * 1e6);
  }
  EXPECT_GE(equal, programs * 99 / 100);
  EXPECT_LE(most, 0.03);
  std::printf("%d of %d programs as good as all assignments, others at most %.1f %% over\n", equal, programs,
              100 * most);
}

// All ranks along z would repeat the product (125 us), although bytes would be fewer.
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
    EXPECT_LE(placement->place()->decision.time, 46e-6) << result;
  }
}
