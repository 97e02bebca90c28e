#ifndef TESSERA_INTERFACES_CHOSENROWSOPINTERFACE_TD
#define TESSERA_INTERFACES_CHOSENROWSOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ChosenRowsOpInterface : OpInterface<"ChosenRowsOpInterface"> {
  let description = [{
    Ops that read of an operand [n..., e, d] only rows (n, e) with e among the ids of n. What other rows hold matters to nobody if all readers say so (`graph::choosingIds`): they
    need not be computed, held or sent.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"The ids, i32 [n..., k]: an id outside [0, e) of all ranks chooses nobody.", "::mlir::Value", "getChosenIds">,
    InterfaceMethod<"Whether of operand number `operand` it reads chosen rows alone.", "bool", "readsChosenRows", (ins "unsigned":$operand)>,
  ];
}

#endif
