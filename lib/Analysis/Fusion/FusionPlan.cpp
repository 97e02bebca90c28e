//===- FusionPlan.cpp - which ops share a kernel --------------------------===//

#include "tessera/Analysis/Fusion/Fusion.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

namespace tessera::fusion {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// A loop may get shorter by this much for a launch that is saved.
constexpr int64_t kShorter = 4;
/// What is computed again in every iteration is at most one such part of the rest.
constexpr int64_t kSmallPart = 4;

/// Tiles of one iteration at most: then what they share is little beside them.
constexpr int64_t kMostTurns = 16;

/// Ops that become one body. An op belongs to the set that stores its results, and to others as a copy.
struct Set {
  SmallVector<int, 8> ops;    ///< in order, copies too
  SmallVector<int, 4> again;  ///< of these, those computed again in every iteration
  SmallVector<int, 4> copies; ///< of these, those that another set has
};

void insertSorted(llvm::SmallVectorImpl<int> &list, int number) {
  auto it = llvm::lower_bound(list, number);
  if (it == list.end() || *it != number)
    list.insert(it, number);
}

class Planner {
public:
  Planner(ArrayRef<Op> program, const Choices &choices)
      : program(program), choices(choices), setOf(program.size(), -1) {
    for (auto [number, op] : llvm::enumerate(program)) {
      for (int value : op.results)
        maker[value] = int(number);
      for (int value : op.operands)
        readers[value].push_back(int(number));
    }
  }

  std::vector<Kernel> run() {
    joinProducers();
    computeAgain();
    shareLaunches();
    std::vector<Kernel> kernels;
    llvm::DenseMap<int, int> kernelOf;
    for (auto [number, set] : llvm::enumerate(sets)) {
      if (set.ops.empty())
        continue;
      auto [it, isNew] = kernelOf.try_emplace(groupOf[number], int(kernels.size()));
      if (isNew)
        kernels.emplace_back();
      Body body = *chooseLoop(program, set.ops, set.again, shareOf(int(number)));
      body.copies.assign(set.copies.begin(), set.copies.end());
      body.turns = turnsOf(body, set.again, shareOf(int(number)).parallelIterations);
      kernels[size_t(it->second)].bodies.push_back(std::move(body));
    }
    return kernels;
  }

private:
  //===--------------------------------------------------------------------===//
  // What loops a set could have
  //===--------------------------------------------------------------------===//

  /// The loop over single elements: the most iterations there can be.
  std::optional<Body> finest(const Set &set) const {
    return chooseLoop(program, set.ops, set.again, {0, 0, std::numeric_limits<int64_t>::max()});
  }
  /// An iteration has room for what it keeps, or one of the parts has none alone.
  bool fits(const Body &together, ArrayRef<Set> parts) const {
    int64_t most = choices.keptBytes;
    if (together.keptBytes > most)
      for (const Set &part : parts)
        most = std::max(most, finest(part)->keptBytes);
    return together.keptBytes <= most;
  }
  int64_t work(ArrayRef<int> ops) const {
    int64_t sum = 0;
    for (int op : ops)
      sum += program[op].work;
    return sum;
  }
  /// Iterations that the ops have a use for: of no less than a small one.
  int64_t useful(const Set &set) const {
    return std::min(finest(set)->iterations(),
                    work(set.ops) / std::max<int64_t>(choices.smallElements, 1) + 1);
  }
  /// What the bodies of one launch are to have of the machine: their part of its work.
  Choices shareOf(int number) const {
    double own = double(work(sets[number].ops)), all = 0;
    for (int set : launchOf(number))
      all += double(work(sets[set].ops));
    Choices share = choices;
    share.parallelIterations =
        std::max<int64_t>(1, int64_t(double(choices.parallelIterations) * own / std::max(all, 1.0)));
    return share;
  }

  //===--------------------------------------------------------------------===//
  // Who waits for whom
  //===--------------------------------------------------------------------===//

  /// Tiles for one iteration: where there are more iterations than fill the machine, several of them compute
  /// what they share once.
  int64_t turnsOf(const Body &body, ArrayRef<int> again, int64_t parallelIterations) const {
    bool shares = false;
    for (auto [op, tiles] : llvm::zip_equal(body.ops, body.tiles))
      shares |= llvm::is_contained(again, op) && !program[op].operands.empty() && tiles.areWhole();
    if (!shares)
      return 1;
    int64_t most = std::min(body.tileCount() / std::max<int64_t>(parallelIterations, 1), kMostTurns);
    for (int64_t turns = most; turns > 1; --turns)
      if (body.tileCount() % turns == 0)
        return turns;
    return 1;
  }

  /// Ops outside whose results the ops of a set read; what a set has a copy of it makes itself.
  SmallVector<int> waitsFor(ArrayRef<int> ops) const {
    SmallVector<int> outside;
    for (int op : ops)
      for (int value : program[op].operands)
        if (auto it = maker.find(value); it != maker.end() && !llvm::is_contained(ops, it->second))
          outside.push_back(it->second);
    return outside;
  }
  /// The sets that run with `set`.
  SmallVector<int> launchOf(int set) const {
    SmallVector<int> launch;
    for (auto [number, group] : llvm::enumerate(groupOf))
      if (group == groupOf[set])
        launch.push_back(int(number));
    return launch.empty() ? SmallVector<int>{set} : launch;
  }
  /// The ops of `pending`, or what they wait for, directly or not, are among `ops`.
  bool waitForAny(SmallVector<int> pending, ArrayRef<int> ops) const {
    llvm::DenseSet<int> wanted(ops.begin(), ops.end()), seenOps, seenSets;
    while (!pending.empty()) {
      int op = pending.pop_back_val();
      if (wanted.count(op))
        return true;
      if (setOf[op] < 0) {
        if (seenOps.insert(op).second)
          llvm::append_range(pending, waitsFor(op));
        continue;
      }
      // Ops of one launch run together: whoever needs one waits for what all of them wait for.
      if (seenSets.insert(setOf[op]).second)
        for (int set : launchOf(setOf[op])) {
          seenSets.insert(set);
          llvm::append_range(pending, waitsFor(sets[set].ops));
        }
    }
    return false;
  }
  /// Something outside of `ops` waits for them, and they wait for it.
  bool comesBack(ArrayRef<int> ops, ArrayRef<int> stored) const { return waitForAny(waitsFor(ops), stored); }

  //===--------------------------------------------------------------------===//
  // 1. Producers and consumers that share all axes
  //===--------------------------------------------------------------------===//

  void joinProducers() {
    for (int number = 0; number < int(program.size()); ++number) {
      if (!program[number].fusable)
        continue;
      setOf[number] = int(sets.size());
      sets.push_back({{number}, {}, {}});
      SmallVector<int> producers;
      for (int value : program[number].operands)
        if (auto it = maker.find(value); it != maker.end() && setOf[it->second] >= 0)
          producers.push_back(setOf[it->second]);
      llvm::sort(producers, std::greater<int>());
      producers.erase(llvm::unique(producers), producers.end());
      for (int producer : producers)
        tryJoin(producer, setOf[number]);
    }
  }

  bool isReadOutside(const Set &made, const Set &inside) const {
    return llvm::any_of(made.ops, [&](int op) {
      return llvm::any_of(program[op].results, [&](int value) {
        return llvm::any_of(readers.lookup(value),
                            [&](int reader) { return !llvm::is_contained(inside.ops, reader); });
      });
    });
  }

  void tryJoin(int a, int b) {
    if (a == b || sets[a].ops.empty())
      return;
    Set joined = sets[a];
    for (int op : sets[b].ops)
      insertSorted(joined.ops, op);
    std::optional<Body> together = finest(joined);
    if (!together || !fits(*together, {sets[a], sets[b]}))
      return;
    int64_t iterations = together->iterations(), most = std::max(useful(sets[a]), useful(sets[b]));
    bool keeps = iterations >= std::min(choices.parallelIterations, most) / kShorter;
    bool good = iterations >= most || (keeps && together->tileElements <= choices.tileElements);
    // A reader does not give up iterations for what others read as well: it can compute that again.
    bool spoils = iterations < useful(sets[b]) && isReadOutside(sets[a], joined);
    if (!good || spoils || comesBack(joined.ops, joined.ops))
      return;
    for (int op : sets[a].ops)
      setOf[op] = b;
    sets[b] = std::move(joined);
    sets[a] = {};
  }

  //===--------------------------------------------------------------------===//
  // 2. Small work, again in every iteration of its readers
  //===--------------------------------------------------------------------===//

  void computeAgain() {
    // Readers first: what they take over they hand on to theirs.
    SmallVector<int> order;
    for (auto [number, set] : llvm::enumerate(sets))
      if (!set.ops.empty())
        order.push_back(int(number));
    llvm::sort(order, [&](int a, int b) { return sets[a].ops.back() > sets[b].ops.back(); });
    for (int number : order)
      handOver(number);
  }

  /// Set `reader` with the ops of `small` in each of its iterations; none if it loses by it.
  std::optional<Set> withAgain(const Set &reader, const Set &small) const {
    Set joined = reader;
    for (int op : small.ops) {
      insertSorted(joined.ops, op);
      insertSorted(joined.again, op);
    }
    std::optional<Body> alone = finest(reader), together = finest(joined);
    if (!together || together->iterations() < alone->iterations() || !fits(*together, {reader, small}))
      return std::nullopt;
    int64_t dear = 0; // beside it the rest is small
    for (int op : reader.ops)
      if (!llvm::is_contained(joined.again, op))
        dear += program[op].work;
    // Of all there is, and of each iteration; there also what is small beside the largest one.
    Body body = *chooseLoop(program, joined.ops, joined.again, choices);
    int64_t own = body.tileElements - body.againElements;
    bool isSmall = kSmallPart * work(joined.again) <= dear &&
                   kSmallPart * body.againElements <= std::max(own, choices.tileElements);
    if (!isSmall && work(small.ops) * alone->iterations() > choices.smallElements)
      return std::nullopt;
    return joined;
  }

  void handOver(int number) {
    const Set small = sets[number];
    // What is changed in place changes once; what nobody reads in place stays.
    if (llvm::any_of(small.ops, [&](int op) { return program[op].updated >= 0; }))
      return;
    SmallVector<int> takers;
    bool others = false;
    llvm::DenseMap<int, Set> joined;
    for (int op : small.ops)
      for (int value : program[op].results)
        for (int reader : readers.lookup(value))
          for (int set : setsWith(reader)) {
            if (set == number || llvm::is_contained(takers, set))
              continue;
            std::optional<Set> taken = set < 0 ? std::nullopt : withAgain(sets[set], small);
            if (!taken) {
              others = true;
              continue;
            }
            takers.push_back(set);
            joined[set] = std::move(*taken);
          }
    if (takers.empty())
      return;
    // One of them stores the results that others need: it must not wait for those.
    llvm::sort(takers);
    int holder = -1;
    for (int set : takers) {
      SmallVector<int> own;
      for (int op : joined[set].ops)
        if (!llvm::is_contained(joined[set].copies, op))
          own.push_back(op);
      if (holder < 0 && (!others || !comesBack(joined[set].ops, own)))
        holder = set;
    }
    if (holder < 0)
      return;
    for (int set : takers) {
      if (set != holder)
        for (int op : small.ops)
          insertSorted(joined[set].copies, op);
      sets[set] = std::move(joined[set]);
    }
    for (int op : small.ops)
      setOf[op] = holder;
    sets[number] = {};
  }

  /// The sets that compute `op`, or -1 for an op in none.
  SmallVector<int> setsWith(int op) const {
    SmallVector<int> with;
    for (auto [number, set] : llvm::enumerate(sets))
      if (llvm::is_contained(set.ops, op))
        with.push_back(int(number));
    if (with.empty())
      with.push_back(-1);
    return with;
  }

  //===--------------------------------------------------------------------===//
  // 3. Kernels that share a launch
  //===--------------------------------------------------------------------===//

  void shareLaunches() {
    for (size_t number = 0; number < sets.size(); ++number)
      groupOf.push_back(int(number));
    for (int b = 0; b < int(sets.size()); ++b)
      for (int a = b - 1; a >= 0 && !sets[b].ops.empty(); --a) {
        if (sets[a].ops.empty() || groupOf[a] == groupOf[b] || !readTheSame(a, b) || !areApart(a, b))
          continue;
        int from = groupOf[b], to = groupOf[a];
        for (int &group : groupOf)
          if (group == from)
            group = to;
      }
  }

  /// An array that both read and neither makes.
  bool readTheSame(int a, int b) const {
    auto reads = [&](int set) {
      llvm::DenseSet<int> values;
      for (int op : sets[set].ops)
        for (int value : program[op].operands)
          if (auto it = maker.find(value);
              it == maker.end() || !llvm::is_contained(sets[set].ops, it->second))
            values.insert(value);
      return values;
    };
    llvm::DenseSet<int> ofA = reads(a), ofB = reads(b);
    return llvm::any_of(ofA, [&](int value) { return ofB.count(value); });
  }

  /// Neither launch waits for the other, directly or not.
  bool areApart(int a, int b) const {
    SmallVector<int> launches[2];
    for (auto [number, set] : llvm::enumerate(sets))
      for (int side : {0, 1})
        if (!set.ops.empty() && groupOf[number] == groupOf[side ? b : a])
          launches[side].push_back(int(number));
    for (int side : {0, 1}) {
      SmallVector<int> stored, outside;
      for (int set : launches[1 - side])
        for (int op : sets[set].ops)
          if (!llvm::is_contained(sets[set].copies, op))
            stored.push_back(op);
      for (int set : launches[side])
        llvm::append_range(outside, waitsFor(sets[set].ops));
      if (waitForAny(outside, stored))
        return false;
    }
    return true;
  }

  ArrayRef<Op> program;
  const Choices &choices;
  llvm::DenseMap<int, int> maker;
  llvm::DenseMap<int, SmallVector<int, 4>> readers;
  std::vector<Set> sets;
  SmallVector<int> setOf; ///< op -> the set that stores its results, or -1
  SmallVector<int> groupOf;
};

} // namespace

bool OpTiles::areWhole() const {
  auto isWhole = [](const Parts &parts) {
    return llvm::all_of(parts, [](const Part &part) { return part.axis < 0; });
  };
  return llvm::all_of(operands, isWhole) && llvm::all_of(results, isWhole);
}

std::vector<Kernel> planFusion(ArrayRef<Op> program, const Choices &choices) {
  return Planner(program, choices).run();
}

} // namespace tessera::fusion
