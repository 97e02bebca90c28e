// One rank's end of a communicator: what an ncclComm_t stands for.
#ifndef TESSERA_TEST_STANDIN_NCCL_COMMUNICATOR_H
#define TESSERA_TEST_STANDIN_NCCL_COMMUNICATOR_H

#include "../../../runtime/cuda/api/Nccl.h"
#include "Segment.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

namespace standin::nccl {

class Run;

class Communicator {
public:
  // One after another; all ranks may go through each before any goes through the next, so that one thread can
  // make several of them in a group. `world`: the communicator that it was split from, or null.
  Communicator(std::string name, int ranks, int rank, std::shared_ptr<Communicator> parent);
  void arrive();
  // Returns what is wrong with the devices of the ranks, or an empty string.
  std::string complete();

  // ncclCommSplit: says what this rank wants; then, after all have said it, the new communicator or null.
  void announceSplit(int color, int key);
  static std::shared_ptr<Communicator> split(const std::shared_ptr<Communicator> &parent, int color, int key);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const std::string &name() const { return name_; }
  Segment &segment() { return *segment_; }
  // In the first communicator, whose segment holds what all ranks wait for.
  Segment &world() { return *world_; }
  int worldRank(int rank) const { return worldRanks_[size_t(rank)]; }

  // Runs go on one at a time, in the order in which streams came to them.
  void enter(Run *run);
  bool first(Run *run);
  void leave(Run *run);

  std::atomic<uint64_t> collectives{0}; // that streams came to
  std::atomic<int64_t> given{0};        // to streams and not captured: neither done nor dropped
  std::atomic<bool> aborted{false}, finalized{false}, destroyed{false};
  tessera::nccl::CUstream stream = nullptr; // of the last call
  std::string lastError;

private:
  std::string name_;
  int ranks_, rank_;
  std::shared_ptr<Communicator> parent_;
  std::shared_ptr<Segment> segment_, world_;
  std::vector<int> worldRanks_;
  uint64_t splits_ = 0;
  std::mutex mutex_;
  std::deque<Run *> active_;
};

// Text of a number of up to 16 hexadecimal digits that nobody else draws.
std::string drawName();

} // namespace standin::nccl
#endif
