// Attention on NVIDIA GPUs.
#ifndef TESSERA_LIB_TARGET_CUDA_ATTENTIONFORM_H
#define TESSERA_LIB_TARGET_CUDA_ATTENTIONFORM_H

#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// attention -> a launch of the kernel of AttentionKernel.h, where that has code for its shape.
void addCUDAAttentionForm(LibraryForms &forms);

} // namespace tessera

#endif
