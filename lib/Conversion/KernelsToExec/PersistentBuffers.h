//===- PersistentBuffers.h - Places that outlive a call ---------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_KERNELSTOEXEC_PERSISTENTBUFFERS_H
#define TESSERA_LIB_CONVERSION_KERNELSTOEXEC_PERSISTENTBUFFERS_H

#include "EntryPorts.h"

#include "tessera/Dialect/Exec/IR/Exec.h"

#include "llvm/Support/MathExtras.h"

#include <map>

namespace tessera::exec {

/// States, inputs and outputs of all entries: what must outlive a call.
class PersistentBuffers {
public:
  /// Those of `slot`, or (nothing) those that are of no micro-batch. The former come first, each kind of slot
  /// by itself: they are the beginning of the arena.
  llvm::LogicalResult addStates(mlir::func::FuncOp func, EntryPorts &ports, std::optional<graph::Slot> slot) {
    for (Port &port : ports.arguments) {
      if (port.kind != graph::Kind::State || port.slot != slot)
        continue;
      auto [it, isNew] = states.insert({port.name, port});
      if (isNew) {
        it->second.offset = bytes;
        bytes += int64_t(llvm::alignTo(arrayBytes(port.type), kBufferAlignment));
      } else if (it->second.type != port.type || it->second.sharding != port.sharding) {
        return func.emitOpError() << "has state " << port.name << " as " << port.type << ", another entry as "
                                  << it->second.type;
      } else if (it->second.clear != port.clear) {
        return func.emitOpError() << "and another entry say differently when state " << port.name
                                  << " is cleared; give both the same " << graph::kClearAttr;
      } else if (it->second.fill != port.fill) {
        return func.emitOpError() << "and another entry say differently what fills state " << port.name
                                  << "; give both the same " << graph::kFillAttr;
      } else if (it->second.slot != port.slot) {
        return func.emitOpError() << "and another entry say differently how long micro-batches have state "
                                  << port.name << "; give both the same " << graph::kSlotAttr;
      } else if (port.holds) {
        it->second.holds = either(it->second.holds, port.holds);
      }
      port.offset = it->second.offset;
    }
    for (Port &port : ports.results)
      if (port.kind == graph::Kind::State && port.slot == slot) {
        auto it = states.find(port.name);
        if (it == states.end() || it->second.type != port.type || it->second.sharding != port.sharding)
          return func.emitOpError() << "returns state " << port.name
                                    << " that it does not take with the same type and sharding";
        port.offset = it->second.offset;
      }
    return llvm::success();
  }
  /// Of several steps, which may call a state differently: `a or b`, each name once.
  static mlir::StringAttr either(mlir::StringAttr known, mlir::StringAttr other) {
    if (!known)
      return other;
    llvm::SmallVector<llvm::StringRef> names;
    known.getValue().split(names, " or ");
    if (llvm::is_contained(names, other.getValue()))
      return known;
    return mlir::StringAttr::get(known.getContext(), known.getValue() + " or " + other.getValue());
  }
  /// Equal names and types share a place: one entry's output is the next one's input.
  void addPorts(EntryPorts &ports) {
    for (Port &port : llvm::concat<Port>(ports.arguments, ports.results)) {
      if (port.kind == graph::Kind::State)
        continue;
      auto [it, isNew] = shared.try_emplace({port.name.str(), port.type.getAsOpaquePointer()}, bytes);
      if (isNew)
        bytes += int64_t(llvm::alignTo(arrayBytes(port.type), kBufferAlignment));
      port.offset = it->second;
    }
  }
  mlir::ArrayAttr stateAttrs(mlir::MLIRContext *context) const {
    llvm::SmallVector<mlir::Attribute> attrs;
    for (auto &[name, port] : states)
      attrs.push_back(port.toAttr());
    return mlir::ArrayAttr::get(context, attrs);
  }
  int64_t bytes = 0;

private:
  llvm::MapVector<llvm::StringRef, Port> states;
  std::map<std::pair<std::string, const void *>, int64_t> shared;
};

} // namespace tessera::exec
#endif
