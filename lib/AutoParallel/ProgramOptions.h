//===- ProgramOptions.h - What the ops of a block can run with --*- C++ -*-===//
//
// Options in two steps: those that hints give, and those that are worth a try where a placement pays more
// than another way would.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_AUTOPARALLEL_PROGRAMOPTIONS_H
#define TESSERA_LIB_AUTOPARALLEL_PROGRAMOPTIONS_H

#include "tessera/AutoParallel/ProgramPlacement.h"

namespace tessera {

using AxisLists = std::vector<AxisList>;

class ProgramOptions {
public:
  virtual ~ProgramOptions() = default;
  /// What placementOptions says.
  virtual std::vector<std::vector<PlacementDecision>> first() = 0;
  /// Adds options to `known` (those said so far) where a placement among them pays much. `paid`: of each op,
  /// seconds for the reshards of its operands and results. Whether there are any.
  virtual bool widen(llvm::ArrayRef<double> paid, std::vector<std::vector<PlacementDecision>> &known) = 0;
};

/// `program` and `costs` must stay.
std::unique_ptr<ProgramOptions> makeProgramOptions(const PlacementProgram &program, ReshardCosts &costs,
                                                   int maxOptions);

/// An axis serves one factor; tensors without that factor travel: operands that lie over the axis are
/// gathered, results summed, and what has the axis on another dimension is exchanged. Adds to `lists`, the
/// axes hinted for each factor, an axis where it makes less travel than on any factor that it is hinted for,
/// and to what it leaves lists without it; but only if what then travels takes less than `paid` seconds.
/// Whether anything was added.
bool offerElsewhere(const PlacementProgram &program, const ProgramOp &op, const ReshardCosts &costs,
                    double paid, std::vector<AxisLists> &lists);

/// How `op` runs if its factors have `factorAxes`: what it needs of operands and makes of results, no sum in
/// either; what its work and the pieces that it moves itself take (permutations, windows). None if no
/// sharding says it.
std::optional<PlacementDecision> optionWithAxes(const PlacementProgram &program, const ProgramOp &op,
                                                const ReshardCosts &costs,
                                                llvm::ArrayRef<AxisList> factorAxes);

/// Adds what is not known yet.
void addNewOptions(std::vector<PlacementDecision> &known, std::vector<PlacementDecision> more);

/// Whether a factor of this kind may be sharded over these axes.
bool fitsKind(const Factor &factor, llvm::ArrayRef<AxisRef> axes);

/// The same with axes that nobody hinted: none either where a factor's kind does not allow them, or where a
/// weight would be cut further than it is stored.
std::optional<PlacementDecision> optionAnywhere(const PlacementProgram &program, const ProgramOp &op,
                                                const ReshardCosts &costs,
                                                llvm::ArrayRef<AxisList> factorAxes);

/// The same with results partial over axes of reduced factors; none, too, if a factor cannot be split.
std::optional<PlacementDecision> assignedOption(const PlacementProgram &program, const ProgramOp &op,
                                                const ReshardCosts &costs,
                                                llvm::ArrayRef<AxisList> factorAxes);

/// With every assignment of `axes` to factors, in every order, and every sum over idle ones that could stay
/// open; none if they are more than `most`.
std::vector<PlacementDecision> allOptions(const PlacementProgram &program, const ProgramOp &op,
                                          const ReshardCosts &costs, llvm::ArrayRef<AxisRef> axes,
                                          size_t most);

/// Axes over which results are partial if the factors have `factorAxes`, and what they are a part of (none:
/// unchanged). None if both a sum and a maximum.
std::optional<AxisList> reducedAxes(const ShardingRule &rule, llvm::ArrayRef<AxisList> factorAxes,
                                    PartialKind &kind);

/// Leaves the option's results partial over `axes`.
void leaveOpen(PlacementDecision &option, AxisList axes, PartialKind kind);

/// Has the option read the first sum that operands of one linear group come as, if its axes are free; who of
/// the group is whole joins. Adds its axes to `sums`, over which results are partial, of kind `kind`.
/// `madeOf`: how a value of the program is made.
void keepOpen(const ProgramOp &op, llvm::function_ref<const Sharding &(int)> madeOf,
              PlacementDecision &option, AxisList &sums, PartialKind &kind);

/// Calls `visit` with `option` as the op's program, its factors there over `axes`, unpriced: with its results
/// whole, and with those that could stay partial left so, in every selection.
void forEachDecomposed(const ProgramOp &op, const PlacementDecision &option, AxisList axes,
                       llvm::function_ref<void(PlacementDecision)> visit);

/// Results of the program that could stay partial: sums, and what linear ops make of them.
llvm::SmallVector<int, 2> openResults(const Decomposition &decomposition);

} // namespace tessera
#endif
