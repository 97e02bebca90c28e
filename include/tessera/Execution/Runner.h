//===- Runner.h - Calls by a command of its own -----------------*- C++ -*-===//
#ifndef TESSERA_EXECUTION_RUNNER_H
#define TESSERA_EXECUTION_RUNNER_H

#include "tessera/runtime/run/ProgramRun.h"

namespace tessera {

/// Runs `calls` of a library by `command LIBRARY CALLS OUT [WEIGHTS]` in place of this process: run-program
/// under a launcher, or one with another driver. `command` is split at spaces, `{ranks}` in it is the number
/// of ranks. The calls with what they gave: once, or as often as OUT.* say that something else came out.
/// Fails with the command's first line of errors.
Result<std::vector<std::vector<runtime::ProgramCall>>>
runByCommand(const std::string &command, const std::string &library, int64_t ranks,
             const std::string &weights, const std::vector<runtime::ProgramCall> &calls);

} // namespace tessera
#endif
