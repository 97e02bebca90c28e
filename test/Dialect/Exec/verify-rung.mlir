// RUN: llm-opt %s --split-input-file --verify-rung=rung=kernels --verify-diagnostics
// RUN: not llm-opt %s --split-input-file --verify-rung=rung=exec 2>&1 | FileCheck %s --check-prefix=EXEC

func.func private @k(%o: tensor<4xf32>, %b: index, %e: index) -> tensor<4xf32> attributes {tessera.kernel} {
  %c = arith.constant 1.0 : f32
  %0 = linalg.fill ins(%c : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// EXEC: error: 'tensor.empty' op does not stand on rung exec; what should have removed it: kernels-to-exec
func.func @host() attributes {exec.entry} {
  %e = tensor.empty() : tensor<4xf32>
  %0 = exec.launch @k outs(%e : tensor<4xf32>) count = 1 grain = 1 -> tensor<4xf32>
  return
}

// -----

func.func @host(%x: tensor<4xf32>) attributes {exec.entry} {
  // expected-error @+1 {{'graph.exp' op does not stand on rung kernels; what should have removed it: spmd-to-kernels}}
  %0 = graph.exp %x : tensor<4xf32>
  return
}

// -----

func.func @host(%x: tensor<4xf32>, %c: f32) attributes {exec.entry} {
  // expected-error @+1 {{'linalg.fill' op does not stand on rung kernels; what should have removed it: spmd-to-kernels, which outlines such ops}}
  %0 = linalg.fill ins(%c : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// The entries call functions of the runtime by name.
// expected-error @+1 {{has the name @ts_launch, which an executable has for something else: names that begin with ts_ or tessera_ and those of the C library are taken; rename it}}
graph.parameter @ts_launch : tensor<4xf32> from [#graph.source<"w", file = [4]>]

// -----

// What LLVM calls for a copy must be the library's.
// expected-error @+1 {{has the name @memcpy, which an executable has for something else}}
func.func private @memcpy(%o: tensor<4xf32>, %b: index, %e: index) -> tensor<4xf32> attributes {tessera.kernel} {
  return %o : tensor<4xf32>
}
