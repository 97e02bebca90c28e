//===- LiveBytes.h - What a rank has at once of a program's values -*- C++ -*-===//
//
// What ops make is there from the op that makes it to the last that reads it so, or reshards it; what a
// reshard makes, from the first op that reads it so to the last. Given values are there however ops run: they
// count only as what reshards make of them. Nothing is fused here, and places are not packed: that is the
// arena's (docs/Arena.md), which decides.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_AUTOPARALLEL_LIVEBYTES_H
#define TESSERA_LIB_AUTOPARALLEL_LIVEBYTES_H

#include "tessera/AutoParallel/ProgramPlacement.h"

namespace tessera {

class LiveBytes {
public:
  LiveBytes(const PlacementProgram &program, const Machine &machine);

  /// Bytes of a rank while each op runs, and behind the last. Ops that are null, and those behind the end of
  /// `chosen`, are left out with what they make and read: what is there without them is there with them.
  llvm::ArrayRef<double> of(llvm::ArrayRef<const PlacementDecision *> chosen);
  /// The largest of them.
  double most(llvm::ArrayRef<const PlacementDecision *> chosen);

  /// The ops from which to which a value is there in some sharding, whatever is chosen.
  std::pair<int, int> lifeOf(int value) const;

  /// A rank's part of a value that is made in `sharding`.
  static double of(const ProgramValue &value, const Sharding &sharding);
  /// What a reshard of the value to `needed` makes.
  static double ofCopy(const ProgramValue &value, const Sharding &needed, const Machine &machine);

private:
  /// Who reads a value: an op's operand, or somebody outside before op number `at`.
  struct Reader {
    int at, operand;
    const Sharding *outside; ///< none: the op. Else `operand` only tells readers apart
  };
  /// A value in one sharding.
  struct Copy {
    const Sharding *sharding;
    int first, last;
  };
  struct Value {
    int producer = -1, result = -1;
    llvm::SmallVector<Reader, 4> readers; ///< in order
  };
  void add(int first, int last, double bytes);

  const PlacementProgram &program;
  const Machine &machine;
  std::vector<Value> values;
  std::vector<double> bytes;
  llvm::SmallVector<Copy, 4> copies; ///< of the value at hand
};

} // namespace tessera
#endif
