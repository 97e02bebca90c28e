// Attention on the CPU.
#ifndef TESSERA_TARGET_CPU_ATTENTIONFORM_H
#define TESSERA_TARGET_CPU_ATTENTIONFORM_H

#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// attention -> a launch of the kernel of AttentionKernel.h, with vectors of `lanes` float32 elements.
void addAttentionForm(LibraryForms &forms, unsigned lanes);

} // namespace tessera

#endif
