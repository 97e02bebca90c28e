// Signals that ask a run to end: training saves before, generating says what it did.
#ifndef TESSERA_RUNTIME_APP_INTERRUPTION_H
#define TESSERA_RUNTIME_APP_INTERRUPTION_H

#include "tessera/runtime/launch/Launch.h"

namespace tessera::runtime {

constexpr int interruptedStatus = 143; // what a shell says of a process that SIGTERM ended

// From now on SIGTERM ends this process, where it is all of the run, at once, with one line and the status
// 143; Ctrl-C with 130. For what has nothing to finish: loading, measuring. The functions below take over.
void endAtSignals(const Launcher &launcher);
// From now on SIGTERM asks for an end, where this process is all of the run, and so does the first SIGINT
// (Ctrl-C; a second one ends the process at once); under a launcher SIGUSR1:
// mpirun hands that on, and kills a second after it hands SIGTERM on. SIGTERM of one process of several stays
// the watch's.
void watchForInterruption(const Launcher &launcher);
// Whether this process was asked. Ranks have to agree on it.
bool isInterrupted();
// What a shell says of a process that the signal ended: 130 of Ctrl-C.
int interruptionStatus();
// Whether the one who asked sits in front of it, and knows why it ends: Ctrl-C.
bool isCtrlC();
// From now on one Ctrl-C stops what is going on (isInterrupted), as often as this is called; what came before
// is forgotten. Where this process is all of the run.
void watchForCtrlC(const Launcher &launcher);

} // namespace tessera::runtime
#endif
