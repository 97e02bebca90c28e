// RUN: llm-opt %s --verify-rung=rung=step --split-input-file --verify-diagnostics

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // dist-annotate's marks belong here.
  %0 = dist.constraint %x <@mesh, [{"x"}]> : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error @+1 {{argument #0 has an encoding, 'tensor<4xf32, #dist.sharding<@mesh, [{"x"}]>>': none does on rung step}}
func.func @f(%x: tensor<4xf32, #dist.sharding<@mesh, [{"x"}]>>) { return }

// -----

// expected-error @+1 {{argument #0 has a size that is not known, 'tensor<?xf32>': shapes are static on every rung}}
func.func @f(%x: tensor<?xf32>) { return }

// -----

// expected-error @+1 {{argument #0 has no rank, 'tensor<*xf32>': shapes are static on every rung}}
func.func @f(%x: tensor<*xf32>) { return }
