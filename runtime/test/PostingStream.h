// A stream and a device for code that only communicates: what is posted runs at once, addresses are those of
// the host.
#ifndef TESSERA_RUNTIME_TEST_POSTINGSTREAM_H
#define TESSERA_RUNTIME_TEST_POSTINGSTREAM_H

#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/Device.h"

#include <cstdlib>
#include <cstring>

namespace tessera::runtime {

class PostingDevice final : public Device {
public:
  Buffer allocate(size_t bytes, const std::string &, MemoryUse) override {
    return Buffer(*this, calloc(1, bytes + 1), bytes);
  }
  HostBuffer allocateHost(size_t, const std::string &what) override { refuse(what); }
  std::unique_ptr<Stream> createStream(StreamKind) override { refuse("a stream"); }
  std::unique_ptr<Event> createEvent() override { refuse("an event"); }
  std::unique_ptr<Module> load(const ts_program &) override { refuse("a program"); }
  std::unique_ptr<Product> createProduct(const MatmulSpec &, const WeightLayout *) override {
    refuse("a product");
  }
  void store(const WeightLayout &, void *, int64_t, int64_t, const float *) override { refuse("a weight"); }
  void *view(const void *address) override { return const_cast<void *>(address); }
  [[noreturn]] static void refuse(const std::string &what) {
    throw Error("cannot compute", what, "this device only communicates", "open one that computes");
  }

protected:
  void release(void *address, size_t) override { free(address); }
  void releaseHost(void *, size_t) override {}
};

class PostingStream final : public Stream {
public:
  void launch(Module &, const Launch &) override { PostingDevice::refuse("a launch"); }
  void multiply(Product &, const ProductOperands &) override { PostingDevice::refuse("a product"); }
  void gather(const WeightLayout &, const void *, const int32_t *, int64_t, int64_t, void *) override {
    PostingDevice::refuse("rows of a weight");
  }
  void pack(const WeightLayout &, const void *, void *) override { PostingDevice::refuse("a packed weight"); }
  void copy(void *dst, const void *src, size_t bytes) override { memcpy(dst, src, bytes); }
  void upload(void *dst, const void *host, size_t bytes) override { memcpy(dst, host, bytes); }
  void download(void *host, const void *src, size_t bytes) override { memcpy(host, src, bytes); }
  void fill(void *, uint8_t, size_t) override { PostingDevice::refuse("a fill"); }
  void post(std::unique_ptr<StreamTask> task) override {
    posted = task->accesses();
    while (!task->advance(/*mayBlock=*/true)) {
    }
  }
  void record(Event &) override {}
  void wait(Event &) override {}
  void synchronize() override {}
  Device &device() override { return device_; }

  std::vector<MemoryAccess> posted; // what the last task said that it touches

private:
  PostingDevice device_;
};

} // namespace tessera::runtime
#endif
