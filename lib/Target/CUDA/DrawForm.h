//===- DrawForm.h - drawing tokens on a GPU ---------------------*- C++ -*-===//
#ifndef TESSERA_LIB_TARGET_CUDA_DRAWFORM_H
#define TESSERA_LIB_TARGET_CUDA_DRAWFORM_H

#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// draw -> a kernel in which a block draws a row.
void addCUDADrawForm(LibraryForms &forms);

} // namespace tessera
#endif
