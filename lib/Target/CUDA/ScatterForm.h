// Rows added up where their ids say, as blocks of threads do it.
#ifndef TESSERA_LIB_TARGET_CUDA_SCATTERFORM_H
#define TESSERA_LIB_TARGET_CUDA_SCATTERFORM_H

#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// scatter_add -> a kernel whose iterations make one row of the result each: the ids that are its own are
/// looked for by all threads, and their rows added in the order of the ids, so that the bits hang on nothing
/// else.
void addCUDAScatterAddForm(LibraryForms &forms);

} // namespace tessera

#endif
