//===- ReshardPlanner.h - The cheapest way to another sharding --*- C++ -*-===//
//
// A value of one global shape on one mesh goes from one sharding to another by a sequence of steps. The
// planner searches for the sequence with the least cost: what the busiest device receives, in elements,
// summed over the steps, plus `latency` for each step that communicates. Plain data, no IR.
//
// A state places digits of mesh axes on digits of dimensions; the search is A* over states with the elements
// that a device lacks as the bound below. Memory: no state is larger on a device than the larger of source
// and target, unless nothing else exists.
//
// Dimensions that do not divide hold ceil(n / shards) per device. Steps on them are only taken where blocks
// line up (ceil(n/k) = g * ceil(n/(k*g))) or where all or none of the dimension's axes are there; there is
// always a plan, at worst: gather, then slice.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_RESHARDPLANNER_H
#define TESSERA_AUTOPARALLEL_RESHARDPLANNER_H

#include "tessera/Analysis/Sharding/Sharding.h"
#include "tessera/Analysis/Sharding/StepKind.h"

#include <limits>
#include <vector>

namespace tessera {

/// Axes (major to minor) that leave dimension `from` and come to dimension `to`; -1: none.
struct AxisMove {
  AxisList axes;
  int from = -1, to = -1;
};

/// How a value lies on the mesh, digits of a dimension possibly unsplit between split ones. Per dimension,
/// major to minor: an axis, or (axis.axis == -1) an unsplit digit of axis.size.
struct StridedSharding {
  llvm::SmallVector<llvm::SmallVector<AxisRef, 4>, 4> dims;
  AxisList partial;
  PartialKind partialKind = PartialKind::Sum; ///< of `partial`, if there is any
  /// No unsplit digit: a Sharding says the same.
  bool isPlain() const;
};

StridedSharding toStridedSharding(const Sharding &sharding);

/// `[x/_2,y] U{z}`
std::string toString(const StridedSharding &sharding, const Mesh &mesh);

struct ReshardStep {
  StepKind kind = StepKind::AllSlice;
  /// AllGather: one, `from` set. AllSlice, ReduceScatter: one, `to` set. AllToAll: one or more, both set.
  /// AllReduce, Contribute: one, neither set. GroupedSend: one with neither set, the axes of the groups
  /// (GroupedSends.h). CollectivePermute: none; the shardings before and after say it (permuteSources). In
  /// plans without strided states, axes leave and come as the minor-most of their dimension, in the order
  /// given.
  llvm::SmallVector<AxisMove, 1> moves;
  Sharding result;        ///< state after the step (closed dimensions); only if `layout` is plain
  StridedSharding layout; ///< the same, strided or not
  double received = 0;    ///< elements that the busiest device receives
  double written = 0;  ///< Contribute: elements that a device writes without receiving any; to a maximum one,
                       ///< so that ties go to none
  double messages = 1; ///< GroupedSend: that a device receives, each with its latency
  double sent =
      0; ///< GroupedSend: elements that the busiest device sends; of other kinds as many as are received
};

struct ReshardPlan {
  std::vector<ReshardStep> steps; ///< empty: nothing to do
  double received = 0;            ///< sum over the steps
};

/// Grouped sends reach any layout and leave padding out, but by messages of many sizes: the elements of the
/// busiest device, sent or received, count this many times, so that a few padded rows alone do not make sends
/// of an exchange.
inline constexpr double kSendPenalty = 4.0 / 3;

struct ReshardOptions {
  /// States may be strided: plain ones of a view (see ReshardCollectives.h).
  bool strided = false;
  /// One all_to_all may move axes between several pairs of dimensions.
  bool jointAllToAll = false;
  /// Grouped sends: where a dimension does not divide or axes are cut in ways that share no digits, if they
  /// cost less than collectives; else where nothing else keeps within the memory of source and target.
  bool pointToPoint = false;
  /// Of grouped sends what the busiest device sends counts too, if it is more than any receives; tables of
  /// facts count what is received.
  bool countSent = false;
  /// Cost of a step that communicates, in elements.
  double latency = 0;
  /// States expanded at most, each search; then the best plan found so far is taken.
  int maxExpansions = 300;
  /// The same for as long as no plan is found.
  int maxInVain = std::numeric_limits<int>::max();
  /// Only a plan that costs less is wanted, and only within the memory of source and target; none is returned
  /// if none is found.
  double below = std::numeric_limits<double>::infinity();
  /// Axes, whole ones, that no step uses where neither end lies over them.
  AxisList reserved;
};

/// What planReshard minimizes: elements and latencies.
double priceOf(const ReshardPlan &plan, const ReshardOptions &options);

/// The plan, or none if a sharding is none of a tensor of this shape on this mesh. Where the target is
/// partial and the source is not, or is in another way, one device of each group contributes the value: the
/// last step.
std::optional<ReshardPlan> planReshard(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                                       const Sharding &to, const ReshardOptions &options = {});

/// For every device the device whose piece it takes over in a CollectivePermute from one sharding to the
/// other: a permutation of devices, the identity wherever that is right.
std::vector<int64_t> permuteSources(const Mesh &mesh, const StridedSharding &from, const StridedSharding &to);
std::vector<int64_t> permuteSources(const Mesh &mesh, const Sharding &from, const Sharding &to);

/// What no plan of collectives (without grouped sends) does without; nothing is searched.
struct ReshardNeeds {
  bool possible = true; ///< else there is no plan
  double received = 0;  ///< elements, by the busiest device
  double cost = 0;      ///< elements, and the latency of steps as `options` count it
  /// Rounds of messages: what a device has at the end stems from so many devices, and each round at most
  /// doubles them; what is combined and what changes places are steps apart.
  int rounds = 0;
};
ReshardNeeds reshardNeeds(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                          const Sharding &to, const ReshardOptions &options = {});

/// An end of reshards, looked at once for many questions.
struct ReshardEnd {
  ReshardEnd(const Mesh &mesh, const Sharding &sharding);
  Sharding sharding; ///< without what moves nothing
  bool possible;     ///< some tensor of that rank can lie so
};
ReshardNeeds reshardNeeds(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const ReshardEnd &from,
                          const ReshardEnd &to, const ReshardOptions &options = {});

/// Elements that some device must receive at least, whatever the steps. Where sizes do not divide the bound
/// gets closer with `samples`: so many devices are looked at one by one (about 50 ns each).
double reshardBound(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to,
                    int samples = 0);

/// The plan executed element by element on all devices, from what each device holds. Error text of the first
/// step that does not produce what it says, receives more than it says, or (all_to_all) does not send equal
/// pieces; empty if all is right. Exponential in nothing, but linear in elements x devices: for tests.
std::string replayPlan(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                       const Sharding &to, const ReshardPlan &plan);

/// The same judged on `samples` devices a step, one element each, whatever the size of mesh and tensor: that
/// somebody in the step's group holds the element, that pieces and partial axes are what the kind of step can
/// make of them. For meshes too large for replayPlan.
std::string samplePlan(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                       const Sharding &to, const ReshardPlan &plan, int samples, unsigned seed);

/// `cost<TAB>MOVE [state]; MOVE [state]`, cost as a fraction of the whole tensor.
std::string toString(const ReshardPlan &plan, const Mesh &mesh, llvm::ArrayRef<int64_t> shape);

} // namespace tessera
#endif
