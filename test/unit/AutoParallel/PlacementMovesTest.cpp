// Axes in every order and selection, held to all assignments of axes to factors.
#include "PlacementMoves.h"
#include "AllAssignments.h"
#include "ProgramBuilder.h"
#include "ProgramOptions.h"

#include "tessera/AutoParallel/PlacementText.h"

#include <cstdlib>
#include <deque>

using namespace tessera;

namespace {
double timeOf(const PlacementProgram &program, const std::vector<PlacementDecision> &plan,
              ReshardCosts &costs) {
  std::vector<const PlacementDecision *> chosen;
  for (const PlacementDecision &decision : plan)
    chosen.push_back(&decision);
  return programTime(program, chosen, costs);
}

/// Seconds of what is made of a plan where every rank does all.
double improvedFromWhole(const PlacementProgram &program, ReshardCosts &costs) {
  std::vector<PlacementDecision> whole;
  for (const ProgramOp &op : program.ops)
    whole.push_back(*assignedOption(program, op, costs, llvm::SmallVector<AxisList>(op.rule.factors.size())));
  std::vector<const PlacementDecision *> chosen;
  for (const PlacementDecision &decision : whole)
    chosen.push_back(&decision);
  auto plan = improvedPlan(program, endsOf(program), chosen, costs);
  return timeOf(program, plan.empty() ? whole : plan, costs);
}
} // namespace

// Of one op all assignments are tried, whether its work is much or its reshards are.
TEST(PlacementMoves, OneOpIsMovedToItsBest) {
  int improved = 0;
  for (const char *meshText : {"x4 y2", "x2 y2 z2"})
    for (unsigned seed = 0; seed < 40; ++seed) {
      RandomProgram p(meshText, 1, seed);
      const auto &operands = p.program.ops.front().operands;
      if (operands.front() == operands.back() && operands.size() > 1)
        continue; // its rows and columns are one dimension to moves
      ReshardCosts costs(p.mesh, Machine()), other(p.mesh, Machine());
      const double time = improvedFromWhole(p.program, costs);
      EXPECT_NEAR(time, Enumeration(p.program, other).least(1), 1e-9 * time) << meshText << " seed " << seed;
      improved += time > 0;
    }
  EXPECT_GT(improved, 30);
}

// Two products are added up, and in some programs the first once more: they contract the same axes, sums stay
// open, and one collective ends them. Assignments are too many to try all: one axis is moved after the other.
TEST(PlacementMoves, ProductsThatAreAddedUpShareTheirSum) {
  struct Case {
    const char *given[4], *needed;
    bool again;
    // The plan by hand.
    const char *result, *inner[2]; ///< of both products, and what each contracts
  };
  const Case cases[] = {
      {{"[z,w/x]", "[x,z/y]", "[-/z,w,y]", "[x,z,w/y]"}, "[w,x,y/z]", true, "[w/y]", {"[x,z]", "[z,x]"}},
      {{"[y/z,w]", "[z,w/y]", "[y/z,w]", "[z,w/y]"}, "[w,x/y]", false, "[-/y,x]", {"[z,w]", "[z,w]"}},
      {{"[w/y,x]", "[y,z/-]", "[x,z,w/y]", "[y,x/z,w]"}, "[w/y,x]", true, "[w/z]", {"[y,x]", "[y,x]"}},
  };
  for (const Case &c : cases) {
    Builder p("x2 y2 z2 w3");
    ReshardCosts costs(p.mesh, Machine());
    const Sharding result = sharding(c.result, p.mesh);
    std::vector<PlacementDecision> byHand;
    std::vector<int> products;
    AxisList sum;
    auto decide = [&](std::vector<AxisList> axes) {
      ProgramOp &op = p.program.ops.back();
      op.flops = 4096 * (axes.size() == 3 ? 100 : 1);
      byHand.push_back(*assignedOption(p.program, op, costs, axes));
    };
    for (int i : {0, 1}) {
      int a = p.input("64x64", c.given[2 * i]), b = p.input("64x64", c.given[2 * i + 1]);
      products.push_back(p.op("([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}", {a, b}, "64x64"));
      decide({result.dims[0].axes, sharding(c.inner[i], p.mesh).dims[0].axes, result.dims[1].axes});
      sum = byHand.back().results[0].partial;
    }
    auto add = [&](int a, int b) {
      int added = p.op("([i, j], [i, j]) -> ([i, j]) linear={0 1}", {a, b}, "64x64");
      decide({result.dims[0].axes, result.dims[1].axes});
      leaveOpen(byHand.back(), sum, PartialKind::Sum);
      byHand.back().operands.assign(2, byHand.back().results[0]);
      return added;
    };
    int total = add(products[0], products[1]);
    if (c.again)
      total = add(total, products[0]);
    p.need(total, c.needed);
    EXPECT_LE(improvedFromWhole(p.program, costs), timeOf(p.program, byHand, costs) * (1 + 1e-9)) << c.needed;
  }
}

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
