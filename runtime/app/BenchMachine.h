// OUT bench --machine=FILE: what this machine does, as a file that llm-compile --machine reads
// (docs/Machines.md).
#ifndef TESSERA_RUNTIME_APP_BENCHMACHINE_H
#define TESSERA_RUNTIME_APP_BENCHMACHINE_H

#include "Options.h"
#include "tessera/runtime/launch/Launch.h"

namespace tessera::runtime {

// Measures with all ranks of the program at work at once, and writes options.machineFile. No model is read.
void benchMachine(const ts_program &program, const Manifest &manifest, const Options &options,
                  const Launcher &launcher);

} // namespace tessera::runtime
#endif
