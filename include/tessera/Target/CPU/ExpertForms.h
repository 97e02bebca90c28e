// Ops by expert on the CPU.
#ifndef TESSERA_TARGET_CPU_EXPERTFORMS_H
#define TESSERA_TARGET_CPU_EXPERTFORMS_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// top_k, dispatch, combine, expert_outer and chosen_dot -> launches of kernels with the vectors of `unit`;
/// expert_linear -> exec.matmul by group, on a packed weight (`packs`) where that is a parameter, or,
/// transposed, a kernel.
void addExpertForms(LibraryForms &forms, const VectorUnit &unit, bool packs);

} // namespace tessera

#endif
