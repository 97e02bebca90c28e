// Host data between processes that nothing but a launcher like torchrun started: two connections from each
// rank to rank 0, one for data, of which rank 0 passes on what others are to have, and one for heartbeats.
// For the start of a run and what is small; data of the program goes over NCCL.
#ifndef TESSERA_RUNTIME_COMM_NCCL_TCPPLANE_H
#define TESSERA_RUNTIME_COMM_NCCL_TCPPLANE_H

#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/comm/World.h"

#include <string>
#include <vector>

namespace tessera::runtime {

class TcpPlane final : public HostPlane {
public:
  // Waits until all ranks have come, some minutes at most. Throws Error naming the address, or the first rank
  // that is missing.
  TcpPlane(const MeetingPlace &meeting, int64_t rank, int64_t ranks);
  ~TcpPlane() override;

  // Until the board exists (its making needs this plane) nobody is watched.
  void setEntry(BoardEntry &entry) { entry_ = &entry; }

  void barrier() override;
  void broadcast(void *data, size_t bytes, int64_t root) override;
  void gather(const void *src, size_t bytes, void *dst, int64_t root) override;

  // The connections of TcpHeartbeats: at rank 0 by rank, at others the one to rank 0. -1: none. They are this
  // object's.
  const std::vector<int> &heartbeatSockets() const { return sockets_[Heartbeats]; }

  // Seconds after which nobody else is waited for, at the start; tests set it.
  static double patience;

private:
  enum class Call : uint32_t;
  enum Channel { Data, Heartbeats, Channels };
  void listen();
  void call(Channel channel);
  bool welcome(int socket); // one that came to rank 0; false: a stranger
  void send(int64_t to, Call call, const void *data, size_t bytes);
  void receive(int64_t from, Call call, void *data, size_t bytes);
  [[noreturn]] void lost(int64_t rank, const std::string &why);
  int &socketOf(int64_t rank) { return sockets_[Data][size_t(rank_ == 0 ? rank : 0)]; }

  const MeetingPlace meeting_;
  std::vector<int> sockets_[Channels]; // rank 0: by rank; others: the one to rank 0
  BoardEntry none_;                    // stands in before setEntry
  BoardEntry *entry_ = &none_;
};

} // namespace tessera::runtime
#endif
