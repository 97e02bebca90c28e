// One thing that a rank has started: its messages, and what is left to do.
#ifndef TESSERA_RUNTIME_COMM_OPERATION_H
#define TESSERA_RUNTIME_COMM_OPERATION_H

#include "Transport.h"
#include "tessera/runtime/comm/Communicator.h"

#include <string>
#include <vector>

namespace tessera::runtime {

class Operation {
public:
  Operation(Transport &transport, int64_t number)
      : number(number), copied_(transport.copiedBytes()), batch_(transport.makeBatch()) {}

  // Addresses of device memory.
  void setBlocks(const BlockCollective &collective, const RankGroup &group, uint32_t tag, const void *src,
                 void *dst);
  void setTransfers(const Transfers &transfers, size_t elementBytes, uint32_t tag, const void *src,
                    void *dst);
  void setRows(const RowExchange &exchange, const RankGroup &group, uint32_t tag, const void *src,
               const int32_t *counts, void *dst);
  void setMessage(bool sends, int64_t peer, uint32_t tag, const void *src, void *dst, size_t bytes);

  // Gives the first messages to the transport. Does not wait. Runs where Device::view may be used.
  void begin(Device &device);
  // Device memory that it reads and writes. Before begin().
  std::vector<MemoryAccess> accesses() const;
  std::string name() const; // "collective 3", "a message"

  // Goes on as far as it can. True once dst holds the result and src may be written again.
  bool advance();
  bool isDone() const { return done_; }
  // After the end: nobody reads its copies any more, so that it can be used again.
  bool drained() { return batch_->delivered(); }
  void reset();

  const int64_t number; // among all of the communicator
  int64_t uses = 0;     // tokens of earlier uses are no longer valid
  bool open = false;    // started and not waited for
  bool begun = false, shown = false;
  int32_t where = NoCollective;

private:
  enum class Form { Blocks, Transfers, Rows, Send, Receive };

  void beginBlocks();
  void beginTransfers();
  void beginRows();
  // Throws Error unless the counts are those of an exchange that there is room for.
  void checkCounts() const;
  void afterArrival();
  // The combination of `elements` from `begin` on of all sources. The first other member's are at `view`,
  // the next one's `step` further on.
  void reduceTo(void *dst, int64_t begin, int64_t elements, size_t view = 0, size_t step = 1);
  void finishReduceScatter();
  // What to send from: src, or a copy of it if that is short.
  const char *stable(const char *data, size_t bytes);
  bool peersReadSource() { return !copiedSource_ && !batch_->delivered(); }

  size_t copied_;
  std::unique_ptr<MessageBatch> batch_;
  Form form_ = Form::Blocks;
  uint32_t tag_ = 0;
  const char *src_ = nullptr;
  char *dst_ = nullptr;
  // Blocks.
  BlockCollective collective_{};
  BlockRows blocks_{};
  const RankGroup *group_ = nullptr;
  size_t width_ = 0;
  // Transfers.
  const Transfers *transfers_ = nullptr;
  // Rows.
  RowExchange exchange_{};
  const int32_t *counts_ = nullptr;
  // Messages.
  int64_t peer_ = 0;
  size_t bytes_ = 0;

  int round_ = 0;
  bool arrivedAll_ = false, copiedSource_ = false, done_ = false;
  std::vector<char> copy_, packed_;
  std::vector<const void *> sources_;
};

} // namespace tessera::runtime
#endif
