// The commands generate and chat, from the command line to the exit status.
#ifndef TESSERA_RUNTIME_APP_GENERATECOMMAND_H
#define TESSERA_RUNTIME_APP_GENERATECOMMAND_H

#include "Options.h"
#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/launch/Launch.h"

namespace tessera::runtime {

// Both return the status to exit with.
int generate(const ts_program &program, const Manifest &manifest, Options &options, const Launcher &launcher);
int chat(const ts_program &program, const Manifest &manifest, const Options &options,
         const Launcher &launcher);

} // namespace tessera::runtime
#endif
