// Counts of a call that no caller could give.
// RUN: llm-opt %s --split-input-file --verify-diagnostics --exec-to-llvm=target-options=cpu=x86-64-v3

// expected-error @+1 {{has no value for count 0 of its call that all its loops can take: at least 5, at most 4}}
func.func @f() attributes {exec.entry} {
  exec.for %i = call[0] in 1 to 4 step 1 {
  }
  exec.for %i = call[0] in 5 to 9 step 1 {
  }
  return
}

// -----

// expected-error @+1 {{uses count 1 of its call, but not count 0}}
func.func @f() attributes {exec.entry} {
  exec.for %i = call[1] in 1 to 4 step 1 {
  }
  return
}

// -----

// expected-error @+1 {{has input "x" that is filled by output "y" of @g, which is no output of an entry}}
func.func @f() attributes {exec.entry, exec.inputs = [{name = "x", offset = 0 : i64, type = tensor<1x8xf32>, fill = #graph.fill<output "y" of @g>}]} {
  return
}
func.func @g() attributes {exec.entry, exec.outputs = [{name = "z", offset = 0 : i64, type = tensor<1x8xf32>}]} {
  return
}
