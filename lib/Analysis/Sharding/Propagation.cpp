//===- Propagation.cpp - Spreading shardings through a program ------------===//
#include "tessera/Analysis/Sharding/Propagation.h"
#include "tessera/Analysis/Sharding/Notation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <map>
#include <set>

using namespace tessera;

static Direction operator&(Direction a, Direction b) { return Direction(int(a) & int(b)); }
static Direction operator|(Direction a, Direction b) { return Direction(int(a) | int(b)); }

PropagationOp::PropagationOp(ShardingRule rule, llvm::ArrayRef<int> operands, llvm::ArrayRef<int> results)
    : rule(std::move(rule)), operands(operands), results(results) {
  classify();
}

void PropagationOp::classify() {
  auto count = [](const TensorFactors &tensor) {
    size_t n = 0;
    for (const auto &dim : tensor.dims)
      n += dim.size();
    return n;
  };
  elementwise = false;
  first = Direction::None;
  second = Direction::Both;
  size_t all = rule.factors.size();
  bool passThrough = all > 0 && !rule.operands.empty() && llvm::all_of(rule.factors, [](const Factor &f) {
                       return f.kind == FactorKind::PassThrough;
                     });
  if (!passThrough || llvm::any_of(rule.results, [&](const TensorFactors &t) { return count(t) != all; }))
    return;
  if (llvm::none_of(rule.operands, [&](const TensorFactors &t) { return count(t) == all; })) {
    if (rule.operands.size() == 1)
      second = Direction::Backward;
    return;
  }
  first = Direction::Both;
  elementwise = llvm::all_of(rule.operands, [&](const TensorFactors &t) {
    return count(t) != all || llvm::equal(t.dims, rule.results.front().dims);
  });
}

int PropagationGraph::addTensor(llvm::ArrayRef<int64_t> shape, std::optional<Sharding> sharding) {
  tensors.push_back({llvm::SmallVector<int64_t>(shape),
                     sharding ? *sharding : Sharding(int64_t(shape.size()), /*open=*/true)});
  return int(tensors.size()) - 1;
}

ShardingRule tessera::elementwiseRule(llvm::ArrayRef<int64_t> shape, int operands) {
  ShardingRule rule;
  TensorFactors tensor;
  for (int64_t size : shape)
    tensor.dims.push_back({rule.addFactor(size)});
  rule.operands.assign(operands, tensor);
  rule.results = {tensor};
  return rule;
}

void PropagationGraph::addDataFlowEdge(llvm::ArrayRef<int> sources, int target) {
  PropagationOp op(elementwiseRule(tensors[target].shape, int(sources.size())), sources, {target});
  // Sources of an edge are alternatives, not operands of one op: each is resharded on its own path.
  op.elementwise = false;
  op.dataFlow = true;
  ops.push_back(std::move(op));
}

namespace {

/// How much an annotation matters: the best user priority of a dimension that it says something about.
int importance(const Sharding &sharding) {
  std::optional<int> best;
  for (const DimSharding &dim : sharding.dims)
    if (!dim.axes.empty() || !dim.open)
      best = std::min(best.value_or(dim.priority.value_or(0)), dim.priority.value_or(0));
  return best.value_or(0);
}

/// All members of a group start with one sharding, the most important that is annotated, the last of several.
/// Where annotations clash, members keep theirs and the group holds for copies of them, which their users
/// read.
void uniteGroups(PropagationGraph &graph, PropagationResult &result) {
  for (auto [g, group] : llvm::enumerate(graph.groups)) {
    std::optional<Sharding> common;
    bool clash = false;
    for (int tensor : group) {
      const Sharding &sharding = graph.tensors[tensor].sharding;
      if (sharding == Sharding(int64_t(sharding.dims.size()), /*open=*/true))
        continue;
      clash |= common && *common != sharding;
      if (!common || importance(sharding) <= importance(*common))
        common = sharding;
    }
    if (!common)
      continue;
    if (!clash) {
      for (int tensor : group)
        graph.tensors[tensor].sharding = *common;
      continue;
    }
    for (DimSharding &dim : common->dims)
      dim.open = true;
    result.warnings.push_back("sharding group " + std::to_string(g) +
                              ": members have different shardings; their users see all of them in " +
                              tessera::toString(*common, graph.mesh));
    for (int &member : group) {
      int copy = graph.addTensor(graph.tensors[member].shape, *common);
      for (PropagationOp &op : graph.ops)
        for (int &operand : op.operands)
          operand = operand == member ? copy : operand;
      graph.ops.push_back({elementwiseRule(graph.tensors[member].shape, 1), {member}, {copy}});
      result.constraints.push_back({member, copy});
      member = copy;
    }
  }
}

/// What the user annotated with a priority above 0 on one tensor.
struct Annotation {
  int tensor;
  Sharding original;
};

/// Op priorities: 0 pass-through ops whose operands have no other use, 1 pass-through ops, 2 pass-through
/// factors of all ops but broadcasts forward, 3 all factors but broadcasts forward, 4 everything.
constexpr int kLastRound = 4;

class Propagator {
public:
  Propagator(PropagationGraph &graph, PropagationStrategy strategy, std::vector<PropagationStep> *trace)
      : graph(graph), strategy(strategy), trace(trace), users(graph.tensors.size()),
        uses(graph.tensors.size(), 0), groupOf(graph.tensors.size(), -1) {
    for (const PropagationOp &op : graph.ops)
      for (int tensor : op.operands)
        ++uses[tensor];
    for (auto [i, op] : llvm::enumerate(graph.ops))
      for (int tensor : llvm::concat<const int>(op.operands, op.results))
        users[tensor].push_back(int(i));
    findShared();
    for (int i : llvm::seq(0, int(graph.ops.size())))
      (handsOut(graph.ops[i]) ? outward : order).push_back(i);
    for (auto [g, group] : llvm::enumerate(graph.groups))
      for (int tensor : group)
        groupOf[tensor] = int(g);
  }

  void run() {
    auto later = hideLaterPriorities();
    runOpPriorities();
    for (auto &[priority, annotations] : later) {
      for (const Annotation &annotation : annotations)
        reveal(annotation, priority);
      runOpPriorities();
    }
  }

private:
  std::map<int, std::vector<Annotation>> hideLaterPriorities();
  void reveal(const Annotation &annotation, int priority);
  void runOpPriorities();
  void fixpoint(int round, bool aggressive);
  Direction directionOf(int index, const Factor &factor, int round) const;
  void findShared();
  void queue(int op);
  /// Only hands a value to a place that nobody reads, a function's result above all: what the outside wants
  /// comes first.
  bool handsOut(const PropagationOp &op) const {
    return op.elementwise && op.operands.size() == 1 && op.results.size() == 1 && uses[op.results[0]] == 0;
  }
  bool visit(int index, int round, bool aggressive);
  /// Sets a sharding, of the whole group, and queues what sees it.
  void set(int tensor, const Sharding &sharding, int op);

  PropagationGraph &graph;
  PropagationStrategy strategy;
  std::vector<PropagationStep> *trace;
  std::vector<llvm::SmallVector<int, 4>> users; ///< ops of a tensor
  std::vector<int> uses;                        ///< how often it is an operand
  std::vector<bool> shared;                     ///< of an op: an operand has other uses
  std::vector<int> groupOf;
  llvm::SmallVector<int> outward, order; ///< ops, in program order
  llvm::SmallVector<int> waiting;        ///< a stack, each op once
  std::vector<bool> queued;
};

std::map<int, std::vector<Annotation>> Propagator::hideLaterPriorities() {
  std::map<int, std::vector<Annotation>> later;
  for (auto [t, tensor] : llvm::enumerate(graph.tensors)) {
    Sharding original = tensor.sharding;
    std::set<int> priorities;
    for (DimSharding &dim : tensor.sharding.dims) {
      if (int priority = dim.priority.value_or(0); priority > 0) {
        priorities.insert(priority);
        // Kept free for its round: no other dimension may take the axes, and this one takes none.
        tensor.sharding.replicated.append(dim.axes.begin(), dim.axes.end());
        dim = DimSharding();
      }
      dim.priority.reset();
    }
    llvm::sort(tensor.sharding.replicated);
    for (int priority : priorities)
      later[priority].push_back({int(t), original});
  }
  return later;
}

void Propagator::reveal(const Annotation &annotation, int priority) {
  Sharding &sharding = graph.tensors[annotation.tensor].sharding;
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    const DimSharding &original = annotation.original.dims[i];
    if (original.priority.value_or(0) != priority)
      continue;
    sharding.dims[i] = original;
    sharding.dims[i].priority.reset();
    llvm::erase_if(sharding.replicated,
                   [&](const AxisRef &axis) { return llvm::is_contained(original.axes, axis); });
  }
}

void Propagator::runOpPriorities() {
  if (strategy != PropagationStrategy::Full)
    return fixpoint(kLastRound, strategy == PropagationStrategy::Aggressive);
  for (int round = 0; round <= kLastRound; ++round)
    fixpoint(round, /*aggressive=*/true);
}

void Propagator::fixpoint(int round, bool aggressive) {
  waiting.clear();
  queued.assign(graph.ops.size(), false);
  // Program order first; then whatever a change touches, at once, the last touched first: a sharding runs as
  // far as it can before others are looked at.
  for (int i : llvm::reverse(order))
    queue(i);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i : outward)
      changed |= visit(i, round, aggressive);
    while (!waiting.empty()) {
      int i = waiting.pop_back_val();
      queued[i] = false;
      changed |= visit(i, round, aggressive);
    }
  }
}

void Propagator::queue(int op) {
  if (queued[op] || llvm::is_contained(outward, op))
    return;
  queued[op] = true;
  waiting.push_back(op);
}

/// What a loop carries is one tensor, but one value for the ops in its body, which lead to what is carried
/// on, and another for those behind the loop.
void Propagator::findShared() {
  std::vector<llvm::SmallVector<int, 4>> usesOf(graph.tensors.size()), makers(graph.tensors.size());
  for (auto [i, op] : llvm::enumerate(graph.ops)) {
    for (int tensor : op.operands)
      usesOf[tensor].push_back(int(i));
    for (int tensor : op.results)
      makers[tensor].push_back(int(i));
  }
  shared.assign(graph.ops.size(), false);
  auto share = [&](llvm::ArrayRef<int> ops) {
    for (int op : ops.size() > 1 ? ops : llvm::ArrayRef<int>())
      shared[op] = true;
  };
  for (int t = 0; t < int(graph.tensors.size()); ++t) {
    if (usesOf[t].size() < 2 || graph.tensors[t].shape.empty())
      continue;
    std::vector<bool> leads(graph.ops.size(), false);
    llvm::SmallVector<int> work;
    for (int maker : makers[t])
      if (graph.ops[maker].dataFlow)
        work.append(graph.ops[maker].operands.begin(), graph.ops[maker].operands.end());
    while (!work.empty()) {
      int tensor = work.pop_back_val();
      for (int maker : tensor == t ? llvm::ArrayRef<int>() : llvm::ArrayRef<int>(makers[tensor]))
        if (!leads[maker]) {
          leads[maker] = true;
          work.append(graph.ops[maker].operands.begin(), graph.ops[maker].operands.end());
        }
    }
    llvm::SmallVector<int> inside, outside;
    for (int user : usesOf[t])
      (leads[user] ? inside : outside).push_back(user);
    share(inside);
    share(outside);
  }
}

Direction Propagator::directionOf(int index, const Factor &factor, int round) const {
  const PropagationOp &op = graph.ops[index];
  // A dimension that may not be sharded has nothing to pass on.
  if (factor.kind == FactorKind::NeedReplication)
    return Direction::None;
  // An operand with other uses waits: going forward would disagree with each of them, going backward with
  // one. What the outside wants does not wait, nor do edges: a value that flows into a loop is there what it
  // is elsewhere.
  bool waits = shared[index] && !handsOut(op) && !op.dataFlow;
  Direction direction = round == 0 && waits ? Direction::None : op.first;
  if (round >= (factor.kind == FactorKind::PassThrough ? 2 : 3))
    direction = direction | op.second;
  if (round >= kLastRound)
    direction = Direction::Both;
  return direction & op.allowed;
}

/// Removes the manual axes, which stand first, from each dimension of a sharding seen from outside.
static Sharding withoutManual(Sharding sharding, llvm::ArrayRef<AxisRef> manual) {
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, [&](const AxisRef &axis) { return llvm::is_contained(manual, axis); });
  llvm::erase_if(sharding.replicated, [&](const AxisRef &axis) { return llvm::is_contained(manual, axis); });
  return sharding;
}

static Sharding withManual(Sharding inner, const Sharding &outer, llvm::ArrayRef<AxisRef> manual) {
  for (auto [dim, old] : llvm::zip(inner.dims, outer.dims)) {
    AxisList axes;
    llvm::copy_if(old.axes, std::back_inserter(axes),
                  [&](const AxisRef &axis) { return llvm::is_contained(manual, axis); });
    dim.axes.insert(dim.axes.begin(), axes.begin(), axes.end());
  }
  inner.replicated = outer.replicated;
  return inner;
}

bool Propagator::visit(int index, int round, bool aggressive) {
  const PropagationOp &op = graph.ops[index];
  FactorDirections directions;
  for (const Factor &factor : op.rule.factors)
    directions.push_back(directionOf(index, factor, round));
  if (llvm::all_of(directions, [](Direction d) { return d == Direction::None; }))
    return false;

  OpProjection projection;
  projection.numOperands = int(op.operands.size());
  llvm::SmallVector<Sharding, 4> shardings;
  for (auto [i, tensor] : llvm::enumerate(llvm::concat<const int>(op.operands, op.results))) {
    bool outside = int(i) < projection.numOperands;
    const TensorFactors &factors =
        outside ? op.rule.operands[i] : op.rule.results[i - projection.numOperands];
    Sharding sharding = graph.tensors[tensor].sharding;
    shardings.push_back(outside && !op.manual.empty() ? withoutManual(sharding, op.manual) : sharding);
    projection.tensors.push_back(project(factors, shardings.back(), op.rule.factors));
  }
  bool grew = aggressive ? propagateAggressive(projection, op.rule.factors, directions, op.elementwise)
                         : propagateBasic(projection, op.rule.factors, directions);
  if (!grew)
    return false;
  bool changed = false;
  for (auto [i, tensor] : llvm::enumerate(llvm::concat<const int>(op.operands, op.results))) {
    bool outside = int(i) < projection.numOperands;
    const TensorFactors &factors =
        outside ? op.rule.operands[i] : op.rule.results[i - projection.numOperands];
    Sharding sharding = unproject(projection.tensors[i], factors, shardings[i], op.rule.factors);
    if (sharding == shardings[i])
      continue;
    if (outside && !op.manual.empty())
      sharding = withManual(sharding, graph.tensors[tensor].sharding, op.manual);
    set(tensor, sharding, index);
    changed = true;
  }
  return changed;
}

void Propagator::set(int tensor, const Sharding &sharding, int op) {
  auto setOne = [&](int t, int cause) {
    if (graph.tensors[t].sharding == sharding)
      return;
    if (trace)
      trace->push_back({cause, t, graph.tensors[t].sharding, sharding});
    graph.tensors[t].sharding = sharding;
    // Users, then who made it: the last in is the first out.
    for (int user : llvm::reverse(users[t]))
      if (user != op)
        queue(user);
  };
  setOne(tensor, op);
  if (groupOf[tensor] >= 0)
    for (int member : graph.groups[groupOf[tensor]])
      setOne(member, -1);
}

} // namespace

PropagationResult tessera::propagate(PropagationGraph &graph, PropagationStrategy strategy,
                                     std::vector<PropagationStep> *trace) {
  PropagationResult result;
  uniteGroups(graph, result);
  Propagator(graph, strategy, trace).run();
  return result;
}
