// Gradients of attention on the CPU.
#ifndef TESSERA_TARGET_CPU_ATTENTIONGRADIENTFORM_H
#define TESSERA_TARGET_CPU_ATTENTIONGRADIENTFORM_H

#include "tessera/Target/CPU/TargetInfo.h"
#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// attention_query_gradient and attention_key_value_gradient -> launches of kernels of their own, with the
/// vectors of `unit`.
void addAttentionGradientForms(LibraryForms &forms, const VectorUnit &unit);

} // namespace tessera

#endif
