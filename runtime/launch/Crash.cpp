// Signals that end a process without a word get one.
#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/SignalText.h"
#include "tessera/runtime/io/LostPages.h"
#include "tessera/runtime/launch/Launch.h"

#include <csignal>
#include <unistd.h>

namespace tessera::runtime {

static Board *crashBoard = nullptr;
static const CollectiveNames *crashNames = nullptr;

void setCrashBoard(Board *board, const CollectiveNames *names) {
  crashBoard = board;
  crashNames = names;
}

static void onCrash(int signal, siginfo_t *info, void *) {
  if (!claimEnd()) // another thread is at it
    for (;;)
      pause();
  // One that a process sent has no address.
  const char *lost = signal == SIGBUS && info->si_code > 0 ? io::lostPageMessage(info->si_addr) : nullptr;
  if (crashBoard && !crashBoard->claimReport()) // another process is
    _exit(1);
  SignalText line;
  line.add("error: ");
  if (lost) { // no fault of the program's
    line.add(lost);
    line.add("\n");
  } else {
    int64_t rank = currentRank();
    if (rank >= 0) {
      line.add("rank ");
      line.add(rank);
      line.add(" crashed (");
    } else {
      line.add("the program crashed (");
    }
    line.add(crashBoard && rank >= 0 ? crashNames->name(crashBoard->entry(rank).whereInAll())
                                     : "before any step");
    line.add(
        signal == SIGBUS ? "): a bus error: was a file cut short while it was read? check it, and the disk\n"
        : signal == SIGSEGV ? "): a segmentation fault in generated code or the runtime; please report it\n"
        : signal == SIGILL  ? "): an instruction this CPU lacks; compile with --cpu=NAME of this machine\n"
                            : "): an arithmetic fault; please report it\n");
  }
  line.print();
  _exit(1);
}

void installCrashHandlers() {
  // On a stack of their own: the crash may be the stack's end. Other threads crash on their own stacks, which
  // are whole.
  static char stack[64 << 10];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = onCrash;
  action.sa_flags =
      SA_SIGINFO | SA_ONSTACK; // a crash in the handler itself ends the process: the signal is blocked
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    sigaction(signal, &action, nullptr);
}

} // namespace tessera::runtime
