#ifndef TESSERA_INTERFACES_DROPOPINTERFACE_TD
#define TESSERA_INTERFACES_DROPOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DropOpInterface : OpInterface<"DropOpInterface"> {
  let description = [{
    Ops that may drop elements drawn at random (docs/Dropout.md). `graph-leave-out-dropout` makes the entry that drops nothing by asking each to keep all; what still reads
    the key or the share then has forgotten this interface, and is an error.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<[{
      Drops nothing from here on: the op reads no key and no share any more, or is gone, and its readers read what it would have dropped from.
    }], "void", "keepAllElements">,
  ];
}

def DropSiteOpInterface : OpInterface<"DropSiteOpInterface"> {
  let description = [{
    Ops that say `drops` on rung `graph`: of what they give, or of what they weigh with, training may drop elements. `graph-build-train-step` numbers those that say so and
    makes them drop; then none does.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"Whether it says `drops`.", "bool", "mayDrop", (ins), [{}], [{ return $_op.getDrops(); }]>,
    InterfaceMethod<"Says so, or no more.", "void", "setMayDrop", (ins "bool":$drops), [{}], [{ $_op.setDrops(drops); }]>,
    InterfaceMethod<[{
      Drops a share of elements, f32 scalar `probability`. `keysOf` emits the keys, i64 of the given shape, of rows whose first dimension is the row of the batch. Returns what
      is left of the first result, which its readers read from here on; an error, at the op, where its shapes have no such rows.
    }], "::llvm::FailureOr<::mlir::Value>", "dropElements", (ins "::mlir::OpBuilder &":$builder,
        "::llvm::function_ref<::mlir::Value(::llvm::ArrayRef<int64_t>)>":$keysOf, "::mlir::Value":$probability)>,
  ];
}

#endif
