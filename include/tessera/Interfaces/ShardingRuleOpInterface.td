#ifndef TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_TD
#define TESSERA_INTERFACES_SHARDINGRULEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let description = [{
    What an op does with dimensions: a mapping of operand and result dimensions to factors
    (`tessera/Analysis/Sharding/ShardingRule.h`). Propagation, reshard placement, partition, padding, dimension names
    and tiling read this rule and nothing else about the op.
    Factor sizes are global on every rung (on `spmd` the encoding's `global`), so the rule does not change when shapes become local:
    what is a broadcast and how a reshape splits is a question of global sizes.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"The rule; operands and results in order, every one a ranked tensor. Called on verified ops only.",
                    "::tessera::ShardingRule", "getShardingRule">,
  ];
}

def DataFlowOpInterface : OpInterface<"DataFlowOpInterface"> {
  let description = [{
    Region ops (repeat, loops, branches) take part in propagation through edges: sets of values that share one sharding,
    and stacks whose slices share all but the leading dimension.
  }];
  let cppNamespace = "::tessera";
  let methods = [
    InterfaceMethod<"What is handed on, edge by edge: operand, block arguments, yielded values, result, and which of them are its places. In the order of the terminators' operands.",
                    "::llvm::SmallVector<::tessera::DataFlowEdge>", "getDataFlowEdges">,
    InterfaceMethod<"Stacked operands and the block arguments that hold one slice of their leading dimension; stacked results and the slices that bodies yield, in the order of the terminators' operands.",
                    "::llvm::SmallVector<::tessera::StackEdge>", "getStackEdges">,
    InterfaceMethod<"How often a region runs in one execution of the op.", "int64_t", "getExecutions", (ins "unsigned":$region)>,
  ];
}

#endif
