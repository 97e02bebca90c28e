//===- ProgramOptions.cpp - What each op of a block can run with ----------===//
#include "ProgramOptions.h"

#include "AxisLists.h"

#include "tessera/Analysis/Sharding/Projection.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace tessera;

namespace {

/// Partial axes that a value may have.
struct PartialHint {
  PartialKind kind;
  AxisList axes;
  bool operator==(const PartialHint &o) const { return kind == o.kind && axes == o.axes; }
};

/// What may be asked of each dimension of a value, and of the sums it may be part of.
struct Hints {
  std::vector<AxisLists> dims;
  std::vector<PartialHint> partial;
};

/// Assignments of an op that are looked at.
constexpr int kMostTried = 4096;

class OptionMaker : public ProgramOptions {
public:
  OptionMaker(const PlacementProgram &program, ReshardCosts &costs, int maxOptions)
      : program(program), costs(costs), maxOptions(maxOptions), hints(program.values.size()),
        offered(program.ops.size()) {
    for (auto [v, value] : llvm::enumerate(program.values)) {
      hints[v].dims.resize(value.shape.size());
      hint(int(v), value.sharding);
      if (value.fixed && !value.sharding.partial.empty())
        hints[v].partial.push_back({value.sharding.partialKind, value.sharding.partial});
    }
    for (const ProgramUse &use : program.uses)
      hint(use.value, use.sharding);
  }

  std::vector<std::vector<PlacementDecision>> first() override {
    spreadAll();
    std::vector<std::vector<PlacementDecision>> result;
    for (auto [i, op] : llvm::enumerate(program.ops))
      result.push_back(optionsOf(op, offered[i]));
    return result;
  }

  bool widen(llvm::ArrayRef<double> paid, std::vector<std::vector<PlacementDecision>> &known) override {
    bool grew = false;
    for (auto [op, time] : llvm::zip(program.ops, paid)) {
      if (time <= 0)
        continue;
      auto lists = factorLists(op);
      if (offerElsewhere(program, op, costs, time, lists))
        grew |= spread(op, lists);
    }
    if (!grew)
      return false;
    spreadAll();
    // They come beside the others and crowd none of them out.
    bool added = false;
    for (auto [op, list, before] : llvm::zip(program.ops, known, offered)) {
      size_t count = list.size();
      addNewOptions(list, optionsOf(op, before));
      added |= list.size() > count;
    }
    return added;
  }

private:
  static constexpr size_t kMaxLists = 5; ///< of one dimension
  static constexpr size_t kUsualOptions = 64;

  static bool add(AxisLists &lists, llvm::ArrayRef<AxisRef> axes) {
    AxisList list(axes.begin(), axes.end());
    if (list.empty() || lists.size() >= kMaxLists || llvm::is_contained(lists, list))
      return false;
    lists.push_back(std::move(list));
    return true;
  }

  void hint(int value, const Sharding &sharding) {
    for (auto [d, dim] : llvm::enumerate(sharding.dims))
      add(hints[value].dims[d], dim.axes);
  }

  template <typename Visit> static void forEachTensor(const ProgramOp &op, Visit visit) {
    for (auto [value, factors] : llvm::zip(op.operands, op.rule.operands))
      visit(value, factors);
    for (auto [value, factors] : llvm::zip(op.results, op.rule.results))
      visit(value, factors);
  }

  static bool decomposable(const ProgramOp &op, int factor) {
    return op.decomposition && llvm::is_contained(op.decomposition->factors, factor);
  }

  /// Lists of axes that each factor of `op` might run with; `displaced`: those on dimensions that must be
  /// whole.
  std::vector<AxisLists> factorLists(const ProgramOp &op, AxisLists *displaced = nullptr) const {
    std::vector<AxisLists> lists(op.rule.factors.size());
    forEachTensor(op, [&](int value, const TensorFactors &factors) {
      for (auto [d, dim] : llvm::enumerate(factors.dims))
        for (const AxisList &axes : hints[value].dims[d]) {
          Sharding sharding(int64_t(factors.dims.size()));
          sharding.dims[d].axes = axes;
          TensorProjection projection = project(factors, sharding, op.rule.factors);
          for (int f : dim)
            add(lists[f], projection.factors[f].axes);
        }
    });
    for (auto [f, factor] : llvm::enumerate(op.rule.factors))
      if (factor.kind == FactorKind::NeedReplication || factor.kind == FactorKind::Window) {
        for (const AxisList &axes : lists[f])
          if (displaced)
            add(*displaced, axes);
        if (factor.kind == FactorKind::NeedReplication && !decomposable(op, int(f)))
          lists[f].clear();
      }
    for (auto [list, factor] : llvm::zip(lists, op.rule.factors))
      llvm::erase_if(list, [&](const AxisList &axes) { return !fitsKind(factor, axes); });
    return lists;
  }

  /// Where two factors want one axis, the one whose list has others before it can give it up: [y,x] and [x]
  /// leave [y] beside [x]. Not where that gathers more than a weight that stays for it.
  void addPrefixes(const ProgramOp &op, std::vector<AxisLists> &lists) const {
    auto before = lists;
    for (auto [f, list] : llvm::enumerate(before))
      for (const AxisList &axes : list)
        for (auto [g, others] : llvm::enumerate(before))
          for (const AxisList &other : others) {
            if (f == g || axes.size() < 2 || !overlap(axes, other))
              continue;
            size_t length = 0;
            while (!overlap(axes[length], other))
              ++length;
            AxisList prefix(axes.begin(), axes.begin() + length);
            if (!prefix.empty() && !llvm::is_contained(lists[f], prefix) &&
                !movesMore(op, int(f), prefix, int(g), axes[length]))
              lists[f].push_back(std::move(prefix));
          }
  }

  /// Tensors with factor `f`, gathered down to `prefix`, are more elements than all given tensors with `g`
  /// and without `f` are gathered over `axis`.
  bool movesMore(const ProgramOp &op, int f, const AxisList &prefix, int g, const AxisRef &axis) const {
    auto has = [](const TensorFactors &factors, int factor) {
      return llvm::any_of(factors.dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
    };
    double moved = 0, stays = 0;
    forEachTensor(op, [&](int value, const TensorFactors &factors) {
      const ProgramValue &info = program.values[value];
      double elements = 1, shards = 1;
      for (int64_t n : info.shape)
        elements *= double(n);
      for (const DimSharding &dim : info.sharding.dims)
        shards *= double(axesSize(dim.axes));
      if (has(factors, f))
        moved = std::max(moved, elements / double(axesSize(prefix)));
      else if (has(factors, g) && info.fixed)
        stays += elements / std::max(1.0, shards / double(axis.size));
    });
    // A norm over a split dimension only sends a value a row, but is compiled written out: for few rows
    // alone.
    return stays > 0 && moved > stays * (decomposable(op, g) ? 8 : 1);
  }

  /// Hints travel along factors, both ways, until they stay or have come far enough.
  void spreadAll() {
    for (int round = 0; round < 4; ++round) {
      bool grew = false;
      for (const ProgramOp &op : program.ops)
        grew |= spread(op, factorLists(op));
      for (const ProgramOp &op : llvm::reverse(program.ops))
        grew |= spread(op, factorLists(op));
      if (!grew)
        break;
    }
  }

  bool spread(const ProgramOp &op, const std::vector<AxisLists> &lists) {
    bool grew = false;
    forEachTensor(op, [&](int value, const TensorFactors &factors) {
      for (auto [d, dim] : llvm::enumerate(factors.dims)) {
        // The dimension's axes are those of its major factor, and of the next one behind a full factor.
        AxisLists prefixes = {AxisList()};
        for (int f : dim) {
          AxisLists longer;
          for (const AxisList &prefix : prefixes)
            for (const AxisList &axes : lists[f]) {
              if (overlap(prefix, axes))
                continue;
              AxisList joined = prefix;
              joined.append(axes.begin(), axes.end());
              AxisList merged = joined;
              mergeAdjacent(merged);
              grew |= add(hints[value].dims[d], merged);
              if (axesSize(axes) == op.rule.factors[f].size)
                longer.push_back(joined);
            }
          prefixes = std::move(longer);
        }
      }
    });
    return grew;
  }

  /// What options were made of.
  struct Offered {
    std::vector<AxisLists> lists; ///< of each factor
    AxisLists displaced;
    size_t partials = 0; ///< of all operands
    bool any = false;
  };

  /// Options with what was not offered before.
  std::vector<PlacementDecision> optionsOf(const ProgramOp &op, Offered &before) {
    AxisLists displaced;
    auto lists = factorLists(op, &displaced);
    addPrefixes(op, lists);
    size_t partials = 0;
    for (int operand : op.operands)
      partials += hints[operand].partial.size();
    if (before.any && lists == before.lists && displaced == before.displaced && partials == before.partials)
      return {};
    // With other sums all assignments are new.
    known = partials == before.partials ? std::move(before.lists) : std::vector<AxisLists>();
    before = {lists, displaced, partials, true};
    // The best of what is new are enough: tables grow with the square.
    makeOptions(op, lists, known.empty() ? maxOptions : std::max(1, maxOptions / 4));
    if (!displaced.empty())
      addExchanges(op, lists, displaced);
    for (const PlacementDecision &option : options)
      for (auto [value, produced] : llvm::zip(op.results, option.results)) {
        PartialHint hint = {produced.partialKind, produced.partial};
        auto &known = hints[value].partial;
        if (!hint.axes.empty() && known.size() < kMaxLists && !llvm::is_contained(known, hint))
          known.push_back(hint);
      }
    return std::move(options);
  }

  void makeOptions(const ProgramOp &op, const std::vector<AxisLists> &lists, int most) {
    options.clear();
    options.reserve(kUsualOptions); // they are large to move
    chosen.assign(op.rule.factors.size(), AxisList());
    used.clear();
    tried = 0;
    choose(op, lists, 0, /*isNew=*/known.empty());
    prune(op, most);
  }

  /// `axes` for every factor that is long enough.
  static void offer(const ProgramOp &op, std::vector<AxisLists> &lists, llvm::ArrayRef<AxisRef> axes) {
    for (auto [f, factor] : llvm::enumerate(op.rule.factors))
      if (factor.kind == FactorKind::PassThrough && factor.size >= axesSize(axes))
        add(lists[f], axes);
  }
  /// Axes that a whole dimension gives up may shard another one instead: exchanged, not gathered (attention:
  /// sequence for heads). These options come beside the others, crowd none of them out, and hint nothing to
  /// neighbours.
  void addExchanges(const ProgramOp &op, std::vector<AxisLists> lists, const AxisLists &displaced) {
    std::vector<PlacementDecision> before = std::move(options);
    for (const AxisList &axes : displaced) {
      offer(op, lists, axes);
      // A factor that is shorter than all of them takes a major part, another one the rest: what lacks that
      // other one is copied there (keys and values of fewer heads than ranks).
      for (const Factor &factor : op.rule.factors)
        if (auto parts =
                factor.kind == FactorKind::PassThrough ? cutToFit(axes, factor.size) : std::nullopt) {
          offer(op, lists, parts->first);
          offer(op, lists, parts->second);
        }
    }
    makeOptions(op, lists, std::max(1, maxOptions / 4));
    addNewOptions(before, std::move(options));
    options = std::move(before);
  }

  void choose(const ProgramOp &op, const std::vector<AxisLists> &lists, size_t factor, bool isNew) {
    if (factor == lists.size()) {
      if (isNew && ++tried <= kMostTried)
        addOptions(op);
      return;
    }
    for (const AxisList &axes : lists[factor]) {
      if (tried >= kMostTried)
        return;
      if (overlap(used, axes))
        continue;
      size_t before = used.size();
      used.append(axes.begin(), axes.end());
      chosen[factor] = axes;
      choose(op, lists, factor + 1, isNew || !llvm::is_contained(known[factor], axes));
      chosen[factor].clear();
      used.truncate(before);
    }
    choose(op, lists, factor + 1, isNew);
  }

  /// The present assignment, alone and with each sum that one linear group of operands could keep open.
  void addOptions(const ProgramOp &op) {
    PartialKind kind = PartialKind::None;
    auto sums = reducedAxes(op.rule, chosen, kind);
    auto made = sums ? optionWithAxes(program, op, costs, chosen) : std::nullopt;
    if (!made)
      return;
    PlacementDecision &option = *made;
    const AxisList &reduced = *sums;
    if (op.decomposition &&
        llvm::any_of(op.decomposition->factors, [&](int f) { return !chosen[f].empty(); }))
      return addDecomposed(op, option);
    if (op.rule.linear.empty() && op.rule.maxLinear.empty())
      return addWithPartial(std::move(option), reduced, kind);
    addWithPartial(option, reduced, kind);
    for (PartialKind keptKind : {PartialKind::Sum, PartialKind::Max})
      for (const auto &group : keptKind == PartialKind::Sum ? op.rule.linear : op.rule.maxLinear) {
        if (group.empty() || (kind != PartialKind::None && kind != keptKind))
          continue;
        for (const PartialHint &hint : hintsOf(op, group)) {
          if (hint.kind != keptKind || overlap(hint.axes, used))
            continue;
          PlacementDecision kept = option;
          for (int operand : group) {
            kept.operands[operand].partial = hint.axes;
            kept.operands[operand].partialKind = keptKind;
          }
          AxisList open = reduced;
          open.append(hint.axes.begin(), hint.axes.end());
          addWithPartial(std::move(kept), open, keptKind);
        }
      }
  }

  /// Sums that some operand of a linear group may be; one that is whole joins by a contribution of one rank.
  std::vector<PartialHint> hintsOf(const ProgramOp &op, llvm::ArrayRef<int> group) const {
    std::vector<PartialHint> result;
    for (int operand : group)
      for (const PartialHint &hint : hints[op.operands[operand]].partial)
        if (!llvm::is_contained(result, hint))
          result.push_back(hint);
    return result;
  }

  /// The op as its program, with its results whole and with some of them left partial.
  void addDecomposed(const ProgramOp &op, const PlacementDecision &option) {
    AxisList axes;
    for (int f : op.decomposition->factors)
      axes.append(chosen[f].begin(), chosen[f].end());
    forEachDecomposed(op, option, std::move(axes),
                      [&](PlacementDecision variant) { options.push_back(std::move(variant)); });
  }

  void addWithPartial(PlacementDecision option, const AxisList &partial, PartialKind kind) {
    leaveOpen(option, partial, kind);
    options.push_back(std::move(option));
  }

  /// Keeps the options that look best from here: work, operands resharded from and results brought to where
  /// propagation wants them, at least. Without its reshards inside an option takes no more than with them, so
  /// they are priced when it is next.
  void prune(const ProgramOp &op, int most) {
    if (int(options.size()) <= most)
      return;
    std::vector<double> outside; // of each option
    std::set<std::pair<double, int>> order;
    for (auto [i, option] : llvm::enumerate(options)) {
      double time = 0;
      auto reshard = [&](int value, const Sharding &from, const Sharding &to) {
        const ProgramValue &info = program.values[value];
        double floor = costs.floor(info.shape, info.elementBytes, from, to, info.chosen);
        time += std::isfinite(floor) ? floor : 0;
      };
      for (auto [value, needed] : llvm::zip(op.operands, option.operands)) {
        if (needed.partial.empty()) {
          reshard(value, program.values[value].sharding, needed);
          continue;
        }
        Sharding from = program.values[value].sharding;
        from.partial = needed.partial;
        from.partialKind = needed.partialKind;
        reshard(value, from, needed);
      }
      for (auto [value, produced] : llvm::zip(op.results, option.results))
        reshard(value, produced, program.values[value].sharding);
      outside.push_back(time);
      order.insert({option.workTime + time, int(i)});
    }
    std::vector<PlacementDecision> kept;
    while (int(kept.size()) < most && !order.empty()) {
      auto [time, i] = *order.begin();
      order.erase(order.begin());
      PlacementDecision &option = options[i];
      if (!std::isfinite(time))
        break;
      if (!option.unpriced) {
        kept.push_back(std::move(option));
        continue;
      }
      priceDecomposed(op, option, costs);
      order.insert({option.workTime + outside[i], i});
    }
    options = std::move(kept);
  }

  const PlacementProgram &program;
  ReshardCosts &costs;
  int maxOptions;
  std::vector<Hints> hints;
  std::vector<Offered> offered;           ///< of each op
  std::vector<PlacementDecision> options; ///< of the op at hand
  std::vector<AxisLists> known;           ///< of its factors: what it was offered before; empty: nothing
  llvm::SmallVector<AxisList, 8> chosen;
  AxisList used;
  int tried = 0;
};

} // namespace

void tessera::addNewOptions(std::vector<PlacementDecision> &known, std::vector<PlacementDecision> more) {
  auto samePartial = [](llvm::ArrayRef<Sharding> a, llvm::ArrayRef<Sharding> b) {
    return llvm::all_of(llvm::zip(a, b), [](auto pair) {
      auto &[one, other] = pair;
      return one.partial == other.partial && (one.partial.empty() || one.partialKind == other.partialKind);
    });
  };
  size_t before = known.size();
  for (PlacementDecision &option : more)
    if (llvm::none_of(llvm::ArrayRef(known).take_front(before), [&](const PlacementDecision &other) {
          return other.factorAxes == option.factorAxes && samePartial(other.operands, option.operands) &&
                 samePartial(other.results, option.results);
        }))
      known.push_back(std::move(option));
}

std::unique_ptr<ProgramOptions> tessera::makeProgramOptions(const PlacementProgram &program,
                                                            ReshardCosts &costs, int maxOptions) {
  return std::make_unique<OptionMaker>(program, costs, maxOptions);
}

std::vector<std::vector<PlacementDecision>> tessera::placementOptions(const PlacementProgram &program,
                                                                      ReshardCosts &costs, int maxOptions) {
  return OptionMaker(program, costs, maxOptions).first();
}
