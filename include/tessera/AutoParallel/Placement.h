//===- Placement.h - How an op lies, and what reshards cost -----*- C++ -*-===//
//
// The operands and results of an op have shardings that need not agree. An op can run with any assignment of
// mesh axes to its factors (one axis, one factor); the operands then must be resharded to what the assignment
// says, and the results are resharded from it. Partial sums: axes of a reduction factor leave the results
// partial; axes over which operands are partial stay so where the op is linear in just those operands.
// ProgramPlacement.h chooses among assignments. Plain data, no IR.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_PLACEMENT_H
#define TESSERA_AUTOPARALLEL_PLACEMENT_H

#include "tessera/Analysis/Sharding/ShardingRule.h"
#include "tessera/AutoParallel/Machine.h"
#include "tessera/AutoParallel/ReshardPlanner.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>

namespace tessera {

/// How an op runs.
struct PlacementDecision {
  llvm::SmallVector<AxisList, 8> factorAxes; ///< axes of each factor, major to minor
  std::vector<Sharding> operands;            ///< required; closed
  std::vector<Sharding> results;             ///< produced, partial axes included; closed
  double workTime = 0;
  bool decomposed = false; ///< as its decomposition, whose reshards workTime includes (ProgramPlacement.h)
  bool unpriced = false;   ///< workTime is still without those reshards (priceDecomposed)
};

/// Which reshard: of a tensor, from a sharding to another, each by its number. There are more shardings than
/// any packing of the three into one word could tell apart.
struct ReshardId {
  int tensor, from, to;
  bool operator==(const ReshardId &o) const { return tensor == o.tensor && from == o.from && to == o.to; }
};
struct ReshardIdInfo {
  static ReshardId getEmptyKey() { return {-1, -1, -1}; }
  static ReshardId getTombstoneKey() { return {-2, -2, -2}; }
  static bool isEqual(const ReshardId &a, const ReshardId &b) { return a == b; }
  static unsigned getHashValue(const ReshardId &id) {
    uint64_t hash = uint64_t(uint32_t(id.from)) << 32 | uint32_t(id.to);
    hash = (hash ^ uint64_t(uint32_t(id.tensor)) << 20) * 0x9e3779b97f4a7c15; // 2^64 over the golden ratio
    return unsigned(hash >> 32);
  }
};

/// Of lists of numbers.
struct NumbersHash {
  template <typename Numbers> size_t operator()(const Numbers &numbers) const {
    return llvm::hash_combine_range(numbers.begin(), numbers.end());
  }
};

/// Which rows of a tensor [n..., e, d] its readers choose: an all_to_all between n... and e sends no others
/// (dist.exchange_rows), if it is the last step.
struct ChosenRows {
  int dim = -1;     ///< of e; -1: all rows count
  double share = 1; ///< of all rows, at even routing
};

/// The part of its value that a plan's last step sends: the share of chosen rows where that step is an
/// all_to_all which dist-optimize-collectives makes an exchange of them, else 1.
double chosenShare(llvm::ArrayRef<int64_t> shape, const ChosenRows &chosen, const Sharding &from,
                   const ReshardPlan &plan);

class PlacedPrograms;

/// Plans and their times, remembered: the same reshards are asked for again and again.
class ReshardCosts {
public:
  /// Plans use no axis of `reserved` (whole ones), over which none of the ends lies that are asked about.
  ReshardCosts(Mesh mesh, Machine machine, AxisList reserved = {});
  ReshardCosts(const ReshardCosts &) = delete; // what is known is large, and points at itself

  struct Cost {
    bool possible = false;
    double received = 0; ///< elements
    double time = 0;     ///< seconds
  };
  const Cost &reshard(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from,
                      const Sharding &to, const ChosenRows &chosen = {});

  /// The plan that `reshard` is about (planForMachine).
  std::optional<ReshardPlan> plan(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from,
                                  const Sharding &to);

  /// Seconds: at most what `reshard` says, without searching for a plan; infinite if there is none. The same
  /// whatever was asked before.
  double floor(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from, const Sharding &to,
               const ChosenRows &chosen = {});

  struct Known {
    double time; ///< seconds; infinite if there is no plan
    bool exact;  ///< that is what `reshard` says; else the floor
  };
  /// What is known without searching now.
  Known known(llvm::ArrayRef<int64_t> shape, double elementBytes, const Sharding &from, const Sharding &to);

  /// Numbers for many questions about few tensors and shardings: of a shape and the size of its elements, and
  /// of where a sharding places them.
  int numberOf(llvm::ArrayRef<int64_t> shape, double elementBytes, const ChosenRows &chosen = {});
  int numberOf(const Sharding &sharding);
  /// What has that number: closed, and with nothing but where it places a tensor. It stays where it is.
  const Sharding &sharding(int number) const { return shardings[size_t(number)]; }
  Known known(int tensor, int from, int to);

  /// Seconds of what is made of many reshards, by a name and the numbers of shardings at its ends: for
  /// whoever works them out to keep; below 0 until then.
  double &kept(llvm::StringRef name, llvm::ArrayRef<int> ends);

  const Mesh mesh;
  const Machine machine;
  const AxisList reserved;
  const std::shared_ptr<PlacedPrograms> placed; ///< with these costs (PlacedPrograms.h)

private:
  using Key = llvm::SmallVector<int64_t, 24>;
  struct Tensor {
    llvm::SmallVector<int64_t, 4> shape;
    double elementBytes;
    ChosenRows chosen;
  };
  struct Entry {
    std::optional<Cost> cost;
    std::optional<ReshardPlan> plan; ///< known with the cost, unless impossible
    double floor = -1;               ///< below 0: not known
  };
  Entry &entryOf(int tensor, int from, int to) {
    Entry *&entry = entries[{tensor, from, to}];
    return entry ? *entry : *(entry = &entriesMade.emplace_back());
  }
  double floorOf(Entry &entry, int tensor, int from, int to);

  double leastLatency, mostBandwidth;                ///< of any link
  Key key;                                           ///< of the last query
  std::unordered_map<Key, int, NumbersHash> numbers; ///< of tensors and of shardings
  std::vector<Tensor> tensors;
  std::vector<ReshardEnd> ends; ///< of shardings
  std::deque<Sharding> shardings;
  std::deque<Entry> entriesMade; ///< they stay where they are
  llvm::DenseMap<ReshardId, Entry *, ReshardIdInfo> entries;
  llvm::StringMap<int> names;
  std::unordered_map<Key, double, NumbersHash> times; ///< by name and ends
};

/// The plan that the compiler emits for a reshard: cheapest for this machine, by the compiler's collectives.
std::optional<ReshardPlan> planForMachine(const Machine &machine, const Mesh &mesh,
                                          llvm::ArrayRef<int64_t> shape, double elementBytes,
                                          const Sharding &from, const Sharding &to,
                                          const AxisList &reserved = {});

/// The part of an op's work that one rank does if its factors have these axes: the largest piece of each
/// factor.
double workFraction(const ShardingRule &rule, llvm::ArrayRef<AxisList> factorAxes);

/// The sharding of a tensor whose factors have these axes; none if no sharding says it: a strided view, or
/// padding of one factor inside another of the same dimension.
std::optional<Sharding> shardingOfFactors(const TensorFactors &tensor, llvm::ArrayRef<AxisList> factorAxes,
                                          llvm::ArrayRef<Factor> factors);

} // namespace tessera
#endif
