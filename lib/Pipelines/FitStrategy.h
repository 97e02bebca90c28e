//===- FitStrategy.h - What programs of one layout take ----------*- C++ -*-===//
//
// Predicted are times; bytes are measured, on rung exec.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINES_FITSTRATEGY_H
#define TESSERA_LIB_PIPELINES_FITSTRATEGY_H

#include "tessera/Dialect/Dist/Transforms/SavedLoops.h"
#include "tessera/Pipelines/CompileOptions.h"
#include "tessera/Pipelines/ProgramMemory.h"

#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>

namespace tessera {

struct FitPlan {
  CompileOptions options;
  ProgramMemory memory;
  double seconds = 0; ///< predicted, of the step
  bool isFasterThan(const FitPlan &other) const {
    return std::pair(seconds, memory.total()) < std::pair(other.seconds, other.memory.total());
  }
};

/// One way to come to a program of local shapes, and what it can save. Whatever was measured is known from
/// then on.
class FitStrategy {
public:
  /// Fails where the pipeline fails.
  static Result<std::unique_ptr<FitStrategy>> make(mlir::ModuleOp graph, const CompileOptions &options);

  /// The fastest plan, whatever it takes, and the one that saves least.
  Result<FitPlan> fastest() { return measure(loops->frontier().points().size() - 1); }
  Result<FitPlan> smallest() { return measure(0); }
  /// The fastest plan that fits, of those between: `smallest` does, `fastest` does not. `seen` has all that
  /// were measured.
  Result<FitPlan> between(FitPlan smallest, int64_t limit, llvm::function_ref<void(const FitPlan &)> seen);

  /// Axes of the mesh that no weight lies over, major to minor.
  std::vector<std::string> axesWithoutWeights() const;
  /// Names of the weights, or of what the optimizer keeps of them: what takes most of a rank comes first.
  std::vector<std::string> held(bool states) const;

private:
  Result<FitPlan> measure(size_t point);

  CompileOptions options;
  std::shared_ptr<const Target> target;
  mlir::OwningOpRef<mlir::ModuleOp> local; ///< rung spmd, before what is saved is chosen
  std::unique_ptr<dist::SavedLoops> loops;
  double leastSeconds = 0; ///< of a step in which nothing is made again
  std::map<size_t, FitPlan> measured;
};

} // namespace tessera
#endif
