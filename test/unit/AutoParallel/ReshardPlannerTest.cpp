#include "ReshardCase.h"

#include "tessera/AutoParallel/SearchWork.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace tessera;

namespace {

/// Kinds of a plan, e.g. "SL A2A".
std::string kinds(const ReshardPlan &plan) {
  std::string text;
  for (const ReshardStep &step : plan.steps)
    text += (text.empty() ? "" : " ") + std::string(toString(step.kind));
  return text;
}

/// What the compiler's collectives can do: axes leave and come at the minor end, one pair of dimensions at a
/// time.
void expectEmittable(const Case &c, const ReshardPlan &plan) {
  Sharding before = c.from;
  for (const ReshardStep &step : plan.steps) {
    SCOPED_TRACE(c.text() + toString(plan, c.mesh, c.shape));
    EXPECT_TRUE(step.layout.isPlain());
    EXPECT_EQ(verifySharding(step.result, c.mesh, int64_t(c.shape.size())), "");
    Sharding expected = before;
    auto takeEnd = [&](AxisList &axes, llvm::ArrayRef<AxisRef> leaving) {
      // Remove `leaving` from the minor end, splitting an axis if only its minor digits leave.
      for (const AxisRef &axis : llvm::reverse(leaving)) {
        ASSERT_FALSE(axes.empty());
        AxisRef &last = axes.back();
        if (last == axis) {
          axes.pop_back();
          continue;
        }
        ASSERT_EQ(last.axis, axis.axis);
        ASSERT_EQ(last.pre * last.size, axis.pre * axis.size);
        last.size /= axis.size;
      }
    };
    auto append = [&](AxisList &axes, llvm::ArrayRef<AxisRef> coming) {
      axes.append(coming.begin(), coming.end());
      mergeAdjacent(axes);
    };
    if (step.kind == StepKind::CollectivePermute) {
      EXPECT_TRUE(step.moves.empty());
      EXPECT_EQ(before.localShape(c.shape), step.result.localShape(c.shape));
    } else {
      ASSERT_EQ(step.moves.size(), 1u);
      const AxisMove &move = step.moves[0];
      EXPECT_EQ(move.from >= 0, step.kind == StepKind::AllGather || step.kind == StepKind::AllToAll);
      EXPECT_EQ(move.to >= 0, step.kind == StepKind::AllSlice || step.kind == StepKind::AllToAll ||
                                  step.kind == StepKind::ReduceScatter);
      if (move.from >= 0)
        takeEnd(expected.dims[move.from].axes, move.axes);
      if (move.to >= 0)
        append(expected.dims[move.to].axes, move.axes);
      for (size_t d = 0; d < expected.dims.size(); ++d)
        EXPECT_EQ(expected.dims[d].axes, step.result.dims[d].axes) << "dimension " << d;
    }
    before = step.result;
  }
}

} // namespace

// Every row of the reshard facts: never more than the best known, and right, element by element.
TEST(ReshardPlanner, FactsAreMetOrBeaten) {
  auto file = llvm::MemoryBuffer::getFile(TESSERA_RESHARD_TABLE);
  ASSERT_TRUE(bool(file));
  llvm::SmallVector<llvm::StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  int rows = 0;
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> columns;
    line.split(columns, '\t');
    if (line.starts_with("#") || columns.size() < 7 || columns[0] == "mesh")
      continue;
    ++rows;
    Case c(columns[0], columns[1], columns[2], columns[3]);
    ReshardPlan plan = c.plan(strided());
    double best = 1, bound = 0;
    if (!columns[5].getAsDouble(best)) {
      EXPECT_LE(c.fraction(plan.received), best + 5.1e-5) << c.text() << toString(plan, c.mesh, c.shape);
    }
    ASSERT_FALSE(columns[6].getAsDouble(bound));
    bool divides = columns[5] != "-";
    if (divides)
      EXPECT_GE(c.fraction(plan.received), bound - 5.1e-5) << c.text();
    expectEmittable(c, c.plan());
  }
  EXPECT_EQ(rows, 39);
}

TEST(ReshardPlanner, R1_GathersAtOnce) {
  EXPECT_EQ(kinds(Case("x2 y2 z2", "16x8", "[x,y,z/-]", "[x/-]").plan()), "AG");
}

TEST(ReshardPlanner, R2_SwapsTwoAxesInOneAllToAll) {
  Case c("x2 y2", "8x8x8", "[x/y/-]", "[-/y/x]");
  EXPECT_EQ(kinds(c.plan()), "A2A");
}

TEST(ReshardPlanner, R3_SlicesBeforeItGathers) {
  EXPECT_EQ(kinds(Case("x2 y2", "16x8", "[x/-]", "[-/y]").plan()), "SL AG");
}

TEST(ReshardPlanner, R4_PermutesWhereTheSplitStays) {
  EXPECT_EQ(kinds(Case("x2 y2", "16x8", "[x/y]", "[y/x]").plan()), "CP");
  Case c("x4 y2", "16x8", "[x/y]", "[y/x]");
  EXPECT_LE(c.fraction(c.plan().received), 0.1876);
}

TEST(ReshardPlanner, K1_ReduceScatterInsteadOfReduceAndSlice) {
  ReshardPlan plan = Case("x2 y2", "16x8", "[-/-] U{x}", "[-/x]").plan();
  EXPECT_EQ(kinds(plan), "RS");
  EXPECT_EQ(plan.steps[0].moves[0].to, 1);
}

TEST(ReshardPlanner, K6_ReducesIntoTheSliceAndSlicesOn) {
  EXPECT_EQ(kinds(Case("x2 y2", "16x8", "[-/-] U{x}", "[x/y]").plan()), "SL RS");
}

TEST(ReshardPlanner, OneAllReduceForSeveralAxes) {
  ReshardPlan plan = Case("x2 z2", "16x8", "[-/-] U{x,z}", "[-/-]").plan();
  EXPECT_EQ(kinds(plan), "AR");
  EXPECT_EQ(plan.steps[0].moves[0].axes.size(), 2u);
}

TEST(ReshardPlanner, E26_MaximaReduceLikeSums) {
  ReshardPlan plan = Case("x2 y2", "16x8", "[x/-] Umax{y}", "[x,y/-]").plan();
  EXPECT_EQ(kinds(plan), "RS");
  Case keeps("x2 y2", "16x8", "[-/-] Umax{x,y}", "[-/-] Umax{y}");
  ReshardPlan kept = keeps.plan();
  EXPECT_EQ(kinds(kept), "AR");
  EXPECT_EQ(kept.steps.back().result.partialKind, PartialKind::Max);
}

// Part E6 of the facts: an unused axis shares the reduction, 8,192 elements instead of 12,288.
TEST(ReshardPlanner, E6_UnusedAxesShareAReduction) {
  Case c("x4 y2", "4x4096", "[-/-] U{x}", "[x/-]");
  EXPECT_EQ(c.plan().received, 8192);
}

TEST(ReshardPlanner, PartialStaysWhereAsked) {
  ReshardPlan plan = Case("x2 y2", "16x8", "[x/-] U{y}", "[-/x] U{y}").plan();
  EXPECT_EQ(kinds(plan), "A2A");
}

// T17: one rank contributes; nothing travels, and it is the last step, when all that closes has closed. Plans
// are replayed (Case::plan).
TEST(ReshardPlanner, WholeValuesBecomePartialForNothing) {
  ReshardPlan plan = Case("x2 y2", "8", "[-]", "[-] U{x}").plan();
  EXPECT_EQ(kinds(plan), "CT");
  EXPECT_EQ(plan.received, 0);
  EXPECT_EQ(plan.steps[0].written, 8);
  EXPECT_EQ(kinds(Case("x2 y2", "8x4", "[-/-] U{x}", "[y/-] U{x}").plan()), "SL");
  EXPECT_EQ(kinds(Case("x2 y2", "8x4", "[-/-] U{x}", "[-/-] U{x,y}").plan()), "CT");
  EXPECT_EQ(kinds(Case("x2 y2", "8x4", "[-/-] U{x}", "[-/-] U{y}").plan()), "AR CT");
  EXPECT_EQ(kinds(Case("x2 y2", "8x4", "[x/-]", "[-/y] U{x}").plan()), "SL AG CT");
  EXPECT_EQ(kinds(Case("x4 y2", "8x4", "[-/-] U{x:(1)2}", "[-/-] U{x}").plan()), "CT");
  EXPECT_EQ(kinds(Case("x6", "7x4", "[-/-] U{x:(1)2}", "[-/-] U{x:(1)3}").plan()), "AR CT");
}

TEST(ReshardPlanner, MaximaAreContributedByAll) {
  ReshardPlan plan = Case("x2 y2", "8", "[-]", "[-] Umax{x}").plan();
  EXPECT_EQ(kinds(plan), "CT");
  EXPECT_EQ(plan.steps[0].written, 1); // whatever the size; more than no contribution
  EXPECT_EQ(kinds(Case("x2 y2", "8", "[-] U{x}", "[-] Umax{x}").plan()), "AR CT");
}

TEST(ReshardPlanner, PaddedPiecesThatDoNotLineUpGoByWayOfTheWholeDimension) {
  // 10 over 4 is 3, 3, 3, 1; over 2 it is 5, 5: device 2 of 4 holds a row of the first half's neighbour.
  Case c("x2 y2", "10", "[x,y]", "[x]");
  EXPECT_EQ(kinds(c.plan()), "AG SL");
  // With another dimension at hand the plan takes the detour through it, whole on the way.
  Case detour("x2 y2", "10x8", "[x,y/-]", "[x/-]");
  EXPECT_EQ(kinds(detour.plan()), "A2A AG A2A");
  Case lined("x2 y2", "12x8", "[x,y/-]", "[x/-]");
  EXPECT_EQ(kinds(lined.plan()), "AG");
}

TEST(ReshardPlanner, PaddedPiecesThatDoNotLineUpAreSent) {
  // 7 over 2 (4, 3) and over 3 (3, 3, 1): who has the second half and wants the first third lacks all of it.
  Case c("x2 y3", "7", "[x]", "[y]");
  auto plan = c.plan(strided());
  EXPECT_EQ(kinds(plan), "P2P");
  EXPECT_EQ(plan.received, 3);
  EXPECT_EQ(plan.steps[0].messages, 2);
  EXPECT_EQ(plan.steps[0].moves[0].axes, AxisList{wholeAxis(c.mesh, 0)});
}

// Terms are spread over axes that divide nothing, combined there, and sent home: a hundredth of what the
// piece as it lies would take.
TEST(ReshardPlanner, IdleAxesShareSumsThatTheyDoNotDivide) {
  Case c("a41 b11 c6 d47 e8", "4136", "[b] U{d,e}", "[e,b,d]");
  ReshardOptions options = strided();
  auto plan = planReshard(c.mesh, c.shape, c.from, c.to, options);
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->received, 10);
  EXPECT_EQ(samplePlan(c.mesh, c.shape, c.from, c.to, *plan, 256, 1), "");
  options.pointToPoint = false;
  EXPECT_GT(planReshard(c.mesh, c.shape, c.from, c.to, options)->received, 100);
  // On every device, element by element.
  Case small("a31 b2 d16", "32", "[b] U{d}", "[d,b]");
  EXPECT_EQ(kinds(small.plan(strided())), "P2P AR P2P");
}

// Most devices hold nothing but padding: their rows are spread as the target has them before they are summed
// up.
TEST(ReshardPlanner, TermsOfPaddedPiecesGoToTheTargetFirst) {
  Case c("a5 b19 c8 d9 e12", "12x199x33", "[d/-/e,a,b] U{c}", "[e/b,d/a,c]");
  auto plan = planReshard(c.mesh, c.shape, c.from, c.to, strided());
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->received, 60); // 348 where the pieces are
}

// Where everything divides, long detours (45 and 128 elements) against what devices lack.
TEST(ReshardPlanner, SendsReplaceLongDetours) {
  struct {
    Case c;
    double received;
  } list[] = {{{"b16 c4 d64 e11", "2816", "[b]", "[e,c,d]"}, 1},
              {{"a7 b5 c4 d16 e3", "105x140", "[a,e/c,b]", "[e,b/a,c]"}, 35}};
  for (const auto &[c, received] : list) {
    auto plan = planReshard(c.mesh, c.shape, c.from, c.to, strided());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->received, received) << c.text();
  }
}

TEST(ReshardPlanner, AxesOfSizeOneAreRelabelled) {
  Case c("x2 o1", "8x8", "[x/-]", "[x/o]");
  ReshardPlan plan = c.plan();
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].kind, StepKind::CollectivePermute);
  EXPECT_EQ(plan.received, 0);
  EXPECT_EQ(kinds(Case("x2 o1", "8x8", "[o,x/-]", "[-/x]").plan()), "A2A");
}

TEST(ReshardPlanner, AxisCutInTwoIncompatibleWays) {
  // 6 as 2 x 3, then as 3 x 2.
  Case("x6", "36x36", "[x:(1)2/x:(2)3]", "[x:(1)3/-]").plan();
  Case("x6 y2", "36x36", "[x:(1)2/y]", "[y/x:(1)3]").plan();
}

TEST(ReshardPlanner, AxisCutInTwoIncompatibleWaysIsSent) {
  Case c("x6 y2", "36x8", "[x:(1)2,y/-]", "[x:(1)3/y]");
  auto plan = c.plan(strided());
  EXPECT_EQ(kinds(plan), "P2P");
  // Sums are combined first.
  Case sum("x6 y2", "36x8", "[x:(1)2/-] U{y}", "[x:(1)3/-]");
  plan = sum.plan(strided());
  EXPECT_EQ(plan.steps.back().kind, StepKind::GroupedSend);
  // What is cut out of a sum that everybody has is not sent.
  Case one("x2 y6", "1x1", "[-/-] U{x,y:(1)2}", "[x,y:(1)3/-]");
  ReshardOptions latency = strided();
  latency.latency = 25;
  for (const ReshardOptions &options : {strided(), latency})
    EXPECT_TRUE(llvm::none_of(one.plan(options).steps,
                              [](const ReshardStep &step) { return step.kind == StepKind::GroupedSend; }));
}

TEST(ReshardPlanner, NothingToDoIsAnEmptyPlan) {
  Case c("x2", "8", "[x?]", "[x]");
  EXPECT_TRUE(c.plan().steps.empty());
  EXPECT_EQ(toString(c.plan(), c.mesh, c.shape), "0\t");
}

TEST(ReshardPlanner, EmptyTensorsHavePlans) {
  EXPECT_EQ(kinds(Case("x2 y2", "0x4", "[x/-]", "[-/y]").plan()), "SL AG");
  Case c("x2", "0", "[x]", "[-]");
  EXPECT_EQ(toString(c.plan(strided()), c.mesh, c.shape), "0.0000\tAG [-]"); // nothing travels
}

TEST(ReshardPlanner, PermuteSourcesIsAPermutation) {
  Mesh m = mesh("x2 y2 z2 w2");
  auto sources = permuteSources(m, sharding("[x,y,z]", m), sharding("[w,y,z]", m));
  auto sorted = sources;
  llvm::sort(sorted);
  for (int64_t i = 0; i < 16; ++i)
    EXPECT_EQ(sorted[i], i);
  // Device (x,y,z,w) takes the piece of (w,y,z,x).
  EXPECT_EQ(sources[0b1000], 0b0001);
  EXPECT_EQ(sources[0b1110], 0b0111);
}

TEST(ReshardPlanner, RandomSmallPlansReplay) {
  RandomReshardLimits limits;
  limits.axes = 4;
  limits.axisSize = 6;
  limits.devices = 24;
  limits.dimSize = 5;
  RandomReshards cases(1, limits);
  for (int i = 0; i < 400; ++i) {
    Case c = cases.next(/*divides=*/i % 2 == 0, /*partial=*/i % 3 == 0);
    double elements = double(c.mesh.numDevices());
    for (int64_t n : c.shape)
      elements *= double(n);
    if (elements > 100000)
      continue;
    c.plan(strided());
    expectEmittable(c, c.plan());
  }
}

// Axes that neither end lies over share the work of sums, unless they are reserved.
TEST(ReshardPlanner, ReservedAxesAreLeftAlone) {
  RandomReshardLimits limits;
  limits.axes = 4;
  limits.axisSize = 4;
  limits.devices = 64;
  limits.dimSize = 16;
  RandomReshards cases(1, limits);
  int usedElse = 0;
  for (int i = 0; i < 400; ++i) {
    Case c = cases.next(/*divides=*/true, /*partial=*/true);
    AxisList used = c.from.usedAxes(), idle;
    llvm::append_range(used, c.to.usedAxes());
    for (int axis = 0; axis < int(c.mesh.axes.size()); ++axis)
      if (llvm::none_of(used, [&](const AxisRef &a) { return a.axis == axis; }))
        idle.push_back(wholeAxis(c.mesh, axis));
    auto uses = [&](const ReshardPlan &plan) {
      return llvm::any_of(plan.steps, [&](const ReshardStep &step) {
        AxisList axes = step.result.usedAxes();
        for (const AxisMove &move : step.moves)
          llvm::append_range(axes, move.axes);
        return llvm::any_of(
            axes, [&](const AxisRef &a) { return llvm::is_contained(idle, wholeAxis(c.mesh, a.axis)); });
      });
    };
    for (ReshardOptions options : {ReshardOptions(), strided()}) {
      usedElse += uses(*planReshard(c.mesh, c.shape, c.from, c.to, options));
      options.reserved = idle;
      auto plan = planReshard(c.mesh, c.shape, c.from, c.to, options);
      ASSERT_TRUE(plan) << i;
      EXPECT_FALSE(uses(*plan)) << i;
    }
  }
  EXPECT_GE(usedElse, 20);
}

// Five axes of up to 64, prime sizes among them: a plan for each, found after looking at few steps.
TEST(ReshardPlanner, RandomLargeReshardsSearchLittle) {
  RandomReshardLimits limits;
  limits.devices = kMaxRanks;
  RandomReshards cases(2, limits);
  std::vector<int64_t> steps[2];
  double gap = 0;
  int gaps = 0;
  for (int i = 0; i < 1000; ++i) {
    Case c = cases.next(/*divides=*/i % 4 != 0, /*partial=*/i % 5 == 0);
    for (bool wide : {false, true}) {
      SearchWork before = searchWork();
      std::optional<ReshardPlan> plan =
          planReshard(c.mesh, c.shape, c.from, c.to, wide ? strided() : ReshardOptions());
      steps[wide].push_back(searchWork().since(before).reshardSteps);
      ASSERT_TRUE(plan) << c.text();
      double bound = reshardBound(c.mesh, c.shape, c.from, c.to);
      if (wide && i % 4 != 0 && i % 5 != 0 && bound > 0) {
        gap += plan->received / bound - 1;
        ++gaps;
      }
    }
  }
  for (auto &list : steps) {
    llvm::sort(list);
    std::printf("reshard plans: median %lld steps, worst %lld\n", (long long)list[500],
                (long long)list.back());
    EXPECT_LT(list[list.size() / 2], 200);
    EXPECT_LT(list.back(), 100000);
  }
  std::printf("mean gap to the bound where pieces divide: %.1f %%\n", 100 * gap / gaps);
}
