// Placement under a limit of bytes, held to all assignments of axes to factors.
#include "AllAssignments.h"

using namespace tessera;

// The least that is found is the least there is; under every limit the fastest of what fits is taken.
TEST(PlacementWithin, IsAsGoodAsAllAssignments) {
  int programs = 0, limits = 0, worthwhile = 0;
  for (unsigned seed = 0; programs < 40; ++seed) {
    const bool three = seed % 2;
    RandomProgram p(three ? "x2 y2 z2" : "x4 y2", three ? 1 : 2, seed);
    ReshardCosts costs(p.mesh, Machine());
    ProgramPlacementOptions settings;
    for (size_t axis = 0; axis < p.mesh.axes.size(); ++axis)
      settings.idleAxes.push_back(wholeAxis(p.mesh, int(axis)));
    Enumeration all(p.program, costs, settings.idleAxes);
    if (all.countWays() > 5000)
      continue;
    ++programs;
    std::map<double, double> front; // less time for more bytes
    double fastest = INFINITY;
    for (auto [bytes, time] : all.timesOfBytes())
      if (time < fastest * (1 - 1e-9))
        front[bytes] = fastest = time;
    auto place = [&](double limit) {
      settings.liveBytes = limit;
      return placeProgram(p.program, costs, settings);
    };
    const double least = front.begin()->first, usual = place(1e18).liveBytes;
    EXPECT_EQ(place(0).liveBytes, least) << "seed " << seed;
    EXPECT_EQ(place(least * 0.99).liveBytes, least) << "seed " << seed;
    worthwhile += front.size() > 1;
    for (auto [bytes, time] : front) {
      if (bytes >= usual)
        break; // nothing is looked for
      ProgramDecision placed = place(bytes);
      ++limits;
      EXPECT_LE(placed.liveBytes, bytes) << "seed " << seed;
      EXPECT_NEAR(placed.time, time, time * 1e-9) << "seed " << seed << ", " << bytes << " bytes";
    }
  }
  EXPECT_GE(worthwhile, programs / 4);
  std::printf("%d programs under %d limits, %d of which can trade time for bytes\n", programs, limits,
              worthwhile);
}
