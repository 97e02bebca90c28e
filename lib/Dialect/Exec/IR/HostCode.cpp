//===- HostCode.cpp - what ops become in the host's code --------------------===//

#include "tessera/Dialect/Exec/IR/ExchangeRows.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;

#include "tessera/Dialect/Exec/IR/ExecHostCodeInterface.cpp.inc"

namespace tessera::exec {

/// Of an op that is a call and nothing else.
static FailureOr<Value> noResult() { return Value(); }

//===- Values that are there, views, indices --------------------------------===//

FailureOr<Value> ParamOp::emitHostCode(HostCode &code) { return code.plain(getParamAttr()); }

FailureOr<Value> BufferOp::emitHostCode(HostCode &code) { return code.inArena(int64_t(getOffset())); }

FailureOr<Value> GroupIndexOp::emitHostCode(HostCode &code) {
  return code.callForNumber("ts_group_index", {code.constant32(code.tables().group(getAxes()))});
}

FailureOr<Value> LayerOp::emitHostCode(HostCode &code) {
  return code.behind(code.at(getStack()),
                     code.multiply(code.at(getIndex()), code.constant(layerStride(*this))));
}

FailureOr<Value> ReshapeOp::emitHostCode(HostCode &code) { return code.at(getInput()); }

FailureOr<Value> IndexOffsetOp::emitHostCode(HostCode &code) {
  Value index = code.at(getIndex()), offset = code.constant(int64_t(getOffset()));
  return getReverse() ? code.subtract(offset, index) : code.add(offset, index);
}

FailureOr<Value> StackLayerOp::emitHostCode(HostCode &code) {
  Value turn = code.divide(code.at(getIndex()), code.constant(int64_t(getPeriod())));
  Value number = code.multiply(turn, code.constant(int64_t(getHeld())));
  return code.add(number, code.constant(int64_t(getBefore())));
}

//===- Work -----------------------------------------------------------------===//

FailureOr<Value> LaunchOp::emitHostCode(HostCode &code) {
  code.launch(*this);
  return noResult();
}

FailureOr<Value> MatmulOp::emitHostCode(HostCode &code) {
  SmallVector<Value> arguments = {code.constant32(code.tables().matmul(*this)), code.orZero(getLayer()),
                                  code.at(getInput()), code.orNull(getWeight())};
  if (getStarts()) {
    arguments.append({code.at(getStarts()), code.at(getOutput())});
    code.call("ts_grouped_matmul", arguments);
    return noResult();
  }
  arguments.append({code.at(getOutput()), code.orNull(getBias()), code.orNull(getAddend())});
  code.call("ts_matmul", arguments);
  return noResult();
}

FailureOr<Value> GatherPackedOp::emitHostCode(HostCode &code) {
  auto ids = cast<ShapedType>(getIds().getType());
  auto parameter = SymbolTable::lookupNearestSymbolFrom<graph::ParameterOp>(*this, getParamAttr());
  Value first = code.multiply(code.orZero(getShard()), code.constant(packedMatrix(parameter).rows));
  code.call("ts_gather_packed",
            {code.constant32(code.tables().param(getParamAttr())), code.orZero(getLayer()), code.at(getIds()),
             first, code.constant(ids.getNumElements()), code.at(getOutput())});
  return noResult();
}

FailureOr<Value> PackOp::emitHostCode(HostCode &code) {
  code.call("ts_pack", {code.constant32(code.tables().param(getParamAttr())),
                        getLayer() ? code.at(getLayer()) : code.constant(-1)});
  return noResult();
}

FailureOr<Value> CopyOp::emitHostCode(HostCode &code) {
  code.call("ts_copy",
            {code.at(getTarget()), code.at(getSource()), code.constant(arrayBytes(getSource().getType()))});
  return noResult();
}

FailureOr<Value> ReadFlagOp::emitHostCode(HostCode &code) {
  return code.callForNumber("ts_read_flag", {code.at(getFlag())});
}

FailureOr<Value> ForOp::emitHostCode(HostCode &code) {
  if (failed(code.loop(*this)))
    return failure();
  return noResult();
}

//===- Communication --------------------------------------------------------===//

FailureOr<Value> CollectiveOp::emitHostCode(HostCode &code) {
  code.call("ts_collective",
            {code.constant32(code.tables().collective(*this)), code.at(getInput()), code.at(getOutput())});
  return noResult();
}

FailureOr<Value> ExchangeRowsOp::emitHostCode(HostCode &code) {
  code.call("ts_exchange_rows", {code.constant32(code.tables().collective(*this)), code.at(getInput()),
                                 code.at(getCounts()), code.at(getOutput())});
  return noResult();
}

FailureOr<Value> CollectiveStartOp::emitHostCode(HostCode &code) {
  return code.callForNumber("ts_collective_start", {code.constant32(code.tables().collective(*this)),
                                                    code.at(getInput()), code.at(getOutput())});
}

template <typename Op> static Value message(HostCode &code, StringRef function, Op op) {
  return code.callForNumber(function,
                            {code.constant32(code.tables().group(op.getAxes())), code.at(op.getPeer()),
                             code.constant(int64_t(op.getTag())), code.at(op.getBuffer()),
                             code.constant(arrayBytes(op.getBuffer().getType()))});
}
FailureOr<Value> SendOp::emitHostCode(HostCode &code) { return message(code, "ts_send", *this); }
FailureOr<Value> ReceiveOp::emitHostCode(HostCode &code) { return message(code, "ts_receive", *this); }

FailureOr<Value> WaitOp::emitHostCode(HostCode &code) {
  code.call("ts_collective_wait", {code.at(getToken())});
  return noResult();
}

//===- Events ---------------------------------------------------------------===//

FailureOr<Value> EventRecordOp::emitHostCode(HostCode &code) {
  code.call("ts_event_record", {code.constant32(int64_t(getEvent()))});
  return noResult();
}
FailureOr<Value> EventWaitOp::emitHostCode(HostCode &code) {
  code.call("ts_event_wait", {code.constant32(int64_t(getEvent()))});
  return noResult();
}

} // namespace tessera::exec
