// Placement under a limit of bytes, held to all assignments of axes to factors.
#include "AllAssignments.h"
#include "ProgramBuilder.h"

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

// Thirteen results are kept to the end, where each is there as it was made and as it is needed: only then it
// is too much. There are too many assignments to look at all of them.
TEST(PlacementWithin, TheMomentBehindAllOpsHasItsPrice) {
  constexpr int kProducts = 13;
  constexpr double kWhole = 64 * 64 * 4, kPiece = kWhole / 4;
  Builder p("x2 y2");
  for (int i = 0; i < kProducts; ++i) {
    int a = p.input("64x64", "[-/x,y]"), b = p.input("64x64", "[x,y/-]");
    p.need(p.op("([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}", {a, b}, "64x64"), "[x,y/-]");
  }
  ReshardCosts costs(p.mesh, Machine());
  ProgramPlacementOptions settings;
  settings.liveBytes = 1e18;
  // Terms of sums, which are reduced to pieces.
  const ProgramDecision usual = placeProgram(p.program, costs, settings);
  EXPECT_EQ(usual.liveBytes, kProducts * (kWhole + kPiece));
  settings.liveBytes = kProducts * kWhole + kPiece; // enough until the last op is done
  const ProgramDecision within = placeProgram(p.program, costs, settings);
  EXPECT_LE(within.liveBytes, settings.liveBytes);
  EXPECT_GT(within.time, usual.time);
}

// What was not worth a look before is priced where few bytes make it so: ops that are written out reshard
// inside.
TEST(PlacementWithin, OpsThatAreWrittenOutArePriced) {
  int writtenOut = 0;
  for (const char *x : {"[-/-]", "[x/-]", "[-/x]"})
    for (const char *w : {"[-/-]", "[x/-]", "[-/x]"})
      for (const char *needed : {"[-/-]", "[x/-]", "[-/x]"})
        for (double latency : {1e-8, 1e-5}) {
          Builder p("x4");
          int y = softmax(p, p.input("64x64", x)), weight = p.input("64x64", w);
          p.need(p.op("([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}", {y, weight}, "64x64"),
                 needed);
          Machine machine;
          machine.link.latency = latency;
          ReshardCosts costs(p.mesh, machine);
          ProgramPlacementOptions settings;
          settings.liveBytes = 1e18;
          const double usual = placeProgram(p.program, costs, settings).liveBytes;
          for (double part : {0.0, 0.5, 0.9}) {
            settings.liveBytes = part * usual;
            ProgramDecision placed = placeProgram(p.program, costs, settings);
            const ProgramOp &op = p.program.ops.front();
            PlacementDecision anew = placed.ops.front();
            if (!anew.decomposed)
              continue;
            ++writtenOut;
            anew.workTime =
                workTime(machine, op.type, op.flops, op.bytes, workFraction(op.rule, anew.factorAxes));
            anew.unpriced = true;
            priceDecomposed(op, anew, costs);
            EXPECT_NEAR(placed.ops.front().workTime, anew.workTime, 1e-9 * anew.workTime)
                << x << " " << w << " " << needed << " " << part;
          }
        }
  EXPECT_GT(writtenOut, 10);
}
