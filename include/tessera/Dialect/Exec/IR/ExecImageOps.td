#ifndef TESSERA_DIALECT_EXEC_EXECIMAGEOPS_TD
#define TESSERA_DIALECT_EXEC_EXECIMAGEOPS_TD

// Included by ExecOps.td, which defines the classes used here.

def Exec_DeviceKernelOp : Exec_Op<"device_kernel", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "A kernel whose code is in the module's images";
  let description = [{
    Stands where the kernel function stood, after the kernel pipeline of a target whose code the host cannot run; launches name it. A block of `threads`
    threads does `per_block` iterations of the launch's range and needs `shared` bytes of memory that its threads share, beside what the image declares.
    ```mlir
    exec.device_kernel @rms_norm_1x576 threads = 128 shared = 0 per_block = 1
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$threads, I64Attr:$shared, I64Attr:$per_block);
  let assemblyFormat = "$sym_name `threads` `=` $threads `shared` `=` $shared `per_block` `=` $per_block attr-dict";
  let hasVerifier = 1;
}

def Exec_DeviceSiblingOp : Exec_Op<"device_sibling", [Symbol, HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Another kernel that does the work of a device kernel, in some images";
  let description = [{
    The driver takes it in place of `kernel` where the image that it loads has it and it is faster: a launch over `count` iterations is then one of `blocks`
    blocks with the same parameters. Which one is faster is measured on counted random numbers, but buffer number `ascending`, of i32, whose rows of `row` numbers ascend
    from `first` on; siblings of equal `key` are measured once.
    ```mlir
    exec.device_kernel @attention threads = 128 shared = 36864 per_block = 1
    exec.device_sibling @attention$wgmma of @attention count = 96 blocks = 48 threads = 256 shared = 163840 trial "attention bf16 1x512x8x4x128" rows = 512 from = 768 in = 3
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$kernel, I64Attr:$count, I64Attr:$blocks, I64Attr:$threads, I64Attr:$shared,
                   StrAttr:$key, I64Attr:$ascending, I64Attr:$row, I64Attr:$first);
  let assemblyFormat = [{
    $sym_name `of` $kernel `count` `=` $count `blocks` `=` $blocks `threads` `=` $threads `shared` `=` $shared
    `trial` $key `rows` `=` $row `from` `=` $first `in` `=` $ascending attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_ImageOp : Exec_Op<"image", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "Machine code of all kernels of the module for one kind of device";
  let description = [{
    `architecture` is what the driver chooses by; of several images it loads one. What the bytes are is between target and driver.
    ```mlir
    exec.image "compute_80" = ".version 7.0 ..."
    ```
  }];
  let arguments = (ins StrAttr:$architecture, StrAttr:$data);
  let assemblyFormat = "$architecture `=` $data attr-dict";
}

#endif
