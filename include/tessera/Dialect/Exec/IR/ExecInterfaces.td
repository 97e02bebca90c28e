#ifndef TESSERA_DIALECT_EXEC_EXECINTERFACES_TD
#define TESSERA_DIALECT_EXEC_EXECINTERFACES_TD

include "mlir/IR/OpBase.td"

def ExecAccessOpInterface : OpInterface<"ExecAccessOpInterface"> {
  let description = [{
    Ops of rung `exec` that touch memory say of every memref operand whether they read it, write all of it, or update it. Memory effects and
    `verify-exec-memory` read this and nothing else about the op. Which bytes an operand is follows from what defines it (`BufferView`).
  }];
  let cppNamespace = "::tessera::exec";
  let methods = [
    InterfaceMethod<[{One entry for every memref operand, in order. What an op writes lies apart from all that it reads, unless an entry says that
      exactly its bytes may be written (`inPlace`).}], "::llvm::SmallVector<::tessera::exec::Access>", "getAccesses">,
    InterfaceMethod<[{Work that goes on after the op: the token that ends it. Its operands are busy until an op takes the token.}],
      "::mlir::Value", "getStartedToken", (ins), "", "return {};">,
    InterfaceMethod<"What the op does to parameters that it names by symbol and takes as no operand: to their packed or plain forms.",
      "::llvm::SmallVector<::tessera::exec::ParameterAccess>", "getParameterAccesses", (ins), "", "return {};">,
    InterfaceMethod<"Whether other ranks need the work, so that it is no mistake if nobody reads what it writes here.",
      "bool", "isNeededElsewhere", (ins), "", "return false;">,
  ];
}

def ExecStreamOpInterface : OpInterface<"ExecStreamOpInterface"> {
  let description = [{
    Ops of rung `exec` that give something to a stream of the device: work, or a place where streams meet. Streams run side by side, each in the order
    of the program; 0 computes, and `exec.streams` of the module says what the others are for (docs/RationaleExec.md).
  }];
  let cppNamespace = "::tessera::exec";
  let verify = "return ::tessera::exec::verifyStream($_op);";
  let methods = [
    InterfaceMethod<"The stream's number.", "int64_t", "getStreamNumber", (ins), "", [{
      return int64_t($_op.getStream().value_or(0));
    }]>,
    InterfaceMethod<"Gives the op to another stream.", "void", "setStreamNumber", (ins "int64_t":$number), "", [{
      $_op.setStreamAttr(number == 0 ? ::mlir::IntegerAttr() : ::mlir::Builder($_op->getContext()).getI64IntegerAttr(number));
    }]>,
    InterfaceMethod<"The event that stands for this place of the stream from here on.", "::std::optional<int64_t>", "getRecordedEvent", (ins), "", [{
      return std::nullopt;
    }]>,
    InterfaceMethod<"The event whose place the stream waits for.", "::std::optional<int64_t>", "getAwaitedEvent", (ins), "", [{
      return std::nullopt;
    }]>,
  ];
}

def ExecViewOpInterface : OpInterface<"ExecViewOpInterface"> {
  let description = [{
    An op whose result is memory of another value: it copies nothing and is no storage of its own. It begins where that value begins, or is the
    layer of a given number.
  }];
  let cppNamespace = "::tessera::exec";
  let methods = [
    InterfaceMethod<"The value of which the result is a part.", "::mlir::Value", "getViewed">,
    InterfaceMethod<"The number of the layer along dimension 0; null: the result begins where the value begins.",
      "::mlir::Value", "getViewedLayer", (ins), "", "return {};">,
  ];
}

#endif
