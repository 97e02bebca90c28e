//===- EntryPorts.cpp -----------------------------------------------------===//
#include "EntryPorts.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"

using namespace mlir;

namespace tessera::exec {

static FailureOr<Port> readPort(func::FuncOp func, Type type, DictionaryAttr attrs, const Twine &what) {
  auto kind = attrs ? attrs.getAs<graph::KindAttr>(graph::kKindAttr) : nullptr;
  auto name = attrs ? attrs.getAs<StringAttr>(graph::kNameAttr) : nullptr;
  if (!kind || !name)
    return func.emitOpError() << what << " needs the attributes graph.kind and graph.name";
  auto slot = attrs.getAs<graph::SlotAttr>(graph::kSlotAttr);
  return Port{kind.getValue(),
              name,
              cast<RankedTensorType>(type),
              attrs.get(kShardingAttr),
              attrs.get(graph::kFillAttr),
              attrs.get(graph::kGivesAttr),
              attrs.get(graph::kClearAttr),
              slot ? std::optional(slot.getValue()) : std::nullopt,
              attrs.getAs<StringAttr>(graph::kHoldsAttr),
              attrs.getAs<StringAttr>(graph::kHeldAttr)};
}

FailureOr<EntryPorts> readPorts(func::FuncOp func) {
  EntryPorts ports;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    FailureOr<Port> port =
        readPort(func, func.getArgumentTypes()[i], func.getArgAttrDict(i), "argument " + Twine(i));
    if (failed(port))
      return failure();
    ports.arguments.push_back(*port);
  }
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    FailureOr<Port> port =
        readPort(func, func.getResultTypes()[i], func.getResultAttrDict(i), "result " + Twine(i));
    if (failed(port))
      return failure();
    ports.results.push_back(*port);
  }
  // A name stands for one place.
  for (ArrayRef<Port> list : {ArrayRef<Port>(ports.arguments), ArrayRef<Port>(ports.results)})
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (list[i].kind == list[j].kind && list[i].name == list[j].name)
          return func.emitOpError() << "has two of " << graph::stringifyKind(list[i].kind) << " '"
                                    << list[i].name << "'; rename one";
  return ports;
}

} // namespace tessera::exec
