//===- EntryPorts.h - Arguments and results of an entry ---------*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_KERNELSTOEXEC_ENTRYPORTS_H
#define TESSERA_LIB_CONVERSION_KERNELSTOEXEC_ENTRYPORTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::exec {

/// An argument or result of an entry, as the manifest wants it.
struct Port {
  graph::Kind kind;
  llvm::StringRef name;
  mlir::RankedTensorType type;
  mlir::Attribute sharding, fill, gives, clear;
  std::optional<graph::Slot> slot; ///< of a state that each micro-batch has its own of
  mlir::StringAttr holds;          ///< what the value in it is called; null: nobody says
  mlir::StringAttr held;           ///< of a state in blocks, whose bytes `type` has: of which; null: of none
  int64_t offset = -1;

  mlir::DictionaryAttr toAttr() const {
    mlir::Builder b(type.getContext());
    mlir::NamedAttrList list;
    list.append("name", b.getStringAttr(name));
    list.append("type", mlir::TypeAttr::get(type));
    list.append("offset", b.getI64IntegerAttr(offset));
    for (auto [key, value] : {std::pair<llvm::StringRef, mlir::Attribute>{"sharding", sharding},
                              {"fill", fill},
                              {"gives", gives},
                              {"clear", clear},
                              {"holds", holds},
                              {"held", held}})
      if (value)
        list.append(key, value);
    return list.getDictionary(type.getContext());
  }
};

struct EntryPorts {
  llvm::SmallVector<Port> arguments, results;

  /// Whether the entry gives the state `name` a new value.
  bool returnsState(llvm::StringRef name) const {
    return llvm::any_of(results, [&](const Port &result) {
      return result.kind == graph::Kind::State && result.name == name;
    });
  }
};

/// Fails, with an error at `func`, where a port has no kind or name, or two have one name.
llvm::FailureOr<EntryPorts> readPorts(mlir::func::FuncOp func);

} // namespace tessera::exec
#endif
