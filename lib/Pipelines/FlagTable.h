//===- FlagTable.h - CompileOptions.td ---------------------------*- C++ -*-===//
#ifndef TESSERA_LIB_PIPELINES_FLAGTABLE_H
#define TESSERA_LIB_PIPELINES_FLAGTABLE_H

#include "tessera/Pipelines/CompileOptions.h"

#include "llvm/Option/OptTable.h"

namespace tessera {

enum FlagId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "CompileOptions.inc"
#undef OPTION
};

const llvm::opt::OptTable &flagTable();

/// `--cpu`, ...: the flags of all targets, which are not in the table.
std::vector<std::string> targetFlags();

} // namespace tessera
#endif
