// Streams and events of a GPU.
#ifndef TESSERA_RUNTIME_CUDA_CUDASTREAM_H
#define TESSERA_RUNTIME_CUDA_CUDASTREAM_H

#include "CudaDevice.h"

namespace tessera::runtime {

class CudaEvent final : public Event {
public:
  explicit CudaEvent(CudaDevice &device);
  ~CudaEvent() override;
  void wait() override;
  cuda::CUevent handle() const { return event_; }
  // Recorded while an entry was: the number of that recording. 0: recorded as it is.
  uint64_t recording() const { return recording_; }
  void setRecording(uint64_t number) { recording_ = number; }

private:
  CudaDevice &device_;
  uint64_t recording_ = 0;
  cuda::CUevent event_ = nullptr;
};

class CudaStream final : public Stream, public cuda::NativeStream {
public:
  CudaStream(CudaDevice &device, StreamKind kind);
  ~CudaStream() override;

  void launch(Module &module, const Launch &launch) override;
  void multiply(Product &product, const ProductOperands &operands) override;
  // Parameters are plain here: kernels read their rows, and there is no second form to make.
  void gather(const WeightLayout &layout, const void *w, const int32_t *ids, int64_t base, int64_t rows,
              void *out) override;
  void pack(const WeightLayout &layout, const void *plain, void *packed) override;
  void copy(void *dst, const void *src, size_t bytes) override;
  void upload(void *dst, const void *host, size_t bytes) override;
  void download(void *host, const void *src, size_t bytes) override;
  void fill(void *dst, uint8_t byte, size_t bytes) override;
  // The host waits for the stream, then does the task to its end: the host reaches no memory of the GPU, so
  // that only tasks without any come here. Ranks talk over NCCL.
  void post(std::unique_ptr<StreamTask> task) override;
  void record(Event &event) override;
  void wait(Event &event) override;
  void synchronize() override;
  Device &device() override { return device_; }

  const cuda::Functions &functions() const override { return device_.cuda(); }
  // For whoever gives work to it: after what came before.
  cuda::CUstream handle() override {
    begin();
    return stream_;
  }
  cuda::CUdevice deviceNumber() const override { return device_.number(); }
  cuda::CUdeviceptr allocate(size_t bytes, const std::string &what) override {
    return device_.allocateMemory(bytes, what);
  }
  void free(cuda::CUdeviceptr memory) override { device_.freeMemory(memory); }

  // --- Graphs (CudaGraphs) ---
  // The stream itself, whatever it was given.
  cuda::CUstream raw() const { return stream_; }
  // Whether it was given work since the last call of this: work that a graph, which runs on another stream,
  // has to come after.
  bool takeGiven() { return std::exchange(given_, false); }
  // Work follows. Outside of a recording it comes after the graphs that were launched, whose parts for this
  // stream ran on another.
  void begin();

private:
  CudaDevice &device_;
  cuda::CUstream stream_ = nullptr;
  bool given_ = false;
  uint64_t graphsSeen_ = 0;
};

// An address of the device, as the driver API wants it.
inline cuda::CUdeviceptr devicePointer(const void *address) {
  return reinterpret_cast<cuda::CUdeviceptr>(address);
}

} // namespace tessera::runtime
#endif
