// What the ranks of one process share: mailboxes for each, and a barrier for the host plane.
#ifndef TESSERA_RUNTIME_COMM_HOST_HOSTWORLD_H
#define TESSERA_RUNTIME_COMM_HOST_HOSTWORLD_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/core/Wait.h"

#include <array>
#include <deque>
#include <mutex>

namespace tessera::runtime {

// A message that its receiver has not taken yet. Belongs to the sender, which may use it again once `taken`.
struct Envelope {
  int64_t from = 0;
  uint32_t tag = 0;
  const void *data = nullptr;
  size_t bytes = 0;
  Envelope *next = nullptr;
  std::atomic<bool> taken{true};
};

// A message that somebody waits for. Belongs to the receiver, and stays where it is until the envelope is
// here.
struct PostedReceive {
  int64_t from = 0;
  uint32_t tag = 0;
  size_t bytes = 0;
  void *into = nullptr; // null: read where the sender has it
  PostedReceive *next = nullptr;
  std::atomic<Envelope *> envelope{nullptr};
};

// Where messages to one rank meet those who want them: the first of a sender and tag that came goes to the
// first that asked.
class Mailbox {
public:
  void put(Envelope &envelope);
  void want(PostedReceive &posted);

  WaitWord bell; // rung for everything that its owner may wait for

private:
  template <typename T> struct Chain {
    T *first = nullptr, *last = nullptr;
    void append(T &item);
    T *take(int64_t from, uint32_t tag); // null if there is none
  };
  struct Bucket {
    Chain<Envelope> come;
    Chain<PostedReceive> wanted;
  };
  Bucket &bucket(int64_t from, uint32_t tag) {
    return buckets_[(uint64_t(from) * 0x9E3779B97F4A7C15ull + tag * 0x85EBCA77ull) >> 16 & 63];
  }
  std::mutex mutex_;
  std::array<Bucket, 64> buckets_;
};

// Data of the host up to this size is sent as a copy.
constexpr size_t kNoteBytes = 1024;
struct Note {
  Envelope envelope;
  char data[kNoteBytes];
};

// Everything written before arrive() by any rank is visible to every rank after it.
class Barrier {
public:
  explicit Barrier(int64_t ranks) : given(ranks), ranks_(ranks) {}
  void arrive();
  struct alignas(64) Given {
    const void *data = nullptr;
  };
  std::vector<Given> given; // by rank

private:
  uint64_t ranks_;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  WaitWord generation_;
};

class HostWorld {
public:
  HostWorld(int64_t ranks, Board &board)
      : board(board), ranks(ranks), mailboxes(ranks), notes(ranks), barrier(ranks), written_(ranks) {}
  // A note of `rank` that nobody has still to take. With many on their way it waits for the oldest.
  Note &freeNote(int64_t rank);

  Board &board;
  int64_t ranks;
  std::vector<Mailbox> mailboxes;
  std::vector<Mailbox> notes; // of the host plane, with a bell of their own
  Barrier barrier;

private:
  struct Written { // of one sender, whose thread alone looks here
    std::deque<Note> notes;
    size_t next = 0; // among the notes: about the oldest
  };
  std::vector<Written> written_;
};

} // namespace tessera::runtime
#endif
