#ifndef TESSERA_DIALECT_DIST_DISTPROPAGATIONOPS_TD
#define TESSERA_DIALECT_DIST_DISTPROPAGATIONOPS_TD

// Included by DistOps.td, which defines the classes used here. Its code is generated apart (DistPropagationOps.h.inc):
// few files name these ops.

def Dist_PropagationBarrierOp : Dist_WordOp<"propagation_barrier"> {
  let summary = "The operand; shardings do not spread through it, or one way only";
  let description = [{
    Alone it lets nothing through; with `forward` the result may take the operand's axes, with `backward` the operand the result's. It says
    nothing of how the two lie: where they differ the value is resharded, as between any two ops. Gradients flow through it. On rung `step`; `dist-insert-reshards` takes it out.
    ```mlir
    // given %0: tensor<4x16xf32>
    %1 = dist.propagation_barrier %0 forward : tensor<4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$forward, UnitAttr:$backward);
  let assemblyFormat = "$input (`forward` $forward^)? (`backward` $backward^)? attr-dict `:` type($result)";
}

def Dist_ShardingGroupOp : Dist_WordOp<"sharding_group"> {
  let summary = "The operand, which lies as all values of its group do";
  let description = [{
    Values of one group have one sharding: what propagation finds for one of them holds for all, in all functions, and so they lie. They have one shape. Where members are
    annotated differently each keeps its annotation, with a warning: results of these ops, and what reads the operands after them, then lie as the most important annotation
    says (by priority; which of several is decided by what they are, not by where they are written), which propagation may go on from. Gradients flow through it and are in no group. On rung `step`; `dist-insert-reshards` takes it out.
    ```mlir
    // given %0: tensor<4x16xf32>, %2: tensor<4x16xf32>
    %1 = dist.sharding_group %0 "residual" : tensor<4x16xf32>
    %3 = dist.sharding_group %2 "residual" : tensor<4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$group);
  let assemblyFormat = "$input $group attr-dict `:` type($result)";
}

#endif
