#ifndef TESSERA_CONVERSION_PASSES_TD
#define TESSERA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def SpmdToKernels : Pass<"spmd-to-kernels", "::mlir::ModuleOp"> {
  let summary = "From one rank's graph program to launches of fused kernels, library calls and communication";
  let description = [{
    Neighbouring ops whose sharding rules share leading rows become one kernel function that loops over those rows; ops with
    LibraryOpInterface what they say themselves (linear a library call on a packed or plain weight, attention the CPU's kernel on the
    cache in place), collectives `exec.collective`, repeated layers one `exec.for`. Shardings leave the types (docs/Lowering.md).

    ```mlir
    %h = graph.add %x, %y                                     // before
    %n = graph.rms_norm %h, %w
    %h, %n = exec.launch @add_rms_norm ins(%x, %y, %w) ...    // after
    ```
  }];
  let dependentDialects = ["::tessera::exec::ExecDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect"];
  let options = [
    Option<"lanes", "lanes", "unsigned", /*default=*/"16", "float32 elements of a vector of the target">,
    Option<"tileElements", "tile-elements", "int64_t", /*default=*/"8192", "Elements one iteration should touch at most">,
    Option<"grainElements", "grain-elements", "int64_t", /*default=*/"32768", "Elements worth a thread">
  ];
}

def KernelsToExec : Pass<"kernels-to-exec", "::mlir::ModuleOp"> {
  let summary = "Give every tensor of the host program a place in one arena";
  let description = [{
    States come first (shared by all entries), then inputs and outputs (equal names and types share a place, so that one entry's output is the
    next one's input), then activations, which entries overlay on each other. Values are computed where they are wanted: a loop's next carried
    value in the carried place, a result in the output's. What cannot be is copied (docs/Arena.md).

    ```mlir
    %e = tensor.empty() : tensor<8x64xf32>                    // before
    %y = exec.launch @k ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) count = 8 grain = 8 -> tensor<8x64xf32>
    %b = exec.buffer at 2048 : memref<8x64xf32>               // after
    exec.launch @k ins(%a : memref<8x64xf32>) outs(%b : memref<8x64xf32>) count = 8 grain = 8
    ```
  }];
  let dependentDialects = ["::tessera::exec::ExecDialect"];
}

def ExecToLLVM : Pass<"exec-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn host functions into calls of the runtime and write the manifest";
  let description = [{
    Every entry becomes an LLVM function `void entry(ts_rank *, const ts_call *)`; the module gains `tessera_program`: tables of entries and of
    launched kernels, and the manifest (docs/Manifest.md). Static facts are in the manifest, calls refer to it by index. Kernel functions must be LLVM functions already
    (`cpu-kernels-to-llvm`).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"cpu", "cpu", "std::string", /*default=*/"\"native\"", "CPU the kernels were compiled for: goes into the manifest">
  ];
}

#endif
