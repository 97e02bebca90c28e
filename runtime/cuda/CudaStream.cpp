#include "CudaStream.h"
#include "CudaModule.h"
#include "CudaProduct.h"
#include "tessera/runtime/core/Error.h"

namespace tessera::runtime {

using namespace cuda;

// --- Events ---

CudaEvent::CudaEvent(CudaDevice &device) : device_(device) {
  device.expect(device.cuda().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "create an event");
}

CudaEvent::~CudaEvent() { device_.cuda().cuEventDestroy(event_); }

void CudaEvent::wait() {
  if (device_.capturing())
    return device_.given(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "wait while an entry is recorded");
  // One that was never recorded answers at once. What is part of a graph has no event of its own.
  CUevent event = recording_ ? device_.graphEnd() : event_;
  device_.wait([&] { return device_.cuda().cuEventQuery(event); });
}

// --- Streams ---

CudaStream::CudaStream(CudaDevice &device, StreamKind kind) : device_(device) {
  // Messages go before computing: others wait for them.
  int least = 0, greatest = 0;
  device.expect(device.cuda().cuCtxGetStreamPriorityRange(&least, &greatest), "create a stream");
  device.expect(device.cuda().cuStreamCreateWithPriority(
                    &stream_, CU_STREAM_NON_BLOCKING, kind == StreamKind::Communication ? greatest : least),
                "create a stream");
  device.streamComes(*this);
}

CudaStream::~CudaStream() {
  device_.streamGoes(*this);
  device_.cuda().cuStreamDestroy(stream_);
}

void CudaStream::begin() {
  if (device_.capturing())
    return;
  given_ = true;
  if (graphsSeen_ == device_.graphsLaunched())
    return;
  graphsSeen_ = device_.graphsLaunched();
  if (device_.graphStream() == stream_)
    return;
  device_.given(device_.cuda().cuStreamWaitEvent(stream_, device_.graphEnd(), CU_EVENT_WAIT_DEFAULT),
                "wait for a graph");
}

void CudaStream::launch(Module &module, const Launch &launch) {
  begin();
  static_cast<CudaModule &>(module).launch(stream_, launch);
}

void CudaStream::multiply(Product &product, const ProductOperands &operands) {
  begin();
  static_cast<CudaProduct &>(product).run(stream_, operands);
}

void CudaStream::gather(const WeightLayout &, const void *, const int32_t *, int64_t, int64_t, void *) {
  throw Error("cannot look up rows of a packed weight", device_.describe(),
              "GPUs hold weights plain, and kernels read them",
              "compile it again with this version of llm-compile");
}

void CudaStream::pack(const WeightLayout &, const void *, void *) {
  throw Error("cannot pack a weight", device_.describe(), "GPUs hold weights in one form, plain",
              "compile it again with this version of llm-compile");
}

void CudaStream::copy(void *dst, const void *src, size_t bytes) {
  begin();
  if (bytes && dst != src) // a loop's first value may stand where it is wanted already
    device_.given(device_.cuda().cuMemcpyDtoDAsync(devicePointer(dst), devicePointer(src), bytes, stream_),
                  "copy within the GPU's memory");
}

void CudaStream::upload(void *dst, const void *host, size_t bytes) {
  begin();
  if (bytes)
    device_.given(device_.cuda().cuMemcpyHtoDAsync(devicePointer(dst), host, bytes, stream_),
                  "copy to the GPU");
}

void CudaStream::download(void *host, const void *src, size_t bytes) {
  begin();
  if (bytes)
    device_.given(device_.cuda().cuMemcpyDtoHAsync(host, devicePointer(src), bytes, stream_),
                  "copy from the GPU");
}

void CudaStream::fill(void *dst, uint8_t byte, size_t bytes) {
  begin();
  if (bytes)
    device_.given(device_.cuda().cuMemsetD8Async(devicePointer(dst), byte, bytes, stream_),
                  "fill memory of the GPU");
}

void CudaStream::post(std::unique_ptr<StreamTask> task) {
  device_.noteHostWork(task->name());
  if (device_.capturing()) {
    device_.given(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "record a task of the host");
    return;
  }
  begin();
  device_.waitForStream(stream_);
  while (!task->advance(/*mayBlock=*/true)) {
  }
}

void CudaStream::record(Event &event) {
  begin();
  auto &place = static_cast<CudaEvent &>(event);
  place.setRecording(device_.recordingNumber());
  device_.given(device_.cuda().cuEventRecord(place.handle(), stream_), "record an event");
}

void CudaStream::wait(Event &event) {
  begin();
  auto &place = static_cast<CudaEvent &>(event);
  // A place outside of this recording comes before its graph as a whole; one within an earlier graph comes
  // before all that is given now. Both are seen to (begin, CudaGraphs).
  if (place.recording() == device_.recordingNumber())
    device_.given(device_.cuda().cuStreamWaitEvent(stream_, place.handle(), CU_EVENT_WAIT_DEFAULT),
                  "wait for an event");
}

void CudaStream::synchronize() {
  if (device_.capturing())
    return device_.given(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "wait while an entry is recorded");
  device_.noteHostWork("a number that it waits for");
  begin();
  device_.waitForStream(stream_);
}

} // namespace tessera::runtime
