//===- Streams.cpp - what stands on which stream ----------------------------===//

#include "tessera/Dialect/Exec/IR/Exec.h"

using namespace mlir;

namespace tessera::exec {

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

LogicalResult verifyStream(Operation *op) {
  int64_t stream = cast<ExecStreamOpInterface>(op).getStreamNumber();
  if (stream < 0)
    return op->emitOpError() << "is given to stream " << stream << "; they begin at 0";
  if (stream > 0 && llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
    return op->emitOpError(
        "is given to a stream, but stands on rung kernels: streams are assigned on rung exec");
  return success();
}

FailureOr<int64_t> countStreams(ModuleOp module) {
  Attribute attr = module->getAttr(kStreamsAttr);
  if (!attr)
    return 1;
  auto list = dyn_cast<ArrayAttr>(attr);
  auto isKind = [](Attribute kind) {
    auto name = dyn_cast<StringAttr>(kind);
    return name && (name.getValue() == kComputeStream || name.getValue() == kCommunicationStream);
  };
  if (!list || list.empty() || !llvm::all_of(list, isKind) ||
      cast<StringAttr>(list[0]).getValue() != kComputeStream)
    return module.emitOpError() << "has " << kStreamsAttr << " = " << attr
                                << ": expected a list of \"compute\" and \"communication\" that begins with "
                                   "\"compute\"";
  return int64_t(list.size());
}

static LogicalResult verifyEvent(Operation *op, int64_t event) {
  return event >= 0 ? success() : op->emitOpError() << "names event " << event << "; they begin at 0";
}
LogicalResult EventRecordOp::verify() { return verifyEvent(*this, int64_t(getEvent())); }
LogicalResult EventWaitOp::verify() { return verifyEvent(*this, int64_t(getEvent())); }

// What stands between streams is no value's.
void EventRecordOp::getEffects(Effects &effects) { effects.emplace_back(MemoryEffects::Write::get()); }
void EventWaitOp::getEffects(Effects &effects) { effects.emplace_back(MemoryEffects::Write::get()); }

} // namespace tessera::exec
