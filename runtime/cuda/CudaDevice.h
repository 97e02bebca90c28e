// One GPU, as one rank uses it.
//
// All that is given to a stream goes through `given`: it turns the driver's answers into errors, one line
// each, and keeps the names of the last kernels, since a fault comes to light only when somebody waits.
#ifndef TESSERA_RUNTIME_CUDA_CUDADEVICE_H
#define TESSERA_RUNTIME_CUDA_CUDADEVICE_H

#include "CudaLibrary.h"
#include "CudaMemory.h"
#include "CudaSettings.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/Device.h"

#include <array>
#include <map>

namespace tessera::runtime {

class CudaGraphs;
class CudaProducts;
class CudaStream;

// Of the GPU; what images and algorithms are chosen by.
struct CudaProperties {
  std::string name;
  int major = 0, minor = 0; // compute capability
  int multiprocessors = 0;
  int sharedPerBlock = 0; // the most that a kernel can ask for, bytes
  size_t bytes = 0;
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(const DeviceOptions &options);
  ~CudaDevice() override;

  Buffer allocate(size_t bytes, const std::string &what, MemoryUse use) override;
  // The same, not cleared: of whoever frees it, when nothing on the GPU uses it any more.
  cuda::CUdeviceptr allocateMemory(size_t bytes, const std::string &what);
  void freeMemory(cuda::CUdeviceptr memory);
  HostBuffer allocateHost(size_t bytes, const std::string &what) override;
  int64_t usedBytes() override { return freeAtStart_ - freeBytes(); }
  std::unique_ptr<Stream> createStream(StreamKind kind) override;
  std::unique_ptr<Event> createEvent() override;
  std::unique_ptr<Module> load(const ts_program &program) override;
  std::unique_ptr<Product> createProduct(const MatmulSpec &spec, const WeightLayout *layout) override;
  void tuneProducts(const Buffer &arena, const Buffer &weights) override;
  void store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
             const float *rows) override;
  bool storeRows(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                 const WriteRows &write) override;
  bool storeRandom(Module &module, const WeightLayout &layout, int64_t layers, void *weight,
                   const RandomRows &rows) override;
  void finishStores() override;
  void call(const Call &call, Stream &compute) override;
  void *view(const void *) override { return nullptr; }
  int64_t stepsAhead() const override { return 4; }

  const CudaLibrary &cuda() const { return cuda_; }
  const CudaProperties &properties() const { return properties_; }
  const CudaSettings &settings() const { return settings_; }
  const DeviceOptions &options() const { return options_; }
  cuda::CUdevice number() const { return device_; }
  // For copies and trials of the device itself.
  cuda::CUstream serviceStream() const { return service_; }

  // Makes the GPU's context that of this thread. The rank's main thread has it from the start.
  void bindThread();
  // "GPU 1 (NVIDIA H200)", and "rank 3, GPU 1 (NVIDIA H200)".
  std::string gpu() const;
  std::string describe() const;
  // One line on stderr, with TESSERA_VERBOSE=1.
  void remark(const std::string &text) const;
  // The error for `what` ("the arena of rank 3"), for which `bytes` were asked, or, at 0, nobody knows how
  // many: what is free and missing, what the rank needs in all and holds already.
  Error outOfMemory(const std::string &what, size_t bytes = 0);

  // Throws Error unless `result` is success; `what` completes "cannot ...".
  void expect(cuda::CUresult result, const char *what);
  // The same for work given to a stream: one more step for the watch. While an entry is recorded an error
  // only ends the recording.
  void given(cuda::CUresult result, const char *what);
  // `kernel` was given to a stream: waits for it if the settings say so.
  void launched(cuda::CUresult result, const char *kernel, cuda::CUstream stream);
  // The host waits until `query` no longer answers "not ready". Waiting is no progress to the watch: the GPU
  // itself has to get on, from collective to collective.
  template <typename Query> void wait(Query &&query) {
    for (WaitTurns turns;; turns.pause()) {
      cuda::CUresult result = query();
      if (result == cuda::CUDA_ERROR_NOT_READY)
        continue;
      stopIfEnding(); // collectives are aborted then, and what they leave is nothing
      return expect(result, "wait for the GPU");
    }
  }
  // The same for all that was given to `stream`.
  void waitForStream(cuda::CUstream stream) {
    wait([&] { return cuda_.cuStreamQuery(stream); });
  }

  // --- Recording of entries (CudaGraphs) ---
  bool capturing() const { return capturing_; }
  // Of the recording that is going on, from 1; 0: there is none.
  uint64_t recordingNumber() const { return capturing_ ? recordings_ : 0; }
  void beginCapture() {
    capturing_ = true;
    ++recordings_;
    captureFailure_.clear();
  }
  // Why what was given since beginCapture cannot be replayed; empty: it can.
  std::string endCapture() {
    capturing_ = false;
    return std::move(captureFailure_);
  }
  // Something was given to a stream that the host has to do itself.
  void noteHostWork(const std::string &what) { hostWork_ = what; }
  std::string takeHostWork() { return std::exchange(hostWork_, {}); }

  const std::vector<CudaStream *> &streams() const { return streams_; }
  // The place behind the last graph, and how many there were.
  cuda::CUevent graphEnd() const { return graphEnd_; }
  uint64_t graphsLaunched() const { return graphsLaunched_; }
  cuda::CUstream graphStream() const { return graphStream_; }
  void noteGraph(cuda::CUstream stream) {
    ++graphsLaunched_;
    graphStream_ = stream;
  }

  // kProductWorkspaceBytes of scratch memory that no stream uses yet.
  void *spareWorkspace();
  // Scratch memory for products on `stream`; null where there is none yet and none can be had while an entry
  // is recorded.
  void *workspaceFor(cuda::CUstream stream);
  void streamComes(CudaStream &stream) { streams_.push_back(&stream); }
  void streamGoes(CudaStream &stream); // about to be destroyed

private:
  struct NotYetStarted {};
  CudaDevice(const DeviceOptions &options, NotYetStarted); // from here on the destructor cleans up
  // Pauses that grow, up to a tenth of a millisecond.
  class WaitTurns {
  public:
    void pause();

  private:
    int64_t turns_ = 0;
  };

  void release(void *address, size_t bytes) override;
  void releaseHost(void *data, size_t bytes) override;
  [[noreturn]] void fail(cuda::CUresult result, const char *what);
  int64_t freeBytes();
  StagingRing &staging();
  void progress();

  const CudaLibrary &cuda_;
  const CudaSettings settings_;
  DeviceOptions options_;
  cuda::CUdevice device_ = 0;
  cuda::CUcontext context_ = nullptr;
  CudaProperties properties_;
  cuda::CUstream service_ = nullptr;
  int64_t freeAtStart_ = 0;                 // bytes, the context there already
  std::map<const void *, HeldMemory> held_; // what was allocated, and for what
  std::unique_ptr<StagingRing> staging_;    // while weights come in
  std::mutex stagingMutex_;
  Buffer randomTables_;   // global rows and columns of the weights that are made up
  Buffer spareWorkspace_; // of the stream that multiplies first
  std::map<cuda::CUstream, Buffer> workspaces_;
  std::unique_ptr<CudaProducts> products_;
  std::unique_ptr<CudaGraphs> graphs_;
  std::array<const char *, 4> lastKernels_ = {};
  size_t kernelsLaunched_ = 0;
  std::vector<CudaStream *> streams_;
  cuda::CUevent graphEnd_ = nullptr;
  cuda::CUstream graphStream_ = nullptr; // of the last graph
  uint64_t recordings_ = 0, graphsLaunched_ = 0;
  bool capturing_ = false;
  std::string captureFailure_, hostWork_;
};

// Bytes of scratch memory that products on one stream may use.
constexpr size_t kProductWorkspaceBytes = size_t(32) << 20;

} // namespace tessera::runtime
#endif
