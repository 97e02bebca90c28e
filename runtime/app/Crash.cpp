// Signals that end a process without a word get one.
#include "Launch.h"
#include "tessera/runtime/core/Board.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace tessera::runtime {

static Board *crashBoard = nullptr;
static const CollectiveNames *crashNames = nullptr;

void setCrashBoard(Board &board, const CollectiveNames &names) {
  crashBoard = &board;
  crashNames = &names;
}

// Text in a fixed buffer: nothing here may allocate or lock.
namespace {
struct Line {
  char text[512];
  size_t size = 0;
  void add(const char *piece) {
    size_t n = strlen(piece);
    if (size + n > sizeof(text))
      n = sizeof(text) - size;
    memcpy(text + size, piece, n);
    size += n;
  }
  void add(int64_t number) {
    char digits[24];
    int n = 0;
    do
      digits[n++] = char('0' + number % 10);
    while (number /= 10);
    for (char piece[2] = {}; n > 0;) {
      piece[0] = digits[--n];
      add(piece);
    }
  }
};
} // namespace

static void onCrash(int signal) {
  if (!crashBoard || crashBoard->claimReport()) {
    Line line;
    line.add("error: ");
    int64_t rank = currentRank();
    if (rank >= 0) {
      line.add("rank ");
      line.add(rank);
      line.add(" crashed (");
    } else {
      line.add("the program crashed (");
    }
    line.add(crashBoard && rank >= 0 ? crashNames->name(crashBoard->entry(rank).where) : "before any step");
    line.add(signal == SIGBUS ? "): a bus error: was the model file cut short while it was read? check it, and the disk\n"
             : signal == SIGSEGV ? "): a segmentation fault in generated code or the runtime; please report it\n"
             : signal == SIGILL  ? "): an instruction this CPU lacks; compile with --cpu=NAME of this machine\n"
                                 : "): an arithmetic fault; please report it\n");
    (void)!write(STDERR_FILENO, line.text, line.size);
  }
  _exit(1);
}

void installCrashHandlers() {
  // On a stack of their own: the crash may be the stack's end. Other threads crash on their own stacks, which are whole.
  static char stack[64 << 10];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = onCrash;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    sigaction(signal, &action, nullptr);
}

} // namespace tessera::runtime
