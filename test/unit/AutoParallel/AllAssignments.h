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

  /// Bytes that a rank has at once, at most, and the least time of all assignments that have so many.
  std::map<double, double> timesOfBytes() {
    std::map<double, double> times;
    forEach(0, times);
    return times;
  }

private:
  void forEach(size_t op, std::map<double, double> &times) {
    if (op == ways.size()) {
      double time = 0;
      for (const Way *way : chosen)
        time += way->work;
      for (size_t value = 0; value < program.values.size(); ++value)
        time += timeOf(value);
      double &least = times.try_emplace(bytes(), INFINITY).first->second;
      least = std::min(least, time);
      return;
    }
    for (const Way &way : ways[op]) {
      chosen[op] = &way;
      forEach(op + 1, times);
    }
  }

  /// While each op runs, and behind the last: every form of a value that was made by then, is being made, or
  /// is read then or later. What nobody makes counts in forms other than its own.
  double bytes() const {
    const int end = int(program.ops.size());
    double most = 0;
    for (int now = 0; now <= end; ++now) {
      double sum = 0;
      for (int value = 0; value < int(program.values.size()); ++value) {
        const Sharding *made = &program.values[size_t(value)].sharding;
        int maker = -1;
        std::vector<std::pair<const Sharding *, int>> reads;
        for (int op = 0; op < end; ++op) {
          if (program.ops[size_t(op)].results.front() == value)
            made = &chosen[size_t(op)]->result, maker = op;
          for (auto [operand, sharding] :
               llvm::zip(program.ops[size_t(op)].operands, chosen[size_t(op)]->operands))
            if (operand == value)
              reads.push_back({&sharding, op});
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
          if (read.first->samePlacement(*made)) {
            isRead |= read.second >= now;
          } else if (isFirst) {
            isRead |= read.second >= now; // to be resharded
            int last = std::find_if(reads.rbegin(), reads.rend(), isForm)->second;
            sum += read.second <= now && now <= last ? part(*read.first) : 0;
          }
        }
        sum += maker >= 0 && maker <= now && isRead ? part(*made) : 0;
      }
      most = std::max(most, sum);
    }
    return most;
  }

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
} // namespace tessera

#endif
