#include "TcpPlane.h"
#include "tessera/runtime/core/Error.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

double TcpPlane::patience = 300;

enum class TcpPlane::Call : uint32_t { Barrier = 1, Broadcast, Gather };

namespace {

using Clock = std::chrono::steady_clock;

// What a rank says first.
struct Hello {
  uint64_t magic, run; // of whom it belongs to
  int64_t rank, ranks, channel;
};
constexpr uint64_t kMagic = 0x5445535345524132;

// Before each piece of data.
struct Head {
  uint32_t call;
  uint32_t rank;
  uint64_t bytes;
};

uint64_t digestOf(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

// All of it, or an error's text.
std::string sendAll(int socket, const void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count = ::send(socket, static_cast<const char *>(data) + done, bytes - done, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      return strerror(errno);
    done += size_t(std::max<ssize_t>(count, 0));
  }
  return "";
}

std::string receiveAll(int socket, void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t count = ::recv(socket, static_cast<char *>(data) + done, bytes - done, 0);
    if (count == 0)
      return "its connection was closed";
    if (count < 0 && errno != EINTR)
      return strerror(errno);
    done += size_t(std::max<ssize_t>(count, 0));
  }
  return "";
}

void sendSmallAtOnce(int socket) {
  int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

} // namespace

static std::string textOf(const MeetingPlace &meeting) {
  return meeting.host + ":" + std::to_string(meeting.port);
}

static const char portHint[] = "choose another port with TESSERA_MASTER_PORT, the same for all ranks";

TcpPlane::TcpPlane(const MeetingPlace &meeting, int64_t rank, int64_t ranks) : meeting_(meeting) {
  rank_ = rank;
  ranks_ = ranks;
  for (std::vector<int> &sockets : sockets_)
    sockets.assign(size_t(rank == 0 ? ranks : 1), -1);
  if (rank == 0) {
    listen();
    return;
  }
  for (Channel channel : {Data, Heartbeats})
    call(channel);
}

TcpPlane::~TcpPlane() {
  for (const std::vector<int> &sockets : sockets_)
    for (int socket : sockets)
      if (socket >= 0)
        close(socket);
}

bool TcpPlane::welcome(int socket) {
  // A stranger that says nothing must not keep the ranks waiting.
  pollfd ready = {socket, POLLIN, 0};
  Hello hello = {};
  if (poll(&ready, 1, 2000) != 1 || !receiveAll(socket, &hello, sizeof(hello)).empty() ||
      hello.magic != kMagic || hello.run != digestOf(meeting_.run))
    return false;
  if (hello.ranks != ranks_ || hello.rank < 1 || hello.rank >= ranks_ || hello.channel < 0 ||
      hello.channel >= Channels || sockets_[hello.channel][size_t(hello.rank)] >= 0)
    throw Error("cannot start", textOf(meeting_),
                "a process came as rank " + std::to_string(hello.rank) + " of " +
                    std::to_string(hello.ranks) + ", which does not fit the others",
                "start all ranks by one launcher");
  sockets_[hello.channel][size_t(hello.rank)] = socket;
  return true;
}

void TcpPlane::listen() {
  auto failed = [&](const char *what) {
    return Error("cannot start", textOf(meeting_), std::string(what) + ": " + strerror(errno), portHint);
  };
  // Both kinds of addresses, where the machine has both.
  int on = 1, off = 0, listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(uint16_t(meeting_.port));
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(uint16_t(meeting_.port));
  bool both = listener >= 0;
  if (!both)
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0)
    throw failed("no socket can be had");
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (both)
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  auto *address = both ? reinterpret_cast<sockaddr *>(&six) : reinterpret_cast<sockaddr *>(&four);
  if (bind(listener, address, both ? sizeof(six) : sizeof(four)) != 0 || ::listen(listener, 128) != 0) {
    Error error = failed("rank 0 cannot listen there");
    close(listener);
    throw error;
  }
  auto until = Clock::now() + std::chrono::duration<double>(patience);
  for (int64_t come = 0; come < (ranks_ - 1) * Channels;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready = {listener, POLLIN, 0};
    int found = left > 0 ? poll(&ready, 1, int(left)) : 0;
    if (found < 0 && errno == EINTR)
      continue;
    if (found <= 0) {
      int64_t missing = 1;
      while (sockets_[Data][size_t(missing)] >= 0 && sockets_[Heartbeats][size_t(missing)] >= 0)
        ++missing;
      close(listener);
      throw Error("cannot start", textOf(meeting_), "rank " + std::to_string(missing) + " has not come",
                  "look for why it did not start, and whether it can reach this address");
    }
    int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0)
      continue;
    sendSmallAtOnce(socket);
    if (welcome(socket))
      ++come;
    else
      close(socket);
  }
  close(listener);
}

void TcpPlane::call(Channel channel) {
  int &mine = sockets_[channel][0];
  auto until = Clock::now() + std::chrono::duration<double>(patience);
  std::string why;
  do {
    addrinfo hints = {}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    int code = getaddrinfo(meeting_.host.c_str(), std::to_string(meeting_.port).c_str(), &hints, &found);
    why = code != 0 ? gai_strerror(code) : "";
    if (code == EAI_NONAME || code == EAI_FAIL) // waiting makes no name
      throw Error("cannot start", textOf(meeting_), "the host '" + meeting_.host + "' has no address: " + why,
                  "set MASTER_ADDR to the name or address of rank 0's machine");
    for (addrinfo *one = found; one && mine < 0; one = one->ai_next) {
      int socket = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
      if (socket >= 0 && connect(socket, one->ai_addr, one->ai_addrlen) == 0)
        mine = socket;
      else if (why = strerror(errno); socket >= 0)
        close(socket);
    }
    if (found)
      freeaddrinfo(found);
    if (mine < 0) // rank 0 may not listen yet
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (mine < 0 && Clock::now() < until);
  if (mine < 0)
    throw Error("cannot start", textOf(meeting_),
                "rank " + std::to_string(rank_) + " cannot reach rank 0 there: " + why, portHint);
  sendSmallAtOnce(mine);
  Hello hello = {kMagic, digestOf(meeting_.run), rank_, ranks_, channel};
  why = sendAll(mine, &hello, sizeof(hello));
  if (!why.empty())
    lost(0, why);
}

void TcpPlane::lost(int64_t rank, const std::string &why) {
  // Whoever watches processes says more, if it sees that one ended: which collective, and its process.
  if (entry_ != &none_)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  throw Error("lost rank " + std::to_string(rank), textOf(meeting_), why, "look for what ended it");
}

void TcpPlane::send(int64_t to, Call call, const void *data, size_t bytes) {
  Head head = {uint32_t(call), uint32_t(rank_), bytes};
  std::string why = sendAll(socketOf(to), &head, sizeof(head));
  if (why.empty())
    why = sendAll(socketOf(to), data, bytes);
  if (!why.empty())
    lost(to, why);
}

void TcpPlane::receive(int64_t from, Call call, void *data, size_t bytes) {
  Head head = {};
  std::string why = receiveAll(socketOf(from), &head, sizeof(head));
  if (why.empty() && (head.call != uint32_t(call) || head.bytes != bytes))
    throw Error("cannot communicate", "rank " + std::to_string(rank_),
                "rank " + std::to_string(from) + " does something else at start or end",
                "start the same executable with the same arguments everywhere");
  if (why.empty())
    why = receiveAll(socketOf(from), data, bytes);
  if (!why.empty())
    lost(from, why);
}

void TcpPlane::barrier() {
  WaitingScope waiting(*entry_, BarrierCollective);
  if (rank_ != 0) {
    send(0, Call::Barrier, nullptr, 0);
    return receive(0, Call::Barrier, nullptr, 0);
  }
  for (int64_t r = 1; r < ranks_; ++r)
    receive(r, Call::Barrier, nullptr, 0);
  for (int64_t r = 1; r < ranks_; ++r)
    send(r, Call::Barrier, nullptr, 0);
}

void TcpPlane::broadcast(void *data, size_t bytes, int64_t root) {
  WaitingScope waiting(*entry_, BroadcastCollective);
  if (rank_ != 0)
    return rank_ == root ? send(0, Call::Broadcast, data, bytes) : receive(0, Call::Broadcast, data, bytes);
  if (root != 0)
    receive(root, Call::Broadcast, data, bytes);
  for (int64_t r = 1; r < ranks_; ++r)
    if (r != root)
      send(r, Call::Broadcast, data, bytes);
}

void TcpPlane::gather(const void *src, size_t bytes, void *dst, int64_t root) {
  WaitingScope waiting(*entry_, GatherCollective);
  if (rank_ != 0) {
    send(0, Call::Gather, src, bytes);
    if (rank_ == root)
      receive(0, Call::Gather, dst, bytes * size_t(ranks_));
    return;
  }
  // Rank 0 has all of it in between where another wants it.
  std::vector<char> passed(root == 0 ? 0 : bytes * size_t(ranks_));
  char *all = root == 0 ? static_cast<char *>(dst) : passed.data();
  if (bytes > 0)
    memcpy(all, src, bytes);
  for (int64_t r = 1; r < ranks_; ++r)
    receive(r, Call::Gather, all + size_t(r) * bytes, bytes);
  if (root != 0)
    send(root, Call::Gather, all, bytes * size_t(ranks_));
}

} // namespace tessera::runtime
