// Ops by expert on the CPU.
#ifndef TESSERA_TARGET_CPU_EXPERTFORMS_H
#define TESSERA_TARGET_CPU_EXPERTFORMS_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// top_k, dispatch, expert_linear, combine, expert_outer and chosen_dot -> launches of kernels with the
/// vectors of `unit`.
void addExpertForms(LibraryForms &forms, const VectorUnit &unit);

} // namespace tessera

#endif
