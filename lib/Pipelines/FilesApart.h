//===- FilesApart.h - What is read stays as it is ---------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_FILESAPART_H
#define TESSERA_LIB_PIPELINES_FILESAPART_H

#include "tessera/Pipelines/CompileOptions.h"

namespace tessera {

/// Where --dump-rungs has `rung` written, if it was given.
std::string rungPath(const CompileOptions &options, Rung rung);

/// Fails if a file that the options have written (-o, --report, rungs) is one that they have read (of the
/// model, --pipeline=FILE, --machine=FILE, llm-compile itself) or another one that they have written, under
/// whatever name and also where none is yet.
Status checkFilesApart(const CompileOptions &options);

} // namespace tessera
#endif
