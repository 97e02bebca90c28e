// Messages between MPI processes, point to point.
#ifndef TESSERA_RUNTIME_COMM_MPI_MPITRANSPORT_H
#define TESSERA_RUNTIME_COMM_MPI_MPITRANSPORT_H

#include "../Transport.h"
#include "MpiLibrary.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/core/Board.h"

#include <cstddef>
#include <vector>

namespace tessera::runtime {

// Tags of MPI: collectives and messages of the program below, the runtime's own above.
constexpr int mpiPlaneTag = 1 << 27, mpiHeartbeatTag = mpiPlaneTag + 1, mpiLargestTag = mpiHeartbeatTag;

// Requests that are open together. Each call of MPI is one thread at a time (MpiLibrary::mutex).
class MpiRequests {
public:
  explicit MpiRequests(const MpiLibrary &mpi) : mpi_(mpi) {}
  void send(int64_t rank, int tag, const void *data, size_t bytes);
  void receive(int64_t rank, int tag, void *data, size_t bytes);
  // `rows` pieces of `bytes`, one every `pitch` bytes, in one message; the other side says as many rows.
  void sendRows(int64_t rank, int tag, const char *data, int64_t rows, size_t pitch, size_t bytes);
  void receiveRows(int64_t rank, int tag, char *data, int64_t rows, size_t pitch, size_t bytes);
  bool done(); // does not wait
  void wait();

private:
  const MpiLibrary &mpi_;
  std::vector<MpiRequest> requests_;
};

// Lets others run that this process may wait for. No blocking wait: MPI's would burn a core that another rank
// of this machine may need.
void mpiPause(int64_t turn);

std::unique_ptr<Transport> createMpiTransport(const MpiLibrary &mpi);

class MpiPlane final : public HostPlane {
public:
  MpiPlane(const MpiLibrary &mpi, int64_t rank, int64_t ranks) : mpi_(mpi) {
    rank_ = rank;
    ranks_ = ranks;
  }
  // Until the board exists (its making needs this plane) nobody is watched.
  void setEntry(BoardEntry &entry) { entry_ = &entry; }

  void barrier() override;
  void broadcast(void *data, size_t bytes, int64_t root) override;
  void gather(const void *src, size_t bytes, void *dst, int64_t root) override;

private:
  const MpiLibrary &mpi_;
  BoardEntry none_; // stands in before setEntry
  BoardEntry *entry_ = &none_;
};

} // namespace tessera::runtime
#endif
