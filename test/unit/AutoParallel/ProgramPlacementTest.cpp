#include "ProgramBuilder.h"

#include "tessera/AutoParallel/MinSum.h"
#include "tessera/AutoParallel/SearchWork.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tessera;

TEST(ProgramPlacement, T2_MegatronLayerHasTwoSums) {
  Builder p =
      layer("dp2 tp4", "[dp/-/-]", "[tp/-/-]", "[dp/-/tp/-]", "[-/tp/-]", "[tp/-]", "[-/tp]", "4", "16");
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, costs);
  auto list = reshards(p, decision);
  EXPECT_EQ(list, (std::vector<std::string>{"[dp/-/-] U{tp} -> [dp/-/-]", "[dp/-/-] U{tp} -> [dp/-/-]"}));
  EXPECT_NEAR(decision.lowerBound, decision.time, 1e-9 * decision.time);
}

TEST(ProgramPlacement, T2_SequenceParallelGathersOncePerBlock) {
  Builder p =
      layer("dp2 tp4", "[dp/tp/-]", "[tp/-/-]", "[dp/-/tp/-]", "[-/tp/-]", "[tp/-]", "[-/tp]", "4", "16");
  ReshardCosts costs(p.mesh, fastLinks());
  auto list = reshards(p, placeProgram(p.program, costs));
  EXPECT_EQ(list, (std::vector<std::string>{"[dp/tp/-] -> [dp/-/-]", "[dp/-/-] U{tp} -> [dp/tp/-]",
                                            "[dp/tp/-] -> [dp/-/-]", "[dp/-/-] U{tp} -> [dp/tp/-]"}));
}

// Many rows: weights are gathered and activations never move.
TEST(ProgramPlacement, T8_FsdpGathersWeightsForManyRows) {
  Builder p = layer("fsdp4", "[fsdp/-/-]", "[-/-/fsdp]", "[fsdp/-/-/-]", "[fsdp/-/-]", "[-/fsdp]", "[fsdp/-]",
                    "8", "512");
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, costs);
  for (const std::string &reshard : reshards(p, decision))
    EXPECT_EQ(reshard.find("U{"), std::string::npos) << reshard;
  for (const PlacementDecision &op : decision.ops)
    EXPECT_EQ(toString(op.results[0], p.mesh).substr(0, 6), "[fsdp/");
  EXPECT_EQ(reshards(p, decision).size(), 7u); // one for each weight
}

// One row: nobody gathers a weight; op by op, each neighbour would pay for it.
TEST(ProgramPlacement, FsdpDecodeMovesRowsNotWeights) {
  Builder p = layer("fsdp4", "[fsdp/-/-]", "[-/-/fsdp]", "[fsdp/-/-/-]", "[fsdp/-/-]", "[-/fsdp]", "[fsdp/-]",
                    "4", "1");
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, costs);
  for (auto [i, op] : llvm::enumerate(p.program.ops))
    for (auto [o, value] : llvm::enumerate(op.operands))
      if (p.program.values[value].fixed && value != 0) {
        EXPECT_TRUE(p.program.values[value].sharding.samePlacement(decision.ops[i].operands[o]))
            << "op " << i;
      }
}

/// One product whose weight is a stored one, in blocks of 4 bits or plain.
static PlacementDecision placeProduct(llvm::StringRef mesh, llvm::StringRef x, llvm::StringRef rows,
                                      llvm::StringRef weight, llvm::StringRef result, bool inBlocks) {
  Builder p(mesh);
  int in = p.input((x + "x64").str(), rows), w = p.input("256x64", weight);
  ProgramValue &stored = p.program.values[w];
  stored.isWeight = true;
  if (inBlocks) {
    stored.elementBytes = 18.0 / 32;
    stored.plainBytes = 4;
  }
  int y = p.op(kLinear, {in, w}, (x + "x256").str(), result);
  p.need(y, result);
  ReshardCosts costs(p.mesh, fastLinks());
  return placeProgram(p.program, costs).ops.front();
}

// 32 rows are less than a weight in float32, and more than its blocks.
TEST(ProgramPlacement, WeightsInBlocksAreGatheredForFewerRows) {
  for (bool inBlocks : {false, true})
    EXPECT_EQ(placeProduct("fsdp4", "4x8", "[fsdp/-/-]", "[fsdp/-]", "[fsdp/-/-]", inBlocks)
                  .operands[1]
                  .isReplicated(),
              inBlocks);
}

// A piece of a weight that is whole is a copy of floats, read in place of its blocks.
TEST(ProgramPlacement, WeightsInBlocksAreNotCutWhereThatSavesLess) {
  for (bool inBlocks : {false, true})
    EXPECT_EQ(placeProduct("tp4", "1x8", "[-/-/-]", "[-/-]", "[-/-/tp]", inBlocks).operands[1].isReplicated(),
              inBlocks);
}

// Nor are they gathered along two dimensions: the second gather is of floats, and so is what is held.
TEST(ProgramPlacement, WeightsInBlocksAreNotGatheredTwice) {
  for (bool inBlocks : {false, true})
    EXPECT_EQ(placeProduct("fsdp2 tp2", "16x16", "[fsdp,tp/-/-]", "[fsdp/tp]", "[fsdp,tp/-/-]", inBlocks)
                  .operands[1]
                  .isReplicated(),
              !inBlocks);
}

// With dp less of the token is sent, but the weight must be cut for it on every call, which prices do not
// know.
TEST(ProgramPlacement, IdleAxesPayForThePiecesThatTheyCut) {
  for (double memoryBandwidth : {1e12, 1e11, 1e10}) {
    Builder p("dp2 tp4");
    int x = p.input("2x1x1024", "[tp/-/-]"), w = p.input("1024x1024", "[tp/-]");
    p.need(p.op(kLinear, {x, w}, "2x1x1024"), "[tp/-/-]");
    Machine machine;
    machine.memoryBandwidth = memoryBandwidth;
    ReshardCosts costs(p.mesh, machine);
    ProgramPlacementOptions settings;
    settings.leastGain = kWorthMoreMessages;
    auto usesDp = [&] {
      ProgramDecision decision = placeProgram(p.program, costs, settings);
      return llvm::any_of(decision.ops.front().factorAxes, [&](const AxisList &axes) {
        return llvm::any_of(axes, [](const AxisRef &axis) { return axis.axis == 0; });
      });
    };
    EXPECT_FALSE(usesDp());
    settings.idleAxes = {wholeAxis(p.mesh, 0), wholeAxis(p.mesh, 1)};
    EXPECT_EQ(usesDp(), memoryBandwidth > 1e10);
  }
}

// up -> silu -> mul -> down stay on ffn although propagation said nothing of it.
TEST(ProgramPlacement, ChainsKeepTheShardingOfTheirEnds) {
  Builder p("tp4");
  int x = p.input("4x16x64", "[-/-/-]"), w1 = p.input("256x64", "[tp/-]"), w2 = p.input("64x256", "[-/tp]");
  int u = p.op(kLinear, {x, w1}, "4x16x256");
  int s = p.op(kUnary, {u}, "4x16x256");
  int y = p.op(kLinear, {s, w2}, "4x16x64");
  p.need(y, "[-/-/-]");
  ReshardCosts costs(p.mesh, fastLinks());
  EXPECT_EQ(reshards(p, placeProgram(p.program, costs)),
            std::vector<std::string>{"[-/-/-] U{tp} -> [-/-/-]"});
}

// Most reshards that could be are never planned: what they take at least already rules them out.
TEST(ProgramPlacement, PlansOnlyWhatMayBeBest) {
  Builder p = layer("dp8 fsdp4 tp4", "[dp,fsdp/tp/-]", "[tp/-/fsdp]", "[dp,fsdp/-/tp/-]", "[fsdp/tp/-]",
                    "[tp/fsdp]", "[fsdp/tp]", "64", "16");
  ReshardCosts costs(p.mesh, fastLinks()), other(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, costs);
  EXPECT_LE(decision.lowerBound, decision.time);
  EXPECT_GE(decision.lowerBound, decision.time * (1 - 1e-9));
  auto options = placementOptions(p.program, other, ProgramPlacementOptions().maxOptions);
  size_t pairs = 0, planned = 0;
  for (auto [v, value] : llvm::enumerate(p.program.values)) {
    std::vector<Sharding> made, needed;
    auto add = [](std::vector<Sharding> &list, const Sharding &sharding) {
      if (llvm::none_of(list, [&](const Sharding &known) { return known.samePlacement(sharding); }))
        list.push_back(sharding);
    };
    if (value.fixed)
      add(made, value.sharding);
    for (auto [op, list] : llvm::zip(p.program.ops, options))
      for (const PlacementDecision &option : list) {
        for (auto [result, sharding] : llvm::zip(op.results, option.results))
          if (result == int(v))
            add(made, sharding);
        for (auto [operand, sharding] : llvm::zip(op.operands, option.operands))
          if (operand == int(v))
            add(needed, sharding);
      }
    for (const Sharding &from : made)
      for (const Sharding &to : needed)
        if (!from.samePlacement(to) &&
            std::isfinite(costs.floor(value.shape, value.elementBytes, from, to))) {
          ++pairs;
          planned += costs.known(value.shape, value.elementBytes, from, to).exact;
        }
  }
  EXPECT_GT(pairs, 500u);
  EXPECT_LT(planned, pairs / 5);
}

TEST(ProgramPlacement, T16_PartialResultsAddUpFirst) {
  Builder p("tp4");
  int x = p.input("4x16x256", "[-/-/tp]"), w = p.input("64x256", "[-/tp]"), v = p.input("64x256", "[-/tp]");
  int a = p.op(kLinear, {x, w}, "4x16x64"), b = p.op(kLinear, {x, v}, "4x16x64");
  int sum = p.op(kAdd, {a, b}, "4x16x64");
  p.need(sum, "[-/-/-]");
  ReshardCosts costs(p.mesh, fastLinks());
  EXPECT_EQ(reshards(p, placeProgram(p.program, costs)),
            std::vector<std::string>{"[-/-/-] U{tp} -> [-/-/-]"});
}

// The stream that both results are added to is whole, and the first operand of both: it joins their sum.
TEST(ProgramPlacement, WhatIsWholeJoinsASum) {
  Builder p("tp4");
  int x = p.input("4x16x64", "[-/-/-]"), h = p.input("4x16x256", "[-/-/tp]"), w = p.input("64x256", "[-/tp]"),
      v = p.input("64x256", "[-/tp]");
  int a = p.op(kLinear, {h, w}, "4x16x64"), b = p.op(kLinear, {h, v}, "4x16x64");
  int sum = p.op(kAdd, {p.op(kAdd, {x, a}, "4x16x64"), b}, "4x16x64");
  p.need(sum, "[-/-/-]");
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramPlacementOptions narrow; // options offer it at once
  narrow.widen = false;
  EXPECT_EQ(reshards(p, placeProgram(p.program, costs, narrow)),
            std::vector<std::string>{"[-/-/-] U{tp} -> [-/-/-]"});
}

// Attention needs the context whole: what it lies over is offered to the heads, in whose place it stood.
TEST(ProgramPlacement, AxesThatAnOpNeedsWholeAreOfferedElsewhere) {
  Builder p("sp4");
  int q = p.input("4x16x8x8", "[-/sp/-/-]");
  p.need(p.op("([b, s, k, d], [b, c, k, d], [b, c, k, d]) -> ([b, s, k, d]) need_replication={c, d}",
              {q, q, q}, "4x16x8x8", "[-/sp/-/-]"),
         "[-/sp/-/-]");
  ReshardCosts costs(p.mesh, fastLinks());
  auto options = placementOptions(p.program, costs, ProgramPlacementOptions().maxOptions);
  EXPECT_TRUE(llvm::any_of(options.front(), [&](const PlacementDecision &option) {
    return toString(option.operands[1], p.mesh) == "[-/-/sp/-]";
  }));
}

// A value that two ops need alike is resharded once: together they pay less than another sharding would cost.
TEST(ProgramPlacement, SharedReshardsCountOnce) {
  Builder p("x4");
  int a = p.input("64x64", "[x/-]");
  std::vector<int> outs;
  for (int i = 0; i < 3; ++i)
    outs.push_back(p.op("([i, j]) -> ([i, j]) need_replication={i, j}", {a}, "64x64"));
  for (int out : outs)
    p.need(out, "[-/-]");
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, costs);
  EXPECT_EQ(reshards(p, decision).size(), 1u);
  double once = costs.reshard({64, 64}, 4, sharding("[x/-]", p.mesh), sharding("[-/-]", p.mesh)).time;
  EXPECT_LT(decision.time, 1.5 * once);
}

// So many readers that sets of copies are too many to list: one variable for each copy, still exact.
TEST(ProgramPlacement, ManyReadersStayExact) {
  Builder p("x2 y3");
  int a = p.input("12x12", "[x/y]");
  static const char *wanted[] = {"[x/y]", "[y/x]", "[x,y/-]", "[-/x,y]", "[x/-]",
                                 "[-/y]", "[y/-]", "[-/x]",   "[-/-]"};
  for (const char *text : wanted)
    p.need(p.op("([i, j]) -> ([i, j])", {a}, "12x12", text), text);
  ReshardCosts costs(p.mesh, fastLinks());
  ProgramDecision decision = placeProgram(p.program, costs);
  EXPECT_TRUE(std::isfinite(decision.time));
  EXPECT_NEAR(decision.time, decision.lowerBound, 1e-9 * decision.time);
}

namespace {
/// Least time over all combinations of options.
double bruteForce(const PlacementProgram &program, const std::vector<std::vector<PlacementDecision>> &options,
                  ReshardCosts &costs) {
  std::vector<const PlacementDecision *> chosen(options.size());
  double best = INFINITY;
  auto visit = [&](auto &self, size_t i, double work) -> void {
    if (work >= best)
      return;
    if (i == options.size()) {
      best = std::min(best, programTime(program, chosen, costs));
      return;
    }
    for (const PlacementDecision &option : options[i]) {
      chosen[i] = &option;
      self(self, i + 1, work + option.workTime);
    }
  };
  visit(visit, 0, 0);
  return best;
}
} // namespace

// Nobody has put tp on the tokens; with many of them the weights are less than the sum, and they are
// gathered.
TEST(ProgramPlacement, GathersWeightsWhereTokensAreMany) {
  for (bool many : {false, true}) {
    Builder p("dp2 tp4");
    const char *x = many ? "16x128x64" : "4x16x64", *h = many ? "16x128x256" : "4x16x256";
    int in = p.input(x, "[dp/-/-]"), up = p.input("256x64", "[tp/-]"), down = p.input("64x256", "[-/tp]");
    int a = p.op("([b, s, d], [f, d]) -> ([b, s, f]) reduction={d} linear={0; 1}", {in, up}, h, "[dp/-/tp]");
    int b = p.op("([b, s, f]) -> ([b, s, f])", {a}, h, "[dp/-/tp]");
    int c = p.op("([b, s, f], [d, f]) -> ([b, s, d]) reduction={f} linear={0; 1}", {b, down}, x, "[dp/-/-]");
    p.need(c, "[dp/-/-]");
    for (ProgramOp &op : p.program.ops) // nobody repeats work to send less
      op.flops = 1e15;
    ReshardCosts costs(p.mesh, fastLinks());
    ProgramPlacementOptions narrow;
    narrow.widen = false;
    EXPECT_EQ(reshards(p, placeProgram(p.program, costs, narrow)),
              std::vector<std::string>{"[dp/-/-] U{tp} -> [dp/-/-]"});
    ProgramDecision wide = placeProgram(p.program, costs);
    EXPECT_EQ(reshards(p, wide).size(), many ? 3u : 1u); // both weights and the result gathered
    EXPECT_EQ(wide.time < placeProgram(p.program, costs, narrow).time, many);
    EXPECT_NEAR(wide.time, wide.lowerBound, 1e-9 * wide.time);
  }
}

// Offers of another program say nothing of maxima where they are sums over the same axes.
TEST(ProgramPlacement, SumsAndMaximaAreOfferedApart) {
  auto moved = [](const char *sharding) {
    Builder p("x4");
    int value = p.input("12x12", sharding);
    p.need(p.op("([i, j]) -> ([j, i]) linear={0} max_linear={0}", {value}, "12x12", "[-/-]"), sharding);
    return p;
  };
  Builder sum = moved("[-/-] U{x}"), maximum = moved("[-/-] Umax{x}");
  ReshardCosts costs(sum.mesh, fastLinks());
  ProgramPlacementOptions settings;
  settings.widen = false;
  auto everyOp = [](const ProgramOp &) { return true; };
  for (const auto &[one, other] : {std::pair(&sum, &maximum), std::pair(&maximum, &sum)}) {
    auto offered = placementOptions(one->program, costs, settings.maxOptions);
    double time =
        priceAmong(other->program, offered, everyOp, costs, std::numeric_limits<double>::infinity(), settings)
            .time;
    EXPECT_NEAR(time, placeProgram(other->program, costs, settings).time, 1e-12);
  }
}

TEST(ProgramPlacement, EqualsBruteForceOnRandomPrograms) {
  static const char *meshes[] = {"x2 y2", "x4", "x2 y3"};
  static const char *shardings[] = {"[-/-]", "[x/-]", "[-/x]"};
  static const char *withY[] = {"[y/-]", "[x/y]", "[y/x]", "[x,y/-]"};
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const char *meshText = meshes[random() % 3];
    Builder p(meshText);
    bool hasY = p.mesh.axes.size() > 1;
    auto pick = [&]() -> const char * {
      return hasY && random() % 2 ? withY[random() % 4] : shardings[random() % 3];
    };
    std::vector<int> values;
    for (int i = 0; i < 2; ++i)
      values.push_back(p.input("12x12", pick()));
    int ops = 2 + int(random() % 7);
    for (int i = 0; i < ops; ++i) {
      int a = values[random() % values.size()], b = values[random() % values.size()];
      switch (random() % 4) {
      case 0:
        values.push_back(
            p.op("([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}", {a, b}, "12x12", pick()));
        break;
      case 1:
        values.push_back(p.op("([i, j], [i, j]) -> ([i, j]) linear={0 1}", {a, b}, "12x12", pick()));
        break;
      case 2:
        values.push_back(p.op("([i, j]) -> ([j, i]) linear={0}", {a}, "12x12", pick()));
        break;
      default:
        values.push_back(p.op("([i, j]) -> ([i, j])", {a}, "12x12", pick()));
      }
    }
    p.need(values.back(), pick());
    ReshardCosts costs(p.mesh, fastLinks());
    int most = ops <= 4 ? 6 : ops <= 6 ? 4 : 2;
    ProgramPlacementOptions settings;
    settings.maxOptions = most;
    settings.widen = false;
    ProgramDecision decision = placeProgram(p.program, costs, settings);
    double best = bruteForce(p.program, placementOptions(p.program, costs, most), costs);
    EXPECT_NEAR(decision.time, best, 1e-9 * best) << "seed " << seed;
    EXPECT_LE(decision.lowerBound, best * (1 + 1e-9)) << "seed " << seed;
    // The same where only less than a limit is wanted, and nothing if there is none.
    constexpr double kNone = std::numeric_limits<double>::infinity();
    auto everyOp = [](const ProgramOp &) { return true; };
    auto noOp = [](const ProgramOp &) { return false; };
    settings.below = decision.time * (1 + 1e-6);
    EXPECT_NEAR(placeProgram(p.program, costs, settings).time, best, 1e-9 * best) << "seed " << seed;
    EXPECT_NEAR(priceAmong(p.program, decision.options, noOp, costs, settings.below, settings).time, best,
                1e-9 * best)
        << "seed " << seed;
    if (decision.time > 0) {
      settings.below = decision.time * (1 - 1e-6);
      ProgramDecision none = placeProgram(p.program, costs, settings);
      EXPECT_EQ(none.time, kNone) << "seed " << seed;
      EXPECT_TRUE(none.ops.empty());
      EXPECT_EQ(priceAmong(p.program, decision.options, noOp, costs, settings.below, settings).time, kNone)
          << "seed " << seed;
    }
    settings.below = kNone;
    // Ops offered what another result made of them have what they are offered here besides.
    Builder other = p;
    other.program.uses.back().sharding = sharding("[-/x]", p.mesh);
    auto offered = placementOptions(other.program, costs, most);
    EXPECT_LE(priceAmong(p.program, offered, everyOp, costs, kNone, settings).time, best * (1 + 1e-9))
        << "seed " << seed;
    EXPECT_EQ(offered.back().size(), placementOptions(other.program, costs, most).back().size());
    // With all that is offered where much is paid: no worse, and as good as all of it.
    settings.widen = true;
    ProgramDecision wide = placeProgram(p.program, costs, settings);
    EXPECT_LE(wide.time, decision.time * (1 + 1e-9)) << "seed " << seed;
    double count = 1;
    for (const auto &list : wide.options)
      count *= double(list.size());
    if (count > 1e5)
      continue;
    best = bruteForce(p.program, wide.options, costs);
    EXPECT_NEAR(wide.time, best, 1e-9 * best) << "seed " << seed;
  }
}

// Layers of the families in use, on meshes with three axes: little to search, and a proven gap.
TEST(ProgramPlacement, LayersNeedLittleSearchAndAreProvenGood) {
  for (auto [mesh, s] : {std::pair("dp2 fsdp2 tp4", "1"), std::pair("dp2 fsdp2 tp4", "512"),
                         std::pair("dp64 fsdp16 tp16", "64"), std::pair("dp64 fsdp16 tp16", "8192")}) {
    Builder p = layer(mesh, "[dp,fsdp/-/-]", "[tp/-/fsdp]", "[dp,fsdp/-/tp/-]", "[fsdp/tp/-]", "[tp/fsdp]",
                      "[fsdp/tp]", "2048", s);
    ReshardCosts costs(p.mesh, fastLinks());
    SearchWork before = searchWork();
    ProgramDecision decision = placeProgram(p.program, costs);
    SearchWork work = searchWork().since(before);
    std::printf("mesh %s, seq %s: %lld steps, %lld entries, gap %.2f %%\n", mesh, s,
                (long long)work.reshardSteps, (long long)work.tableEntries,
                100 * (decision.time / decision.lowerBound - 1));
    EXPECT_LT(work.reshardSteps, 2000);
    EXPECT_LT(work.tableEntries, 50000);
    EXPECT_LE(decision.time, 1.02 * decision.lowerBound);
  }
}

// Of a layer there are too many assignments to look at all: prices find one that has less at once.
TEST(ProgramPlacement, LayersKeepToFewerBytesWhereTheyMust) {
  Builder p = layer("dp2 fsdp2 tp4", "[dp,fsdp/-/-]", "[tp/-/fsdp]", "[dp,fsdp/-/tp/-]", "[fsdp/tp/-]",
                    "[tp/fsdp]", "[fsdp/tp]", "64", "64");
  ReshardCosts costs(p.mesh, fastLinks());
  auto place = [&](double bytes) {
    ProgramPlacementOptions settings;
    settings.liveBytes = bytes;
    return placeProgram(p.program, costs, settings);
  };
  ProgramDecision usual = place(1e18), least = place(0), between = place(usual.liveBytes * 0.9);
  std::printf("usual %.0f bytes, %.1f us; least %.0f, %.1f us; between %.0f, %.1f us\n", usual.liveBytes,
              usual.time * 1e6, least.liveBytes, least.time * 1e6, between.liveBytes, between.time * 1e6);
  EXPECT_LT(least.liveBytes, usual.liveBytes * 0.9);
  EXPECT_LE(between.liveBytes, usual.liveBytes * 0.9);
  EXPECT_GE(between.time, usual.time);
  EXPECT_LE(between.time, least.time);
}
