#ifndef TESSERA_DIALECT_GRAPH_GRAPHBASE_TD
#define TESSERA_DIALECT_GRAPH_GRAPHBASE_TD

include "tessera/Dialect/Graph/IR/GraphDialect.td"
include "tessera/Interfaces/ShardingRuleOpInterface.td"
include "tessera/Interfaces/CostOpInterface.td"
include "tessera/Interfaces/DecomposableOpInterface.td"
include "tessera/Interfaces/DerivativeOpInterface.td"
include "tessera/Interfaces/DropOpInterface.td"
include "tessera/Interfaces/PositionMixingOpInterface.td"
include "tessera/Interfaces/ReferenceOpInterface.td"
include "tessera/Interfaces/SameElementsOpInterface.td"
include "tessera/Interfaces/ElementwiseOpInterface.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

/// Checks operands' and results' shardings against the op's rule (rungs sharded and spmd).
def Graph_ShardingAgrees : NativeOpTrait<"ShardingAgrees"> {
  let cppNamespace = "::tessera::dist";
}

def Graph_FloatTensor : RankedTensorOf<[AnyFloat]>;
def Graph_IntTensor : RankedTensorOf<[AnySignlessInteger]>;
def Graph_I32Tensor : RankedTensorOf<[I32]>;
def Graph_BoolTensor : RankedTensorOf<[I1]>;

/// Gradients flow through the op (docs/Derivatives.md).
def Graph_Derivative : DeclareOpInterfaceMethods<DerivativeOpInterface>;
/// Drops elements drawn at random; says where training may do so (docs/Dropout.md).
def Graph_Drops : DeclareOpInterfaceMethods<DropOpInterface>;
def Graph_DropSite : DeclareOpInterfaceMethods<DropSiteOpInterface>;

/// Every op of the dialect that computes: the four things it can say about itself.
class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, !listconcat([Pure, Graph_ShardingAgrees,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ReferenceOpInterface>], traits)>;

def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>]> {
  let cppNamespace = "::tessera::graph";
}
def Graph_CompareKind : I32EnumAttr<"CompareKind", "ordered comparison", [
    I32EnumAttrCase<"lt", 0>, I32EnumAttrCase<"le", 1>, I32EnumAttrCase<"gt", 2>, I32EnumAttrCase<"ge", 3>,
    I32EnumAttrCase<"eq", 4>, I32EnumAttrCase<"ne", 5>]> {
  let cppNamespace = "::tessera::graph";
}
/// Which pairs a rotary embedding turns.
def Graph_RopeStyle : I32EnumAttr<"RopeStyle", "pairs of a rotary embedding", [
    I32EnumAttrCase<"half", 0>, I32EnumAttrCase<"adjacent", 1>]> {
  let cppNamespace = "::tessera::graph";
}

#endif
