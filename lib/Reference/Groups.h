//===- Groups.h - Ranks and their groups, as the judge counts them -*- C++ -*-===//
//
// The judge's own arithmetic: neither the compiler's (Analysis/Sharding/Mesh) nor the runtime's (core/Mesh),
// so that a mistake in one shows.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_REFERENCE_GROUPS_H
#define TESSERA_LIB_REFERENCE_GROUPS_H

#include "tessera/Analysis/Sharding/Mesh.h"

namespace tessera::judge {

/// The digit `axis` of a rank's number, which counts the mesh's axes row-major.
int64_t digitOf(const Mesh &mesh, const AxisRef &axis, int64_t rank);
/// `rank` with that digit set.
int64_t withDigit(const Mesh &mesh, const AxisRef &axis, int64_t rank, int64_t value);
/// The rank's place in its group over `axes`, the first one major.
int64_t indexOver(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t rank);
/// The member of the rank's group over `axes` with that place.
int64_t memberOver(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t rank, int64_t index);
/// The rank's group, by place.
llvm::SmallVector<int64_t> membersOver(const Mesh &mesh, llvm::ArrayRef<AxisRef> axes, int64_t rank);

} // namespace tessera::judge
#endif
