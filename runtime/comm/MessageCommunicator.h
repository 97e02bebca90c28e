// Collectives over messages: each is a few rounds of messages with arithmetic between. Whoever waits for one
// goes on with all that this rank has started, so that no order of waiting on different ranks makes them wait
// for each other.
#ifndef TESSERA_RUNTIME_COMM_MESSAGECOMMUNICATOR_H
#define TESSERA_RUNTIME_COMM_MESSAGECOMMUNICATOR_H

#include "Transport.h"
#include "tessera/runtime/comm/Communicator.h"

#include <atomic>
#include <mutex>

namespace tessera::runtime {

class Operation;

class MessageCommunicator final : public Communicator {
public:
  // `entry`: this rank's, of the board.
  MessageCommunicator(std::unique_ptr<Transport> transport, int64_t rank, int64_t ranks, BoardEntry &entry);
  ~MessageCommunicator() override;

  void setGroups(std::vector<RankGroup> groups) override;
  CommToken start(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
                  int32_t where) override;
  CommToken start(const Transfers &transfers, int64_t group, io::DType type, const void *src, void *dst,
                  Stream &stream, int32_t where) override;
  CommToken start(const RowExchange &exchange, const void *src, const int32_t *counts, void *dst,
                  Stream &stream, int32_t where) override;
  CommToken send(int64_t peer, int64_t tag, const void *src, size_t bytes, Stream &stream,
                 int32_t where) override;
  CommToken receive(int64_t peer, int64_t tag, void *dst, size_t bytes, Stream &stream,
                    int32_t where) override;
  void wait(CommToken token, Stream &stream) override;
  size_t waitForAny(const std::vector<CommToken> &tokens, Stream &stream, int32_t where) override;
  void progress() override;
  void expectAllWaitedFor() override;
  void run(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
           int32_t where) override;

private:
  friend class BeginTask;
  friend class EndTask;
  struct Group {
    RankGroup ranks;
    uint32_t started = 0; // collectives on it
  };

  Operation &acquire(int32_t where);
  Operation &prepare(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
                     int32_t where);
  uint32_t nextTag(int64_t group);
  Operation &started(CommToken token);
  // Operation::advance, and says so where the operation ends.
  bool goOn(Operation &operation);
  // Goes on with all that has begun, then says whether `operation` is done; if it is, gives it back.
  bool advance(Operation &operation);
  CommToken message(bool sends, int64_t peer, int64_t tag, const void *src, void *dst, size_t bytes,
                    Stream &stream, int32_t where);
  bool end(Operation &operation, bool mayBlock);

  std::unique_ptr<Transport> transport_;
  BoardEntry &entry_;
  std::vector<Group> groups_;
  std::mutex mutex_; // of all below
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation *> free_, running_,
      draining_; // running: begun and not waited for yet; draining: sent from copies that are still read
  int64_t waitedFor_ = 0, startedInAll_ = 0;
  std::atomic<int64_t> begun_{0}; // and not ended
};

} // namespace tessera::runtime
#endif
