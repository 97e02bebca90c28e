#ifndef TESSERA_CONVERSION_PASSES_TD
#define TESSERA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def SpmdToKernels : Pass<"spmd-to-kernels", "::mlir::ModuleOp"> {
  let summary = "From one rank's graph program to launches of fused kernels, library calls and communication";
  let description = [{
    Neighbouring ops whose sharding rules let one loop run over common factors (leading rows; any factor, for a target that wants many iterations)
    become one kernel function with that loop; ops for which the target has a library form what that says (linear a library call on a packed or plain weight, attention a kernel of its own on the
    cache in place), collectives `exec.collective`, repeated layers one `exec.for`. An op that is neither a tile nor has a form is written
    out as smaller ops if it can be. Shardings leave the types (docs/Lowering.md).

    ```mlir
    // given %x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %w: tensor<64xf32>
    %h = graph.add %x, %y : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %n = graph.rms_norm %h, %w eps = 1.0e-05 : (tensor<8x64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    // to
    func.func private @add_rms_norm_8x64(tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, index, index)
        -> (tensor<8x64xf32>, tensor<8x64xf32>)
    %e = tensor.empty() : tensor<8x64xf32>
    %h, %n = exec.launch @add_rms_norm_8x64 ins(%x, %y, %w : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>)
        outs(%e, %e : tensor<8x64xf32>, tensor<8x64xf32>) count = 8 grain = 8 -> tensor<8x64xf32>, tensor<8x64xf32>
    ```
  }];
  let dependentDialects = ["::tessera::exec::ExecDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::bufferization::BufferizationDialect",
                           "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect", "::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "Which target's forms and sizes">,
    Option<"targetOptions", "target-options", "std::string", /*default=*/"\"\"", "NAME=VALUE,... of the target: cpu=x86-64-v3">
  ];
}

def KernelsToExec : Pass<"kernels-to-exec", "::mlir::ModuleOp"> {
  let summary = "Give every tensor of the host program a place in one arena";
  let description = [{
    States come first (shared by all entries), then inputs and outputs (equal names and types share a place, so that one entry's output is the
    next one's input), then activations, which entries overlay on each other. Values are computed where they are wanted: a loop's next carried
    value in the carried place, a result in the output's. What cannot be is copied. With `communication`, what ranks exchange has places that work
    beside it does not want (docs/Arena.md).

    ```mlir
    // given %x: tensor<8x64xf32>
    func.func private @k(tensor<8x64xf32>, tensor<8x64xf32>, index, index) -> tensor<8x64xf32>
    %e = tensor.empty() : tensor<8x64xf32>
    %y = exec.launch @k ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) count = 8 grain = 8 -> tensor<8x64xf32>
    // to
    %a = exec.buffer at 0 : memref<8x64xf32>
    %b = exec.buffer at 2048 : memref<8x64xf32>
    exec.launch @k ins(%a : memref<8x64xf32>) outs(%b : memref<8x64xf32>) count = 8 grain = 8 modes(write)
    ```
  }];
  let dependentDialects = ["::tessera::exec::ExecDialect"];
  let options = [
    Option<"communication", "communication", "bool", /*default=*/"false", "The target has a stream for communication (exec-assign-streams)">
  ];
}

def ExecToLLVM : Pass<"exec-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn host functions into calls of the runtime and write the manifest";
  let description = [{
    Every entry becomes an LLVM function `void entry(ts_rank *, const ts_call *)`; the module gains `tessera_program`: tables of entries and of
    launched kernels, and the manifest (docs/Manifest.md). Static facts are in the manifest, calls refer to it by index. Kernel functions must be LLVM functions already, or
    an `exec.device_kernel` and images (the target's kernel pipeline).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "What the kernels were compiled for: goes into the manifest">,
    Option<"targetOptions", "target-options", "std::string", /*default=*/"\"\"", "NAME=VALUE,... of the target: cpu=x86-64-v3">
  ];
}

def LinkStages : Pass<"exec-link-stages", "::mlir::ModuleOp"> {
  let summary = "One program of the programs of a pipeline's stages";
  let description = [{
    End of phase `binary`, on the module that holds `dist.pipeline` and the stages' modules, which are the LLVM dialect alone by then. It gains `tessera_program`, which names those of the
    stages, and the manifest of the whole: the mesh, the stages, and what each rank does in which order (docs/Manifest.md).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"mesh", "mesh", "std::string", /*default=*/"\"\"", "The whole mesh, of which stages see all but the pipeline's axis">
  ];
}

def NameVersion : Pass<"exec-name-version", "::mlir::ModuleOp"> {
  let summary = "Give symbols of one of a program's versions a name of their own";
  let description = [{
    End of phase `binary` where an executable holds several versions of a program (`--cpu=any`), on the LLVM dialect alone. `tessera_program`, and those of stages, get the version's
    name behind theirs, and functions are to be seen from inside alone: objects of all versions are linked together.
  }];
  let options = [Option<"version", "version", "std::string", /*default=*/"\"\"", "The version's name: x86-64-v3">];
}

def ListVersions : Pass<"exec-list-versions", "::mlir::ModuleOp"> {
  let summary = "The program that names its versions";
  let description = [{
    On an empty module, which gains the `tessera_program` of an executable that holds several versions of a program: their names and where they are (`exec-name-version`), and nothing else.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [ListOption<"versions", "versions", "std::string", "The versions' names, the plainest first">];
}

#endif
