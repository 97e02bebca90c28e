// Graphs: made by captures, launched as a whole.
#include "Declarations.h"
#include "Streams.h"

#include <algorithm>

using namespace standin;

namespace standin {

// What a node touches must still be allocated: a graph keeps the addresses of its capture.
static void checkNodes(Call &call, const GraphExec &exec) {
  for (size_t i = 0; i < exec.nodes.size(); ++i)
    for (const AllocationRef &used : exec.nodes[i].operation->uses) {
      AllocationRef now = call.machine.memory.find(used->begin);
      if (!now || now->id != used->id)
        call.violation("node " + std::to_string(i) + " (" + exec.nodes[i].operation->what + ") uses " +
                           used->name() + ", which was freed after the capture",
                       "capture again, or keep the memory");
    }
}

static void launchGraph(Call &call, GraphExec &exec, const StreamRef &stream) {
  Machine &machine = call.machine;
  Context &context = *stream->context;
  std::vector<UnitRef> after;
  if (stream->last)
    after.push_back(stream->last);
  if (exec.last)
    after.push_back(exec.last); // a graph runs once at a time
  UnitRef begin = machine.submit(context, stream->lane, stream->given, nullptr, after);
  std::vector<UnitRef> units;
  uint64_t given = exec.launches++ * 1000003;
  for (const GraphNode &node : exec.nodes) {
    std::vector<UnitRef> before;
    for (int other : node.after)
      before.push_back(units[other]);
    if (before.empty())
      before.push_back(begin);
    units.push_back(machine.submit(context, exec.lanes[node.chain], given, node.operation, before));
  }
  std::vector<UnitRef> ends{begin};
  for (int leaf : exec.leaves)
    ends.push_back(units[leaf]);
  exec.last = stream->last = machine.submit(context, stream->lane, stream->given, nullptr, ends);
}

static size_t kernelsOf(const std::vector<GraphNode> &nodes) {
  return size_t(std::count_if(nodes.begin(), nodes.end(),
                              [](const GraphNode &node) { return node.operation->kind == "kernel"; }));
}

} // namespace standin

namespace tessera::cuda {
extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph handle, unsigned long long flags) {
  return call("cuGraphInstantiateWithFlags", kContext, [&](Call &call) {
    auto graph = call.object(call.machine.graphs, handle);
    if (!exec)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the executable graph is null", "pass where it goes");
    if (flags)
      call.refuse(CUDA_ERROR_NOT_SUPPORTED, "flags", "pass 0");
    auto made = std::make_shared<GraphExec>();
    made->context = call.context;
    made->nodes = graph->nodes;
    std::vector<char> followed(graph->nodes.size());
    for (const GraphNode &node : graph->nodes)
      for (int before : node.after)
        followed[before] = 1;
    for (size_t i = 0; i < followed.size(); ++i)
      if (!followed[i])
        made->leaves.push_back(int(i));
    for (int i = 0; i < graph->chains; ++i)
      made->lanes.push_back(call.machine.addLane());
    *exec = made->handle = call.machine.graphExecs.add(made);
    call.trace("instantiate " + call.machine.graphExecs.nameOf(*exec) + " nodes=" +
               std::to_string(made->nodes.size()) + " kernels=" + std::to_string(kernelsOf(made->nodes)));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream streamHandle) {
  return call("cuGraphUpload", kContext, [&](Call &call) {
    call.object(call.machine.graphExecs, handle);
    call.stream(streamHandle, true);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  return call("cuGraphLaunch", kContext, [&](Call &call) {
    auto exec = call.object(call.machine.graphExecs, handle);
    StreamRef stream = call.stream(streamHandle, true);
    if (stream->capture)
      breakCapture(call, stream->capture, CUDA_ERROR_NOT_SUPPORTED,
                   "a graph within a graph: the stand-in has no child graphs", "capture the work itself");
    checkNodes(call, *exec);
    call.trace("graph-launch " + call.machine.graphExecs.nameOf(handle) + " " +
               call.machine.streams.nameOf(streamHandle) + " nodes=" + std::to_string(exec->nodes.size()) +
               " kernels=" + std::to_string(kernelsOf(exec->nodes)));
    launchGraph(call, *exec, stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return call("cuGraphExecDestroy", kContext, [&](Call &call) {
    auto exec = call.object(call.machine.graphExecs, handle);
    for (int64_t lane : exec->lanes)
      call.machine.releaseLane(lane);
    if (exec->last)
      exec->last->context->orphans.push_back(exec->last);
    call.machine.graphExecs.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return call("cuGraphDestroy", kContext, [&](Call &call) {
    call.object(call.machine.graphs, handle);
    call.machine.graphs.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  return call("cuGraphGetNodes", kContext, [&](Call &call) {
    auto graph = call.object(call.machine.graphs, handle);
    if (!count)
      call.refuse(CUDA_ERROR_INVALID_VALUE, "the count is null", "pass where it goes");
    if (!nodes) {
      *count = graph->nodes.size();
      return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < *count; ++i) // handles of nodes are good for nothing but counting
      nodes[i] = i < graph->nodes.size() ? reinterpret_cast<CUgraphNode>(&graph->nodes[i]) : nullptr;
    *count = std::min(*count, graph->nodes.size());
    return CUDA_SUCCESS;
  });
}

} // extern "C"
} // namespace tessera::cuda
