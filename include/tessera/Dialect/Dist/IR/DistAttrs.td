#ifndef TESSERA_DIALECT_DIST_DISTATTRS_TD
#define TESSERA_DIALECT_DIST_DISTATTRS_TD

include "tessera/Dialect/Dist/IR/DistDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/EnumAttr.td"

class Dist_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Dist_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Dist_MeshAxis : Dist_Attr<"MeshAxis", "axis"> {
  let summary = "One named axis of a mesh: `\"tp\"=4`";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let assemblyFormat = "$name `=` $size";
}

def Dist_Mesh : Dist_Attr<"Mesh", "mesh"> {
  let summary = "Named axes, major to minor: the device order";
  let parameters = (ins ArrayRefParameter<"MeshAxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1; // <["dp"=2, "tp"=4]>
  let extraClassDeclaration = [{
    /// As plain data.
    ::tessera::Mesh toMesh() const;
    static MeshAttr get(::mlir::MLIRContext *context, const ::tessera::Mesh &mesh);
  }];
  let genVerifyDecl = 1;
}

def Dist_AxisRef : Dist_Attr<"AxisRef", "axis_ref"> {
  let summary = "A whole axis `\"a\"` or a piece of it, `\"a\":(pre)size`";
  let description = "`pre` is the product of the more major digits, `size` the number of values of this digit; size 0 stands for the whole axis.";
  let parameters = (ins StringRefParameter<"axis name">:$name, "int64_t":$pre, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def Dist_DimSharding : Dist_Attr<"DimSharding", "dim"> {
  let summary = "Axes of one dimension, major to minor: `{\"a\", \"b\":(1)2, ?}p1`";
  let description = "`?`: open, propagation may add axes. `pN`: user priority, 0 first (-1: none).";
  let parameters = (ins ArrayRefParameter<"AxisRefAttr">:$axes, "bool":$open, "int64_t":$priority);
  let hasCustomAssemblyFormat = 1;
}

def Dist_PartialKind : I32EnumAttr<"PartialKindEnum", "how the pieces of a partial value combine", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"sum", 1>, I32EnumAttrCase<"max", 2>]> {
  let cppNamespace = "::tessera::dist";
}

def Dist_Sharding : Dist_Attr<"Sharding", "sharding",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How one tensor lies on a mesh";
  let description = [{
    ```
    #dist.sharding<@mesh, [{"dp"}, {?}, {"tp":(1)2, ?}p1], replicated={"x"}, partial=sum{"y"}, global=[4, 16, 389]>
    ```
    Per dimension a list of axes, open or closed; axes that propagation may not use (`replicated`); axes over which the value is a
    partial sum or maximum (`partial`); on rung `spmd`, where the tensor's shape is one rank's piece, the global, unpadded
    sizes (`global`). A dimension of global size n over k shards has local size ceil(n/k).
    The mesh's sizes are checked by op verifiers, which see the symbol table.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh, ArrayRefParameter<"DimShardingAttr">:$dims,
      ArrayRefParameter<"AxisRefAttr">:$replicated, "PartialKindEnum":$partialKind,
      ArrayRefParameter<"AxisRefAttr">:$partial, "::mlir::DenseI64ArrayAttr":$global);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// As plain data on `mesh`. Axes must exist (see dist::checkSharding).
    ::tessera::Sharding toSharding(const ::tessera::Mesh &mesh) const;
    /// `global` empty: a global (not local) type.
    static ShardingAttr get(::mlir::MLIRContext *context, ::llvm::StringRef meshName, const ::tessera::Sharding &sharding,
                            const ::tessera::Mesh &mesh, ::llvm::ArrayRef<int64_t> global = {});
    bool isLocal() const { return static_cast<bool>(getGlobal()); }
  }];
}

def Dist_Stage : Dist_Attr<"Stage", "stage"> {
  let summary = "A stage of a pipeline: which program it runs, and on which layers";
  let description = [{
    `#dist.stage<@middle, first = 10, layers = 9, at = 1>`: the module @middle, on the layers 10 to 18, at coordinate 1 of the pipeline's axis. Equal programs on other layers are one module.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$program, "int64_t":$first, "int64_t":$layers, "int64_t":$at);
  let assemblyFormat = "`<` $program `,` struct($first, $layers, $at) `>`";
}

#endif
