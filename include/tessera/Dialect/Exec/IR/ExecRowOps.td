#ifndef TESSERA_DIALECT_EXEC_EXECROWOPS_TD
#define TESSERA_DIALECT_EXEC_EXECROWOPS_TD

// Included by ExecOps.td, which defines the classes used here. Its code is generated apart (ExecRowOps.h.inc): few
// files name these ops.

def Exec_ExchangeRowsOp : Exec_DestinationOp<"exchange_rows", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<ExecCollectiveOpInterface>,
    DeclareOpInterfaceMethods<ExecCallOpInterface, ["getCallWord", "describeCall"]>]> {
  let summary = "An all_to_all of rows within the groups over `axes`: how many go where is data";
  let description = [{
    Of the G ranks of a group the first `counts[0]` rows of `input` go to the first one, the next `counts[1]` to the second, and so on; `counts[G + i]` rows come from rank i, and lie in
    `output` in the same order. Both have room for the worst case; rows of `output` behind those that came are zero. Ranks agree: what one says that it sends is what the other gets.
    `even` and `most`: rows that a rank sends if all groups of rows are alike, and those that it never exceeds (for `info`). `ts_exchange_rows` of the runtime; made by forms of
    dist.exchange_rows.
    ```mlir
    // given %x: tensor<6x64xf32>, %n: tensor<4xi32>, %e: tensor<8x64xf32>
    dist.mesh @mesh = <["ep"=2]>
    %y = exec.exchange_rows over [#dist.axis_ref<"ep">] ins(%x, %n : tensor<6x64xf32>, tensor<4xi32>) outs(%e : tensor<8x64xf32>) even 3 most 6 -> tensor<8x64xf32>
    ```
  }];
  let arguments = (ins ArrayAttr:$axes, Exec_Array:$input, Exec_Array:$counts, Exec_Array:$output, I64Attr:$even, I64Attr:$most, OptionalAttr<StrAttr>:$why,
      Exec_Stream:$stream);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    `over` $axes `ins` `(` $input `,` $counts `:` type($input) `,` type($counts) `)` `outs` `(` $output `:` type($output) `)` `even` $even `most` $most
        (`stream` $stream^)? attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    bool isNeededElsewhere() { return true; }
  }];
}

#endif
