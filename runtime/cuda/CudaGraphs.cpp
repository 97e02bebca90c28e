#include "CudaGraphs.h"
#include "CudaStream.h"

#include <algorithm>

namespace tessera::runtime {

using namespace cuda;

CudaGraphs::CudaGraphs(CudaDevice &device) : device_(device) {
  device.expect(device.cuda().cuEventCreate(&join_, CU_EVENT_DISABLE_TIMING), "create an event");
}

CudaGraphs::~CudaGraphs() {
  for (Recording &recording : recordings_)
    drop(recording);
  device_.cuda().cuEventDestroy(join_);
}

void CudaGraphs::drop(Recording &recording) {
  if (recording.graph)
    device_.cuda().cuGraphExecDestroy(recording.graph);
  recording.graph = nullptr;
}

void CudaGraphs::streamGoes(CUstream stream) {
  auto gone = std::remove_if(recordings_.begin(), recordings_.end(), [&](Recording &recording) {
    if (recording.stream != stream)
      return false;
    drop(recording);
    return true;
  });
  recordings_.erase(gone, recordings_.end());
}

CudaGraphs::Recording *CudaGraphs::find(const Call &call, CUstream stream) {
  for (Recording &recording : recordings_)
    if (recording.entries == call.entries && recording.base == call.base && recording.slots == call.slots &&
        recording.stream == stream && recording.counts == call.counts)
      return &recording;
  return nullptr;
}

CudaGraphs::Recording &CudaGraphs::add(const Call &call, CUstream stream) {
  if (recordings_.size() == kMost) {
    auto oldest =
        std::min_element(recordings_.begin(), recordings_.end(),
                         [](const Recording &a, const Recording &b) { return a.lastUse < b.lastUse; });
    drop(*oldest); // where it still runs the driver frees it behind that
    recordings_.erase(oldest);
  }
  Recording recording;
  recording.entries = call.entries;
  recording.base = call.base;
  recording.slots = call.slots;
  recording.counts = call.counts;
  recording.stream = stream;
  recording.name = call.name;
  recordings_.push_back(std::move(recording));
  return recordings_.back();
}

void CudaGraphs::refuse(Recording &recording, const std::string &why) {
  recording.state = Recording::Refused;
  device_.remark(recording.name + " is not recorded: " + why);
}

std::string CudaGraphs::record(const Call &call, CudaStream &compute, Recording &recording) {
  const CudaLibrary &cuda = device_.cuda();
  CUresult begun = cuda.cuStreamBeginCapture(compute.raw(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (begun != CUDA_SUCCESS)
    return cuda.describe(begun);
  device_.beginCapture();
  // Every stream takes part from the first place to the last: what none of them waits for would run now, and
  // not be recorded.
  auto waitFor = [&](CUstream waits, CUstream place) {
    device_.given(cuda.cuEventRecord(join_, place), "join streams");
    device_.given(cuda.cuStreamWaitEvent(waits, join_, CU_EVENT_WAIT_DEFAULT), "join streams");
  };
  for (CudaStream *other : device_.streams())
    if (other != &compute)
      waitFor(other->raw(), compute.raw());
  call.enqueue();
  for (CudaStream *other : device_.streams())
    if (other != &compute)
      waitFor(compute.raw(), other->raw());
  std::string why = device_.endCapture();
  CUgraph graph = nullptr;
  CUresult ended = cuda.cuStreamEndCapture(compute.raw(), &graph);
  if (why.empty() && ended != CUDA_SUCCESS)
    why = cuda.describe(ended);
  size_t nodes = 0;
  if (why.empty()) {
    CUresult made = cuda.cuGraphGetNodes(graph, nullptr, &nodes);
    if (made == CUDA_SUCCESS)
      made = cuda.cuGraphInstantiateWithFlags(&recording.graph, graph, 0);
    if (made == CUDA_SUCCESS)
      made = cuda.cuGraphUpload(recording.graph, compute.raw());
    if (made != CUDA_SUCCESS) {
      why = cuda.describe(made);
      drop(recording);
    }
  }
  if (graph)
    cuda.cuGraphDestroy(graph);
  if (why.empty())
    device_.remark(recording.name + " is a graph of " + std::to_string(nodes) + " nodes");
  return why;
}

void CudaGraphs::launch(Recording &recording, CudaStream &compute) {
  const CudaLibrary &cuda = device_.cuda();
  compute.begin();
  for (CudaStream *other : device_.streams())
    if (other != &compute && other->takeGiven()) {
      device_.given(cuda.cuEventRecord(join_, other->raw()), "join streams");
      device_.given(cuda.cuStreamWaitEvent(compute.raw(), join_, CU_EVENT_WAIT_DEFAULT), "join streams");
    }
  device_.launched(cuda.cuGraphLaunch(recording.graph, compute.raw()), "a recorded entry", compute.raw());
  device_.given(cuda.cuEventRecord(device_.graphEnd(), compute.raw()), "launch a graph");
  device_.noteGraph(compute.raw());
}

void CudaGraphs::call(const Call &call, CudaStream &compute) {
  if (!device_.settings().graphs)
    return call.enqueue();
  Recording *recording = find(call, compute.raw());
  if (!recording) {
    Recording &seen = add(call, compute.raw());
    seen.lastUse = ++uses_;
    device_.takeHostWork();
    call.enqueue();
    if (std::string work = device_.takeHostWork(); !work.empty())
      refuse(seen, work + " is the host's");
    return;
  }
  recording->lastUse = ++uses_;
  if (recording->state == Recording::Seen) {
    std::string why = record(call, compute, *recording);
    if (why.empty())
      recording->state = Recording::Recorded;
    else
      refuse(*recording, why);
  }
  if (recording->state == Recording::Refused)
    return call.enqueue();
  launch(*recording, compute);
}

} // namespace tessera::runtime
