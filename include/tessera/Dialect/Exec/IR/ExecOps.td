#ifndef TESSERA_DIALECT_EXEC_EXECOPS_TD
#define TESSERA_DIALECT_EXEC_EXECOPS_TD

include "tessera/Dialect/Exec/IR/ExecCallInterface.td"
include "tessera/Dialect/Exec/IR/ExecCollectiveInterface.td"
include "tessera/Dialect/Exec/IR/ExecDialect.td"
include "tessera/Dialect/Exec/IR/ExecHostCodeInterface.td"
include "tessera/Dialect/Exec/IR/ExecInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// A value of the program: a tensor on rung `kernels`, a buffer on rung `exec`.
def Exec_Array : AnyTypeOf<[AnyStaticShapeTensor, AnyStaticShapeMemRef], "statically shaped tensor or memref">;

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;
/// What stands in an entry on rung `exec`.
class Exec_HostOp<string mnemonic, list<Trait> traits = []> : Exec_Op<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<ExecHostCodeOpInterface>], traits)>;

/// The kinds of the runtime (tessera/runtime/core/Collective.h), which has the only list of them.
class Exec_RuntimeEnum<string type, string what> : Attr<CPred<"::llvm::isa<::mlir::IntegerAttr>($_self)">, what> {
  let storageType = "::mlir::IntegerAttr";
  let returnType = type;
  let convertFromStorage = type # "($_self.getInt())";
  let constBuilderCall = "$_builder.getI32IntegerAttr(int32_t($0))";
}
def Exec_ProductFunction : Exec_RuntimeEnum<"::tessera::ProductFunction", "what becomes of the sums of a product">;

/// Work that a stream is given. Absent: stream 0.
def Exec_Stream : OptionalAttr<I64Attr>;
class Exec_StreamOp<string mnemonic, list<Trait> traits = []> : Exec_HostOp<mnemonic, !listconcat([ExecStreamOpInterface], traits)>;

/// An op that writes its `outs`: results are tensors on rung `kernels`, none on rung `exec`.
class Exec_DestinationOp<string mnemonic, list<Trait> traits = []> : Exec_StreamOp<mnemonic, !listconcat([
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ExecAccessOpInterface>], traits)> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Values that are there
//===----------------------------------------------------------------------===//

def Exec_ParamOp : Exec_HostOp<"param", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A plain (unpacked) parameter: this rank's shard, all layers";
  let description = [{
    Made by `spmd-to-kernels` for weights that kernels or collectives read; lowered to `params[i]` of the runtime's rank. On rung `exec` the parameter may
    be written if it is a `variable`. One that is held in quantized blocks and gathered so (`exec.held`, `exec.layer_bytes`) is an array of words, i32 [layers, words of a layer].
    ```mlir
    graph.parameter @layers.norm : tensor<30x576xf32> stacked from [#graph.source<"layers.{}.norm", file = [576]>]
    %w = exec.param @layers.norm : tensor<30x576xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Exec_Array:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Exec_BufferOp : Exec_HostOp<"buffer", [Pure]> {
  let summary = "A place in the rank's arena";
  let description = [{
    Rung `exec` only; made by `kernels-to-exec`, lowered to arena + offset (bytes, a multiple of 64).
    ```mlir
    %b = exec.buffer at 4096 : memref<1x128x576xf32>
    ```
  }];
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "`at` $offset attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Exec_GroupIndexOp : Exec_HostOp<"group_index", [Pure]> {
  let summary = "Which shard this rank holds: its index in the group over `axes` (major to minor)";
  let description = [{
    Kernels that depend on the place of their shard (vocabulary lookups, masks, indices) take it as a scalar.
    ```mlir
    %s = exec.group_index [#dist.axis_ref<"tp">]
    ```
  }];
  let arguments = (ins ArrayAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "$axes attr-dict";
}

//===----------------------------------------------------------------------===//
// Views: no code runs
//===----------------------------------------------------------------------===//

def Exec_LayerOp : Exec_HostOp<"layer", [Pure, ExecViewOpInterface]> {
  let summary = "One layer of a stack [n, d...] -> [d...]";
  let description = [{
    A view: reading a layer of a cache or a stacked weight copies nothing. `index` below n.
    ```mlir
    // given %cache: tensor<30x1x2048x3x64xf32>, %i: index
    %k = exec.layer %cache[%i] : tensor<30x1x2048x3x64xf32> -> tensor<1x2048x3x64xf32>
    ```
  }];
  let arguments = (ins Exec_Array:$stack, Index:$index);
  let results = (outs Exec_Array:$result);
  let assemblyFormat = "$stack `[` $index `]` attr-dict `:` type($stack) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getViewed() { return getStack(); }
    ::mlir::Value getViewedLayer() { return getIndex(); }
  }];
}

def Exec_ReshapeOp : Exec_HostOp<"reshape", [Pure, ExecViewOpInterface]> {
  let summary = "The first elements of a row-major array in another shape";
  let description = [{
    A view. The result may hold fewer elements: a gathered dimension's padding, when it lies at the end, is dropped so.
    ```mlir
    // given %x: tensor<6x64xf32>
    %v = exec.reshape %x : tensor<6x64xf32> -> tensor<5x64xf32>
    ```
  }];
  let arguments = (ins Exec_Array:$input);
  let results = (outs Exec_Array:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::Value getViewed() { return getInput(); }";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Exec_LaunchOp : Exec_DestinationOp<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over [0, count) on the rank's threads";
  let description = [{
    `kernel` is a function with attribute `tessera.kernel` and arguments (inputs..., outputs..., scalars..., begin, end). Any partition of
    the range gives the same result; `grain` iterations are worth a thread. `modes` says of each output what the kernel does to it: `write` (every
    element, whatever was there), `update` (reads and changes what is there) or `layer` (writes every element of one layer of a stack, the one that the first scalar
    numbers, and nothing else). On rung `kernels` it may be left out: an output that is a fresh `tensor.empty` is written whole, any other is updated in
    place. On rung `exec`, where that can't be seen, `kernels-to-exec` writes it out. `copies` (rung `kernels`): the kernel does nothing but copy its only input
    into the layer, so whoever makes the input may as well make it there, and the launch is gone.
    ```mlir
    // given %x: tensor<8x64xf32>, %w: tensor<64xf32>, %layer: index
    func.func private @add_norm(tensor<8x64xf32>, tensor<64xf32>, tensor<8x64xf32>, index, index, index) -> tensor<8x64xf32>
    %e = tensor.empty() : tensor<8x64xf32>
    %r = exec.launch @add_norm ins(%x, %w : tensor<8x64xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>)
        scalars(%layer) count = 8 grain = 4 -> tensor<8x64xf32>
    // to rung exec
    func.func private @add_norm(tensor<8x64xf32>, tensor<64xf32>, tensor<8x64xf32>, index, index, index) -> tensor<8x64xf32>
    %a = exec.buffer at 0 : memref<8x64xf32>
    %b = exec.buffer at 2048 : memref<8x64xf32>
    %v = exec.buffer at 4096 : memref<64xf32>
    exec.launch @add_norm ins(%a, %v : memref<8x64xf32>, memref<64xf32>) outs(%b : memref<8x64xf32>)
        scalars(%layer) count = 8 grain = 4 modes(write)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_Array>:$inputs, Variadic<Exec_Array>:$outputs,
      Variadic<Index>:$scalars, I64Attr:$count, I64Attr:$grain, OptionalAttr<DenseI32ArrayAttr>:$modes, UnitAttr:$copies, Exec_Stream:$stream);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)? `outs` `(` $outputs `:` type($outputs) `)`
        (`scalars` `(` $scalars^ `)`)? `count` `=` $count `grain` `=` $grain custom<Modes>($modes) (`copies` $copies^)? (`stream` $stream^)? attr-dict
        (`->` type($results)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::FlatSymbolRefAttr":$kernel, "::mlir::ValueRange":$inputs,
      "::mlir::ValueRange":$outputs, "::mlir::ValueRange":$scalars, "::mlir::IntegerAttr":$count, "::mlir::IntegerAttr":$grain), [{
    build($_builder, $_state, results, kernel, inputs, outputs, scalars, count, grain, /*modes=*/nullptr, /*copies=*/nullptr, /*stream=*/nullptr);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
    /// What the kernel does to an output.
    ::tessera::exec::AccessKind getMode(unsigned output);
    void setModes(::llvm::ArrayRef<::tessera::exec::AccessKind> modes);
  }];
}

def Exec_MatmulOp : Exec_DestinationOp<"matmul", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Library call: y[m, n] = function(x[m, k] . w[n, k]^T + addend + bias)";
  let description = [{
    x and y are row-major and seen as matrices. Operands and results are f32, bf16 or f16 in any mixture: what the types of the arrays (of the
    parameter) say is how numbers are stored; sums are kept in f32 and rounded once. The weight is a packed parameter (`packed @w[%layer]`: the runtime packs it at load) or a
    plain row-major array, for weights that are gathered at run time. An operand that is `transposed` lies as [k, m] or [k, n]: products of backward read
    activations, gradients and weights as they are. Packed weights are read in one orientation.

    What follows a product and only adds to it may be part of the call, where the target's library does that (`Target::takesEpilogue`,
    docs/Lowering.md): `bias`, n elements added to every row; `addend`, a matrix like y; and at last `function`: `relu` or `gelu_tanh`. Bias and addend are
    of y's type; all of it is computed on the sums, in f32. y may be written in the addend's place.

    Both, a weight and a parameter that is held in quantized blocks: what ranks hold of a layer of it, gathered, i32 [pieces along each dimension of a layer..., words of a piece],
    several pieces along one dimension at most. m, n and k are those of the whole (docs/Quantization.md).

    By group, with `starts` (i32 [groups + 1], ascending from 0 to m at most): rows starts[g] .. starts[g + 1] - 1 of x are multiplied with the group's own matrix,
    rows g * n .. (g + 1) * n - 1 of the weight [groups * n, k]; rows of y from starts[groups] on become 0. Only matrices of groups that have rows are read. Nothing is
    transposed or added. Experts are such groups: the forms of `expert_linear` make it.
    ```mlir
    // given %x: tensor<1x128x1536xf32>, %e: tensor<1x128x576xf32>, %i: index
    graph.parameter @layers.down : tensor<30x576x1536xf32> stacked from [#graph.source<"layers.{}.down", file = [576, 1536]>]
    %y = exec.matmul m = 128 n = 576 k = 1536 ins(%x : tensor<1x128x1536xf32>) packed @layers.down[%i] outs(%e : tensor<1x128x576xf32>)
        -> tensor<1x128x576xf32>
    // given %dy: tensor<1x128x576xf32>, %dw: tensor<576x1536xf32>
    %w = exec.matmul m = 576 n = 1536 k = 128 ins(%dy transposed, %x transposed : tensor<1x128x576xf32>, tensor<1x128x1536xf32>)
        outs(%dw : tensor<576x1536xf32>) -> tensor<576x1536xf32>
    // given %b: tensor<576xf32>, %r: tensor<1x128x576xf32>
    %z = exec.matmul m = 128 n = 576 k = 1536 ins(%x : tensor<1x128x1536xf32>) packed @layers.down[%i] bias(%b : tensor<576xf32>)
        addend(%r : tensor<1x128x576xf32>) function relu outs(%e : tensor<1x128x576xf32>) -> tensor<1x128x576xf32>
    // given %h: tensor<32x64xf32>, %s: tensor<9xi32>, %o: tensor<32x96xf32>
    graph.parameter @experts.up : tensor<8x96x64xf32> from [#graph.source<"experts.up", file = [8, 96, 64]>]
    %u = exec.matmul m = 32 n = 96 k = 64 ins(%h : tensor<32x64xf32>) packed @experts.up starts(%s : tensor<9xi32>) outs(%o : tensor<32x96xf32>)
        -> tensor<32x96xf32>
    ```
  }];
  let arguments = (ins I64Attr:$m, I64Attr:$n, I64Attr:$k, Exec_Array:$input, Optional<Exec_Array>:$weight,
      UnitAttr:$input_transposed, UnitAttr:$weight_transposed, OptionalAttr<FlatSymbolRefAttr>:$param, Optional<Index>:$layer,
      Optional<Exec_Array>:$starts, Optional<Exec_Array>:$bias, Optional<Exec_Array>:$addend, OptionalAttr<Exec_ProductFunction>:$function, Exec_Array:$output,
      Exec_Stream:$stream);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    `m` `=` $m `n` `=` $n `k` `=` $k `ins` `(` $input (`transposed` $input_transposed^)? (`,` $weight^ (`transposed` $weight_transposed^)?)? `:` type($input)
        (`,` type($weight)^)? `)`
        (`packed` $param^ (`[` $layer^ `]`)?)? (`starts` `(` $starts^ `:` type($starts) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)? (`addend` `(` $addend^ `:` type($addend) `)`)?
        (`function` custom<ProductFunction>($function)^)? `outs` `(` $output `:` type($output) `)` (`stream` $stream^)? attr-dict
        (`->` type($results)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::IntegerAttr":$m, "::mlir::IntegerAttr":$n, "::mlir::IntegerAttr":$k,
      "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::FlatSymbolRefAttr":$param, "::mlir::Value":$layer, "::mlir::Value":$output), [{
    build($_builder, $_state, results, m, n, k, input, weight, /*input_transposed=*/nullptr, /*weight_transposed=*/nullptr, param, layer, /*starts=*/nullptr, /*bias=*/nullptr,
        /*addend=*/nullptr,
        /*function=*/nullptr, output, /*stream=*/nullptr);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    ::llvm::SmallVector<::tessera::exec::ParameterAccess> getParameterAccesses();
    /// How the weight is stored: of the plain weight, or of the packed parameter.
    ::mlir::Type getWeightElementType();
    bool hasEpilogue() { return getBias() || getAddend() || getFunction(); }
    /// How many groups have a matrix each; 0: it is one product.
    int64_t getGroups() { return getStarts() ? ::llvm::cast<::mlir::ShapedType>(getStarts().getType()).getNumElements() - 1 : 0; }
  }];
}

def Exec_GatherPackedOp : Exec_DestinationOp<"gather_packed", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Rows of a packed parameter [v, d]: an embedding tied to a matmul weight";
  let description = [{
    out[i, :] = W[ids[i] - shard * v, :], in the type that the parameter is stored in, zeros where that is outside [0, v). One copy of a tied embedding serves both uses.
    ```mlir
    // given %ids: tensor<1x128xi32>, %s: index, %e: tensor<1x128x576xf32>
    graph.parameter @embed : tensor<49152x576xf32> from [#graph.source<"embed", file = [49152, 576]>]
    %y = exec.gather_packed @embed ins(%ids : tensor<1x128xi32>) shard %s outs(%e : tensor<1x128x576xf32>) -> tensor<1x128x576xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Exec_Array:$ids, Optional<Index>:$layer, Optional<Index>:$shard,
      Exec_Array:$output, Exec_Stream:$stream);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let assemblyFormat = [{
    $param (`[` $layer^ `]`)? `ins` `(` $ids `:` type($ids) `)` (`shard` $shard^)? `outs` `(` $output `:` type($output) `)`
        (`stream` $stream^)? attr-dict (`->` type($results)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::FlatSymbolRefAttr":$param, "::mlir::Value":$ids, "::mlir::Value":$layer,
      "::mlir::Value":$shard, "::mlir::Value":$output), [{
    build($_builder, $_state, results, param, ids, layer, shard, output, /*stream=*/nullptr);
  }]>];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutputMutable(); }
    ::llvm::SmallVector<::tessera::exec::ParameterAccess> getParameterAccesses();
  }];
}

def Exec_PackOp : Exec_StreamOp<"pack", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<ExecAccessOpInterface>, DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>]> {
  let summary = "Makes the packed form of a variable again, from its plain one";
  let description = [{
    Whoever updates a variable (a launch, a copy or a collective that writes what `exec.param` gives) writes its plain form. Products read the packed one, which is a
    cached view: after an update it is stale until this op has run, for all layers or for one. `exec-verify-variables` finds a stale use.
    ```mlir
    // given %i: index
    graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>]
    graph.parameter @layers.down : tensor<4x16x8xf32> stacked variable from [#graph.source<"w.{}", file = [16, 8]>]
    exec.pack @w
    exec.pack @layers.down[%i]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Optional<Index>:$layer, Exec_Stream:$stream);
  let assemblyFormat = "$param (`[` $layer^ `]`)? (`stream` $stream^)? attr-dict";
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::tessera::exec::ParameterAccess> getParameterAccesses();
  }];
}

def Exec_CopyOp : Exec_StreamOp<"copy", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, DeclareOpInterfaceMethods<ExecAccessOpInterface>, ExecCallOpInterface]> {
  let summary = "Copies a buffer: two values that must be apart met in one place";
  let description = [{
    Rung `exec` only; made by `kernels-to-exec` where a loop-carried value or a result could not be computed in place.
    ```mlir
    %a = exec.buffer at 0 : memref<8x64xf32>
    %b = exec.buffer at 2048 : memref<8x64xf32>
    exec.copy %a to %b : memref<8x64xf32>, memref<8x64xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$source, AnyStaticShapeMemRef:$target, Exec_Stream:$stream);
  let assemblyFormat = "$source `to` $target (`stream` $stream^)? attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool namesCall() { return false; } // what a copy is for, many values' makers say
  }];
}

def Exec_ReadFlagOp : Exec_StreamOp<"read_flag", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, DeclareOpInterfaceMethods<ExecAccessOpInterface>,
    DeclareOpInterfaceMethods<ExecCallOpInterface, ["describeCall"]>]> {
  let summary = "The host waits for a flag and reads it: 1 where it is true, else 0";
  let description = [{
    Made by `spmd-to-kernels` of the condition of a `graph.if`; `exec.for` takes the number as a count, so that a body runs or does not. The flag is the same on all ranks, who take part in the same collectives
    then. All work of the stream up to here is done when the host goes on.
    ```mlir
    // given %c: tensor<i1>
    %n = exec.read_flag %c : tensor<i1>
    ```
  }];
  let arguments = (ins Exec_Array:$flag, Exec_Stream:$stream);
  let results = (outs Index:$number);
  let assemblyFormat = "$flag (`stream` $stream^)? attr-dict `:` type($flag)";
  let hasVerifier = 1;
}

def Exec_ForOp : Exec_HostOp<"for", [AttrSizedOperandSegments, RecursiveMemoryEffects, SingleBlock, RecursivelySpeculatable]> {
  let summary = "Equal layers, one after another";
  let description = [{
    The body runs for index = 0, step, 2 step, ... < count. On rung `kernels` it carries tensors from iteration to
    iteration; on rung `exec` it carries nothing: values live in buffers.
    ```mlir
    // given %x: tensor<8x64xf32>
    %r = exec.for %i = 30 step 1 carry(%h = %x : tensor<8x64xf32>) {
      exec.yield %h : tensor<8x64xf32>
    }
    ```
    Where how often is data, the call of the entry gives the count: `call[n] in LEAST to MOST`, count n of the call. The runtime refuses a
    count outside the bounds before anything runs. With a least of 0 the body may not run at all: its carried values are then the
    initial ones, and what it would have written is as it was. A stack that such a loop fills is not written whole.
    ```mlir
    exec.for %i = call[0] in 0 to 30 step 1 {
    }
    ```
    Or how often is a flag that the program computes: `number(%n) in 0 to 1`, where %n is what `exec.read_flag` gives, or what is left of it to one. So a branch runs or does not, and the
    loop of the other branch, behind it in the same block, runs where it did not (`getOther`): whoever looks at what an entry does takes the two as one choice.
    ```mlir
    // given %c: tensor<i1>, %e: tensor<8xf32>, %x: tensor<8xf32>, %y: tensor<8xf32>
    %n = exec.read_flag %c : tensor<i1>
    %m = exec.index_offset %n, 1 reverse
    %taken = exec.for %i = number(%n) in 0 to 1 step 1 carry(%h = %e : tensor<8xf32>) {
      exec.yield %x : tensor<8xf32>
    }
    %r = exec.for %i = number(%m) in 0 to 1 step 1 carry(%h = %taken : tensor<8xf32>) {
      exec.yield %y : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins I64Attr:$count, I64Attr:$step, OptionalAttr<I64Attr>:$call, DefaultValuedAttr<I64Attr, "1">:$least, Variadic<AnyStaticShapeTensor>:$inits, Optional<Index>:$number);
  let results = (outs Variadic<AnyStaticShapeTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types, "int64_t":$count, "int64_t":$step, "::mlir::ValueRange":$inits)>];
  let extraClassDeclaration = [{
    /// Whether the count is not known before the program runs.
    bool hasVariableCount() { return getCall() || getNumber(); }
    /// The loop of the same block before this one that runs once where this one does not run, and the other way round; null: there is none.
    ForOp getOther();
    /// The flag that says whether the body runs, and whether it runs where the flag is false; null: none does.
    ::std::pair<ReadFlagOp, bool> getFlag();
    ::mlir::BlockArgument getIndex() { return getBody().getArgument(0); }
    ::llvm::MutableArrayRef<::mlir::BlockArgument> getCarried() { return getBody().getArguments().drop_front(); }
    /// How often the body runs; with a count from the call, at most.
    int64_t getIterations() { return (int64_t(getCount()) + int64_t(getStep()) - 1) / int64_t(getStep()); }
    ::mlir::Operation *getYield() { return getBody().front().getTerminator(); }
  }];
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"ForOp">]> {
  let summary = "Ends the body of a loop: the next carried values";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Exec_IndexOffsetOp : Exec_HostOp<"index_offset", [Pure]> {
  let summary = "offset + index, for bodies of a period after the first; `reverse`: offset - index, for loops from the last layer to the first";
  let description = [{
    ```mlir
    // given %i: index
    %j = exec.index_offset %i, 1
    %k = exec.index_offset %i, 29 reverse
    ```
  }];
  let arguments = (ins Index:$index, I64Attr:$offset, UnitAttr:$reverse);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `,` $offset (`reverse` $reverse^)? attr-dict";
  let hasFolder = 0;
}

def Exec_StackLayerOp : Exec_HostOp<"stack_layer", [Pure]> {
  let summary = "index / period * held + before: the number of a layer in a stack of some bodies' layers (`graph.stack_layer`)";
  let description = [{
    ```mlir
    // given %i: index
    %n = exec.stack_layer %i period = 6 held = 5 before = 3
    ```
  }];
  let arguments = (ins Index:$index, I64Attr:$period, I64Attr:$held, I64Attr:$before);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `period` `=` $period `held` `=` $held `before` `=` $before attr-dict";
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

include "tessera/Dialect/Exec/IR/ExecEventOps.td"

//===----------------------------------------------------------------------===//
// Code that the host cannot run
//===----------------------------------------------------------------------===//

include "tessera/Dialect/Exec/IR/ExecImageOps.td"

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

include "tessera/Dialect/Exec/IR/ExecCommunicationOps.td"
include "tessera/Dialect/Exec/IR/ExecRowOps.td"

#endif
