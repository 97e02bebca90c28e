// Attention on the CPU.
#ifndef TESSERA_TARGET_CPU_ATTENTIONFORM_H
#define TESSERA_TARGET_CPU_ATTENTIONFORM_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// attention -> a launch of the kernel of AttentionKernel.h, with the vectors of `unit`.
void addAttentionForm(LibraryForms &forms, const VectorUnit &unit);

} // namespace tessera

#endif
