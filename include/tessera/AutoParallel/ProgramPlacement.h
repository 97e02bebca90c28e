//===- ProgramPlacement.h - Shardings of a whole block at once --*- C++ -*-===//
//
// For all ops of a block together, where disagreements fall is chosen by the total time of work and reshards,
// so that a chain of ops can run in a sharding that no single one of them would choose. A value that several
// users need in the same sharding is resharded once for all.
//
// Every op has options (assignments of axes to factors, and which partial sums it keeps open), made from what
// propagation, the fixed values and the outside users say about dimensions, carried along factors through the
// program. The choice among them is exact (MinSum.h) unless tables grow too large; then the gap is known.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_AUTOPARALLEL_PROGRAMPLACEMENT_H
#define TESSERA_AUTOPARALLEL_PROGRAMPLACEMENT_H

#include "tessera/AutoParallel/Placement.h"

#include <limits>
#include <memory>

namespace tessera {

struct ProgramValue {
  llvm::SmallVector<int64_t> shape;
  double elementBytes = 4; ///< as it travels, where it is gathered or stays as it is
  /// Bytes of a plain element, of a weight that is held in quantized blocks. What cuts or exchanges it needs
  /// it so, as a copy that is held instead. 0: it is plain.
  double plainBytes = 0;
  ChosenRows chosen = {}; ///< which rows its readers want
  /// Fixed: what it is (an argument, a region's result). Else a hint: what propagation wants.
  Sharding sharding;
  bool fixed = false;
  bool isWeight = false; ///< fixed, and packed as it is stored: cut further it would be a copy, held plain
};

struct Decomposition;

struct ProgramOp {
  ShardingRule rule;
  llvm::SmallVector<int, 4> operands, results; ///< values
  double flops = 0, bytes = 0;                 ///< of the whole, unsharded op
  ComputeType type = ComputeType::F32;         ///< of its FLOPs
  int at = -1; ///< when it runs, for who counts bytes: at most once; -1: in the order of ops
  std::shared_ptr<const Decomposition> decomposition; ///< or none
};

/// Somebody outside needs a value so: the caller, the next iteration, a region, an annotation.
struct ProgramUse {
  int value;
  Sharding sharding;
  int at = -1; ///< when it is read, as ProgramOp::at; -1: behind all ops
};

struct PlacementProgram {
  std::vector<ProgramValue> values;
  std::vector<ProgramOp> ops; ///< in program order: operands before results
  std::vector<ProgramUse> uses;
};

/// An op written out: with some factors sharded that it needs whole as one op. Costs what the op does at that
/// size, and the reshards inside.
struct Decomposition {
  llvm::SmallVector<int, 2> factors;           ///< of the op's rule, of kind need-replication
  PlacementProgram program;                    ///< its operands are fixed values, in any sharding
  llvm::SmallVector<int, 4> operands, results; ///< values of the program
  std::string name; ///< the same for programs that are alike, whose times are then known; empty: of no other
};

/// For `leastGain`: what a compiler takes. In pieces ops stream less memory, but take more messages.
inline constexpr double kWorthMoreMessages = 0.1;

struct ProgramPlacementOptions {
  int maxOptions = 40;            ///< of one op
  int64_t largestTable = 1 << 20; ///< entries of an intermediate table
  bool widen = true;              ///< offer ops more where a placement pays much
  /// Without `widen`: only a placement that takes less time is wanted. Where none is found the time is
  /// infinite, and no op has a decision.
  double below = std::numeric_limits<double>::infinity();
  bool anyGain = false; ///< take what they are offered however little less time it takes
  /// Bytes that a rank may have of the program's values at once (docs/Memory.md, "Placement"): of the choices
  /// that keep to it one that takes little time; where none does, one that has few.
  double liveBytes = std::numeric_limits<double>::infinity();
  bool all = true; ///< search all assignments where they are few
  /// That ops may be split over though nothing lies over them, for `liveBytes`, or where less is sent so.
  AxisList idleAxes;
  /// The part of all time, or of what is sent, that the best of them must save to be taken.
  double leastGain = 0;
};

/// The best choice among what ops are offered at first. Every search begins there, and without `widen` that
/// is all of it.
struct FirstLook {
  std::vector<int> choice; ///< of each op, by index
  double time, lowerBound;
  /// Ops, and their decomposed options that have been priced: the next search would want to know, too.
  std::vector<std::pair<size_t, size_t>> priced;
};

struct ProgramDecision {
  std::vector<PlacementDecision> ops;
  double time = 0;       ///< work and reshards
  double sent = 0;       ///< the part of it that is no work
  double lowerBound = 0; ///< no choice among the options takes less
  double liveBytes = 0;  ///< where they are limited: of a rank at once
  /// Nor does any assignment of axes that something lies over to factors of ops, in whatever order.
  bool boundsAll = false;
  bool widened = false;                                ///< it takes something that ops were offered
  std::vector<std::vector<PlacementDecision>> options; ///< of each op
  std::optional<FirstLook> look;                       ///< if it is proven
};

/// Adds what the reshards inside a decomposed op take to an option's work; infinite if they are impossible.
/// Nothing where it is done.
void priceDecomposed(const ProgramOp &op, PlacementDecision &option, ReshardCosts &costs);

/// programMessages of the program that a decomposed option is.
double messagesInside(const ProgramOp &op, const PlacementDecision &option, ReshardCosts &costs);

/// What each op can run with at first (`widen` adds to it); never empty for an op. Decomposed options may be
/// unpriced.
std::vector<std::vector<PlacementDecision>> placementOptions(const PlacementProgram &program,
                                                             ReshardCosts &costs, int maxOptions);

/// Work and reshards if every op runs as `chosen` says; infinite if a value cannot get from one sharding to
/// the other.
double programTime(const PlacementProgram &program, llvm::ArrayRef<const PlacementDecision *> chosen,
                   ReshardCosts &costs);

/// Collectives that reshards take, in decomposed ops too; of grouped sends the messages that a device
/// receives.
double programMessages(const PlacementProgram &program, llvm::ArrayRef<const PlacementDecision *> chosen,
                       ReshardCosts &costs);

/// Seconds.
struct ProgramPrice {
  double time = 0; ///< work and reshards
  double sent = 0; ///< the part of it that is no work
};

/// The price of the best placement among `options`, those of each op in a program with the same ops whose
/// values lie otherwise; what takes `below` or more may be called infinite. The ops for which `isNear` says
/// so have besides what they are offered at first. Options that are unpriced may be priced.
ProgramPrice priceAmong(const PlacementProgram &program, std::vector<std::vector<PlacementDecision>> &options,
                        llvm::function_ref<bool(const ProgramOp &)> isNear, ReshardCosts &costs, double below,
                        const ProgramPlacementOptions &settings);

/// `look`: what was found with other settings, but as many options of an op.
ProgramDecision placeProgram(const PlacementProgram &program, ReshardCosts &costs,
                             const ProgramPlacementOptions &options = {}, const FirstLook *look = nullptr);

} // namespace tessera
#endif
