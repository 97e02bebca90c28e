//===- ReshardState.h - States of the reshard search ------------*- C++ -*-===//
//
// Mesh axes are cut into digits such that source and target place whole digits. A digit is unused, partial,
// or splits the digit [pre, pre * size) of a dimension (pre: the product of what is more major in that
// dimension, like AxisRef's). A state is the place of every digit. Private to lib/AutoParallel.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_AUTOPARALLEL_RESHARDSTATE_H
#define TESSERA_LIB_AUTOPARALLEL_RESHARDSTATE_H

#include "tessera/AutoParallel/ReshardPlanner.h"

#include <algorithm>

namespace tessera::reshard {

/// What one digit of an axis does for a tensor: splits dimension `dim` (`pre`: shards of the dimension by
/// digits before it), sums (partial), or nothing.
struct DigitUse {
  static constexpr int kUnused = -1, kPartial = -2;
  int dim = kUnused;
  int64_t pre = 1;
  bool split() const { return dim >= 0; }
  bool operator==(const DigitUse &o) const { return dim == o.dim && (dim < 0 || pre == o.pre); }
  bool operator!=(const DigitUse &o) const { return !(*this == o); }
};

using State = llvm::SmallVector<DigitUse, 12>;

/// One digit on a dimension.
struct Split {
  int64_t pre, size;
  int digit;
  int64_t end() const { return pre * size; }
};

struct Problem {
  const Mesh *mesh = nullptr;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<AxisRef, 12> digits; ///< axes in order, each major to minor; sizes > 1
  State start, goal;
  ReshardOptions options;
  double maxLocal = 0; ///< largest local size of source and target
  bool sends = false;  ///< grouped sends are a step to the goal from any state that is plain and summed up
  /// Detours too: axes that the goal does not use are sliced in to make pieces smaller meanwhile, or moved
  /// out of the way before they are gathered. Many more states.
  bool wide = false;
  double receivedFromStart = 0,
         sentFromStart = 0; ///< by the busiest device, sends from the start to the goal; 0: unknown

  int64_t size(int digit) const { return digits[digit].size; }
  int rank() const { return int(shape.size()); }
};

/// How finely axes are cut beyond what source and target say. Ends: where the other sharding's axes end on
/// the same dimension, so that pieces of axes can take each other's places; Common: at common divisors too.
/// Finer means more states.
enum class Refine { None, Ends, Common };

/// Cuts axes into digits; `wide` (see Problem): also those that neither names. None if source and target cut
/// one axis in ways that do not go together.
std::optional<Problem> makeProblem(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &from,
                                   const Sharding &to, const ReshardOptions &options, Refine refine,
                                   bool wide = false);

/// Splits of dimension `dim`, major first.
llvm::SmallVector<Split, 8> splitsOf(const Problem &problem, const State &state, int dim);
/// Shards along a dimension, and elements of it that a device holds.
int64_t shardsOf(const Problem &problem, const State &state, int dim);
int64_t extentOf(const Problem &problem, const State &state, int dim);
/// Elements that a device holds.
double localSize(const Problem &problem, const State &state);
/// Elements that the busiest device receives at least on the way to the goal.
double lacking(const Problem &problem, const State &state);
/// Steps that communicate, at least, on the way to the goal: what is partial is combined in one, axes leave
/// or change places in another.
int stepsLeft(const Problem &problem, const State &state);
/// What the steps to the goal cost at least, latency included.
double costLeft(const Problem &problem, const State &state);
/// The same where what is lacking is known.
double costLeft(const Problem &problem, const State &state, double received);
/// Rounds of messages, at least (ReshardNeeds), where what is lacking is known.
int roundsLeft(const Problem &problem, const State &state, double received);

/// The splits follow each other without gap from the start of the dimension.
bool isContiguous(llvm::ArrayRef<Split> splits);
/// Splits that one tensor may have at once: each ends where the next begins or before, and divides it.
/// Without stride only contiguous; with a size that does not divide, too.
bool isValid(const Problem &problem, int dim, llvm::ArrayRef<Split> splits);
/// The pieces of `fine` lie within those of `coarse` (as fine has more axes, at the minor end), device by
/// device.
bool linesUp(const Problem &problem, int dim, int64_t coarseShards, int64_t fineShards);

StridedSharding toStrided(const Problem &problem, const State &state);

/// One step of the search.
struct Move {
  StepKind kind;
  State after;
  double received;
  double messages = 1; ///< of a device, each with its latency; more than one only of grouped sends
  double sent = 0;     ///< by the busiest device, where that may be more than is received: of grouped sends
};

/// What the search minimizes.
inline double priceOf(StepKind kind, double received, double sent, double messages,
                      const ReshardOptions &options) {
  return std::max(received, options.countSent ? sent : 0) *
             (kind == StepKind::GroupedSend ? kSendPenalty : 1) +
         (received > 0 ? messages * options.latency : 0);
}
inline double priceOf(const Move &move, const ReshardOptions &options) {
  return priceOf(move.kind, move.received, move.sent, move.messages, options);
}

/// All steps worth trying from `state`.
std::vector<Move> movesFrom(const Problem &problem, const State &state, bool limitMemory);

/// Searches; none if the goal was not reached. Greedy: states with more digits at home first, for a plan
/// where the cheapest is too far away.
std::optional<std::vector<Move>> search(const Problem &problem, bool limitMemory, bool greedy = false);

/// Appends `moves` to the plan as steps with axes; neighbours that are one collective are joined. `kind`: of
/// what is partial at the start.
void appendSteps(const Problem &problem, PartialKind kind, std::vector<Move> moves, ReshardPlan &plan);

} // namespace tessera::reshard
#endif
