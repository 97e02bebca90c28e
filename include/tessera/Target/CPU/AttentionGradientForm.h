// Gradients of attention on the CPU.
#ifndef TESSERA_TARGET_CPU_ATTENTIONGRADIENTFORM_H
#define TESSERA_TARGET_CPU_ATTENTIONGRADIENTFORM_H

#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// attention_query_gradient and attention_key_value_gradient -> launches of kernels of their own, with
/// vectors of `lanes` float32 elements.
void addAttentionGradientForms(LibraryForms &forms, unsigned lanes);

} // namespace tessera

#endif
