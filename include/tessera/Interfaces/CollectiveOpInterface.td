#ifndef TESSERA_INTERFACES_COLLECTIVEOPINTERFACE_TD
#define TESSERA_INTERFACES_COLLECTIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let description = [{
    Ops of rung `spmd` that bring one value to another sharding. They know what they move, so that predictions, reports and explanations
    count alike, and as `info --json` of the executable does (docs/Manifest.md).
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"What it does.", "::tessera::StepKind", "getStepKind">,
    InterfaceMethod<[{Axes, major to minor, of a group of ranks that exchange with each other. Empty: whoever the two shardings say
      (collective_permute).}], "::tessera::AxisList", "getGroupAxes", (ins "const ::tessera::Mesh &":$mesh)>,
    InterfaceMethod<[{Bytes that a rank sends, and receives, in one execution: in a ring, pieces padded to equal size; of grouped sends what the
      busiest rank sends or receives. 0 if no rank hears of another.}], "int64_t", "getBytesSent", (ins "const ::tessera::Mesh &":$mesh)>,
    InterfaceMethod<"Messages that a rank waits for, each with its latency; 0: as many rounds as its group takes.", "int64_t", "getMessages",
      (ins "const ::tessera::Mesh &":$mesh), "", "return 0;">,
    InterfaceMethod<"Some rank hears of another.", "bool", "communicates", (ins), "",
      "return $_op.getStepKind() != ::tessera::StepKind::AllSlice && $_op.getStepKind() != ::tessera::StepKind::Contribute;">,
    InterfaceMethod<[{The dimension of the operand whose axes leave; -1 where none do, or where only the two shardings say which.}],
      "int64_t", "getLeftDim">,
  ];
  let extraSharedClassDeclaration = [{
    /// Partial values are combined.
    bool reduces() {
      return $_op.getStepKind() == ::tessera::StepKind::AllReduce || $_op.getStepKind() == ::tessera::StepKind::ReduceScatter;
    }
    ::mlir::Value getMoved() { return $_op->getOperand(0); }
    ::mlir::Value getArrived() { return $_op->getResult(0); }
  }];
}

#endif
