// What ranks on different machines tell each other's watches, where a launcher like torchrun started them:
// each rank tells rank 0 what its entry of the board says, at every tick of the watch, and rank 0 tells
// everybody what it knows of all. Nothing here waits: what cannot be sent yet goes with a later tick.
#ifndef TESSERA_RUNTIME_COMM_NCCL_TCPHEARTBEATS_H
#define TESSERA_RUNTIME_COMM_NCCL_TCPHEARTBEATS_H

#include "../MachineBoard.h"
#include "TcpPlane.h"

#include <vector>

namespace tessera::runtime {

class TcpHeartbeats {
public:
  // The plane's connections, and the entries of `board` that belong to ranks of other machines.
  TcpHeartbeats(const TcpPlane &plane, MachineBoard &board);

  // On the watch's thread, before it looks. A connection that is closed falls silent, and so does its rank.
  void tick();

private:
  struct Heartbeat {
    uint64_t progress, beat;
    int32_t activity, where;
  };
  struct Link {
    int socket;
    int64_t first; // of the ranks that it tells of
    std::vector<Heartbeat> in;
    std::vector<char> out; // what is left of the last one
    size_t received = 0;   // bytes of `in`
  };
  void receive(Link &link);
  void send(Link &link);
  Heartbeat heartbeatOf(int64_t rank);
  void apply(int64_t rank, const Heartbeat &heartbeat);

  Board &board_;
  int64_t rank_;
  std::vector<bool> here_; // by rank: on this machine, whose memory says it
  std::vector<Link> links_;
};

} // namespace tessera::runtime
#endif
