// Host functions, values written in the order of a stream, and work of other libraries (Work.h).
#include "Declarations.h"
#include "Streams.h"
#include "Work.h"

#include <atomic>

using namespace standin;

namespace standin {

// What a library gave, until nothing begins it any more.
struct GivenWork {
  StandinWork work;
  bool taken = false;
  ~GivenWork() {
    if (taken && work.release)
      work.release(work.context);
  }
};

static OperationRef workOperation(Call &call, const std::shared_ptr<GivenWork> &given) {
  const StandinWork &work = given->work;
  auto operation = std::make_shared<Operation>();
  operation->kind = "work";
  operation->what = work.name;
  for (size_t i = 0; i < work.accessCount; ++i) {
    const StandinAccess &access = work.accesses[i];
    auto at = reinterpret_cast<uintptr_t>(access.address);
    if (access.bytes == 0)
      continue;
    operation->uses.push_back(call.deviceMemory(at, access.bytes, work.name));
    operation->touched.push_back({at, at + access.bytes, access.writes != 0});
  }
  operation->start = [given]() -> Run {
    return [given, run = static_cast<void *>(nullptr), begun = false](Unit &unit) mutable {
      insideHostFunction() = true;
      if (!begun && given->work.begin)
        run = given->work.begin(given->work.context);
      begun = true;
      int result = given->work.advance(run);
      insideHostFunction() = false;
      if (result == 0)
        return Progress::Later;
      if (result < 0) {
        complain(unit.operation->what + ": it failed; the context is lost");
        Machine::get().fault(*unit.context, CUDA_ERROR_LAUNCH_FAILED);
      }
      return Progress::Done;
    };
  };
  return operation;
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *userData) {
  return call("cuLaunchHostFunc", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    if (!function)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the function is null", "pass one");
    auto operation = std::make_shared<Operation>();
    operation->kind = "host";
    operation->what = "a host function";
    operation->start = [=]() -> Run {
      return [=, done = std::shared_ptr<std::atomic<bool>>()](Unit &unit) mutable {
        if (!done) {
          done = std::make_shared<std::atomic<bool>>(false);
          Machine::get().runHostFunction(*unit.context, [=] { function(userData); }, done);
        }
        return *done ? Progress::Done : Progress::Later;
      };
    };
    call.trace(std::string("host-function") + (stream->capture ? " captured" : ""));
    give(call, stream, std::move(operation));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr address, uint32_t value, unsigned flags) {
  return call("cuStreamWriteValue32", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    if (flags != CU_STREAM_WRITE_VALUE_DEFAULT || address % 4)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "flags, or an address that is no multiple of 4",
                  "pass 0, and align it");
    auto operation = std::make_shared<Operation>();
    operation->kind = "write";
    operation->what = "cuStreamWriteValue32";
    operation->uses.push_back(call.deviceMemory(address, 4, "address"));
    operation->touched.push_back({uintptr_t(address), uintptr_t(address) + 4, true});
    operation->start = [=]() -> Run {
      return [=](Unit &) {
        reinterpret_cast<std::atomic<uint32_t> *>(address)->store(value);
        return Progress::Done;
      };
    };
    call.trace(std::string("write-value") + (stream->capture ? " captured" : ""));
    give(call, stream, std::move(operation));
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda

extern "C" __attribute__((visibility("default"))) int standinEnqueue(::CUstream_st *stream,
                                                                     const StandinWork *work) {
  // Streams are of one type, which the API's declarations keep in their namespace.
  auto handle = reinterpret_cast<CUstream>(stream);
  return call("standinEnqueue", kContext, [&](Call &call) {
    StreamRef found = call.stream(handle, false);
    auto given = std::make_shared<GivenWork>();
    given->work = *work;
    OperationRef operation = workOperation(call, given);
    given->work.accesses = nullptr;
    given->work.name = nullptr;
    call.trace("work " + operation->what + (found->capture ? " captured" : ""));
    give(call, found, std::move(operation));
    given->taken = true;
    return CUDA_SUCCESS;
  });
}
