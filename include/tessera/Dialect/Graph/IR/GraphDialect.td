#ifndef TESSERA_DIALECT_GRAPH_GRAPHDIALECT_TD
#define TESSERA_DIALECT_GRAPH_GRAPHDIALECT_TD

include "mlir/IR/OpBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tessera::graph";
  let summary = "Transformer programs at the level people draw";
  let description = [{
    Operators on tensors with static shapes and value semantics. Importers create them; they stay through the rungs `graph`,
    `step`, `sharded` and `spmd` (where shapes are local) and are gone after `spmd-to-kernels`. Every op carries a sharding rule, a
    cost and a reference meaning; no pass switches over op kinds. See docs/RationaleGraph.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  // graph.role of functions and graph.generate of modules; graph.kind, graph.name and others of arguments and results.
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif
