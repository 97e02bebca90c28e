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
      if (auto [flag, isElse] = loop.getFlag(); flag) {
        json::Object read;
        flag.describeCall(read, *this);
        call[isElse ? "unless" : "if"] = *read.getInteger("id");
      }
      calls.push_back(std::move(call));
      continue;
    }
    auto asked = dyn_cast<ExecCallOpInterface>(op);
    if (!asked)
      continue;
    call["do"] = asked.getCallWord();
    asked.describeCall(call, *this);
    StringRef name = graph::callName(op.getLoc());
    if (!name.empty() && asked.namesCall())
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
