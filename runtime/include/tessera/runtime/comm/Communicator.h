// Communication between the devices of a program's ranks, in the order of streams. Implementations have one
// contract and one conformance suite (runtime/test/CommConformance.h): ranks that are threads of one process
// (comm/host), MPI processes (comm/mpi), ranks on GPUs (comm/nccl).
//
// Only the ranks of a group meet. The members of a group start the same collectives on it, in the same order;
// different groups may come in different orders on different ranks: whoever waits for one collective goes on
// with all that it has started. Results are the same bits on all members of a group, so all ranks decide
// alike; in which order a sum runs is an implementation's own (of those whose messages the host drives: the
// order of the ranks in the group).
//
// Over NCCL (comm/nccl) there is less freedom: all members start what they have in common in one order, over
// all groups, and messages between two ranks arrive in the order in which they were sent, whatever their
// tags (messagesHaveNames). What a call of an entry sends, a call receives.
//
// Work is started and waited for. From the place in the stream where it was started until the place where it
// is waited for, the program neither writes src nor touches dst. Buffers are contiguous, in device memory,
// not null.
#ifndef TESSERA_RUNTIME_COMM_COMMUNICATOR_H
#define TESSERA_RUNTIME_COMM_COMMUNICATOR_H

#include "tessera/runtime/comm/Transfers.h"
#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Collective.h"
#include "tessera/runtime/device/Stream.h"
#include "tessera/runtime/io/DType.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::runtime {

class HostPlane;

// A group that this rank is in: ranks in group order. A group has the same number on all of its members.
struct RankGroup {
  std::vector<int64_t> members;
  int64_t self = 0; // members[self] is this rank
};

// all_reduce, all_gather, reduce_scatter, all_to_all of contiguous blocks. With G members, in group order:
// all_gather puts the members' src one after another; reduce_scatter keeps block `self` of G of the sum;
// all_to_all sends block i of src to member i and puts what comes from member i at block i. Only all_reduce
// may run in place. Blocks of an all_gather or reduce_scatter may have several rows, and the last of them be
// cut off (BlockRows of Collective.h): what reduce_scatter does not have of its block is zero.
struct BlockCollective {
  CollectiveKind kind;
  Reduction reduction;
  io::DType type; // F32, F16, BF16 (summed in float32, rounded once; by NCCL as it likes), I32, I64
  int64_t group;
  int64_t elements; // of src
  int64_t rows = 1, cut = 0;
};

// An all_to_all of rows, of which data says how many go where. With G members, `counts` (i32, device memory)
// has 2 G numbers: counts[i] rows of src go to member i, one member's after the other's; counts[G + i] come
// from member i, and lie so in dst. What one says that it sends the other says that it gets; what a member
// sends itself counts with both. Rows of dst behind those that came are zero. No more travels than rows that
// are there, and nobody asks how many these are: whoever makes the counts knows both sides'.
struct RowExchange {
  io::DType type;
  int64_t group;
  int64_t width;          // elements of a row
  int64_t sent, received; // rows that src, and dst, have room for
};

// A pair of ranks along which messages go.
struct Channel {
  int64_t from = 0, to = 0;
  bool operator<(const Channel &other) const {
    return from != other.from ? from < other.from : to < other.to;
  }
};

// Number of something started, until it is waited for.
using CommToken = int64_t;

// Who is told when what was started is over on this rank, by whatever thread goes on with it. For traces.
class CommunicationObserver {
public:
  virtual ~CommunicationObserver() = default;
  virtual void ended(CommToken token) = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;
  // From now on, between calls of entries; null, as it begins: nobody. Communicators whose devices go on by
  // themselves tell nobody.
  void observe(CommunicationObserver *observer) { observer_ = observer; }
  int64_t rank() const { return rank_; }
  int64_t ranks() const { return ranks_; }

  // Once, before anything is started.
  virtual void setGroups(std::vector<RankGroup> groups) = 0;
  // Before attach(), all ranks the same: the pairs along which the runtime itself sends messages. These wait
  // for nothing but earlier messages of their own pair. Communicators whose messages never wait for others
  // need not know.
  virtual void setChannels(std::vector<Channel> channels) {}

  // Transfers that will be started, before attach(): what they need of the device is made ready there.
  virtual void announce(const Transfers &transfers, io::DType type) {}
  // Once, by all ranks together, when the device is open and before anything is started. `stream`: any of
  // the device's.
  virtual void attach(Stream &stream, HostPlane &plane) {}

  // Whether a receive finds the message with its tag, wherever that stands among those that were sent.
  virtual bool messagesHaveNames() const { return true; }

  // Each of these returns at once. `where`: what the board shows while this rank waits for it
  // (BoardEntry::where).
  //
  // Cost per rank, G members, B bytes of src: about 2 B (G-1)/G read and written for all_reduce, B (G-1) for
  // all_gather, B (G-1)/G for reduce_scatter and all_to_all.
  virtual CommToken start(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
                          int32_t where) = 0;
  // Whole pieces, or boxes of them, between ranks of a group (Transfers.h; it has to live until the wait).
  virtual CommToken start(const Transfers &transfers, int64_t group, io::DType type, const void *src,
                          void *dst, Stream &stream, int32_t where) = 0;
  // Rows by counts, which are read in the order of the stream. Throws Error where the host does not drive
  // messages; the run ends where counts are not those of such an exchange.
  virtual CommToken start(const RowExchange &exchange, const void *src, const int32_t *counts, void *dst,
                          Stream &stream, int32_t where);
  // A message to the rank `peer` (not a place in a group), which receives as many bytes with the same tag (0
  // to kLargestMessageTag). Messages between two ranks with one tag arrive in the order in which they were
  // sent.
  virtual CommToken send(int64_t peer, int64_t tag, const void *src, size_t bytes, Stream &stream,
                         int32_t where = MessageCollective) = 0;
  virtual CommToken receive(int64_t peer, int64_t tag, void *dst, size_t bytes, Stream &stream,
                            int32_t where = MessageCollective) = 0;

  // What is given to `stream` from now on runs after the end of what `token` stands for. Throws Error unless
  // it was started and not yet waited for.
  virtual void wait(CommToken token, Stream &stream) = 0;
  // wait() for one of several, the first whose end is known, by the host; its place among `tokens`, which are
  // at least one. Communicators that cannot look wait for the first.
  virtual size_t waitForAny(const std::vector<CommToken> &tokens, Stream &stream, int32_t where) {
    wait(tokens.front(), stream);
    return 0;
  }
  // Goes on with what was started, as far as it can without waiting: messages that the host drives move only
  // in calls. To be called between pieces of work, where Device::view of their addresses may be used.
  virtual void progress() {}
  // Throws Error, naming the collective, if something was started and not waited for: to be called at the end
  // of an entry.
  virtual void expectAllWaitedFor() = 0;
  // Around a call of entries, whose work goes to `stream` and may be recorded: what was started before must
  // have no part in it, nor what is started behind it.
  virtual void beginCall(Stream &stream) {}
  virtual void endCall() {}
  // The entry whose work went to `stream` has given all of it: who works on streams beside joins them.
  virtual void endEntry(Stream &stream) {}

  // start() and wait() at once.
  virtual void run(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
                   int32_t where) {
    wait(start(collective, src, dst, stream, where), stream);
  }

protected:
  // Throw Error for what no communicator can do: elements that do not divide by the members, types that
  // cannot be added up; a peer that is none, a tag out of range.
  static void checkBlocks(const BlockCollective &collective, int64_t members);
  void checkMessage(int64_t peer, int64_t tag) const;

  int64_t rank_ = 0, ranks_ = 1;
  CommunicationObserver *observer_ = nullptr;
};

// Says on the board that `rank` waits in `where`, until the end of the scope. Whoever was outside before, as
// where ranks agree in the midst of writing files, is so again.
class WaitingScope {
public:
  WaitingScope(BoardEntry &entry, int32_t where)
      : entry_(entry), before_(entry.activity.load(std::memory_order_relaxed)) {
    begin(entry, where);
  }
  ~WaitingScope() {
    end(entry_);
    if (before_ == int32_t(Activity::Outside))
      entry_.activity.store(before_, std::memory_order_relaxed);
  }
  static void begin(BoardEntry &entry, int32_t where) {
    entry.where.store(where, std::memory_order_relaxed);
    entry.activity.store(int32_t(Activity::Waiting), std::memory_order_relaxed);
  }
  static void end(BoardEntry &entry) {
    entry.progress.store(entry.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    entry.activity.store(int32_t(Activity::Working), std::memory_order_relaxed);
  }

private:
  BoardEntry &entry_;
  int32_t before_;
};

// The ranks of one process. Create one world, then one communicator and one plane for each rank's thread.
// Both are of that thread: a communicator's work may be advanced by other threads, one at a time.
class HostWorld;
std::shared_ptr<HostWorld> createHostWorld(int64_t ranks, Board &board);
std::unique_ptr<Communicator> createHostCommunicator(std::shared_ptr<HostWorld> world, int64_t rank);
std::unique_ptr<HostPlane> createHostPlane(std::shared_ptr<HostWorld> world, int64_t rank);

} // namespace tessera::runtime
#endif
