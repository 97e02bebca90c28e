// Collectives of GPU ranks over NCCL, in the order of streams: nothing here waits for anything but at the
// start. docs/Nccl.md.
//
// All collectives that a rank starts go to one stream of the communicator's own, in the order of the program:
// NCCL hangs where ranks start collectives of several groups in different orders, since each holds its stream
// until all members have come. Events tie that stream to those of the program. Messages go along channels,
// each with a stream of its own: one that waits for its other end holds up what comes behind it in its
// channel, and nothing else. Those of pairs without a channel, and of calls, wait for what comes next that is
// no message, and then go together.
#ifndef TESSERA_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H
#define TESSERA_RUNTIME_COMM_NCCL_NCCLCOMMUNICATOR_H

#include "CollectiveMarks.h"
#include "DeviceBoxes.h"
#include "NcclLibrary.h"
#include "tessera/runtime/comm/Communicator.h"

#include <map>
#include <mutex>
#include <string>

namespace tessera::runtime {

class NcclCommunicator : public Communicator {
public:
  // `entry`: this rank's, of the board. Opens NCCL, where there is more than one rank.
  NcclCommunicator(int64_t rank, int64_t ranks, BoardEntry &entry);
  ~NcclCommunicator() override;

  void setGroups(std::vector<RankGroup> groups) override;
  void setChannels(std::vector<Channel> channels) override { channels_ = std::move(channels); }
  void announce(const Transfers &transfers, io::DType type) override;
  void attach(Stream &stream, HostPlane &plane) override;

  bool messagesHaveNames() const override { return false; }
  CommToken start(const BlockCollective &collective, const void *src, void *dst, Stream &stream,
                  int32_t where) override;
  CommToken start(const Transfers &transfers, int64_t group, io::DType type, const void *src, void *dst,
                  Stream &stream, int32_t where) override;
  CommToken send(int64_t peer, int64_t tag, const void *src, size_t bytes, Stream &stream,
                 int32_t where) override;
  CommToken receive(int64_t peer, int64_t tag, void *dst, size_t bytes, Stream &stream,
                    int32_t where) override;
  void wait(CommToken token, Stream &stream) override;
  void expectAllWaitedFor() override;
  void beginCall(Stream &stream) override;
  void endCall() override { inCall_ = false; }
  void endEntry(Stream &stream) override;

  // For the watch, on its thread: tells the board what the GPU is at. Throws Error if NCCL says that
  // something failed, some ticks after it did: whoever watches the processes finds a better reason sooner.
  void show();
  // Ends what is on the GPU for ever; nothing of the object works afterwards. Any thread.
  void abort();

private:
  struct Group {
    RankGroup ranks;
    nccl::ncclComm_t comm = nullptr; // null: of one member
  };
  // Something started, until it is waited for.
  struct Flight {
    int64_t number = 0, uses = 0;
    bool open = false, isMessage = false;
    int32_t where = NoCollective;
    cuda::CUevent begun = nullptr, done = nullptr;
  };
  // This rank's end of a channel. The communicator has two ranks: who sends, who receives.
  struct ChannelEnd {
    nccl::ncclComm_t comm = nullptr;
    cuda::CUstream stream = nullptr;
  };
  struct Message {
    Flight *flight;
    bool sends;
    int64_t peer;
    char *data;
    size_t bytes;
  };

  void split(HostPlane &plane);
  void openChannels(cuda::NativeStream &owner, int priority);
  void give(const ChannelEnd &end, bool sends, char *data, size_t bytes);
  cuda::CUstream native(Stream &stream) const;
  Flight &acquire(int32_t where);
  Flight &started(CommToken token);
  static CommToken tokenOf(const Flight &flight) { return flight.uses << 20 | flight.number; }
  // The program's stream has come to `flight`, and the communicator's own waits for that; and the other way
  // round.
  void begin(Flight &flight, Stream &stream);
  void end(Flight &flight);
  void reserveStaging(const Transfers &transfers, io::DType type, Stream &stream);
  void allocateStaging(cuda::NativeStream &owner, size_t bytes);
  CommToken message(bool sends, int64_t peer, int64_t tag, const void *data, size_t bytes, Stream &stream,
                    int32_t where);
  void flushMessages();
  void giveBlocks(const BlockCollective &collective, const Group &group, const char *src, char *dst);
  void giveRows(const BlockCollective &collective, const Group &group, const char *src, char *dst);
  void giveTransfers(const Transfers &transfers, size_t elementBytes, const char *src, char *dst);
  void copyBox(const char *src, char *dst, const BoxCopy &box);
  void copy(char *dst, const char *src, size_t bytes);
  void check(nccl::ncclResult_t result) const;
  void check(cuda::CUresult result) const;
  std::string name(int32_t where) const;

  BoardEntry &entry_;
  const NcclLibrary *nccl_ = nullptr;
  const cuda::Functions *cuda_ = nullptr; // null until attach()
  cuda::CUcontext context_ = nullptr;
  cuda::CUdevice device_ = 0;
  cuda::CUstream stream_ = nullptr;
  nccl::ncclComm_t world_ = nullptr;
  std::vector<nccl::ncclComm_t> comms_; // all but world_
  std::vector<Group> groups_;
  std::vector<Channel> channels_;
  std::map<Channel, ChannelEnd> ends_;
  size_t stagingBytes_ = 0;
  cuda::CUdeviceptr staging_ = 0;          // of boxes that are not contiguous, of one collective at a time
  std::unique_ptr<CollectiveMarks> marks_; // of collectives
  std::unique_ptr<CollectiveMarks> waits_; // of messages that a stream of the program waits for
  bool inCall_ = false;

  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<Flight *> free_;
  std::vector<Message> messages_; // that have not been given to NCCL
  int32_t now_ = NoCollective;    // for messages of errors
  int64_t open_ = 0;

  std::mutex watched_; // of what show() and abort() look at
  bool aborted_ = false;
  int64_t failedTicks_ = 0;
};

} // namespace tessera::runtime
#endif
