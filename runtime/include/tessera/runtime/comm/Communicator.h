// Collectives between the ranks of a program. Two implementations with one contract and one conformance suite
// (runtime/test): ranks that are threads of one process (comm/host) and MPI processes (comm/mpi).
//
// Every rank calls the same collectives in the same order. Results are deterministic: sums run in the order
// of the ranks in the group, so every rank, every run and both implementations give the same bits.
#ifndef TESSERA_RUNTIME_COMM_COMMUNICATOR_H
#define TESSERA_RUNTIME_COMM_COMMUNICATOR_H

#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Manifest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

class Communicator {
public:
  virtual ~Communicator() = default;
  int64_t rank() const { return rank_; }
  int64_t ranks() const { return ranks_; }

  // Makes the groups of `manifest` known; called once, by every rank, before the first run().
  virtual void prepare(const Manifest &manifest) = 0;

  // manifest.collectives[id], with src and dst as in abi.h, not null. Only all_reduce may run in place. Cost per rank, G
  // ranks in the group, B bytes of src: about 2 B (G-1)/G read and written for all_reduce, B (G-1) for all_gather,
  // B (G-1)/G for reduce_scatter and all_to_all, B for collective_permute, what it lacks for grouped_send; two synchronizations.
  virtual void run(int32_t id, const void *src, void *dst) = 0;

  // Of all ranks.
  virtual void barrier() = 0;
  virtual void broadcast(void *data, size_t bytes, int64_t root) = 0;
  // dst (root only): the ranks' blocks of `bytes` one after another.
  virtual void gather(const void *src, size_t bytes, void *dst, int64_t root) = 0;

protected:
  int64_t rank_ = 0, ranks_ = 1;
};

// Says on the board that `rank` waits in `where`, until the end of the scope.
class WaitingScope {
public:
  WaitingScope(BoardEntry &entry, int32_t where) : entry_(entry) {
    entry.where.store(where, std::memory_order_relaxed);
    entry.activity.store(int32_t(Activity::Waiting), std::memory_order_relaxed);
  }
  ~WaitingScope() {
    entry_.progress.store(entry_.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    entry_.activity.store(int32_t(Activity::Working), std::memory_order_relaxed);
  }

private:
  BoardEntry &entry_;
};

// The ranks of one process. Create one world, then one communicator for each rank's thread.
class HostWorld;
std::shared_ptr<HostWorld> createHostWorld(int64_t ranks, Board &board);
std::unique_ptr<Communicator> createHostCommunicator(std::shared_ptr<HostWorld> world, int64_t rank);

} // namespace tessera::runtime
#endif
