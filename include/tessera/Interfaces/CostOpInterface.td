#ifndef TESSERA_INTERFACES_COSTOPINTERFACE_TD
#define TESSERA_INTERFACES_COSTOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    Work of one execution of the op at its present (global or local) shapes: floating point operations by element type and
    bytes that must move through memory if nothing is fused. One model for planner, simulator and reports.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"FLOPs (a fused multiply-add counts two) and bytes.", "::tessera::OpCost", "getCost">,
  ];
}

#endif
