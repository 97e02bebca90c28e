#include "Interruption.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/SignalText.h"

#include <csignal>
#include <unistd.h>

namespace tessera::runtime {

static volatile std::sig_atomic_t asked = 0;

static void onSignal(int signal) { asked = signal; }

static volatile std::sig_atomic_t isOnTerminal = 0; // what this process says goes there

// Nothing here may allocate or wait for a lock.
static void onSignalThatEnds(int signal) {
  if (!claimEnd()) // another thread says why it ends
    for (;;)
      pause();
  SignalText line;
  line.add(isOnTerminal ? "\n" : ""); // behind a progress line, or "^C"
  line.add("error: cannot finish (");
  line.add(signalName(signal));
  line.add("): it was told to end; run it again\n");
  line.print();
  _exit(128 + signal);
}

// Background jobs ignore Ctrl-C, and nohup ignores SIGHUP: we leave that so.
static void handleUnlessIgnored(int signal, const struct sigaction &action) {
  struct sigaction before = {};
  if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(signal, &action, nullptr);
}

void endAtSignals(const Launcher &launcher) {
  if (launcher.size != 1) // SIGTERM of one process of several is the watch's
    return;
  isOnTerminal = isatty(STDERR_FILENO);
  struct sigaction action = {};
  action.sa_handler = onSignalThatEnds;
  sigaction(SIGTERM, &action, nullptr);
  handleUnlessIgnored(SIGHUP, action);
  handleUnlessIgnored(SIGINT, action);
}

void watchForInterruption(const Launcher &launcher) {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  if (launcher.size == 1) {
    sigaction(SIGTERM, &action, nullptr);
    handleUnlessIgnored(SIGHUP, action);
    action.sa_flags |= SA_RESETHAND; // whoever presses Ctrl-C twice does not want to wait
    handleUnlessIgnored(SIGINT, action);
    action.sa_flags = SA_RESTART;
  }
  // What mpirun hands on in time, and batch systems send.
  sigaction(SIGUSR1, &action, nullptr);
}

bool isInterrupted() { return asked != 0; }

int interruptionStatus() { return 128 + asked; }

bool isCtrlC() { return asked == SIGINT; }

void watchForCtrlC(const Launcher &launcher) {
  asked = 0;
  if (launcher.size != 1)
    return;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESETHAND; // the second one in a turn ends the process
  handleUnlessIgnored(SIGINT, action);
}

} // namespace tessera::runtime
