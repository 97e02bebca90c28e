//===- CallTree.cpp - The calls of an entry, by name ------------------------===//
//
// What the runtime is asked to do, in the order in which it is asked, loops as loops: so a call has a name
// without an argument that says which one it is.
//
//===----------------------------------------------------------------------===//

#include "ManifestWriter.h"

#include "tessera/Dialect/Graph/IR/CallNames.h"

using namespace mlir;
namespace json = llvm::json;

namespace tessera::exec {

/// [type, elements] of what `op` writes into `output`, of one layer where it writes one.
static json::Array givesJson(Value output, bool oneLayer) {
  auto type = cast<ShapedType>(output.getType());
  int64_t elements = type.getNumElements();
  if (!oneLayer)
    return json::Array{elementName(type), elements};
  return json::Array{elementName(type), elements / type.getDimSize(0), "layer"};
}

static json::Object launchJson(LaunchOp launch) {
  json::Array gives;
  for (unsigned i = 0; i < launch.getOutputs().size(); ++i)
    gives.push_back(givesJson(launch.getOutputs()[i], launch.getMode(i) == AccessKind::Layer));
  return json::Object{{"do", "launch"}, {"kernel", launch.getKernel()}, {"gives", std::move(gives)}};
}

json::Array ManifestWriter::callsJson(Block &block) {
  json::Array calls;
  for (Operation &op : block) {
    json::Object call;
    if (auto loop = dyn_cast<ForOp>(op)) {
      call = json::Object{{"loop", int64_t(loop.getCount())},
                          {"step", int64_t(loop.getStep())},
                          {"calls", callsJson(loop.getBody().front())}};
      if (loop.getCall())
        call["count"] = int64_t(*loop.getCall());
      calls.push_back(std::move(call));
      continue;
    }
    if (auto launch = dyn_cast<LaunchOp>(op))
      call = launchJson(launch);
    else if (auto product = dyn_cast<MatmulOp>(op))
      call = json::Object{{"do", "matmul"}, {"id", matmul(product)}};
    else if (auto gather = dyn_cast<GatherPackedOp>(op))
      call =
          json::Object{{"do", "gather_packed"}, {"gives", json::Array{givesJson(gather.getOutput(), false)}}};
    else if (auto pack = dyn_cast<PackOp>(op))
      call = json::Object{{"do", "pack"}, {"id", param(pack.getParamAttr())}};
    else if (isa<CollectiveOp>(op))
      call = json::Object{{"do", "collective"}, {"id", collective(&op)}};
    else if (isa<CollectiveStartOp>(op))
      call = json::Object{{"do", "start"}, {"id", collective(&op)}};
    else if (isa<SendOp>(op))
      call = json::Object{{"do", "send"}};
    else if (isa<ReceiveOp>(op))
      call = json::Object{{"do", "receive"}};
    else if (isa<WaitOp>(op))
      call = json::Object{{"do", "wait"}};
    else if (isa<CopyOp>(op))
      call = json::Object{{"do", "copy"}};
    else
      continue;
    StringRef name = graph::callName(op.getLoc());
    if (!name.empty() && !isa<CopyOp>(op)) // what a copy is for, many values' makers say
      call["value"] = name;
    json::Array at;
    for (const graph::CallIteration &iteration : graph::callIterations(op.getLoc()))
      at.push_back(json::Array{iteration.loop, iteration.scale, iteration.offset});
    if (!at.empty())
      call["at"] = std::move(at);
    calls.push_back(std::move(call));
  }
  return calls;
}

} // namespace tessera::exec
