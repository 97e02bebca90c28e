//===- Graph.h - The graph dialect -----------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_GRAPH_H
#define TESSERA_DIALECT_GRAPH_IR_GRAPH_H

#include "tessera/Dialect/Dist/IR/ShardingAgrees.h"
#include "tessera/Interfaces/Interfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include "tessera/Dialect/Graph/IR/GraphDialect.h.inc"
#include "tessera/Dialect/Graph/IR/GraphEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tessera/Dialect/Graph/IR/GraphAttrs.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphElementwiseOps.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphShapeOps.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphNeuralOps.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphRandomOps.h.inc"
#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphStructureOps.h.inc"

namespace tessera::graph {

/// Names of argument and result attributes (docs/Architecture.md, "Program form").
inline constexpr llvm::StringLiteral kKindAttr = "graph.kind";
inline constexpr llvm::StringLiteral kNameAttr = "graph.name";
inline constexpr llvm::StringLiteral kDimsAttr = "graph.dims";
/// What graph.name calls the gradient of a weight, summed up so far, and a weight rounded to the type that it
/// is computed with: the prefix, and the weight's name.
inline constexpr llvm::StringLiteral kGradientPrefix = "grad.", kComputedPrefix = "computed.";

/// What an executable can do (docs/Step.md, "Entries"): of functions, arguments, results, state arguments,
/// modules.
inline constexpr llvm::StringLiteral kRoleAttr = "graph.role";
inline constexpr llvm::StringLiteral kStagePartAttr = "graph.stage_part";
/// Of a state: each micro-batch that is under way has its own, and for how long (docs/Pipelines.md).
inline constexpr llvm::StringLiteral kSlotAttr = "graph.slot";
/// Of such a state: what the value that lies there is called.
inline constexpr llvm::StringLiteral kHoldsAttr = "graph.holds";
/// Of the graph.repeat of a stage's step that runs over micro-batches.
inline constexpr llvm::StringLiteral kMicroBatchesAttr = "graph.micro_batches";
/// What the parts of the loss, and of the norm's square, that stages add up are called.
inline constexpr llvm::StringLiteral kLossSum = "sum.loss", kNormSum = "sum.norm_squared";
inline constexpr llvm::StringLiteral kFillAttr = "graph.fill";
inline constexpr llvm::StringLiteral kGivesAttr = "graph.gives";
inline constexpr llvm::StringLiteral kClearAttr = "graph.clear";
inline constexpr llvm::StringLiteral kGenerateAttr = "graph.generate";
inline constexpr llvm::StringLiteral kTrainAttr = "graph.train";
/// Of a graph.parameter that an optimizer keeps beside a weight.
inline constexpr llvm::StringLiteral kStateOfAttr = "graph.state_of";

/// Of stages of a pipeline (docs/Pipelines.md). A unit: this @forward is that of a stage.
inline constexpr llvm::StringLiteral kStageAttr = "graph.stage";
/// Of a stage's @forward, i64: ids of the whole model's vocabulary; the last stage alone has the logits.
inline constexpr llvm::StringLiteral kVocabAttr = "graph.vocab";
/// Of a graph.parameter that two stages have, i64: which of the copies this is, 0 in the first of them.
inline constexpr llvm::StringLiteral kCopyAttr = "graph.copy";
/// What ports with the gradient of such a parameter are called: this, and its name.
inline constexpr llvm::StringLiteral kSharedPrefix = "shared.";
/// Of an op that may drop elements, array<i64: N, M>: it is number N of the whole model's M such ops.
inline constexpr llvm::StringLiteral kDropSiteAttr = "graph.drop_site";

/// Of a `cast`: the element type of its result's gradient (docs/Derivatives.md, "Types"). Without it the type
/// float32, where the input is that wide and the result is not.
inline constexpr llvm::StringLiteral kGradientAttr = "graph.gradient";

/// The element type of the gradient of `value`, a float tensor: its own; that of what it is rounded from, so
/// that sums which flow there are not rounded on their way.
mlir::Type gradientElementType(mlir::Value value);
/// That type, where a cast names one (`graph.gradient`); else null.
mlir::Type chosenGradientType(mlir::Value value);

/// Of an op with one result: the element type of it is chosen for what ranks exchange, too. If the result is
/// a sum over ranks, its terms are added up in this type (dist-widen-partial-sums).
inline constexpr llvm::StringLiteral kTermsAttr = "graph.terms";

/// What argument (result) `i` of `function` is; nothing if it does not say.
std::optional<Kind> argumentKind(mlir::FunctionOpInterface function, unsigned i);
std::optional<Kind> resultKind(mlir::FunctionOpInterface function, unsigned i);
/// The same for a block argument; nothing if it is none of a function.
std::optional<Kind> argumentKind(mlir::Value value);

/// Groups of operand numbers, see ShardingRule::linear.
using OperandGroups = llvm::SmallVector<llvm::SmallVector<int, 2>, 2>;

/// Rule of an elementwise op with trailing broadcast: a factor per result dimension.
ShardingRule elementwiseRule(mlir::Operation *op, OperandGroups linear, OperandGroups maxLinear,
                             bool unbounded = false);
/// The high 32 bits of an arg_max_key from which on the largest is not finite: those of a float32 infinity.
inline constexpr int32_t kInfinityBits = 0x7f800000;
/// Elements of a ranked tensor value, as a double.
double numElements(mlir::Value value);
/// Applies `fn` to each result element's operand elements (after broadcast).
llvm::LogicalResult evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<ReferenceTensor> operands,
                                        llvm::SmallVectorImpl<ReferenceTensor> &results,
                                        llvm::function_ref<double(llvm::ArrayRef<double>)> fn);

} // namespace tessera::graph
#endif
