// Streams and events: the order of work on a device.
//
// A stream runs what it is given one after another, some time after the call that gave it. Streams of a
// device run side by side; a stream waits for another by an event. Addresses of device memory are opaque: a
// caller adds offsets to them and hands them on, and never reads there (the driver `checked` of the test tree
// hands out addresses that cannot be read).
//
// What a call is given by reference (buffers of a launch, scalars) it copies before it returns; host memory
// of upload() and download() has to live until the stream has passed the call. Errors of work that has begun
// are thrown as Error by the call itself or by a later one that waits. Of one thread: the rank's main thread.
#ifndef TESSERA_RUNTIME_DEVICE_STREAM_H
#define TESSERA_RUNTIME_DEVICE_STREAM_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

class Device;
class Module;
class Product;
class WeightLayout;

// A place in a stream. May be recorded again and again: waits then mean the last place.
class Event {
public:
  virtual ~Event() = default;
  // The host waits until the stream has passed the place. Returns at once where nothing was recorded.
  virtual void wait() = 0;
};

// Bytes that a task touches.
struct MemoryAccess {
  enum Kind : int32_t { Read = 1, Write = 2, Update = 3 }; // Write: all of them, whatever was there
  const void *address;
  size_t bytes;
  Kind kind;
  bool reads() const { return kind & Read; }
  bool writes() const { return kind & 2; }
};

// Work that the host does in the order of a stream, piece by piece: a collective of a communicator whose
// messages the host drives. Runs where Device::view of its addresses may be used.
class StreamTask {
public:
  virtual ~StreamTask() = default;
  // Goes on as far as it can; true once all is done, and it is not called again. Must not wait for other
  // ranks unless `mayBlock`: then nothing else of this rank can go on meanwhile, and the thread may sleep. It
  // may always return false. Called by one thread at a time, not always the same.
  virtual bool advance(bool mayBlock) = 0;
  // Device memory of this rank that it touches, for drivers that look for missing waits.
  virtual std::vector<MemoryAccess> accesses() const { return {}; }
  // Work may go on beside the stream from the end of one task to the end of another: what this one begins,
  // and what it waits for (keys that the tasks agree on). What such work touches are the accesses of the task
  // that begins it.
  struct Flight {
    const void *begins = nullptr, *ends = nullptr;
  };
  virtual Flight flight() const { return {}; }
  // "collective 3": for messages.
  virtual std::string name() const { return "a task of the host"; }
};

// One fused loop over [0, count); any partition gives the same result.
struct Launch {
  int32_t kernel;         // of the module
  void *const *buffers;   // as many as the module says
  const int64_t *scalars; // as many as the module says
  int64_t count;
  int64_t grain; // least iterations worth a thread
};

// The arrays of a product.
struct ProductOperands {
  const void *x, *w; // w: one layer in the product's layout
  void *y;
  const void *bias = nullptr, *addend = nullptr; // where the product has them; the addend may be y
  const int32_t *starts = nullptr; // of a product by group: [groups + 1], where each one's rows begin
};

class Stream {
public:
  virtual ~Stream() = default;

  virtual void launch(Module &module, const Launch &launch) = 0;
  // y = function(x . w^T + addend + bias) as `product` says.
  virtual void multiply(Product &product, const ProductOperands &operands) = 0;
  // Rows of a weight [N, K] held in `layout`: out[i, :] = w[ids[i] - base, :], zeros where that is outside
  // [0, N).
  virtual void gather(const WeightLayout &layout, const void *w, const int32_t *ids, int64_t base,
                      int64_t rows, void *out) = 0;

  // One layer of a variable, packed as `layout` says, from its plain rows.
  virtual void pack(const WeightLayout &layout, const void *plain, void *packed) = 0;

  // Device to device, host to device, device to host. Source and destination do not overlap.
  virtual void copy(void *dst, const void *src, size_t bytes) = 0;
  virtual void upload(void *dst, const void *host, size_t bytes) = 0;
  virtual void download(void *host, const void *src, size_t bytes) = 0;
  virtual void fill(void *dst, uint8_t byte, size_t bytes) = 0;

  virtual void post(std::unique_ptr<StreamTask> task) = 0;

  virtual void record(Event &event) = 0;
  // What is given to this stream from now on runs after the place of `event` (as recorded now, on any stream
  // of the device).
  virtual void wait(Event &event) = 0;
  // The host waits until all that was given to the stream is done.
  virtual void synchronize() = 0;

  virtual Device &device() = 0;
};

} // namespace tessera::runtime
#endif
