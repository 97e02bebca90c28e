#ifndef TESSERA_INTERFACES_POSITIONMIXINGOPINTERFACE_TD
#define TESSERA_INTERFACES_POSITIONMIXINGOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PositionMixingOpInterface : OpInterface<"PositionMixingOpInterface"> {
  let description = [{
    Ops that give a row per position of a sequence and read others' rows for it, as attention does. Through every other op the positions of a program have to pass one by one,
    or steps of it cannot be made (docs/Step.md); and rows that hold several documents need to tell these ops alone what each position sees.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"Numbers of the operands that positions look into (keys, values): their `seq` is none of the result's.",
                    "::llvm::SmallVector<unsigned, 2>", "getContextOperands">,
    InterfaceMethod<[{
      The operand that says what each position sees, i32 [batch, seq], or [batch, seq, 2] with the last and the first place of the row that it does. Null: what it sees are no
      places of the row.
    }], "::mlir::OpOperand *", "getSeenOperand">,
  ];
}

#endif
