#include "TcpHeartbeats.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace tessera::runtime {

TcpHeartbeats::TcpHeartbeats(const TcpPlane &plane, MachineBoard &board)
    : board_(board.board()), rank_(plane.rank()), here_(size_t(plane.ranks())) {
  for (int64_t rank : board.machine())
    here_[size_t(rank)] = true;
  const std::vector<int> &sockets = plane.heartbeatSockets();
  for (size_t peer = 0; peer < sockets.size(); ++peer)
    if (sockets[peer] >= 0) // rank 0 tells of all, each other one of itself
      links_.push_back({sockets[peer],
                        rank_ == 0 ? int64_t(peer) : 0,
                        std::vector<Heartbeat>(rank_ == 0 ? 1 : size_t(plane.ranks())),
                        {}});
  // Ranks of other machines have started too, whether or not they live to say so.
  for (int64_t rank = 0; rank < plane.ranks(); ++rank)
    if (!here_[size_t(rank)])
      board_.entry(rank).activity = int32_t(Activity::Working);
}

void TcpHeartbeats::tick() {
  for (Link &link : links_)
    receive(link);
  for (Link &link : links_)
    send(link);
}

TcpHeartbeats::Heartbeat TcpHeartbeats::heartbeatOf(int64_t rank) {
  BoardEntry &entry = board_.entry(rank);
  return {entry.progressInAll(), entry.beat, int32_t(entry.activityInAll()), entry.whereInAll()};
}

void TcpHeartbeats::apply(int64_t rank, const Heartbeat &heartbeat) {
  if (here_[size_t(rank)])
    return;
  BoardEntry &entry = board_.entry(rank);
  entry.progress = heartbeat.progress;
  entry.beat = heartbeat.beat;
  entry.activity = heartbeat.activity;
  entry.where = heartbeat.where;
}

void TcpHeartbeats::receive(Link &link) {
  size_t bytes = link.in.size() * sizeof(Heartbeat);
  for (;;) {
    ssize_t count = recv(link.socket, reinterpret_cast<char *>(link.in.data()) + link.received,
                         bytes - link.received, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) // nothing yet, or nothing any more
      return;
    link.received += size_t(count);
    if (link.received < bytes)
      continue;
    link.received = 0;
    for (size_t i = 0; i < link.in.size(); ++i)
      apply(link.first + int64_t(i), link.in[i]);
  }
}

void TcpHeartbeats::send(Link &link) {
  if (link.out.empty()) {
    std::vector<Heartbeat> told;
    for (int64_t rank = 0; rank < board_.ranks(); ++rank)
      if (rank_ == 0 || rank == rank_)
        told.push_back(heartbeatOf(rank));
    link.out.resize(told.size() * sizeof(Heartbeat));
    memcpy(link.out.data(), told.data(), link.out.size());
  }
  ssize_t count = ::send(link.socket, link.out.data(), link.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count > 0)
    link.out.erase(link.out.begin(), link.out.begin() + count);
}

} // namespace tessera::runtime
