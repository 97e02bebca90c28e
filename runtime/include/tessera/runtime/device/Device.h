// The device layer: all that the runtime asks of what computes. A driver implements it (docs/Drivers.md);
// Rank, loading, Session and the app speak to nothing else. One device a rank, one memory space a device.
#ifndef TESSERA_RUNTIME_DEVICE_DEVICE_H
#define TESSERA_RUNTIME_DEVICE_DEVICE_H

#include "tessera/runtime/abi.h"
#include "tessera/runtime/comm/HostPlane.h"
#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/core/ThreadPool.h"
#include "tessera/runtime/device/Stream.h"
#include "tessera/runtime/io/BlockLayout.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// Memory of a device, zero at first, 64-byte aligned; given back with the object. Must not outlive its
// device.
class Buffer {
public:
  Buffer() = default;
  Buffer(Device &device, void *address, size_t bytes) : device_(&device), address_(address), bytes_(bytes) {}
  ~Buffer() { reset(); }
  Buffer(Buffer &&other) noexcept { *this = std::move(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  char *address() const { return static_cast<char *>(address_); }
  size_t bytes() const { return bytes_; }

private:
  void reset();
  Device *device_ = nullptr;
  void *address_ = nullptr;
  size_t bytes_ = 0;
};

// Memory of the host from which and to which a device copies while the host goes on (pinned, where a device
// asks for it).
class HostBuffer {
public:
  HostBuffer() = default;
  HostBuffer(Device &device, void *data, size_t bytes) : device_(&device), data_(data), bytes_(bytes) {}
  ~HostBuffer() { reset(); }
  HostBuffer(HostBuffer &&other) noexcept { *this = std::move(other); }
  HostBuffer &operator=(HostBuffer &&other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  template <typename T> T *as() const { return static_cast<T *>(data_); }
  size_t bytes() const { return bytes_; }

private:
  void reset();
  Device *device_ = nullptr;
  void *data_ = nullptr;
  size_t bytes_ = 0;
};

// The kernels of a program, ready to launch.
class Module {
public:
  virtual ~Module() = default;
  // Once, before anything is launched: of kernels that have several forms the driver may try which one is
  // faster, on memory that nothing uses yet, which is zero and is so on return. Every rank calls it.
  virtual void tune(const Buffer &arena) {}
};

// One matrix product of the manifest, ready to run: what a library prepares it prepares here, not at the
// first call.
class Product {
public:
  virtual ~Product() = default;
};

// How a driver holds one layer of a parameter. A weight of products is a matrix [rows, columns] that the
// driver may pack as it likes; other parameters are plain, row-major. The same for all ranks of a program;
// needs no device (`info` asks for bytes).
class WeightLayout {
public:
  virtual ~WeightLayout() = default;
  io::DType type = io::DType::F32;
  int64_t rows = 1, columns = 1;  // of the local shard
  bool packed = false;            // not addressable by generated code
  int64_t bytes = 0;              // of one layer as held
  std::vector<int64_t> eachBytes; // of each layer, where layers differ or may: in blocks; one: of all
  int64_t rowBlock = 1;           // Device::store takes rows from multiples of this on
};

// Rows of a layer that is held in blocks, as a file has them.
struct BlockRows {
  const std::vector<io::BlockHeader::Chunk> &chunks; // of the columns; `place` is that in the file's rows
  const uint8_t *const *rows;                        // null: padding
};

enum class MemoryUse { Arena, Weights };

// Bytes [begin, end) from the base of a call.
struct ByteSpan {
  int64_t begin = 0, end = 0;
};

// One call of an entry, or of several in turn.
struct Call {
  const std::vector<int64_t> &entries;
  char *base;
  const std::vector<int64_t>
      &counts; // of their loops: with the entries, the base and the slots, all that the work depends on
  const std::vector<ByteSpan>
      &dead; // from `base`: what holds no value before the call, neither states nor inputs
  const std::function<void()> &enqueue; // gives the entries' work to the streams
  std::string_view name = "an entry";   // "decode", "decode, draw": for messages
  std::array<char *, kSlots> slots{};   // what stands in place of the first bytes of the arena
};

class Device {
public:
  virtual ~Device() = default;

  // Throws Error naming `what` where there is not that much.
  virtual Buffer allocate(size_t bytes, const std::string &what, MemoryUse use) = 0;
  virtual HostBuffer allocateHost(size_t bytes, const std::string &what) = 0;
  // Bytes of its memory that came into use since it was opened, whoever took them; -1: not known.
  virtual int64_t usedBytes() { return -1; }

  virtual std::unique_ptr<Stream> createStream(StreamKind kind) = 0;
  virtual std::unique_ptr<Event> createEvent() = 0;
  virtual std::unique_ptr<Module> load(const ts_program &program) = 0;
  // `layout`: of the weight; null: plain rows given at run time.
  virtual std::unique_ptr<Product> createProduct(const MatmulSpec &spec, const WeightLayout *layout) = 0;

  // Once for each program, after its products were created and before anything is computed: the driver may
  // try them out on memory that nothing uses yet, which is zero and is so on return. Every rank calls it.
  virtual void tuneProducts(const Buffer &arena, const Buffer &weights) {}

  // Rows [begin, begin + count) of a layer at `weight`, from row-major host memory that may be used again on
  // return, rounded to the layout's type. Any thread; different rows at once. Streams see them after
  // finishStores().
  virtual void store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                     const float *rows) = 0;
  // The same for a plain layout, without floats in between: `write` puts rows [first, first + count) of the
  // layer at `out`, as the layout holds them; it is called for all of them before this returns. False: this
  // device takes them through store().
  using WriteRows = std::function<void(int64_t first, int64_t count, void *out)>;
  virtual bool storeRows(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                         const WriteRows &write) {
    return false;
  }
  // A place in device memory where the rows of a plain float32 layout can be written straight away, past
  // store(); null if there is none.
  virtual float *storeInPlace(const WeightLayout &layout, void *weight, int64_t begin) { return nullptr; }
  // Rows of a layer that is held in blocks of `type`. The memory is zero before. Any thread; different rows
  // at once.
  virtual void storeBlocks(const WeightLayout &layout, io::DType type, void *weight, int64_t begin,
                           int64_t count, const BlockRows &rows);
  // All layers of a parameter in a plain layout, made up by the device itself, by a kernel of `module`.
  // False: this device takes them through the calls above. The rank's main thread.
  virtual bool storeRandom(Module &module, const WeightLayout &layout, int64_t layers, void *weight,
                           const RandomRows &rows) {
    return false;
  }
  virtual void finishStores() {}

  // Runs entries: their work is given to streams on return. A driver may record the work of the first call
  // and replay it.
  virtual void call(const Call &call, Stream &compute) { call.enqueue(); }
  // Work is done within the call that gives it, by the thread that calls: what is beside it goes on only if
  // that thread sees to it.
  virtual bool worksInCalls() const { return false; }

  // How many steps of a text the host may give to the streams before it reads what the first of them chose:
  // as many as it takes to keep the device at work. 0: one after another. The same for all ranks, which make
  // the same calls.
  virtual int64_t stepsAhead() const { return 0; }

  // Where a StreamTask on a stream of this device may read and write device memory while it advances; null if
  // the host never can.
  virtual void *view(const void *address) = 0;

protected:
  friend class Buffer;
  friend class HostBuffer;
  virtual void release(void *address, size_t bytes) = 0;
  virtual void releaseHost(void *data, size_t bytes) = 0;
};

inline void Buffer::reset() {
  if (device_)
    device_->release(address_, bytes_);
}
inline void HostBuffer::reset() {
  if (device_)
    device_->releaseHost(data_, bytes_);
}

struct DeviceOptions {
  int64_t rank;
  ThreadPool &pool;  // the rank's threads; the device may use them within calls of the rank's main thread
  BoardEntry &entry; // counts what is done: the watch looks there
  HostPlane *plane = nullptr; // all ranks open a device with theirs; null: there is one rank
  int64_t expectedBytes = 0;  // that the rank will hold in all (DeviceMemory), for messages; 0: unknown
};

// A kind of device.
class Driver {
public:
  virtual ~Driver() = default;
  virtual const char *name() const = 0;
  // The manifest's "target" of programs that it runs.
  virtual const char *target() const = 0;
  // What carries data between its devices: "host", messages that the host drives (StreamTask), or the name of
  // a library that works on the streams themselves. World::connects asks for it.
  virtual const char *fabric() const { return "host"; }
  // Reads the target's section (Manifest::section). Throws Error where it says something that this driver
  // does not know, and where the program cannot run on this machine.
  virtual void checkMachine(const Manifest &manifest) const = 0;
  // What the section asks of the machine and that has not, in words for a line; empty: nothing, or nobody
  // knows. Of several versions of a program the runtime takes one for which it is empty.
  virtual std::string missing(const Manifest &manifest) const { return ""; }
  // Throws Error where this machine has no device of this kind. May open libraries.
  virtual void findDevices() const {}
  // Which kind of machine the section says, for `info`: "znver5". Empty: it says nothing.
  virtual std::string compiledFor(const Manifest &manifest) const = 0;
  // What multiplies bfloat16 on this machine, for `info`: "AMX". Empty: the driver does not say.
  virtual std::string bfloat16Unit() const { return ""; }
  // Once, before any thread is started.
  virtual void prepareProcess() const {}
  // First on every thread of a rank.
  virtual void prepareThread() const {}
  // Throws Error for a parameter that this kind of device cannot hold.
  virtual std::unique_ptr<WeightLayout> layout(const ParamSpec &spec) const = 0;
  // Device memory that a rank of this program takes beside its weights and its arena. Needs no device.
  virtual int64_t workspaceBytes(const Manifest &manifest) const { return 0; }
  // The same for the program's code and what lies within it.
  virtual int64_t codeBytes(const ts_program &program) const { return 0; }
  // Memory of the host that a rank pins while weights come in, at most.
  virtual int64_t pinnedBytes() const { return 0; }
  // All ranks of a program, each for itself.
  virtual std::unique_ptr<Device> open(const DeviceOptions &options) const = 0;
};

// The driver for the manifest's `target` among those this executable is linked with (TESSERA_DRIVERS in
// runtime/CMakeLists.txt). Throws Error if there is none.
const Driver &driverFor(const std::string &target);

// How many of a parameter's local dimensions make up the rows of its layers: those of products say so; others
// have rows along the last one.
int64_t rowDims(const ParamSpec &spec);

} // namespace tessera::runtime
#endif
