//===- Lowering.h - What the parts of spmd-to-kernels share -----*- C++ -*-===//
#ifndef TESSERA_LIB_CONVERSION_SPMDTOKERNELS_LOWERING_H
#define TESSERA_LIB_CONVERSION_SPMDTOKERNELS_LOWERING_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Exec/IR/KernelFunction.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/LibraryForm.h"
#include "tessera/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <unordered_map>

namespace tessera::kernels {

using namespace mlir;

inline RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
using exec::fresh;
using exec::KernelShell;
using exec::plainType;

/// The kernel functions of a module, each distinct body once.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : symbols(module) {}
  /// Takes over `kernel` (not in a module yet) under a name that begins with its own; if one with the same
  /// body is there, that one is used and `kernel` erased. Bodies are the same if their ops, attributes
  /// (constants by value) and uses of each other are; names and locations do not count. Cost: linear in the
  /// ops of the body.
  FlatSymbolRefAttr add(func::FuncOp kernel);

private:
  SymbolTable symbols;
  std::unordered_map<size_t, llvm::SmallVector<func::FuncOp, 1>> byHash;
};

struct Lowering;
/// Says of a packed parameter, whose first `outDims` dimensions of a layer are rows, that it is held in
/// blocks (exec.held) where that can be.
LogicalResult holdBlocks(const Lowering &lowering, graph::ParameterOp parameter, int64_t outDims);

/// Whether `op` is a view of one layer.
bool viewsLayer(Operation *op);

/// Whether ranks can gather pieces of a parameter as they are held: along one dimension, which pieces fill.
bool gathersPieces(const Lowering &lowering, dist::AllGatherOp gather);
/// Gathers of a parameter that is held in blocks (exec.held), or of its layers, take its words. What they
/// gave stands for the pieces, for forms that read those (PackedWeight).
void gatherPieces(const Lowering &lowering, graph::ParameterOp parameter,
                  ArrayRef<dist::AllGatherOp> gathers);

/// State of the conversion of one module. Types keep their shardings until the end: rules and offsets are
/// read from them.
struct Lowering : KernelLowering {
  ModuleOp module;
  const Target &target;
  std::optional<Mesh> mesh; ///< none: one rank
  TilingChoices tiling;
  KernelTable kernels;

  Lowering(ModuleOp module, const Target &target)
      : module(module), target(target), tiling(target.tiling()), kernels(module) {}

  FlatSymbolRefAttr addKernel(func::FuncOp kernel) override { return kernels.add(kernel); }
  ArrayAttr shardAxes(RankedTensorType type, int64_t dim) const override;
  Value shardIndex(Operation *at, ArrayAttr axes) override;
  Value layerIndex(OpBuilder &builder, Value tensor) const override;
  int64_t grain(int64_t elements, int64_t count) const override;

  /// How `op` is expressed by the target or, for views, by every target; null: as tiles.
  const LibraryForm *formOf(Operation *op) const;
};

/// The index behind a tensor<i32> that holds a layer number: the induction variable of an exec.for or a
/// constant; null if neither.
Value layerIndex(OpBuilder &builder, Value tensor);

/// Fails with an error where the dimension of layers is sharded: pipelines are not there yet.
LogicalResult checkLayersWhole(Lowering &lowering);
/// What is added to a stack that a repeat returns is added slice by slice, in the repeat.
void addIntoStacks(Lowering &lowering);
/// dist.manual_computation -> its body.
void lowerManual(Lowering &lowering);
/// graph.if -> a flag that the host reads, and two exec.for, of which one runs.
void lowerBranches(Lowering &lowering);
/// graph.repeat -> exec.for over whole stacks; layer slices become views.
LogicalResult lowerRepeats(Lowering &lowering);
/// Decides which parameters are packed (LibraryForm::packedUse) and replaces the rest by exec.param.
/// Arguments of packed parameters stay until `eraseParameterArguments`.
LogicalResult planParameters(Lowering &lowering);
LogicalResult eraseParameterArguments(Lowering &lowering);
/// Ops with a form of their own (LibraryForm), in program order. Those that are neither that nor tiles are
/// written out as smaller ones first (DecomposableOpInterface).
LogicalResult lowerLibraryOps(Lowering &lowering);
/// What follows a product and only adds to it, or is a function at the end, becomes part of the call, where
/// the target's library can do it (Target::takesEpilogue) and bytes are saved.
void foldEpilogues(Lowering &lowering);
/// Collectives of dialect dist, with the copies that padding needs.
LogicalResult lowerCollectives(Lowering &lowering);
/// The form of ops that move nothing (SameElementsOpInterface): every target has it.
const LibraryForm &viewForm();
/// Everything else: fused loops.
LogicalResult fuseKernels(Lowering &lowering);
/// Last: a layer number that something takes as a tensor (a value that is carried, a stack, a view) is
/// written into one. Kernels and views of layers take it as a scalar.
void materializeLayerNumbers(Lowering &lowering);

/// Behind that: kernels that make the next value of an array in the place of the old one.
void updateInPlace(Lowering &lowering);

} // namespace tessera::kernels
#endif
