// What plans are worth: the messages and seconds that they send, and what more of either must save.
#include "ProgramBuilder.h"

#include <cmath>
#include <limits>

using namespace tessera;

namespace {
constexpr const char *kProduct = "([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}";

bool uses(const PlacementDecision &op, int axis) {
  return llvm::any_of(op.factorAxes, [&](const AxisList &axes) {
    return llvm::any_of(axes, [&](const AxisRef &used) { return used.axis == axis; });
  });
}

/// A token whose weight has a row for each of 1024 results: with dp less of the token is sent, but the weight
/// must be cut for it.
struct Token : Builder {
  static constexpr double kPiece = 1024 * 1024 * 4 / 8; ///< bytes of the weight
  Machine machine;
  ProgramPlacementOptions settings;

  Token() : Builder("dp2 tp4") {
    int x = input("2x1x1024", "[tp/-/-]"), w = input("1024x1024", "[tp/-]");
    need(op(kLinear, {x, w}, "2x1x1024"), "[tp/-/-]");
    settings.leastGain = kWorthMoreMessages;
  }
  ProgramDecision place() {
    ReshardCosts costs(mesh, machine);
    return placeProgram(program, costs, settings);
  }
};
} // namespace

// A softmax over a cut row takes a maximum and a sum.
TEST(PlacementWorth, MessagesInsideOpsCount) {
  for (auto [needed, outside] : {std::pair("[-/x]", 0), std::pair("[-/-]", 1)}) {
    Builder p("x4");
    p.need(softmax(p, p.input("64x64", "[-/x]")), needed);
    ReshardCosts costs(p.mesh, fastLinks());
    const auto options = placementOptions(p.program, costs, ProgramPlacementOptions().maxOptions);
    int writtenOut = 0;
    for (const PlacementDecision &option : options.front())
      if (option.decomposed && toString(option.operands[0], p.mesh) == "[-/x]") {
        ++writtenOut;
        EXPECT_EQ(programMessages(p.program, &option, costs), 2 + outside);
      }
    EXPECT_GT(writtenOut, 0);
  }
}

// What is sent is what is no work, of a price as of a decision.
TEST(PlacementWorth, PricesSayWhatIsSent) {
  Builder p =
      layer("dp2 tp4", "[dp/-/-]", "[tp/-/-]", "[dp/-/tp/-]", "[-/tp/-]", "[tp/-]", "[-/tp]", "4", "16");
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramPlacementOptions settings;
  settings.widen = false;
  ProgramDecision decision = placeProgram(p.program, costs, settings);
  double work = 0;
  for (const PlacementDecision &op : decision.ops)
    work += op.workTime;
  EXPECT_GT(work, 0.01 * decision.time);
  EXPECT_NEAR(decision.sent, decision.time - work, 1e-9 * decision.time);
  const ProgramPrice price = priceAmong(
      p.program, decision.options, [](const ProgramOp &) { return false; }, costs,
      std::numeric_limits<double>::infinity(), settings);
  EXPECT_NEAR(price.time, decision.time, 1e-9 * decision.time);
  EXPECT_NEAR(price.sent, decision.sent, 1e-9 * decision.time);
}

// To cut the weight its piece is read and written: worth it where memory does that in less time than is
// saved.
TEST(PlacementWorth, PiecesAreReadAndWritten) {
  Token p;
  const ProgramDecision usual = p.place();
  p.settings.idleAxes = {wholeAxis(p.mesh, 0), wholeAxis(p.mesh, 1)};
  const ProgramDecision cut = p.place();
  ASSERT_FALSE(uses(usual.ops.front(), 0));
  ASSERT_TRUE(uses(cut.ops.front(), 0));
  const double bandwidth = 2 * Token::kPiece / (usual.time - cut.time); // at which nothing is left of that
  for (double times : {0.95, 1.05}) {
    p.machine.memoryBandwidth = times * bandwidth;
    EXPECT_EQ(uses(p.place().ops.front(), 0), times > 1);
  }
}

// The fastest plan over idle axes is asked alone: where its pieces are too many bytes, all stays as it is
// without these axes.
TEST(PlacementWorth, IdleAxesKeepToTheLimit) {
  Token p;
  p.settings.liveBytes = 1e18;
  const ProgramDecision usual = p.place();
  p.settings.idleAxes = {wholeAxis(p.mesh, 0), wholeAxis(p.mesh, 1)};
  const ProgramDecision cut = p.place();
  ASSERT_GT(cut.liveBytes, usual.liveBytes);
  for (double limit : {usual.liveBytes, cut.liveBytes - 1, cut.liveBytes}) {
    p.settings.liveBytes = limit;
    const ProgramDecision placed = p.place();
    const ProgramDecision &wanted = limit < cut.liveBytes ? usual : cut;
    EXPECT_EQ(placed.liveBytes, wanted.liveBytes);
    EXPECT_EQ(placed.time, wanted.time);
    EXPECT_EQ(placed.lowerBound, wanted.lowerBound);
    EXPECT_EQ(placed.ops.front().operands, wanted.ops.front().operands);
  }
}

// All ranks along z repeat the product until that is worth what else is sent along z: a quarter of all time
// where that is hardly more than before, and half of it where it is much more.
TEST(PlacementWorth, WorkIsDividedWhereItTakesMuch) {
  bool hardlyMore = false, muchMore = false;
  for (double bandwidth : {1e9, 2e8}) {
    Machine machine;
    machine.axes["z"] = {machine.link.latency, bandwidth};
    auto place = [&](double flops, bool anyGain) {
      Builder p("x4 z4");
      int a = p.input("64x1024", "[-/x]"), b = p.input("1024x64", "[x/-]");
      p.need(p.op(kProduct, {a, b}, "64x64"), "[x,z/-]");
      p.program.ops.front().flops = flops;
      ReshardCosts costs(p.mesh, machine);
      ProgramPlacementOptions settings;
      settings.all = false;
      settings.anyGain = anyGain;
      return placeProgram(p.program, costs, settings);
    };
    const ProgramDecision repeated = place(1, false), divided = place(1e9, true);
    ASSERT_FALSE(uses(repeated.ops.front(), 1));
    ASSERT_TRUE(uses(divided.ops.front(), 1));
    const bool much = divided.sent > 1.5 * repeated.sent;
    (much ? muchMore : hardlyMore) = true;
    ASSERT_GT(divided.sent, repeated.sent);
    // work / 16 + sent = part * (work / 4 + sent before)
    const double part = much ? 0.5 : 0.75;
    const double work = (divided.sent - part * repeated.sent) / (part / 4 - 1.0 / 16);
    for (double times : {0.99, 1.01})
      EXPECT_EQ(uses(place(times * work * machine.flopsOf(ComputeType::F32), false).ops.front(), 1),
                times > 1)
          << bandwidth << " " << times;
  }
  EXPECT_TRUE(hardlyMore && muchMore);
}
