#ifndef TESSERA_DIALECT_GRAPH_GRAPHOPS_TD
#define TESSERA_DIALECT_GRAPH_GRAPHOPS_TD

include "tessera/Dialect/Graph/IR/GraphElementwiseOps.td"
include "tessera/Dialect/Graph/IR/GraphShapeOps.td"
include "tessera/Dialect/Graph/IR/GraphNeuralOps.td"
include "tessera/Dialect/Graph/IR/GraphRandomOps.td"
include "tessera/Dialect/Graph/IR/GraphExpertOps.td"
include "tessera/Dialect/Graph/IR/GraphStructureOps.td"
include "tessera/Dialect/Graph/IR/GraphBranchOps.td"
include "tessera/Dialect/Graph/IR/GraphPartialOp.td"

#endif
