// Passes from kernel functions on buffers to images for NVIDIA GPUs.
#ifndef TESSERA_TARGET_CUDA_PASSES_TD
#define TESSERA_TARGET_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def CUDAPromiseAlignment : Pass<"cuda-promise-alignment", "::mlir::ModuleOp"> {
  let summary = "Say of every buffer of a kernel how its launches align it";
  let description = [{
    A vector of 16 bytes moves in one access only where its address is known to be a multiple of 16. Places in the arena and parameters are aligned to
    64 bytes; one layer of a stack to what the bytes of a layer divide. The least over all launches of a kernel becomes the argument
    attribute `tessera.align`.
  }];
}

def CUDAStartReductions : Pass<"cuda-start-reductions", "::mlir::func::FuncOp"> {
  let summary = "Begin reductions with the constant that their output was filled with";
  let description = [{
    A reduction adds to what its output holds, and a tile op in front of it fills that with zeros: an output in memory that is written, met for, read and written
    again. Where nothing stands between the two, the constant becomes the attribute `tessera.starts` of the op (for each output a constant, or unit: what is in memory) and the
    fill goes. `cuda-distribute-tiles` begins with it. Same bits: the constant is still combined once.
    `fill(sum, 0); sum[] += row[i]` becomes `sum[] = 0 + row[0] + row[1] + ...`.
  }];
}

def CUDADistributeTiles : Pass<"cuda-distribute-tiles", "::mlir::func::FuncOp"> {
  let summary = "Spread the tile ops of a kernel over the threads of a block";
  let description = [{
    One iteration of the kernel's range is one block. The dimensions of each linalg op become threads: consecutive threads take consecutive chunks, of up to 16
    bytes, of the dimension along which most operands are contiguous. A reduction over that dimension is shared by a group of
    threads, which add up by shuffles within a warp and through shared memory beyond; one over other dimensions is split over threads where there
    are few results. `gpu.barrier`s stand where a thread may touch what another has written, or is about to write what another has read, and
    nowhere else: what only one thread touches needs none. What stands between tile ops runs on every thread, stores on the first one.
    Iterations of a loop that is marked `tessera.apart` go to groups of threads, side by side, where the threads of a group need not meet.
    A kernel that has its number of threads (`tessera.threads`) is written for them by hand: only its range is replaced.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect", "::mlir::LLVM::LLVMDialect"];
}

def CUDAPlaceShared : Pass<"cuda-place-shared", "::mlir::func::FuncOp"> {
  let summary = "Give every temporary of a kernel a place in the block's shared memory";
  let description = [{
    `memref.alloc` gets the attribute `tessera.shared_offset`, the function `tessera.shared_bytes`. More than a block may have is an error that names the kernel.
  }];
  let options = [Option<"limit", "limit", "int64_t", /*default=*/"0", "Bytes that a block may have; 0: as many as it may on every GPU that programs are for">];
}

def CUDAAddRandomWeights : Pass<"cuda-add-random-weights", "::mlir::ModuleOp"> {
  let summary = "Add the kernels that make up weights, one for each type of a parameter";
  let description = [{
    No entry launches them: the driver does, for `--init=random:SEED`, by the names that abi.h says (`tessera_random_bf16`). The numbers are those of the
    runtime's `ShardReader`, bit by bit.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
}

def CUDAOutlineKernels : Pass<"cuda-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Move kernels to a module of their own, in the LLVM dialect";
  let description = [{
    Each kernel function becomes a function of calling convention `ptx_kernelcc` in the nested module `@tessera_device`, with a pointer for each buffer, an i64 for
    each scalar, and the launch's count; an `exec.device_kernel` stays in its place (of another form of a kernel, `tessera.sibling`,
    an `exec.device_sibling`).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect", "::tessera::exec::ExecDialect"];
}

def CUDAEmitImages : Pass<"cuda-emit-images", "::mlir::ModuleOp"> {
  let summary = "Compile the module of kernels to PTX and cubins";
  let description = [{
    `@tessera_device` becomes one `exec.image` for each architecture: cubins by ptxas where that is found, and PTX. With `TESSERA_KERNEL_IR=DIR` in the environment
    the LLVM module that the code generator was given is kept as DIR/HASH.bc, HASH being the SHA-256 of the image's bytes.
  }];
}

#endif
