//===- ValueEnds.h - Who makes a value and who reads it ---------*- C++ -*-===//
#ifndef TESSERA_LIB_AUTOPARALLEL_VALUEENDS_H
#define TESSERA_LIB_AUTOPARALLEL_VALUEENDS_H

#include "tessera/AutoParallel/ProgramPlacement.h"

namespace tessera {

struct ValueEnds {
  int producer = -1, result = -1;                    ///< op and its result; -1: fixed
  llvm::SmallVector<std::pair<int, int>, 4> readers; ///< op, operand
  llvm::SmallVector<const Sharding *, 2> outside;    ///< uses
};

/// Of each value; points into `program`.
std::vector<ValueEnds> endsOf(const PlacementProgram &program);

} // namespace tessera
#endif
