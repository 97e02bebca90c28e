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

  /// Bytes of a rank at each time that something may run, and behind all. Ops that are null, and those behind
  /// the end of `chosen`, are left out with what they make and read: what is there without them is there with
  /// them.
  llvm::ArrayRef<double> of(llvm::ArrayRef<const PlacementDecision *> chosen);
  /// The largest of them.
  double most(llvm::ArrayRef<const PlacementDecision *> chosen);

  /// The times from which to which a value is there in some sharding, whatever is chosen.
  std::pair<int, int> lifeOf(int value) const;
  int times() const { return end + 1; }

  /// A rank's part of a value that is made in `sharding`.
  static double of(const ProgramValue &value, const Sharding &sharding);
  /// What a reshard of the value to `needed` makes.
  static double ofCopy(const ProgramValue &value, const Sharding &needed, const Machine &machine);

private:
  /// Who reads a value: an op's operand, or somebody outside.
  struct Reader {
    int at, op, operand;
    const Sharding *outside; ///< or none
  };
  /// A value in one sharding.
  struct Copy {
    const Sharding *sharding;
    int first, last;
  };
  struct Value {
    int at = -1, producer = -1, result = -1;
    llvm::SmallVector<Reader, 4> readers; ///< in order
  };
  void add(int first, int last, double bytes);

  const PlacementProgram &program;
  const Machine &machine;
  int end = 0; ///< the time behind all ops
  std::vector<Value> values;
  std::vector<double> bytes;
  llvm::SmallVector<Copy, 4> copies; ///< of the value at hand
};

} // namespace tessera
#endif
