// The objects of the driver `checked`. What tasks do in the end is done by the CPU's driver, on untagged
// addresses.
#ifndef TESSERA_RUNTIME_TEST_CHECKED_CHECKEDDEVICE_H
#define TESSERA_RUNTIME_TEST_CHECKED_CHECKEDDEVICE_H

#include "CheckedDriver.h"
#include "Executor.h"
#include "Ordering.h"
#include "Space.h"

#include <atomic>

namespace tessera::runtime::checked {

struct CheckedModule final : Module {
  const ts_kernel *kernels;
  uint32_t count;
};

struct CheckedProduct final : Product {
  std::unique_ptr<Product> inner;
  MatmulSpec spec;
  int64_t weightBytes;
};

class CheckedEvent final : public Event {
public:
  explicit CheckedEvent(class CheckedDevice &device) : device_(device) {}
  void wait() override;

private:
  friend class CheckedStream;
  CheckedDevice &device_;
  std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
  Clock clock_;
};

class CheckedDevice final : public Device {
public:
  CheckedDevice(const DeviceOptions &options, uint64_t seed);

  Buffer allocate(size_t bytes, const std::string &what, MemoryUse use) override;
  HostBuffer allocateHost(size_t bytes, const std::string &what) override;
  std::unique_ptr<Stream> createStream(StreamKind kind) override;
  std::unique_ptr<Event> createEvent() override;
  std::unique_ptr<Module> load(const ts_program &program) override;
  std::unique_ptr<Product> createProduct(const MatmulSpec &spec, const WeightLayout *layout) override;
  void store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
             const float *rows) override;
  void storeBlocks(const WeightLayout &layout, io::DType type, void *weight, int64_t begin, int64_t count,
                   const BlockRows &rows) override;
  void finishStores() override { unfinishedStores_ = false; }
  void call(const Call &call, Stream &compute) override;
  int64_t stepsAhead() const override {
    return int64_t(seed_ % 4);
  } // a host that waits, and ones that do not
  void *view(const void *address) override { return space_.find(address, 0, "a task of the host"); }

private:
  friend class CheckedStream;
  friend class CheckedEvent;
  void release(void *address, size_t bytes) override { space_.release(address); }
  void releaseHost(void *data, size_t bytes) override { Memory::free(data, bytes); }

  uint64_t seed_, launches_ = 0;
  std::atomic<bool> unfinishedStores_{false}; // any thread stores
  Space space_;
  Ordering ordering_;
  ThreadPool pool_; // of the thread that runs tasks
  std::unique_ptr<Device> inner_;
  std::unique_ptr<Stream> innerStream_;
  std::map<const void *, int64_t>
      flights_;                      // what goes on beside its stream, and the number it has in Ordering
  std::vector<int64_t> freeFlights_; // numbers to use again
  Executor executor_;                // ends before what its tasks use
};

class CheckedStream final : public Stream {
public:
  explicit CheckedStream(CheckedDevice &device);
  ~CheckedStream() override;

  void launch(Module &module, const Launch &launch) override;
  void multiply(Product &product, const ProductOperands &operands) override;
  void gather(const WeightLayout &layout, const void *w, const int32_t *ids, int64_t base, int64_t rows,
              void *out) override;
  void pack(const WeightLayout &layout, const void *plain, void *packed) override;
  void copy(void *dst, const void *src, size_t bytes) override;
  void upload(void *dst, const void *host, size_t bytes) override;
  void download(void *host, const void *src, size_t bytes) override;
  void fill(void *dst, uint8_t byte, size_t bytes) override;
  void post(std::unique_ptr<StreamTask> task) override;
  void record(Event &event) override;
  void wait(Event &event) override;
  void synchronize() override;
  Device &device() override { return device_; }

private:
  // Whether this access writes memory that no other one of the same task touches: there it may hold NaNs
  // before.
  static bool isFresh(const MemoryAccess &access, const std::vector<MemoryAccess> &all);
  // Untags what the task touches, checks that it is ordered, and gives it to the executor.
  void give(const std::string &what, std::vector<MemoryAccess> accesses,
            std::function<void(const std::vector<char *> &)> run);

  CheckedDevice &device_;
  int64_t ordered_, queue_; // number of this stream in Ordering, in Executor
};

} // namespace tessera::runtime::checked
#endif
