//===- StepKind.h - The ways in which a value moves on a mesh ---*- C++ -*-===//
#ifndef TESSERA_ANALYSIS_SHARDING_STEPKIND_H
#define TESSERA_ANALYSIS_SHARDING_STEPKIND_H

#include "tessera/runtime/core/Collective.h"

namespace tessera {

/// The kinds of the runtime, and the two that do not communicate. CollectivePermute: devices exchange whole
/// pieces; received == 0: same pieces, only axes of size 1 come or go. GroupedSend: GroupedSends.h.
using StepKind = CollectiveKind;

/// `AG`, `SL`, ...
const char *toString(StepKind kind);

} // namespace tessera
#endif
