//===- Flight.cpp - what work in flight keeps busy --------------------------===//

#include "tessera/Dialect/Exec/IR/Flight.h"

using namespace mlir;

namespace tessera::exec {

MemoryRange::MemoryRange(Value buffer) {
  Value root = rootOf(buffer);
  if (auto param = root.getDefiningOp<ParamOp>()) {
    parameter = param.getParamAttr();
    return;
  }
  auto place = root.getDefiningOp<BufferOp>();
  if (!place) {
    other = root;
    return;
  }
  // A layer may lie anywhere in its stack; other views begin where their roots do.
  bool layered = false;
  for (Value at = buffer; at != root;) {
    auto view = at.getDefiningOp<ExecViewOpInterface>();
    layered |= bool(view.getViewedLayer());
    at = view.getViewed();
  }
  begin = int64_t(place.getOffset());
  end = begin + arrayBytes((layered ? root : buffer).getType());
}

bool MemoryRange::overlaps(const MemoryRange &o) const {
  if (parameter || o.parameter)
    return parameter == o.parameter && packed == o.packed;
  return other || o.other ? other == o.other : begin < o.end && o.begin < end;
}

std::optional<Meeting> meeting(Operation *op, const Flight &flight) {
  std::optional<Meeting> found;
  op->walk([&](ExecAccessOpInterface inner) {
    for (const Access &access : inner.getAccesses())
      if (Value value = access.operand->get(); flight.meets(MemoryRange(value), access.kind)) {
        found = Meeting{inner, access.kind, value, {}};
        return WalkResult::interrupt();
      }
    for (const ParameterAccess &access : inner.getParameterAccesses())
      if (flight.meets(MemoryRange(access), access.kind)) {
        found = Meeting{inner, access.kind, {}, access.param};
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return found;
}

} // namespace tessera::exec
