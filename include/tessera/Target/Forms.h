//===- Forms.h - Forms that several targets share ---------------*- C++ -*-===//
//
// They need no more than the ops of dialect `exec` and kernel functions
// (tessera/Dialect/Exec/IR/KernelFunction.h), so that every target whose pipeline lowers those can take them.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_TARGET_FORMS_H
#define TESSERA_TARGET_FORMS_H

#include "tessera/Target/LibraryForm.h"

namespace tessera {

/// Products of matrices (MatrixProduct.h) -> exec.matmul on a plain weight. Products of at most `tileRows`
/// rows are tiles instead and fuse with their neighbours: what they take is the time to read the weight.
void addMatmulForm(LibraryForms &forms, int64_t tileRows = 0);
/// The same on a packed weight where that is a parameter, embedding out of a packed table ->
/// exec.gather_packed.
void addPackedWeightForms(LibraryForms &forms);
/// cache_update -> a kernel of its own that writes the new rows in place. Without it the op is tiles.
void addCacheUpdateForm(LibraryForms &forms);
/// scatter_add -> a kernel that several threads can share.
void addScatterAddForm(LibraryForms &forms);
/// draw -> a kernel in which one thread draws a row.
void addDrawForm(LibraryForms &forms);

} // namespace tessera
#endif
