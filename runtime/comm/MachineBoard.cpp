#include "MachineBoard.h"
#include "tessera/runtime/core/Error.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

// Processes with equal names can see each other's memory segments and process ids.
namespace {
struct MachineName {
  char text[192] = {};
};
} // namespace

static MachineName machineName() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat segments = {}, processes = {};
  stat("/dev/shm", &segments);
  stat("/proc/self/ns/pid", &processes);
  // TESSERA_MACHINE tells ranks of one machine apart, for tests of what happens between machines.
  const char *given = getenv("TESSERA_MACHINE");
  MachineName name;
  snprintf(name.text, sizeof(name.text), "%s %lx %lx %lx %s", boot.c_str(), (unsigned long)segments.st_dev,
           (unsigned long)segments.st_ino, (unsigned long)processes.st_ino, given ? given : "");
  return name;
}

// Of all processes on this machine one reports the end of the run, as long as their board is there.
static Board *electionBoard = nullptr;

void MachineBoard::findMachines(HostPlane &plane) {
  MachineName mine = machineName();
  size_t ranks = size_t(plane.ranks());
  std::vector<MachineName> names(ranks);
  plane.gather(&mine, sizeof(mine), names.data(), 0);
  plane.broadcast(names.data(), names.size() * sizeof(MachineName), 0);
  auto same = [&](size_t a, size_t b) { return strcmp(names[a].text, names[b].text) == 0; };
  for (size_t r = 0; r < ranks; ++r) {
    bool seen = false;
    for (size_t s = 0; s < r; ++s)
      seen |= same(s, r);
    if (!seen)
      firsts_.push_back(int64_t(r));
    if (same(r, size_t(plane.rank())))
      machine_.push_back(int64_t(r));
  }
  sizes_.resize(firsts_.size());
  for (size_t i = 0; i < firsts_.size(); ++i)
    for (size_t r = 0; r < ranks; ++r)
      sizes_[i] += same(r, size_t(firsts_[i]));
}

MachineBoard::MachineBoard(HostPlane &plane) {
  findMachines(plane);
  // The first rank of each machine makes the segment; all learn all names.
  struct SegmentName {
    char text[64] = {};
  } name;
  std::optional<SharedSegment> segment; // until all have it
  size_t ranks = size_t(plane.ranks()), bytes = Board::bytesFor(plane.ranks());
  if (machine_[0] == plane.rank()) {
    segment.emplace(bytes);
    snprintf(name.text, sizeof(name.text), "%s", segment->name().c_str());
  }
  std::vector<SegmentName> names(ranks);
  plane.gather(&name, sizeof(name), names.data(), 0);
  plane.broadcast(names.data(), names.size() * sizeof(SegmentName), 0);
  board_ = std::make_unique<Board>(plane.ranks(), SharedSegment::map(names[size_t(machine_[0])].text, bytes));
  BoardEntry &entry = board_->entry(plane.rank());
  entry.pid = getpid();
  entry.activity = int32_t(Activity::Working);
  electionBoard = board_.get();
  setReportElection([] { return electionBoard->claimReport(); });
  plane.barrier(); // every entry of this machine is filled
}

MachineBoard::~MachineBoard() { setReportElection(nullptr); }

} // namespace tessera::runtime
