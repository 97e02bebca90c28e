// Axes in every order and selection, held to all assignments of axes to factors: enumerated here, over a
// table of what reshards take, by code that shares nothing with the search.
#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/PlacementText.h"
#include "tessera/AutoParallel/ProgramPlacement.h"
#include "tessera/Support/Shapes.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace tessera;

namespace {
/// Matrices of one size over `mesh`, products, sums, transposes and other functions of them.
struct RandomProgram {
  static constexpr int64_t kSize = 64;
  PlacementProgram program;
  Mesh mesh;
  std::mt19937 random;

  RandomProgram(llvm::StringRef meshText, int ops, unsigned seed)
      : mesh(tessera::mesh(meshText)), random(seed) {
    std::vector<int> values = {value(true), value(true)};
    for (int i = 0; i < ops; ++i) {
      int a = values[pick(values.size())], b = values[pick(values.size())];
      if (i > 0)
        a = values.back(); // all lead to the last
      values.push_back(value(false));
      switch (pick(4)) {
      case 0:
      case 1:
        add("([i, k], [k, j]) -> ([i, j]) reduction={k} linear={0; 1}", {a, b}, values.back(), 2e3);
        break;
      case 2:
        add("([i, j], [i, j]) -> ([i, j]) linear={0 1}", {a, b}, values.back(), 1);
        break;
      default:
        add("([i, j]) -> ([i, j])", {a}, values.back(), 1);
      }
    }
    program.uses.push_back({values.back(), anySharding()});
  }

private:
  size_t pick(size_t n) { return size_t(random()) % n; }

  /// Every axis on one of the dimensions, or none, in any order.
  Sharding anySharding() {
    Sharding sharding(2);
    std::vector<int> axes(mesh.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    for (int axis : axes)
      if (size_t place = pick(3); place < 2)
        sharding.dims[place].axes.push_back(wholeAxis(mesh, axis));
    return sharding;
  }
  int value(bool fixed) {
    ProgramValue value;
    value.shape = {kSize, kSize};
    value.sharding = fixed ? anySharding() : Sharding(2);
    value.fixed = fixed;
    program.values.push_back(std::move(value));
    return int(program.values.size()) - 1;
  }
  void add(llvm::StringRef text, std::vector<int> operands, int result, double flopsOfElement) {
    std::vector<Shape> shapes(operands.size(), {kSize, kSize});
    std::string error;
    auto rule = parseShardingRule(text, shapes, {{kSize, kSize}}, error);
    ASSERT_TRUE(rule) << error;
    ProgramOp op;
    op.rule = *rule;
    op.flops = flopsOfElement * kSize * kSize;
    op.operands.assign(operands.begin(), operands.end());
    op.results = {result};
    program.ops.push_back(std::move(op));
  }
};

/// How one op may run, whoever asks.
struct Way {
  std::vector<Sharding> operands;
  Sharding result;
  double work;
};

class Enumeration {
public:
  Enumeration(const PlacementProgram &program, ReshardCosts &costs) : program(program), costs(costs) {
    auto take = [&](const Sharding &sharding) {
      for (const AxisRef &axis : sharding.usedAxes())
        if (!llvm::is_contained(axes, axis))
          axes.push_back(axis);
    };
    for (const ProgramOp &op : program.ops)
      for (int operand : op.operands)
        take(program.values[size_t(operand)].sharding);
    for (const ProgramUse &use : program.uses)
      take(use.sharding);
    for (const ProgramOp &op : program.ops)
      ways.push_back(allWays(op));
    chosen.resize(program.ops.size());
  }
  double least() {
    best = INFINITY;
    visit(0, 0);
    return best;
  }
  double count() const {
    double product = 1;
    for (const auto &list : ways)
      product *= double(list.size());
    return product;
  }

private:
  std::vector<Way> allWays(const ProgramOp &op) {
    std::vector<Way> result;
    std::vector<AxisList> lists(op.rule.factors.size());
    auto place = [&](auto &self, size_t axis) -> void {
      if (axis == axes.size())
        return addWays(op, lists, result);
      self(self, axis + 1);
      for (AxisList &list : lists)
        for (size_t at = 0; at <= list.size(); ++at) {
          list.insert(list.begin() + ptrdiff_t(at), axes[axis]);
          self(self, axis + 1);
          list.erase(list.begin() + ptrdiff_t(at));
        }
    };
    place(place, 0);
    return result;
  }

  void addWays(const ProgramOp &op, const std::vector<AxisList> &lists, std::vector<Way> &to) {
    auto shardingOf = [&](const TensorFactors &tensor) {
      Sharding sharding(int64_t(tensor.dims.size()));
      for (auto [d, dim] : llvm::enumerate(tensor.dims))
        sharding.dims[d].axes = lists[size_t(dim.front())];
      return sharding;
    };
    double ranks = 1;
    AxisList used, sums;
    for (auto [factor, list] : llvm::zip(op.rule.factors, lists)) {
      ranks *= double(axesSize(list));
      used.append(list.begin(), list.end());
      if (factor.kind == FactorKind::Reduction)
        sums.append(list.begin(), list.end());
    }
    Way way;
    way.work = workTime(costs.machine, op.type, op.flops, op.bytes, 1 / ranks);
    for (const TensorFactors &tensor : op.rule.operands)
      way.operands.push_back(shardingOf(tensor));
    Sharding result = shardingOf(op.rule.results.front());
    auto take = [&](Way taken, AxisList partial) {
      llvm::sort(partial);
      taken.result = result;
      taken.result.partial = partial;
      taken.result.partialKind = partial.empty() ? PartialKind::None : PartialKind::Sum;
      to.push_back(std::move(taken));
    };
    take(way, sums);
    // Every sum over idle axes, in every group of operands that it could be kept open in.
    for (unsigned set = 1; set < 1u << axes.size(); ++set) {
      AxisList open;
      for (auto [i, axis] : llvm::enumerate(axes))
        if (set & 1u << i)
          open.push_back(axis);
      if (llvm::any_of(open, [&](const AxisRef &axis) { return llvm::is_contained(used, axis); }))
        continue;
      for (const auto &group : op.rule.linear) {
        Way kept = way;
        for (int operand : group) {
          kept.operands[size_t(operand)].partial = open;
          kept.operands[size_t(operand)].partialKind = PartialKind::Sum;
        }
        AxisList all = sums;
        all.append(open.begin(), open.end());
        take(std::move(kept), all);
      }
    }
  }

  /// What comes of the values that op `last` was the last one to read or make.
  double timeOf(size_t value) {
    const Sharding *made = &program.values[value].sharding;
    std::vector<const Sharding *> needed;
    auto need = [&](const Sharding &sharding) {
      if (llvm::none_of(needed, [&](const Sharding *other) { return other->samePlacement(sharding); }))
        needed.push_back(&sharding);
    };
    for (auto [op, way] : llvm::zip(program.ops, chosen)) {
      if (op.results.front() == int(value))
        made = &way->result;
      for (auto [operand, sharding] : llvm::zip(op.operands, way->operands))
        if (operand == int(value))
          need(sharding);
    }
    for (const ProgramUse &use : program.uses)
      if (use.value == int(value))
        need(use.sharding);
    double time = 0;
    for (const Sharding *to : needed) {
      auto &cost = costs.reshard(program.values[value].shape, 4, *made, *to);
      time += cost.possible ? cost.time : INFINITY;
    }
    return time;
  }

  void visit(size_t op, double time) {
    if (time >= best)
      return;
    if (op == ways.size()) {
      for (size_t value = 0; value < program.values.size(); ++value)
        time += timeOf(value);
      best = std::min(best, time);
      return;
    }
    for (const Way &way : ways[op]) {
      chosen[op] = &way;
      visit(op + 1, time + way.work);
    }
  }

  const PlacementProgram &program;
  ReshardCosts &costs;
  AxisList axes; ///< that something lies over
  std::vector<std::vector<Way>> ways;
  std::vector<const Way *> chosen;
  double best = INFINITY;
};
} // namespace

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
