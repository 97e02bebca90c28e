//===- AllAssignments.h - Random programs, and all ways to place them -------===//
//
// All assignments of axes to factors, enumerated over a table of what reshards take, by code that shares
// nothing with the searches that are held to it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TEST_UNIT_AUTOPARALLEL_ALLASSIGNMENTS_H
#define TESSERA_TEST_UNIT_AUTOPARALLEL_ALLASSIGNMENTS_H

#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/ProgramPlacement.h"
#include "tessera/Support/Shapes.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace tessera {
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
  std::vector<int> operands; ///< shardings, by number
  int result;
  double work;
};

/// All assignments of axes to factors, in all orders, with all sums that could stay open, one op after the
/// other.
class Enumeration {
public:
  /// `more`: axes besides those that something lies over.
  Enumeration(const PlacementProgram &program, ReshardCosts &costs, const AxisList &more = {})
      : program(program), costs(costs), axes(more) {
    auto take = [&](const Sharding &sharding) {
      for (const AxisRef &axis : sharding.usedAxes())
        if (!llvm::is_contained(axes, axis))
          axes.push_back(axis);
    };
    for (const ProgramValue &value : program.values)
      take(value.sharding);
    for (const ProgramUse &use : program.uses)
      take(use.sharding);
    for (const ProgramValue &value : program.values)
      made.push_back(value.fixed ? numberOf(value.sharding) : -1);
    read.resize(program.values.size());
    for (const ProgramOp &op : program.ops)
      ways.push_back(allWays(op));
    chosen.resize(ways.size());
    rest.assign(ways.size() + 1, 0);
    for (size_t op = ways.size(); op-- > 0;)
      rest[op] =
          rest[op + 1] + std::min_element(ways[op].begin(), ways[op].end(), [](const Way &a, const Way &b) {
                           return a.work < b.work;
                         })->work;
    for (const ProgramUse &use : program.uses)
      uses.push_back({use.value, numberOf(use.sharding)});
    times.resize(program.values.size(), std::vector<double>(shardings.size() * shardings.size(), -1));
    floors = times;
  }

  /// The least time; `most` if none takes less.
  double least(double most) {
    best = most;
    visit(0, 0);
    return best;
  }
  /// Assignments of axes, whatever sums stay open.
  double count() const {
    double product = 1;
    for (double number : assignments)
      product *= number;
    return product;
  }

  /// With all those sums.
  double countWays() const {
    double product = 1;
    for (const auto &list : ways)
      product *= double(list.size());
    return product;
  }

  /// Bytes that a rank has at once, at most, and the least time of all assignments that have so many.
  std::map<double, double> timesOfBytes() {
    std::map<double, double> least;
    forEach(0, 0, least);
    return least;
  }

private:
  /// Every assignment: the least time for each number of bytes.
  void forEach(size_t i, double time, std::map<double, double> &least) {
    if (i == ways.size()) {
      double &known = least.try_emplace(bytes(), INFINITY).first->second;
      known = std::min(known, time);
      return;
    }
    for (const Way &way : ways[i]) {
      const double sum = time + way.work + addedBy(i, way, /*exactly=*/true);
      choose(i, way);
      forEach(i + 1, sum, least);
      leave(i);
    }
  }

  void choose(size_t i, const Way &way) {
    const ProgramOp &op = program.ops[i];
    chosen[i] = &way;
    made[size_t(op.results.front())] = way.result;
    for (auto [value, to] : llvm::zip(op.operands, way.operands))
      read[size_t(value)].push_back(to);
  }
  void leave(size_t i) {
    for (int value : program.ops[i].operands)
      read[size_t(value)].pop_back();
  }

  /// While each op runs, and behind the last: every form of a value that was made by then, is being made, or
  /// is read then or later. What nobody makes counts in forms other than its own.
  double bytes() const {
    const int end = int(program.ops.size());
    double most = 0;
    for (int now = 0; now <= end; ++now) {
      double sum = 0;
      for (int value = 0; value < int(program.values.size()); ++value) {
        const Sharding *whole = &program.values[size_t(value)].sharding;
        int maker = -1;
        std::vector<std::pair<const Sharding *, int>> reads;
        for (int op = 0; op < end; ++op) {
          if (program.ops[size_t(op)].results.front() == value)
            whole = &shardings[size_t(chosen[size_t(op)]->result)], maker = op;
          for (auto [operand, sharding] :
               llvm::zip(program.ops[size_t(op)].operands, chosen[size_t(op)]->operands))
            if (operand == value)
              reads.push_back({&shardings[size_t(sharding)], op});
        }
        for (const ProgramUse &use : program.uses)
          if (use.value == value)
            reads.push_back({&use.sharding, end});
        double size = 4 * RandomProgram::kSize * RandomProgram::kSize;
        auto part = [&](const Sharding &sharding) {
          return size / double(sharding.shards(0) * sharding.shards(1));
        };
        bool isRead = maker == now;
        for (auto [i, read] : llvm::enumerate(reads)) {
          const Sharding &form = *read.first;
          auto isForm = [&](const auto &other) { return other.first->samePlacement(form); };
          auto first = llvm::find_if(reads, isForm);
          bool isFirst = first == reads.begin() + ptrdiff_t(i);
          if (read.first->samePlacement(*whole)) {
            isRead |= read.second >= now;
          } else if (isFirst) {
            isRead |= read.second >= now; // to be resharded
            int last = std::find_if(reads.rbegin(), reads.rend(), isForm)->second;
            sum += read.second <= now && now <= last ? part(*read.first) : 0;
          }
        }
        sum += maker >= 0 && maker <= now && isRead ? part(*whole) : 0;
      }
      most = std::max(most, sum);
    }
    return most;
  }

  std::vector<Way> allWays(const ProgramOp &op) {
    std::vector<Way> result;
    std::vector<AxisList> lists(op.rule.factors.size());
    assignments.push_back(0);
    auto place = [&](auto &self, size_t axis) -> void {
      if (axis == axes.size()) {
        ++assignments.back();
        return addWays(op, lists, result);
      }
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

  int numberOf(const Sharding &sharding) {
    std::string text = toString(sharding, costs.mesh);
    auto [it, isNew] = numbers.try_emplace(text, int(shardings.size()));
    if (isNew)
      shardings.push_back(sharding);
    return it->second;
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
    double work = workTime(costs.machine, op.type, op.flops, op.bytes, 1 / ranks);
    auto take = [&](const AxisList &open, llvm::ArrayRef<int> group) {
      Way way = {{}, 0, work};
      auto add = [&](const TensorFactors &tensor, AxisList partial) {
        Sharding sharding = shardingOf(tensor);
        llvm::sort(partial);
        sharding.partial = partial;
        sharding.partialKind = partial.empty() ? PartialKind::None : PartialKind::Sum;
        return numberOf(sharding);
      };
      for (auto [o, tensor] : llvm::enumerate(op.rule.operands))
        way.operands.push_back(add(tensor, llvm::is_contained(group, int(o)) ? open : AxisList()));
      AxisList all = sums;
      all.append(open.begin(), open.end());
      way.result = add(op.rule.results.front(), all);
      to.push_back(std::move(way));
    };
    take({}, {});
    // Every sum over idle axes, in every group of operands that it could be kept open in.
    for (unsigned set = 1; set < 1u << axes.size(); ++set) {
      AxisList open;
      for (auto [i, axis] : llvm::enumerate(axes))
        if (set & 1u << i)
          open.push_back(axis);
      if (llvm::none_of(open, [&](const AxisRef &axis) { return llvm::is_contained(used, axis); }))
        for (const auto &group : op.rule.linear)
          take(open, group);
    }
  }

  /// At least, as the floor says, or exactly.
  double timeOf(int value, int from, int to, bool exactly) {
    if (from == to)
      return 0;
    size_t at = size_t(from) * shardings.size() + size_t(to);
    double &floor = floors[size_t(value)][at], &time = times[size_t(value)][at];
    if (time >= 0 || (floor >= 0 && !exactly))
      return time >= 0 ? time : floor;
    auto &shape = program.values[size_t(value)].shape;
    const Sharding &source = shardings[size_t(from)], &target = shardings[size_t(to)];
    floor = costs.floor(shape, 4, source, target);
    if (!exactly)
      return floor;
    auto &cost = costs.reshard(shape, 4, source, target);
    time = cost.possible ? cost.time : INFINITY;
    EXPECT_LE(floor, time * (1 + 1e-9))
        << toString(source, costs.mesh) << " to " << toString(target, costs.mesh);
    return time;
  }

  /// What the op's way adds for its operands and, where it is needed outside, its result.
  double addedBy(size_t i, const Way &way, bool exactly) {
    const ProgramOp &op = program.ops[i];
    double time = 0;
    llvm::SmallVector<std::pair<int, int>, 2> own;
    for (auto [value, to] : llvm::zip(op.operands, way.operands))
      if (!llvm::is_contained(read[size_t(value)], to) &&
          !llvm::is_contained(own, std::make_pair(value, to))) {
        own.push_back({value, to});
        time += timeOf(value, made[size_t(value)], to, exactly);
      }
    for (auto &[value, to] : uses)
      if (value == op.results.front())
        time += timeOf(value, way.result, to, exactly);
    return time;
  }

  void visit(size_t i, double time) {
    if (i == ways.size()) {
      best = std::min(best, time);
      return;
    }
    for (const Way &way : ways[i]) {
      double sum = time + way.work;
      if (sum + rest[i + 1] + addedBy(i, way, /*exactly=*/false) >= best)
        continue;
      sum += addedBy(i, way, /*exactly=*/true);
      if (sum + rest[i + 1] >= best)
        continue;
      choose(i, way);
      visit(i + 1, sum);
      leave(i);
    }
  }

  const PlacementProgram &program;
  ReshardCosts &costs;
  AxisList axes; ///< that something lies over
  std::vector<double> assignments;
  std::map<std::string, int> numbers;
  std::vector<Sharding> shardings;
  std::vector<std::pair<int, int>> uses; ///< value and sharding
  std::vector<std::vector<double>> times,
      floors; ///< of values: from each sharding to each; below 0: not known
  std::vector<std::vector<Way>> ways;
  std::vector<double> rest; ///< least work of an op and those behind it
  std::vector<int> made;    ///< of values
  std::vector<const Way *> chosen;
  std::vector<std::vector<int>> read;
  double best = INFINITY;
};
} // namespace tessera

#endif
