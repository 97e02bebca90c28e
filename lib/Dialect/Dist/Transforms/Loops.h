//===- Loops.h - Region ops that run their regions again ---------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_LOOPS_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_LOOPS_H

#include "tessera/Interfaces/Interfaces.h"

namespace tessera::dist {

/// One iteration hands values on to the next. The regions of others (branches) take nothing.
inline bool isLoop(DataFlowOpInterface flow) {
  return llvm::any_of(flow->getRegions(), [](mlir::Region &region) { return region.getNumArguments() > 0; });
}

} // namespace tessera::dist
#endif
