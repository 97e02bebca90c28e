// Streams and events.
#include "Declarations.h"
#include "Streams.h"

using namespace standin;

namespace standin {

void give(Call &call, const StreamRef &stream, OperationRef operation) {
  if (stream->capture)
    return captureOperation(call, *stream, std::move(operation));
  std::vector<UnitRef> after;
  if (stream->last)
    after.push_back(stream->last);
  // What blocking streams are given comes after work without a stream.
  if (!(stream->flags & CU_STREAM_NON_BLOCKING) && stream->context->last)
    after.push_back(stream->context->last);
  stream->last =
      call.machine.submit(*stream->context, stream->lane, stream->given, std::move(operation), after);
}

std::vector<UnitRef> legacyOrder(Call &call) {
  std::vector<UnitRef> after;
  if (call.context->last)
    after.push_back(call.context->last);
  for (const auto &[number, stream] : call.machine.streams.live())
    if (stream->context == call.context && !(stream->flags & CU_STREAM_NON_BLOCKING) && stream->last)
      after.push_back(stream->last);
  return after;
}

static CUresult createStream(const char *name, CUstream *stream, unsigned flags, int priority) {
  return call(name, kContext, [&](Call &call) {
    if (!stream || flags > CU_STREAM_NON_BLOCKING)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "null, or an unknown flag", "pass CU_STREAM_NON_BLOCKING");
    auto made = std::make_shared<Stream>();
    made->context = call.context;
    made->flags = flags;
    made->priority = std::min(0, std::max(-5, priority));
    made->lane = call.machine.addLane();
    *stream = made->handle = call.machine.streams.add(made);
    return CUDA_SUCCESS;
  });
}

// Refuses what would wait for a stream that is captured.
static void refuseCapturing(Call &call, const Stream &stream) {
  refuseInvalidCapture(call, stream);
  if (stream.capture)
    breakCapture(call, stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                 call.machine.streams.nameOf(stream.handle) + " is being captured: nothing there has run",
                 "wait for a launch of the graph");
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return createStream("cuStreamCreate", stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  return createStream("cuStreamCreateWithPriority", stream, flags, priority);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return call("cuCtxGetStreamPriorityRange", kContext, [&](Call &) {
    if (least)
      *least = 0;
    if (greatest)
      *greatest = -5;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  return call("cuStreamDestroy", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    if (stream->capture) {
      stream->capture->streams.erase(stream.get());
      breakCapture(call, stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "the stream is being captured", "end the capture first");
    }
    call.machine.releaseLane(stream->lane);
    if (stream->last)
      stream->context->orphans.push_back(stream->last);
    call.machine.streams.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call("cuStreamSynchronize", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    refuseCapturing(call, *stream);
    refuseDuringCapture(call);
    call.trace("synchronize " + call.machine.streams.nameOf(handle));
    return stream->last ? call.machine.waitFor(call.lock, stream->last) : CUDA_SUCCESS;
  });
}

// A host that asks again and again is one that waits, and work need not be late for it any longer.
static CUresult notReady(Context &context) {
  if (++context.polls % 16 == 0) {
    context.lastGiven = {};
    context.work.notify_one();
  }
  return CUDA_ERROR_NOT_READY;
}

CUresult cuStreamQuery(CUstream handle) {
  return call("cuStreamQuery", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    refuseCapturing(call, *stream);
    refuseDuringCapture(call);
    if (!stream->last)
      return CUDA_SUCCESS;
    if (!stream->last->done)
      return notReady(*stream->last->context);
    call.machine.hostKnows(*stream->last);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  return call("cuStreamWaitEvent", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    EventRef event = call.event(eventHandle);
    if (flags != CU_EVENT_WAIT_DEFAULT)
      call.refuse(CUDA_ERROR_NOT_SUPPORTED, "flags other than CU_EVENT_WAIT_DEFAULT", "pass 0");
    if (!event->recorded && !event->capture && !stream->capture)
      return CUDA_SUCCESS; // never recorded: there is nothing to wait for
    // Tests ask what becomes of a program without one of its waits.
    if (++call.machine.waitCount == settings().dropWait) {
      call.trace("dropped wait " + std::to_string(settings().dropWait));
      return CUDA_SUCCESS;
    }
    if (stream->capture || event->capture) {
      captureWait(call, *stream, *event);
      return CUDA_SUCCESS;
    }
    std::vector<UnitRef> after{event->recorded};
    if (stream->last)
      after.push_back(stream->last);
    stream->last = call.machine.submit(*stream->context, stream->lane, stream->given, nullptr, after);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  return call("cuEventCreate", kContext, [&](Call &call) {
    if (!event || (flags & ~unsigned(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)))
      call.refuse(CUDA_ERROR_INVALID_VALUE, "null, or an unknown flag",
                  "pass CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC, or 0");
    auto made = std::make_shared<Event>();
    made->context = call.context;
    made->flags = flags;
    *event = made->handle = call.machine.events.add(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return call("cuEventDestroy", kContext, [&](Call &call) {
    call.event(handle);
    call.machine.events.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  return call("cuEventRecord", kContext, [&](Call &call) {
    EventRef event = call.event(handle);
    StreamRef stream = call.stream(streamHandle, false);
    if (event->context != stream->context)
      call.refuse(CUDA_ERROR_INVALID_HANDLE, "the event and the stream are of different devices",
                  "create the event where the stream is");
    if (stream->capture) {
      captureRecord(call, *stream, *event);
      return CUDA_SUCCESS;
    }
    std::vector<UnitRef> after;
    if (stream->last)
      after.push_back(stream->last);
    event->capture = nullptr;
    event->recorded = stream->last =
        call.machine.submit(*stream->context, stream->lane, stream->given, nullptr, after);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return call("cuEventSynchronize", kContext, [&](Call &call) {
    EventRef event = call.event(handle);
    if (event->capture)
      breakCapture(call, event->capture, CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture",
                   "record it outside");
    refuseDuringCapture(call);
    call.trace("synchronize " + call.machine.events.nameOf(handle));
    return event->recorded ? call.machine.waitFor(call.lock, event->recorded) : CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent handle) {
  return call("cuEventQuery", kContext, [&](Call &call) {
    EventRef event = call.event(handle);
    if (event->capture)
      breakCapture(call, event->capture, CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture",
                   "record it outside");
    refuseDuringCapture(call);
    if (!event->recorded)
      return CUDA_SUCCESS;
    if (!event->recorded->done)
      return notReady(*event->recorded->context);
    call.machine.hostKnows(*event->recorded);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  return call("cuEventElapsedTime", kContext, [&](Call &call) {
    EventRef start = call.event(startHandle), end = call.event(endHandle);
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
      call.refuse(CUDA_ERROR_INVALID_HANDLE, "an event without times",
                  "create it without CU_EVENT_DISABLE_TIMING");
    if (start->capture || end->capture)
      call.refuse(CUDA_ERROR_CAPTURED_EVENT, "an event was recorded in a capture", "record it outside");
    if (!start->recorded || !end->recorded)
      call.refuse(CUDA_ERROR_INVALID_HANDLE, "an event was never recorded", "record both");
    if (!start->recorded->done || !end->recorded->done)
      return CUDA_ERROR_NOT_READY;
    *milliseconds =
        std::chrono::duration<float, std::milli>(end->recorded->doneAt - start->recorded->doneAt).count();
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda
