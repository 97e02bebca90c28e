#include "CudaDevice.h"
#include "CudaGraphs.h"
#include "CudaModule.h"
#include "CudaPlacement.h"
#include "CudaProduct.h"
#include "CudaStream.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sched.h>
#include <time.h>

namespace tessera::runtime {

using namespace cuda;

CudaDevice::CudaDevice(const DeviceOptions &options, NotYetStarted)
    : cuda_(CudaLibrary::get()), settings_(CudaSettings::fromEnvironment()), options_(options) {}

CudaDevice::CudaDevice(const DeviceOptions &options) : CudaDevice(options, NotYetStarted()) {
  device_ = chooseDevice(cuda_, options.rank, options.plane);
  char name[256] = "";
  expect(cuda_.cuDeviceGetName(name, sizeof(name), device_), "ask the GPU for its name");
  properties_.name = name;
  auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    expect(cuda_.cuDeviceGetAttribute(&value, which, device_), "ask the GPU what it is");
    return value;
  };
  properties_.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  properties_.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  properties_.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  properties_.sharedPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  expect(cuda_.cuDeviceTotalMem(&properties_.bytes, device_), "ask the GPU what it is");
  expect(cuda_.cuDevicePrimaryCtxRetain(&context_, device_), "start the GPU");
  bindThread();
  expect(cuda_.cuStreamCreateWithPriority(&service_, CU_STREAM_NON_BLOCKING, 0), "create a stream");
  expect(cuda_.cuEventCreate(&graphEnd_, CU_EVENT_DISABLE_TIMING), "create an event");
  graphs_ = std::make_unique<CudaGraphs>(*this);
  freeAtStart_ = freeBytes();
}

CudaDevice::~CudaDevice() {
  if (!context_)
    return;
  cuda_.cuCtxSetCurrent(context_);
  graphs_.reset();
  products_.reset();
  staging_.reset();
  randomTables_ = Buffer();
  workspaces_.clear();
  spareWorkspace_ = Buffer();
  if (graphEnd_)
    cuda_.cuEventDestroy(graphEnd_);
  if (service_)
    cuda_.cuStreamDestroy(service_);
  cuda_.cuCtxSetCurrent(nullptr);
  cuda_.cuDevicePrimaryCtxRelease(device_);
}

void CudaDevice::bindThread() {
  CUcontext current = nullptr;
  if (cuda_.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current != context_)
    expect(cuda_.cuCtxSetCurrent(context_), "use the GPU from this thread");
}

std::string CudaDevice::gpu() const {
  return "GPU " + std::to_string(device_) + " (" + properties_.name + ")";
}

std::string CudaDevice::describe() const { return "rank " + std::to_string(options_.rank) + ", " + gpu(); }

void CudaDevice::remark(const std::string &text) const {
  if (settings_.verbose)
    fprintf(stderr, "%s: %s\n", describe().c_str(), text.c_str());
}

// --- Errors ---

// A kernel did what it must not; the context is lost.
static bool isFault(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_LAUNCH_TIMEOUT ||
         result == CUDA_ERROR_ASSERT ||
         (result >= CUDA_ERROR_HARDWARE_STACK_ERROR && result <= CUDA_ERROR_LAUNCH_FAILED);
}

void CudaDevice::fail(CUresult result, const char *what) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw outOfMemory(std::string("to ") + what + ", rank " + std::to_string(options_.rank));
  if (!isFault(result))
    throw Error(std::string("cannot ") + what, describe(), cuda_.describe(result), "look at nvidia-smi");
  std::string kernels;
  for (size_t back = 1; back <= std::min(kernelsLaunched_, lastKernels_.size()); ++back)
    kernels +=
        std::string(back == 1 ? "" : ", ") + lastKernels_[(kernelsLaunched_ - back) % lastKernels_.size()];
  throw Error("a kernel of the GPU failed", describe(),
              cuda_.describe(result) +
                  (kernels.empty() ? "" : ", found later; given last, latest first: " + kernels),
              "TESSERA_CUDA_SYNC=1 names the kernel");
}

void CudaDevice::expect(CUresult result, const char *what) {
  if (result != CUDA_SUCCESS)
    fail(result, what);
}

void CudaDevice::given(CUresult result, const char *what) {
  progress();
  if (result == CUDA_SUCCESS)
    return;
  if (!capturing_)
    fail(result, what);
  if (captureFailure_.empty())
    captureFailure_ = std::string("cannot ") + what + ": " + cuda_.describe(result);
}

void CudaDevice::launched(CUresult result, const char *kernel, CUstream stream) {
  lastKernels_[kernelsLaunched_++ % lastKernels_.size()] = kernel;
  if (settings_.synchronous && result == CUDA_SUCCESS)
    result = cuda_.cuStreamSynchronize(stream);
  if (settings_.synchronous && isFault(result))
    throw Error(std::string("kernel ") + kernel + " failed", describe(), cuda_.describe(result),
                "report it, with the command that compiled the program");
  if (result != CUDA_SUCCESS && !isFault(result) && !capturing_)
    throw Error(std::string("cannot launch kernel ") + kernel, describe(), cuda_.describe(result),
                "report it, with the command that compiled the program");
  given(result, "launch a kernel");
}

void CudaDevice::progress() {
  options_.entry.progress.store(options_.entry.progress.load(std::memory_order_relaxed) + 1,
                                std::memory_order_relaxed);
}

void CudaDevice::WaitTurns::pause() {
  // Most waits are for a step of a few hundred microseconds that is nearly done.
  ++turns_;
  if (turns_ < 2000)
    return;
  if (turns_ < 20000) {
    sched_yield();
    return;
  }
  // No progress is counted here: where others wait for this rank, the GPU itself has to get on, from
  // collective to collective (BoardEntry::deviceProgress).
  timespec time = {0, 100000};
  nanosleep(&time, nullptr);
}

// --- Memory ---

static std::string megabytes(size_t bytes) {
  char text[32];
  snprintf(text, sizeof(text), "%.1f MB", double(bytes) / 1e6);
  return text;
}

int64_t CudaDevice::freeBytes() {
  size_t free = 0, total = 0;
  expect(cuda_.cuMemGetInfo(&free, &total), "ask how much memory is free");
  return int64_t(free);
}

Error CudaDevice::outOfMemory(const std::string &what, size_t bytes) {
  size_t free = 0, total = 0;
  auto number = [](size_t count) { return std::to_string(count) + " bytes (" + megabytes(count) + ")"; };
  std::string why = "how much is free is not known";
  if (cuda_.cuMemGetInfo(&free, &total) == CUDA_SUCCESS)
    why = std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
  if (bytes)
    why = "it takes " + number(bytes) + ", and " + why +
          (bytes > free ? ": " + number(bytes - free) + " are missing" : "");
  const size_t needed = size_t(options_.expectedBytes);
  if (needed)
    why += "; in all the rank needs " + number(needed);
  const char *before = "; the rank holds ";
  for (const auto &[at, held] : held_) {
    why += before + megabytes(held.bytes) + " for " + held.what;
    before = ", ";
  }
  // What would be enough if the rank had the GPU to itself is held by somebody else.
  bool shared = needed && needed <= total && size_t(freeAtStart_) < needed;
  return Error(
      "not enough memory on the GPU", what + ", " + gpu(), why,
      std::string(shared ? "end what else uses this GPU (nvidia-smi)" : "take a GPU with more memory") +
          ", or compile for a larger mesh, a smaller --batch or a shorter --max-seq-len");
}

CUdeviceptr CudaDevice::allocateMemory(size_t bytes, const std::string &what) {
  CUdeviceptr address = 0;
  CUresult result = cuda_.cuMemAlloc(&address, bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw outOfMemory(what, bytes);
  expect(result, "allocate memory of the GPU");
  held_[reinterpret_cast<void *>(address)] = {what, bytes};
  return address;
}

Buffer CudaDevice::allocate(size_t bytes, const std::string &what, MemoryUse) {
  if (bytes == 0)
    return Buffer(*this, nullptr, 0);
  CUdeviceptr address = allocateMemory(bytes, what);
  Buffer buffer(*this, reinterpret_cast<void *>(address), bytes);
  expect(cuda_.cuMemsetD8Async(address, 0, bytes, service_), "zero memory of the GPU");
  waitForStream(service_);
  return buffer;
}

HostBuffer CudaDevice::allocateHost(size_t bytes, const std::string &what) {
  if (bytes == 0)
    return HostBuffer(*this, nullptr, 0);
  void *data = nullptr;
  CUresult result = cuda_.cuMemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (result != CUDA_SUCCESS)
    throw Error("cannot pin memory of the host", what,
                std::to_string(bytes) + " bytes: " + cuda_.describe(result),
                "free memory of the host, or raise its limit (ulimit -l)");
  return HostBuffer(*this, data, bytes);
}

void CudaDevice::release(void *address, size_t) {
  if (!address)
    return;
  bindThread();
  cuda_.cuCtxSynchronize(); // of work that still uses it; what went wrong there was said by whoever waited
  freeMemory(devicePointer(address));
}

void CudaDevice::freeMemory(CUdeviceptr memory) {
  cuda_.cuMemFree(memory);
  held_.erase(reinterpret_cast<void *>(memory));
}

void CudaDevice::releaseHost(void *data, size_t) {
  if (!data)
    return;
  bindThread();
  cuda_.cuCtxSynchronize();
  cuda_.cuMemFreeHost(data);
}

StagingRing &CudaDevice::staging() {
  std::lock_guard<std::mutex> lock(stagingMutex_);
  if (!staging_) {
    bindThread();
    staging_ = std::make_unique<StagingRing>(*this, options_.pool.size());
  }
  return *staging_;
}

void CudaDevice::store(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                       const float *rows) {
  int64_t elements = count * layout.columns,
          most = int64_t(StagingRing::kBlockBytes) / io::bytesOf(layout.type, 1);
  char *to = static_cast<char *>(weight) + io::bytesOf(layout.type, begin * layout.columns);
  for (int64_t at = 0; at < elements; at += most) {
    int64_t part = std::min(most, elements - at);
    staging().send(size_t(io::bytesOf(layout.type, part)), to + io::bytesOf(layout.type, at),
                   [&](char *out) { io::traits(layout.type).narrow(rows + at, part, out); });
  }
}

bool CudaDevice::storeRows(const WeightLayout &layout, void *weight, int64_t begin, int64_t count,
                           const WriteRows &write) {
  int64_t rowBytes = io::bytesOf(layout.type, layout.columns);
  if (rowBytes > int64_t(StagingRing::kBlockBytes))
    return false;
  int64_t most = int64_t(StagingRing::kBlockBytes) / std::max<int64_t>(rowBytes, 1);
  for (int64_t end = begin + count; begin < end;) {
    int64_t part = std::min(most, end - begin);
    staging().send(size_t(part * rowBytes), static_cast<char *>(weight) + begin * rowBytes,
                   [&](char *out) { write(begin, part, out); });
    begin += part;
  }
  return true;
}

bool CudaDevice::storeRandom(Module &module, const WeightLayout &layout, int64_t layers, void *weight,
                             const RandomRows &rows) {
  const CudaModule::RandomKernel &kernel = static_cast<CudaModule &>(module).randomWeights(layout.type);
  int64_t blocks = layers * layout.rows;
  if (!kernel.function || blocks > std::numeric_limits<int32_t>::max())
    return false;
  if (blocks == 0 || layout.columns == 0)
    return true;
  // The service stream has its copies and kernels one after another, so the tables may be used again.
  size_t rowBytes = rows.globalRows.size() * sizeof(int64_t),
         columnBytes = rows.globalColumns.size() * sizeof(int64_t);
  if (randomTables_.bytes() < rowBytes + columnBytes)
    randomTables_ = allocate(rowBytes + columnBytes,
                             "where made-up weights of rank " + std::to_string(options_.rank) + " stand",
                             MemoryUse::Weights);
  auto send = [&](const std::vector<int64_t> &from, char *to) {
    for (size_t at = 0, part; at < from.size(); at += part) {
      part = std::min(from.size() - at, StagingRing::kBlockBytes / sizeof(int64_t));
      staging().send(part * sizeof(int64_t), to + at * sizeof(int64_t),
                     [&](char *out) { memcpy(out, from.data() + at, part * sizeof(int64_t)); });
    }
  };
  CUdeviceptr to = devicePointer(weight), globalRows = devicePointer(randomTables_.address()),
              globalColumns = globalRows + rowBytes;
  send(rows.globalRows, randomTables_.address());
  send(rows.globalColumns, randomTables_.address() + rowBytes);
  uint32_t scaleBits, meanBits;
  memcpy(&scaleBits, &rows.scale, sizeof(scaleBits));
  memcpy(&meanBits, &rows.mean, sizeof(meanBits));
  int64_t scalars[] = {
      layout.rows,        layout.columns,     rows.tail,         layout.bytes / io::bytesOf(layout.type, 1),
      int64_t(rows.seed), int64_t(scaleBits), int64_t(meanBits), blocks};
  std::vector<void *> parameters = {&to, &globalRows, &globalColumns};
  for (int64_t &scalar : scalars)
    parameters.push_back(&scalar);
  launched(cuda_.cuLaunchKernel(kernel.function, unsigned(blocks), 1, 1, TESSERA_RANDOM_THREADS, 1, 1, 0,
                                service_, parameters.data(), nullptr),
           kernel.name.c_str(), service_);
  return true;
}

void CudaDevice::finishStores() {
  if (staging_)
    staging_->finish();
  staging_.reset(); // its memory is the system's again
  randomTables_ = Buffer();
}

// --- Objects ---

std::unique_ptr<Stream> CudaDevice::createStream(StreamKind kind) {
  return std::make_unique<CudaStream>(*this, kind);
}

std::unique_ptr<Event> CudaDevice::createEvent() { return std::make_unique<CudaEvent>(*this); }

std::unique_ptr<Module> CudaDevice::load(const ts_program &program) {
  return std::make_unique<CudaModule>(*this, program);
}

std::unique_ptr<Product> CudaDevice::createProduct(const MatmulSpec &spec, const WeightLayout *layout) {
  if (!products_)
    products_ = std::make_unique<CudaProducts>(*this);
  return products_->create(spec, layout);
}

void CudaDevice::tuneProducts(const Buffer &arena, const Buffer &weights) {
  runtime::tuneProducts(products_.get(), *this, arena, weights);
}

void *CudaDevice::spareWorkspace() {
  if (!spareWorkspace_.bytes())
    spareWorkspace_ =
        allocate(kProductWorkspaceBytes, "the workspace of products of rank " + std::to_string(options_.rank),
                 MemoryUse::Arena);
  return spareWorkspace_.address();
}

void *CudaDevice::workspaceFor(CUstream stream) {
  auto at = workspaces_.find(stream);
  if (at == workspaces_.end()) {
    if (capturing_)
      return nullptr;
    spareWorkspace();
    at = workspaces_.emplace(stream, std::move(spareWorkspace_)).first;
  }
  return at->second.address();
}

void CudaDevice::streamGoes(CudaStream &stream) {
  streams_.erase(std::remove(streams_.begin(), streams_.end(), &stream), streams_.end());
  workspaces_.erase(stream.raw());
  graphs_->streamGoes(stream.raw());
}

void CudaDevice::call(const Call &call, Stream &compute) {
  graphs_->call(call, static_cast<CudaStream &>(compute));
}

} // namespace tessera::runtime
