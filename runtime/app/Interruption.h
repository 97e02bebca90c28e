// Signals that ask a training run to save and end.
#ifndef TESSERA_RUNTIME_APP_INTERRUPTION_H
#define TESSERA_RUNTIME_APP_INTERRUPTION_H

#include "tessera/runtime/launch/Launch.h"

namespace tessera::runtime {

constexpr int interruptedStatus = 143; // what a shell says of a process that SIGTERM ended

// From now on SIGTERM asks for an end, where this process is all of the run, and so does the first SIGINT
// (Ctrl-C; a second one ends the process at once); under a launcher SIGUSR1:
// mpirun hands that on, and kills a second after it hands SIGTERM on. SIGTERM of one process of several stays
// the watch's.
void watchForInterruption(const Launcher &launcher);
// Whether this process was asked. Ranks have to agree on it.
bool isInterrupted();

} // namespace tessera::runtime
#endif
