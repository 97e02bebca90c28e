#include "Interruption.h"

#include <csignal>

namespace tessera::runtime {

static volatile std::sig_atomic_t asked = 0;

static void onSignal(int signal) { asked = signal; }

void watchForInterruption(const Launcher &launcher) {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  if (launcher.size == 1)
    sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  if (launcher.size == 1 && sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) {
    action.sa_flags |= SA_RESETHAND; // whoever presses Ctrl-C twice does not want to wait
    sigaction(SIGINT, &action, nullptr);
    action.sa_flags = SA_RESTART;
  }
  // What mpirun hands on in time, and batch systems send.
  sigaction(SIGUSR1, &action, nullptr);
}

bool isInterrupted() { return asked != 0; }

int interruptionStatus() { return 128 + asked; }

void watchForCtrlC(const Launcher &launcher) {
  asked = 0;
  if (launcher.size != 1)
    return;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESETHAND; // the second one in a turn ends the process
  sigaction(SIGINT, &action, nullptr);
}

} // namespace tessera::runtime
