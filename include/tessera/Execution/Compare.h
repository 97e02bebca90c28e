//===- Compare.h - The machine against the interpreter ---------*- C++ -*-===//
#ifndef TESSERA_EXECUTION_COMPARE_H
#define TESSERA_EXECUTION_COMPARE_H

#include "tessera/Execution/CompiledProgram.h"
#include "tessera/Reference/Interpreter.h"

#include <map>

namespace tessera {

/// Random values for all parameters of the module's entries, in the types of the program. `drawn` is the
/// module before completePorts.
NamedValues randomParameters(mlir::ModuleOp module, mlir::ModuleOp drawn, uint64_t seed);
/// `rounds` calls of every entry in turn, on random inputs of seeds from `seed` on, rounded to their types.
std::vector<GlobalCall> randomCalls(mlir::ModuleOp module, mlir::ModuleOp drawn, uint64_t seed, int rounds);

/// Interprets the calls one after another on a program of one device; states begin as zeros and stay, and so
/// do new values of variables, which are among the states of a call. Emits errors at ops.
llvm::LogicalResult interpretCalls(mlir::ModuleOp module, const NamedValues &parameters,
                                   std::vector<GlobalCall> &calls, const InterpreterOptions &options = {});

/// (entry, output of ids) -> the output, of the same entry, of the logits that the ids are chosen from.
using ChosenTokens = std::map<std::pair<std::string, std::string>, std::string>;

/// How far a value of a call may be off.
struct Bounds {
  double relative = 1e-5; ///< of the largest element; float32 and wider
  int roundings = 8; ///< programs with 16-bit floats: 3 times the largest error of so many runs that round at
                     ///< random, plus one unit in the last place
  bool roundsWider = false; ///< programs of wider floats too, where results are off by more than `relative`;
                            ///< but for those whose choices of experts rounding may turn
  /// Allowed at least, by Difference::where: what runs on other weights say that rounding does to a result.
  std::map<std::string, double> carried;
  bool integersFollow = false; ///< from floats that may differ: of two logits that are almost equal in 16
                               ///< bits one run takes this, one that. Floats alone are compared then
  /// Under integersFollow: outputs of ids that are compared all the same, with the logits of the same call:
  /// that of an id is the largest of its row, up to what logits may be off.
  ChosenTokens logitsOfTokens;
};

/// The outputs of next tokens of the module's entries, each with the logits that it is chosen from.
ChosenTokens chosenTokens(mlir::ModuleOp module);

struct Difference {
  std::string where;    ///< `call 1 of f, output out0`
  double relative = 0;  ///< largest difference over largest element, or over what is but rounding
  double allowed = 0;   ///< in the same unit
  double carried = 0;   ///< by runs that round at random, relative to the largest element of any of them
  bool follows = false; ///< integers under Bounds::integersFollow: nothing is allowed or forbidden
  bool integer = false;
  bool finite = true; ///< neither side has a NaN, or an infinity that the other has not
  bool tooLarge() const { return !(relative <= allowed); }
};

/// How far rounding carries results, by runs of the same calls that round at random. Of each run no more is
/// kept: results may be as many as a model has weights, thrice.
class RoundedRuns {
public:
  void add(const std::vector<GlobalCall> &expected, const std::vector<GlobalCall> &run);
  bool empty() const { return places.empty(); }

  struct Place {
    double most = 0;    ///< the largest difference from what is expected, where both are finite
    double largest = 0; ///< element of any run
  };
  /// By Difference::where.
  Place at(const std::string &where) const {
    auto found = places.find(where);
    return found == places.end() ? Place() : found->second;
  }

private:
  std::map<std::string, Place> places;
};

/// What Difference::where says of an output, state or next weight of a call.
std::string whereIs(const std::vector<GlobalCall> &calls, size_t call, const Port &port);

/// Every output and state of every call, in order.
std::vector<Difference> compareCalls(const std::vector<GlobalCall> &expected,
                                     const std::vector<GlobalCall> &found, const RoundedRuns &rounded,
                                     const Bounds &bounds);

struct ExecutionJudgement {
  ExecutionOptions execution;
  Bounds bounds;
  uint64_t seed = 1;
  int rounds = 2;      ///< calls of every entry
  int64_t threads = 1; ///< of each rank
  std::string
      weights; ///< a file with `parameters`; empty: random ones, written to a file and read from there
  const NamedValues *parameters = nullptr;
  std::string runner; ///< runs everything once more, by another process (Runner.h); bits must be the same
};

/// The largest error of any output or state in `bounds.roundings` interpreter runs that round every result up
/// or down at random, as `relativeError`: how far rounding alone may carry the program. Infinite where a
/// result is not finite. Nothing is compiled.
Result<double> roundingError(mlir::ModuleOp step, const ExecutionJudgement &judgement);

/// Choices of a program (of experts) that rounding to 16 bits may turn.
struct TurnedChoices {
  int64_t all = 0, close = 0;
  double error = 0; ///< the largest of any output or state, as `relativeError`, in runs that take the close
                    ///< ones either way, the closest one at least
};

/// Compiles a copy of `step`, runs it on its mesh and compares it with the interpreter on the module as it
/// is. Failure where it does not compile or run. Where close choices may turn by rounding, what both ways
/// make is allowed. `turned`: filled of programs with 16-bit floats.
Result<std::vector<Difference>> judgeExecution(mlir::ModuleOp step, const ExecutionJudgement &judgement,
                                               TurnedChoices *turned = nullptr);

} // namespace tessera
#endif
