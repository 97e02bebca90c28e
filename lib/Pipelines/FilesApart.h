//===- FilesApart.h - What is read stays as it is ---------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_FILESAPART_H
#define TESSERA_LIB_PIPELINES_FILESAPART_H

#include "tessera/Pipelines/CompileOptions.h"

namespace tessera {

/// Fails if a file that the options have written (-o, --report, rungs) is one that they have read: of the
/// model, --pipeline=FILE or
/// --machine=FILE, under whatever name; and if two are one file.
Status checkFilesApart(const CompileOptions &options);

} // namespace tessera
#endif
