// The objects of the CPU's driver. An address of its memory is an address of the host.
#ifndef TESSERA_RUNTIME_CPU_CPUDEVICE_H
#define TESSERA_RUNTIME_CPU_CPUDEVICE_H

#include "tessera/runtime/core/Memory.h"
#include "tessera/runtime/cpu/GatheredBlocks.h"
#include "tessera/runtime/cpu/GroupedGemm.h"
#include "tessera/runtime/device/Device.h"

#include <deque>
#include <optional>

namespace tessera::runtime {

class CpuStream;

struct CpuModule final : Module {
  const ts_kernel *kernels;
};

// A product whose weight may come in pieces, `stride` bytes from one to the next.
struct CpuWeightProduct : Product {
  std::optional<GatheredBlocks> gathered;
  int64_t stride = 0;
};

struct CpuProduct final : CpuWeightProduct {
  explicit CpuProduct(Gemm gemm) : gemm(std::move(gemm)) {}
  Gemm gemm;
};

struct CpuGroupedProduct final : CpuWeightProduct {
  explicit CpuGroupedProduct(GroupedGemm gemm) : gemm(std::move(gemm)) {}
  GroupedGemm gemm;
};

struct CpuWeightLayout final : WeightLayout {
  explicit CpuWeightLayout(const ParamSpec &spec);
  std::optional<PackedLayout> pack;  // if `packed`, and not in blocks
  std::optional<BlockWeight> blocks; // of what is held in blocks
  // What the ranks' layers are together: `pieces` along each dimension.
  GatheredBlocks gathered(const Shape &pieces) const;

private:
  Shape shape, local;
  int64_t outDims = 0;
};

// A place among the tasks posted to a stream; all else is done when the call returns.
class CpuEvent final : public Event {
public:
  void wait() override;

private:
  friend class CpuStream;
  CpuStream *stream_ = nullptr;
  uint64_t place_ = 0;
};

class CpuDevice final : public Device {
public:
  explicit CpuDevice(const DeviceOptions &options) : pool_(options.pool), entry_(options.entry) {}

  Buffer allocate(size_t bytes, const std::string &what, MemoryUse use) override;
  HostBuffer allocateHost(size_t bytes, const std::string &what) override;
  std::unique_ptr<Stream> createStream(StreamKind kind) override;
  std::unique_ptr<Event> createEvent() override;
  std::unique_ptr<Module> load(const ts_program &program) override;
  std::unique_ptr<Product> createProduct(const MatmulSpec &spec, const WeightLayout *layout) override;
  void store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
             const float *rows) override;
  float *storeInPlace(const WeightLayout &layout, void *weight, int64_t begin) override;
  void storeBlocks(const WeightLayout &layout, io::DType type, void *weight, int64_t begin, int64_t count,
                   const BlockRows &rows) override;
  bool worksInCalls() const override { return true; }
  void *view(const void *address) override { return const_cast<void *>(address); }

private:
  friend class CpuStream;
  friend class CpuEvent;
  void release(void *address, size_t bytes) override;
  void releaseHost(void *data, size_t bytes) override { release(data, bytes); }
  // One more step of work done: the watch sees it.
  void progress() {
    entry_.progress.store(entry_.progress.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // The weight of `product` in one: as it was given, or put together. Until the next call.
  const void *wholeWeight(const CpuWeightProduct &product, const void *given);
  // Goes on with the tasks of all streams until `stream` has done its first `place`.
  void finish(CpuStream &stream, uint64_t place);

  ThreadPool &pool_;
  BoardEntry &entry_;
  Memory whole_;                  // of the largest weight that comes in pieces
  std::vector<CpuStream *> busy_; // streams with tasks that have begun and are not done
};

// Work runs within the call that gives it. Only tasks posted to a stream for communication go on beside
// others: whenever the host waits for them or launches something.
class CpuStream final : public Stream {
public:
  CpuStream(CpuDevice &device, StreamKind kind) : device_(device), kind_(kind) {}
  ~CpuStream() override;

  void launch(Module &module, const Launch &launch) override;
  void multiply(Product &product, const ProductOperands &operands) override;
  void gather(const WeightLayout &layout, const void *w, const int32_t *ids, int64_t base, int64_t rows,
              void *out) override;
  void pack(const WeightLayout &layout, const void *plain, void *packed) override;
  void copy(void *dst, const void *src, size_t bytes) override;
  void upload(void *dst, const void *host, size_t bytes) override { copy(dst, host, bytes); }
  void download(void *host, const void *src, size_t bytes) override { copy(host, src, bytes); }
  void fill(void *dst, uint8_t byte, size_t bytes) override;
  void post(std::unique_ptr<StreamTask> task) override;
  void record(Event &event) override;
  void wait(Event &event) override;
  void synchronize() override;
  Device &device() override { return device_; }

private:
  friend class CpuDevice;
  friend class CpuEvent;
  // What comes next may run now: this stream's own tasks are done, and the watch sees a step.
  void begin() {
    if (!device_.busy_.empty())
      beginBesideTasks();
    device_.progress();
  }
  void beginBesideTasks();
  // Goes on with the first task; takes it out once it is done.
  void advance(bool mayBlock);

  CpuDevice &device_;
  StreamKind kind_;
  std::deque<std::unique_ptr<StreamTask>> tasks_;
  uint64_t posted_ = 0, done_ = 0;
};

} // namespace tessera::runtime
#endif
