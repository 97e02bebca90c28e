//===- CloseChoices.h - Choices that rounding may turn ---------*- C++ -*-===//
#ifndef TESSERA_REFERENCE_CLOSECHOICES_H
#define TESSERA_REFERENCE_CLOSECHOICES_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <random>
#include <vector>

namespace tessera {

/// The choices of a program (which experts a token goes to) in several runs of the same calls. A run with
/// other roundings may choose otherwise where elements are close, and what follows is then another number,
/// which no error of rounding bounds. So runs are made that take close choices either way.
class CloseChoices {
public:
  enum class Run {
    Exact,   ///< the first one: how far the choices are from turning
    Rounded, ///< how far rounding moves what is chosen from
    Turned   ///< what is chosen from moves by four times that, up or down at random
  };
  void begin(Run run);
  /// The row of the next choice of this run becomes what its `count` largest elements are chosen from.
  void see(llvm::MutableArrayRef<double> row, int64_t count, std::mt19937_64 &dice);

  int64_t all() const { return int64_t(choices.size()); }
  /// Those that rounding may turn.
  int64_t close() const;
  /// From now on the closest choice counts as close, too.
  void turnClosest();

private:
  struct Choice {
    std::vector<double> row;
    double margin = 0;         ///< by which the last chosen element is larger than the first that is not
    std::vector<double> moved; ///< by rounding, in each run
    double reach = 0;          ///< how far rounding may move an element
    bool isClose() const { return margin <= 2 * reach; }
  };
  std::vector<Choice> choices; ///< in the order in which a run makes them
  Run run = Run::Exact;
  size_t next = 0;
};

} // namespace tessera
#endif
