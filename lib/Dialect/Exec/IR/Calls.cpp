//===- Calls.cpp - what ops ask the runtime for -----------------------------===//

#include "tessera/Analysis/Sharding/GroupedSends.h"
#include "tessera/Dialect/Exec/IR/ExchangeRows.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
namespace json = llvm::json;

#include "tessera/Dialect/Exec/IR/ExecCallInterface.cpp.inc"
#include "tessera/Dialect/Exec/IR/ExecCollectiveInterface.cpp.inc"

namespace tessera::exec {

/// [type, elements] of what an op writes into `output`, of one layer where it writes one.
static json::Array givesJson(Value output, bool oneLayer) {
  auto type = cast<ShapedType>(output.getType());
  int64_t elements = type.getNumElements();
  if (!oneLayer)
    return json::Array{elementName(type), elements};
  return json::Array{elementName(type), elements / type.getDimSize(0), "layer"};
}

void LaunchOp::describeCall(json::Object &call, ManifestTables &) {
  json::Array gives;
  for (unsigned i = 0; i < getOutputs().size(); ++i)
    gives.push_back(givesJson(getOutputs()[i], getMode(i) == AccessKind::Layer));
  call["kernel"] = getKernel();
  call["gives"] = std::move(gives);
}

void MatmulOp::describeCall(json::Object &call, ManifestTables &tables) { call["id"] = tables.matmul(*this); }

void GatherPackedOp::describeCall(json::Object &call, ManifestTables &) {
  call["gives"] = json::Array{givesJson(getOutput(), false)};
}

void PackOp::describeCall(json::Object &call, ManifestTables &tables) {
  call["id"] = tables.param(getParamAttr());
}

/// The number of a flag among those of its entry, in the order of the text.
void ReadFlagOp::describeCall(json::Object &call, ManifestTables &) {
  int64_t number = 0;
  (*this)->getParentOfType<func::FuncOp>().walk([&](ReadFlagOp other) {
    number += other != *this;
    return other == *this ? WalkResult::interrupt() : WalkResult::advance();
  });
  call["id"] = number;
}

/// A row of the table of collectives.
template <typename Op> static void describe(Op op, json::Object &row, ManifestTables &tables) {
  auto type = cast<ShapedType>(op.getInput().getType());
  row = json::Object{{"kind", collectiveName(op.getKind())}, {"op", reductionName(op.getReduce())},
                     {"dtype", elementName(type)},           {"group", tables.group(op.getAxes())},
                     {"elements", type.getNumElements()},    {"why", op.getWhy() ? op.getWhy()->str() : ""}};
  if (op.getRows())
    row["rows"] = int64_t(*op.getRows());
  if (op.getCut())
    row["cut"] = int64_t(*op.getCut());
  if (op.getMirrored())
    row["mirrored"] = tables.axesJson(*op.getMirrored());
  if (op.getFrom()) {
    row["from"] = tables.shardingJson(*op.getFrom());
    row["to"] = tables.shardingJson(*op.getTo());
  }
  if (op.getKind() == CollectiveKind::GroupedSend) {
    ArrayRef<int64_t> global = op.getFrom()->getGlobal().asArrayRef();
    const Mesh &mesh = tables.getMesh();
    Sharding before = op.getFrom()->toSharding(mesh), after = op.getTo()->toSharding(mesh);
    ArrayRef<int64_t> size = op.getTo()->getGlobal().asArrayRef(),
                      at = op.getAt().value_or(ArrayRef<int64_t>());
    row["global"] = json::Array(global);
    if (op.getAt()) {
      row["at"] = json::Array(at);
      row["size"] = json::Array(size);
    }
    row["most_moved"] = int64_t(mostMoved(mesh, SentPart(global, at, size), before, after));
  }
}

void CollectiveOp::describeCollective(json::Object &row, ManifestTables &tables) {
  describe(*this, row, tables);
}

void CollectiveStartOp::describeCollective(json::Object &row, ManifestTables &tables) {
  describe(*this, row, tables);
}

void ExchangeRowsOp::describeCollective(json::Object &row, ManifestTables &tables) {
  auto type = cast<ShapedType>(getInput().getType());
  int64_t width = type.getDimSize(1);
  row = json::Object{{"kind", collectiveName(CollectiveKind::AllToAll)},
                     {"dtype", elementName(type)},
                     {"group", tables.group(getAxes())},
                     {"elements", type.getNumElements()},
                     {"width", width},
                     {"received", cast<ShapedType>(getOutput().getType()).getNumElements()},
                     {"even_moved", int64_t(getEven()) * width},
                     {"most_moved", int64_t(getMost()) * width},
                     {"why", getWhy() ? getWhy()->str() : ""}};
}

void CollectiveOp::describeCall(json::Object &call, ManifestTables &tables) {
  call["id"] = tables.collective(*this);
}

/// One collective of several to the runtime.
StringRef ExchangeRowsOp::getCallWord() { return CollectiveOp::getOperationName().split('.').second; }

void ExchangeRowsOp::describeCall(json::Object &call, ManifestTables &tables) {
  call["id"] = tables.collective(*this);
}

void CollectiveStartOp::describeCall(json::Object &call, ManifestTables &tables) {
  call["id"] = tables.collective(*this);
}

} // namespace tessera::exec
