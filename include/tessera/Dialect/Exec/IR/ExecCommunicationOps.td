#ifndef TESSERA_DIALECT_EXEC_EXECCOMMUNICATIONOPS_TD
#define TESSERA_DIALECT_EXEC_EXECCOMMUNICATIONOPS_TD

// Included by ExecOps.td, which defines the classes used here.

def Exec_CollectiveKind : Exec_RuntimeEnum<"::tessera::CollectiveKind", "kind of collective">;
def Exec_Reduction : Exec_RuntimeEnum<"::tessera::Reduction", "how a collective combines">;

/// #dist.sharding with `global`; not by including its .td, whose enums would be made twice.
def Exec_GlobalSharding : Attr<CPred<"::llvm::isa<::tessera::dist::ShardingAttr>($_self)">, "sharding with global sizes"> {
  let storageType = "::tessera::dist::ShardingAttr";
  let returnType = "::tessera::dist::ShardingAttr";
  let convertFromStorage = "$_self";
}

def Exec_TokenType : TypeDef<Exec_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "Something that was started and has not been waited for";
  let description = [{
    Made by `exec.collective_start`, `exec.send` and `exec.receive`, consumed by one `exec.wait` of the same block. Until then the buffers of the
    op are in flight: what it reads is not written, what it writes is neither read nor written. Rung `exec` only.
  }];
}

def Exec_CollectiveOp : Exec_DestinationOp<"collective", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<ExecCollectiveOpInterface>,
    DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>]> {
  let summary = "Communication within the groups over `axes`, on contiguous blocks";
  let description = [{
    What the kinds do, and what `from`, `to`, `at` and `mirrored` say: docs/Manifest.md. Input and output are seen as blocks of contiguous elements, one
    for each rank of the group where ranks have different ones; copies that bring blocks together stand in the program (`spmd-to-kernels`). `why`
    says which two ops disagreed. An all_reduce may work in place.

    Blocks of an all_gather and a reduce_scatter may have several rows (`rows`): the longer side, what is gathered or scattered, then has as many, each with a row of every
    block. And the longer side may lack elements at the end of each row (`cut`, of all rows together): padding of the last blocks, which nobody sends.
    ```mlir
    // given %x: tensor<8x64xf32>, %e: tensor<8x64xf32>
    dist.mesh @mesh = <["tp"=2]>
    %y = exec.collective all_reduce sum over [#dist.axis_ref<"tp">] ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>)
        -> tensor<8x64xf32>
    ```
    ```mlir
    // given %x: tensor<4x195xf32>, %e: tensor<4x389xf32>
    dist.mesh @mesh = <["dp"=2]>
    %y = exec.collective all_gather none over [#dist.axis_ref<"dp">] ins(%x : tensor<4x195xf32>) outs(%e : tensor<4x389xf32>) {rows = 4 : i64, cut = 4 : i64}
        -> tensor<4x389xf32>
    ```
  }];
  let arguments = (ins Exec_CollectiveKind:$kind, Exec_Reduction:$reduce, ArrayAttr:$axes, Exec_Array:$input,
      Exec_Array:$output, OptionalAttr<Exec_GlobalSharding>:$from, OptionalAttr<Exec_GlobalSharding>:$to, OptionalAttr<ArrayAttr>:$mirrored,
      OptionalAttr<DenseI64ArrayAttr>:$at, OptionalAttr<I64Attr>:$rows, OptionalAttr<I64Attr>:$cut, OptionalAttr<StrAttr>:$why, Exec_Stream:$stream);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    custom<CollectiveKind>($kind) custom<Reduction>($reduce) `over` $axes `ins` `(` $input `:` type($input) `)`
        `outs` `(` $output `:` type($output) `)` (`stream` $stream^)? attr-dict (`->` type($results)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::tessera::CollectiveKind":$kind, "::tessera::Reduction":$reduce,
      "::mlir::ArrayAttr":$axes, "::mlir::Value":$input, "::mlir::Value":$output, "::tessera::dist::ShardingAttr":$from,
      "::tessera::dist::ShardingAttr":$to, "::mlir::ArrayAttr":$mirrored, "::mlir::StringAttr":$why), [{
    build($_builder, $_state, results, kind, reduce, axes, input, output, from, to, mirrored, /*at=*/nullptr, /*rows=*/nullptr, /*cut=*/nullptr, why, /*stream=*/nullptr);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    bool isNeededElsewhere() { return true; }
  }];
}

class Exec_StartingOp<string mnemonic, list<Trait> traits = []> : Exec_StreamOp<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<ExecAccessOpInterface>], traits)> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getStartedToken() { return getToken(); }
  }];
}

def Exec_CollectiveStartOp : Exec_StartingOp<"collective_start", [DeclareOpInterfaceMethods<ExecCollectiveOpInterface>, DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>]> {
  let summary = "Begins what exec.collective does, and goes on";
  let description = [{
    Rung `exec` only. The work begins after all that its stream was given before, and goes on beside all streams. The ranks of a group start the same
    collectives on it in the same order; different groups may come in different orders on different ranks.
    ```mlir
    // given %x: memref<8x64xf32>, %y: memref<16x64xf32>
    dist.mesh @mesh = <["tp"=2]>
    %t = exec.collective_start all_gather none over [#dist.axis_ref<"tp">] ins(%x : memref<8x64xf32>) outs(%y : memref<16x64xf32>)
    exec.wait %t
    ```
  }];
  let arguments = (ins Exec_CollectiveKind:$kind, Exec_Reduction:$reduce, ArrayAttr:$axes, AnyStaticShapeMemRef:$input,
      AnyStaticShapeMemRef:$output, OptionalAttr<Exec_GlobalSharding>:$from, OptionalAttr<Exec_GlobalSharding>:$to, OptionalAttr<ArrayAttr>:$mirrored,
      OptionalAttr<DenseI64ArrayAttr>:$at, OptionalAttr<I64Attr>:$rows, OptionalAttr<I64Attr>:$cut, OptionalAttr<StrAttr>:$why, Exec_Stream:$stream);
  let results = (outs Exec_TokenType:$token);
  let assemblyFormat = [{
    custom<CollectiveKind>($kind) custom<Reduction>($reduce) `over` $axes `ins` `(` $input `:` type($input) `)`
        `outs` `(` $output `:` type($output) `)` (`stream` $stream^)? attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getStartedToken() { return getToken(); }
    bool isNeededElsewhere() { return true; }
    ::llvm::StringRef getCallWord() { return "start"; }
  }];
}

def Exec_SendOp : Exec_StartingOp<"send", [ExecCallOpInterface]> {
  let summary = "Begins to send a buffer to a member of this rank's group over `axes`";
  let description = [{
    Rung `exec` only. The other rank receives as many bytes with the same tag; messages between two ranks with one tag arrive in the order in which
    they were sent. `to`: the member's place in the group, as `exec.group_index` counts.
    ```mlir
    // given %x: memref<8x64xf32>
    dist.mesh @mesh = <["pp"=2]>
    %s = exec.group_index [#dist.axis_ref<"pp">]
    %next = exec.index_offset %s, 1
    %t = exec.send %x to %next over [#dist.axis_ref<"pp">] tag 7 : memref<8x64xf32>
    exec.wait %t
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$buffer, Index:$peer, ArrayAttr:$axes, I64Attr:$tag, Exec_Stream:$stream);
  let results = (outs Exec_TokenType:$token);
  let assemblyFormat = "$buffer `to` $peer `over` $axes `tag` $tag (`stream` $stream^)? attr-dict `:` type($buffer)";
}

def Exec_ReceiveOp : Exec_StartingOp<"receive", [ExecCallOpInterface]> {
  let summary = "Begins to receive what a member of this rank's group over `axes` sends with the same tag";
  let description = [{
    See `exec.send`. The buffer is written whole.
    ```mlir
    // given %x: memref<8x64xf32>, %previous: index
    dist.mesh @mesh = <["pp"=2]>
    %t = exec.receive %x from %previous over [#dist.axis_ref<"pp">] tag 7 : memref<8x64xf32>
    exec.wait %t
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$buffer, Index:$peer, ArrayAttr:$axes, I64Attr:$tag, Exec_Stream:$stream);
  let results = (outs Exec_TokenType:$token);
  let assemblyFormat = "$buffer `from` $peer `over` $axes `tag` $tag (`stream` $stream^)? attr-dict `:` type($buffer)";
}

def Exec_WaitOp : Exec_StreamOp<"wait", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, ExecCallOpInterface]> {
  let summary = "Ends what a token stands for: its buffers may be used again";
  let description = [{
    Every token is waited for exactly once, in the block in which it was made. What is given to the stream from here on comes after the work; other
    streams know nothing of it.
    ```mlir
    // given %x: memref<8x64xf32>, %next: index
    dist.mesh @mesh = <["pp"=2]>
    %t = exec.send %x to %next over [#dist.axis_ref<"pp">] tag 7 : memref<8x64xf32>
    exec.wait %t
    ```
  }];
  let arguments = (ins Exec_TokenType:$token, Exec_Stream:$stream);
  let assemblyFormat = "$token (`stream` $stream^)? attr-dict";
}

#endif
