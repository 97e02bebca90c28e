//===- SideBySide.h - Functions laid out beside each other ------*- C++ -*-===//
//
// How the loops and blocks of a function run is searched for without what was planned for other functions.
// Nearly all of the time goes into plain data (placeProgram), so functions take threads; the IR, which is not
// for several threads, is touched by one of them at a time.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_SIDEBYSIDE_H
#define TESSERA_LIB_DIALECT_DIST_TRANSFORMS_RESHARD_SIDEBYSIDE_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <mutex>

namespace tessera::dist {

/// Calls `work` with each number below `count`, on at most as many threads as there are cores, and returns
/// when all are done. A call has the IR for itself except where OthersTurn lives. What calls explain comes in
/// the order of their numbers, and what they search counts as this thread's (searchWork), so both are the
/// same on any number of cores. Within a call it may be called again, for which the IR stays with that call.
void sideBySide(size_t count, llvm::function_ref<void(size_t)> work);

/// As long as it lives other calls of `sideBySide` may touch the IR, and this one does not. Nothing
/// elsewhere.
class OthersTurn {
public:
  OthersTurn();
  ~OthersTurn();
  OthersTurn(const OthersTurn &) = delete;

private:
  std::mutex *turn;
};

} // namespace tessera::dist
#endif
