// What a communicator of messages needs of a way to carry them: between threads (comm/host), between MPI
// processes (comm/mpi).
#ifndef TESSERA_RUNTIME_COMM_TRANSPORT_H
#define TESSERA_RUNTIME_COMM_TRANSPORT_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::runtime {

// Messages that travel together. Two ranks' messages with one tag match in the order in which they were
// given; tags below 2^28. Messages of no bytes are not sent: both sides know sizes. Errors are thrown as
// Error.
class MessageBatch {
public:
  virtual ~MessageBatch() = default;

  // `data` stays as it is until delivered().
  virtual void send(int64_t peer, uint32_t tag, const void *data, size_t bytes) = 0;
  virtual void receive(int64_t peer, uint32_t tag, void *into, size_t bytes) = 0;
  // Received wherever that costs least (the sender's own memory); its bytes are at view(number) from
  // arrived() on until releaseViews().
  virtual size_t receiveView(int64_t peer, uint32_t tag, size_t bytes) = 0;
  virtual const void *view(size_t number) = 0;

  // `rows` pieces of `bytes` each, one every `pitch` bytes, as one message where a message costs much in
  // itself. Both sides say rows, or neither.
  virtual void sendRows(int64_t peer, uint32_t tag, const char *data, int64_t rows, size_t pitch,
                        size_t bytes) {
    for (int64_t row = 0; row < rows; ++row)
      send(peer, tag, data + size_t(row) * pitch, bytes);
  }
  virtual void receiveRows(int64_t peer, uint32_t tag, char *into, int64_t rows, size_t pitch, size_t bytes) {
    for (int64_t row = 0; row < rows; ++row)
      receive(peer, tag, into + size_t(row) * pitch, bytes);
  }
  // Views of consecutive numbers.
  virtual void receiveRowViews(int64_t peer, uint32_t tag, int64_t rows, size_t bytes) {
    for (int64_t row = 0; row < rows; ++row)
      receiveView(peer, tag, bytes);
  }

  // True once all that is to be received is there. Does not wait.
  virtual bool arrived() = 0;
  virtual void releaseViews() = 0;
  // True once nobody reads any more what is sent. Does not wait.
  virtual bool delivered() = 0;
  // Ready for other messages. All is delivered, and arrived or never to be waited for.
  virtual void clear() = 0;
};

class Transport {
public:
  virtual ~Transport() = default;
  virtual std::unique_ptr<MessageBatch> makeBatch() = 0;
  // Up to so many bytes, a copy is sent if the sender has to wait otherwise.
  virtual size_t copiedBytes() const = 0;
  // Changes when something may have happened. Read it, look, and if nothing was there, idle.
  virtual uint32_t news() = 0;
  // Returns once news() differs from `seen`, or earlier; `turn` counts calls in vain.
  virtual void idle(uint32_t seen, int64_t turn) = 0;
};

} // namespace tessera::runtime
#endif
