//===- ProgramOffers.cpp - Axes where nobody has put them ------------------===//
#include "ProgramOptions.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

namespace {
bool has(llvm::ArrayRef<AxisRef> list, const AxisRef &axis) {
  return llvm::any_of(list, [&](const AxisRef &other) { return other.overlaps(axis); });
}

class Offers {
public:
  Offers(const PlacementProgram &program, const ProgramOp &op, const std::vector<AxisLists> &lists)
      : program(program), op(op), lists(lists), count(op.rule.factors.size()) {
    for (const AxisLists &list : lists)
      for (const AxisList &entry : list)
        for (const AxisRef &axis : entry)
          if (!llvm::is_contained(axes, axis))
            axes.push_back(axis);
    home.assign(axes.size(), -1);
    // Where each axis makes least travel among the factors that it is hinted for; others divide what travels.
    for (size_t a = 0; a < axes.size(); ++a) {
      auto cost = travel(a);
      for (size_t f = 0; f < count; ++f)
        if (hinted(f, a) && (home[a] < 0 || cost[f] < cost[size_t(home[a])]))
          home[a] = int(f);
    }
    for (size_t a = 0; a < axes.size(); ++a) {
      costs.push_back(travel(a));
      exchanged.push_back(travel(a, /*exchanges=*/true));
    }
  }

  /// `limit`: bytes.
  bool add(double limit, std::vector<AxisLists> &to) const {
    bool added = false;
    for (size_t a = 0; a < axes.size(); ++a) {
      size_t now = size_t(home[a]);
      for (size_t f = 0; f < count; ++f)
        if (f != now && mayTake(f, a) && costs[a][f] < costs[a][now] - kLittle * limit &&
            all(costs, a, f) < (1 - kLittle) * limit) {
          added |= append(f, a, to[f]);
          added |= leave(f, a, to);
        }
      if (op.rule.factors[now].kind != FactorKind::NeedReplication &&
          all(exchanged, a, now) < (1 - kLittle) * limit)
        added |= leave(now, a, to);
    }
    return added;
  }

private:
  static constexpr double kLittle = 0.01; ///< of what is paid: not worth a try

  bool hinted(size_t f, size_t a) const {
    return llvm::any_of(lists[f], [&](const AxisList &list) { return has(list, axes[a]); });
  }

  bool mayTake(size_t f, size_t a) const {
    const Factor &factor = op.rule.factors[f];
    return !hinted(f, a) &&
           (factor.kind == FactorKind::PassThrough || factor.kind == FactorKind::Reduction) &&
           factor.size >= axes[a].size;
  }

  /// Bytes that a rank receives over axis `a` if it shards each of the factors.
  std::vector<double> travel(size_t a, bool exchanges = false) const {
    std::vector<double> cost(count, 0);
    const AxisRef &axis = axes[a];
    auto visit = [&](int value, const TensorFactors &factors, bool result) {
      const ProgramValue &info = program.values[value];
      double bytes = info.elementBytes * double(axis.size - 1) / double(axis.size);
      for (int64_t n : info.shape)
        bytes *= double(n);
      llvm::SmallVector<bool, 8> in(count, false);
      int at = -1; // the dimension that is over the axis now
      for (auto [d, dim] : llvm::enumerate(factors.dims)) {
        for (int f : dim)
          in[f] = true;
        if (has(info.sharding.dims[d].axes, axis))
          at = int(d);
      }
      for (size_t b = 0; b < axes.size(); ++b)
        if (home[b] >= 0 && !axes[b].overlaps(axis) && in[home[b]])
          bytes /= double(axes[b].size);
      for (size_t f = 0; f < count; ++f)
        if (!in[f])
          cost[f] += result ? (at >= 0 ? bytes : 2 * bytes) : at >= 0 ? bytes : 0;
        else if ((info.fixed || exchanges) && at >= 0 && !llvm::is_contained(factors.dims[at], int(f)))
          cost[f] += bytes / double(axis.size);
    };
    for (auto [value, factors] : llvm::zip(op.operands, op.rule.operands))
      visit(value, factors, false);
    for (auto [value, factors] : llvm::zip(op.results, op.rule.results))
      visit(value, factors, true);
    return cost;
  }

  /// Bytes over all axes if `a` shards `f`.
  double all(const std::vector<std::vector<double>> &of, size_t a, size_t f) const {
    double sum = 0;
    for (size_t b = 0; b < axes.size(); ++b)
      sum += of[b][b == a ? f : size_t(home[b])];
    return sum;
  }

  /// The axis alone, and behind what the factor is hinted.
  bool append(size_t f, size_t a, AxisLists &to) const {
    bool added = false;
    auto offer = [&](AxisList list) {
      list.push_back(axes[a]);
      mergeAdjacent(list);
      if (op.rule.factors[f].size >= axesSize(list) && !llvm::is_contained(to, list)) {
        to.push_back(list);
        added = true;
      }
    };
    for (const AxisList &list : lists[f])
      offer(list);
    offer({});
    return added;
  }

  /// Factors that the axis makes travel more on than on `f`: what stands before it in their lists.
  bool leave(size_t f, size_t a, std::vector<AxisLists> &to) const {
    bool added = false;
    for (size_t g = 0; g < count; ++g)
      if (g != f && costs[a][f] < costs[a][g] * (1 - kLittle))
        for (const AxisList &list : lists[g]) {
          AxisList rest(list.begin(),
                        llvm::find_if(list, [&](const AxisRef &axis) { return axis.overlaps(axes[a]); }));
          if (!rest.empty() && !llvm::is_contained(to[g], rest)) {
            to[g].push_back(rest);
            added = true;
          }
        }
    return added;
  }

  const PlacementProgram &program;
  const ProgramOp &op;
  const std::vector<AxisLists> &lists;
  size_t count;
  AxisList axes;                          ///< all that is hinted
  std::vector<int> home;                  ///< of each axis: a factor
  std::vector<std::vector<double>> costs; ///< of each axis, on each factor
  std::vector<std::vector<double>>
      exchanged; ///< with exchanges of values that their ops could make otherwise
};
} // namespace

bool tessera::offerElsewhere(const PlacementProgram &program, const ProgramOp &op, const ReshardCosts &costs,
                             double paid, std::vector<AxisLists> &lists) {
  auto before = lists;
  double bandwidth = costs.machine.link.bandwidth;
  for (int i = 0; i < int(costs.mesh.axes.size()); ++i)
    bandwidth = std::max(bandwidth, costs.machine.linkOf(costs.mesh, wholeAxis(costs.mesh, i)).bandwidth);
  return Offers(program, op, before).add(paid * bandwidth, lists);
}
