// Captures: what a stream is given becomes nodes of a graph.
#include "Declarations.h"
#include "Streams.h"

#include <algorithm>

using namespace standin;

namespace standin {

void breakCapture(Call &call, const CaptureRef &capture, CUresult code, const std::string &why,
                  const std::string &hint) {
  capture->invalid = true;
  call.refuse(code, why, hint);
}

void refuseInvalidCapture(Call &call, const Stream &stream) {
  if (stream.capture && stream.capture->invalid)
    call.refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                "the capture that " + call.machine.streams.nameOf(stream.handle) +
                    " is part of was made invalid by an earlier call",
                "end it, and mend that call");
}

// The mode that cuThreadExchangeStreamCaptureMode set.
static CUstreamCaptureMode &threadMode() {
  static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

void refuseDuringCapture(Call &call) {
  if (threadMode() == CU_STREAM_CAPTURE_MODE_RELAXED)
    return;
  CaptureRef forbids;
  for (const CaptureRef &capture : call.machine.captures) {
    bool ours = capture->thread == std::this_thread::get_id();
    if (ours ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
             : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                   threadMode() == CU_STREAM_CAPTURE_MODE_GLOBAL) {
      capture->invalid = true;
      forbids = capture;
    }
  }
  if (forbids)
    call.refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                std::string("the call is unsafe while ") +
                    (forbids->thread == std::this_thread::get_id() ? "this" : "another") +
                    " thread captures a stream, and makes the capture invalid",
                "call it before the capture, or capture in a mode that allows it");
}

// Adds a node behind those that the stream stands at.
static int addNode(Stream &stream, OperationRef operation) {
  Graph &graph = *stream.capture->graph;
  graph.nodes.push_back({std::move(operation), stream.frontier, stream.chain});
  int node = int(graph.nodes.size()) - 1;
  stream.frontier = {node};
  return node;
}

void captureOperation(Call &call, Stream &stream, OperationRef operation) {
  refuseInvalidCapture(call, stream);
  addNode(stream, std::move(operation));
}

void captureRecord(Call &call, Stream &stream, Event &event) {
  refuseInvalidCapture(call, stream);
  event.capture = stream.capture;
  event.nodes = stream.frontier;
  event.recorded = nullptr;
}

void captureWait(Call &call, Stream &stream, Event &event) {
  refuseInvalidCapture(call, stream);
  Machine &machine = call.machine;
  if (event.capture && event.capture->invalid)
    call.refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture of the event is invalid", "end it");
  if (!event.capture)
    breakCapture(call, stream.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                 machine.streams.nameOf(stream.handle) +
                     " is being captured, and the event was recorded outside",
                 "record the event in the capture, or wait before it begins");
  bool ended =
      std::find(machine.captures.begin(), machine.captures.end(), event.capture) == machine.captures.end();
  if (ended) {
    if (stream.capture)
      stream.capture->invalid = true;
    call.refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture that has ended",
                "record it again");
  }
  if (!stream.capture) { // the capture spreads to this stream
    stream.capture = event.capture;
    stream.frontier = event.nodes;
    stream.chain = stream.capture->graph->chains++;
    stream.capture->streams.insert(&stream);
    return;
  }
  if (stream.capture != event.capture) {
    event.capture->invalid = true;
    breakCapture(call, stream.capture, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                 "the event belongs to another capture", "capture both in one");
  }
  for (int node : event.nodes)
    if (std::find(stream.frontier.begin(), stream.frontier.end(), node) == stream.frontier.end())
      stream.frontier.push_back(node);
}

// Whether each node, and each place that a stream stands at, comes before `frontier`.
static bool isJoined(const Graph &graph, const std::vector<int> &frontier) {
  std::vector<char> reached(graph.nodes.size());
  for (int node : frontier)
    reached[node] = 1;
  for (size_t i = graph.nodes.size(); i-- > 0;) // nodes come after those that they wait for
    if (reached[i])
      for (int before : graph.nodes[i].after)
        reached[before] = 1;
  return std::find(reached.begin(), reached.end(), 0) == reached.end();
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return call("cuStreamBeginCapture", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "an unknown mode", "pass a CUstreamCaptureMode");
    if (stream->capture)
      call.refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured", "end the first capture");
    auto capture = std::make_shared<Capture>();
    capture->graph = std::make_shared<Graph>();
    capture->graph->context = stream->context.get();
    capture->graph->chains = 1;
    capture->origin = stream.get();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->number = ++call.machine.captureCount;
    capture->streams.insert(stream.get());
    call.machine.captures.push_back(capture);
    stream->capture = capture;
    stream->frontier.clear();
    stream->chain = 0;
    call.trace("begin-capture " + call.machine.streams.nameOf(handle));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  return call("cuStreamEndCapture", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    if (!graph)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the graph is null", "pass where it goes");
    *graph = nullptr;
    CaptureRef capture = stream->capture;
    if (!capture)
      call.refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured", "begin a capture first");
    if (capture->origin != stream.get())
      breakCapture(call, capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream",
                   "end it there");
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id())
      call.refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began in another thread",
                  "end it there, or capture in relaxed mode");
    bool joined = isJoined(*capture->graph, stream->frontier);
    for (Stream *one : capture->streams) {
      one->capture = nullptr;
      one->frontier.clear();
    }
    auto &list = call.machine.captures;
    list.erase(std::find(list.begin(), list.end(), capture));
    if (capture->invalid)
      call.refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier call made the capture invalid",
                  "mend that call");
    if (!joined) {
      capture->invalid = true;
      call.refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "work of another stream is not waited for by this one",
                  "record an event there, and wait for it here");
    }
    call.trace("end-capture nodes=" + std::to_string(capture->graph->nodes.size()));
    *graph = call.machine.graphs.add(capture->graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  return call("cuStreamIsCapturing", kContext, [&](Call &call) {
    StreamRef stream = call.stream(handle, false);
    if (!status)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the status is null", "pass where it goes");
    *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  return call("cuThreadExchangeStreamCaptureMode", kInitialized, [&](Call &call) {
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "no mode", "pass a CUstreamCaptureMode");
    std::swap(*mode, threadMode());
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda
