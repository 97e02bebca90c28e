// Signals that ask a run to end: training saves before, generating says what it did.
#ifndef TESSERA_RUNTIME_APP_INTERRUPTION_H
#define TESSERA_RUNTIME_APP_INTERRUPTION_H

#include "tessera/runtime/launch/Launch.h"

namespace tessera::runtime {

constexpr int interruptedStatus = 143; // of a training run, whatever signal asked it to end

// From now on SIGTERM ends a run that is one process at once, with one line and status 143; so does SIGHUP,
// which says that the terminal is gone, with 129, and Ctrl-C with 130. Background jobs ignore Ctrl-C, and
// nohup ignores SIGHUP: we leave that so. For what has nothing to finish: loading, measuring. The functions
// below take over from this.
void endAtSignals(const Launcher &launcher);
// From now on SIGTERM and SIGHUP ask a run that is one process to end, and so does the first Ctrl-C (SIGINT;
// a second one ends it at once). Under a launcher SIGUSR1 asks: mpirun hands it on, while it kills all
// processes a second after it hands SIGTERM on. There the watch keeps SIGTERM.
void watchForInterruption(const Launcher &launcher);
// Whether this process was asked. Ranks have to agree on it.
bool isInterrupted();
// What a shell says of a process that the signal ended: 130 of Ctrl-C.
int interruptionStatus();
// Whether Ctrl-C asked: who pressed it knows why the run ends.
bool isCtrlC();
// Of a run that is one process: from now on the next Ctrl-C stops what is going on (isInterrupted). Called
// again it waits for another, and forgets those that came before.
void watchForCtrlC(const Launcher &launcher);

} // namespace tessera::runtime
#endif
