#ifndef TESSERA_DIALECT_GRAPH_GRAPHATTRS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHATTRS_TD

include "tessera/Dialect/Graph/IR/GraphDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Graph_Source : AttrDef<Graph_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "How a tensor of a checkpoint becomes a parameter";
  let description = [{
    Tensor `name` (`{}` = layer number) of shape `file` -> `reshape` (empty: none) -> `slice` ([begin, end) pairs, flat; empty: all) -> `permute` (empty: none).
  }];
  let parameters = (ins StringRefParameter<"tensor name">:$name, ArrayRefParameter<"int64_t">:$file,
      OptionalArrayRefParameter<"int64_t">:$reshape, OptionalArrayRefParameter<"int64_t">:$slice,
      OptionalArrayRefParameter<"int64_t">:$permute);
  // <"name", file = [..], reshape = [..], slice = [..], permute = [..]>; the last three are optional.
  let hasCustomAssemblyFormat = 1;
}

#endif
