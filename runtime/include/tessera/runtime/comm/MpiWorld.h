// The ranks of an MPI run: this process is one of them. Open MPI 4 (libmpi.so.40), opened at run time.
//
// Data goes point to point (MPI_Isend, MPI_Irecv); the collectives on top are ours, so that sums run in rank
// order and nothing depends on which algorithm MPI picks. Ranks on one machine share a board in a segment of
// shared memory (unlinked as soon as all have it). Entries of ranks on other machines are refreshed by
// heartbeats: the first rank of each machine sends its machine's entries to the first ranks of the others at
// every tick of the watch, on the watch's thread and beside what the rank's own threads do. Only then is MPI
// asked for MPI_THREAD_MULTIPLE; on one machine, where a tick does nothing, one thread at a time calls MPI.
#ifndef TESSERA_RUNTIME_COMM_MPIWORLD_H
#define TESSERA_RUNTIME_COMM_MPIWORLD_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/comm/HostPlane.h"

#include <memory>

namespace tessera::runtime {

class MpiWorld {
public:
  // MPI_Init and the board. Throws Error if MPI is not installed or if it has another number of ranks than
  // `ranks`. `oneMachine`: the launcher says that all ranks run here.
  static std::unique_ptr<MpiWorld> start(int64_t ranks, bool oneMachine);
  virtual ~MpiWorld() = default;

  virtual int64_t rank() const = 0;
  virtual Board &board() = 0;
  virtual Communicator &communicator() = 0;
  virtual HostPlane &plane() = 0;
  // For the watch: sends and receives heartbeats where there are other machines.
  virtual void tick() = 0;
  // MPI_Finalize. The watch must still run before it, and not after it if there are other machines.
  virtual void finish() = 0;
  // Requests of the heartbeats that MPI still holds: none after finish().
  virtual int64_t openRequests() const = 0;
};

// SIGTERM, by which launchers end the other ranks when one died, ends this process with status 1; if a rank
// of this machine is gone and nobody said so yet, with a line that names it and the collective.
class TerminationHandler {
public:
  TerminationHandler(Board &board, const CollectiveNames &names, int64_t self);
  ~TerminationHandler(); // the board is about to go
  TerminationHandler(const TerminationHandler &) = delete;
};

} // namespace tessera::runtime
#endif
