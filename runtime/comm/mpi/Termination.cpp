#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/core/SignalText.h"

#include <csignal>

namespace tessera::runtime {

static Board *watchedBoard = nullptr;
static const CollectiveNames *watchedNames = nullptr;
static int64_t selfRank = 0;

static void onTermination(int) {
  Board &board = *watchedBoard;
  for (int64_t r = 0; r < board.ranks(); ++r) {
    BoardEntry &entry = board.entry(r);
    int32_t pid = entry.pid;
    if (r == selfRank || pid == 0 || Activity(entry.activity.load()) == Activity::Finished ||
        !processGone(pid))
      continue;
    if (!board.claimReport())
      break;
    BoardEntry &mine = board.entry(selfRank);
    bool waiting = mine.activityInAll() == Activity::Waiting;
    SignalText line;
    line.add("error: rank ");
    line.add(r);
    line.add(" ended (");
    line.add(watchedNames->name((waiting ? mine : entry).whereInAll()));
    if (waiting) {
      line.add(", in which rank ");
      line.add(selfRank);
      line.add(" waits");
    }
    line.add("): its process ");
    line.add(int64_t(pid));
    line.add(" is gone; look for what killed it\n");
    line.print();
    break;
  }
  _exit(1);
}

TerminationHandler::TerminationHandler(Board &board, const CollectiveNames &names, int64_t self) {
  watchedBoard = &board;
  watchedNames = &names;
  selfRank = self;
  struct sigaction action = {};
  action.sa_handler = onTermination;
  sigaction(SIGTERM, &action, nullptr);
}

TerminationHandler::~TerminationHandler() { signal(SIGTERM, SIG_DFL); }

} // namespace tessera::runtime
