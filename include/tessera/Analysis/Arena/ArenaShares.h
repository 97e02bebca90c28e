//===- ArenaShares.h - What the bytes of an arena are for -------*- C++ -*-===//
#ifndef TESSERA_ANALYSIS_ARENA_ARENASHARES_H
#define TESSERA_ANALYSIS_ARENA_ARENASHARES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tessera {

/// A buffer, and how early its kind comes in the order in which bytes are counted.
struct ArenaClaim {
  int64_t offset = 0, bytes = 0;
  unsigned rank = 0; ///< 0: first
};

/// Buffers that live at different times share bytes. Each byte counts once, for the claim of the lowest rank
/// that covers it (of equal ranks the first in `claims`). Returns the bytes that count for each claim.
llvm::SmallVector<int64_t> shareArena(llvm::ArrayRef<ArenaClaim> claims);

} // namespace tessera
#endif
