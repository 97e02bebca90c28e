//===- CallNames.h - What locations say of an op, down to calls -*- C++ -*-===//
//
// A call of the runtime is known by the value that it makes and the layer that it makes it for
// (docs/Manifest.md, "calls"). Both travel in the locations of ops: passes hand these on anyway, so no op and
// no pass between has to know of them, and generated code is the same with and without.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_DIALECT_GRAPH_IR_CALLNAMES_H
#define TESSERA_DIALECT_GRAPH_IR_CALLNAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace tessera::graph {

/// `location` of an op that makes the value `name`. Takes the place of a name given before.
mlir::Location nameCall(mlir::Location location, llvm::StringRef name);
/// The name given last; empty: none. Of several locations in one: the first that has a name.
llvm::StringRef callName(mlir::Location location);
/// What a value of a step is called: as the op that makes it, an argument by its graph.name, a layer of a
/// stack as the stack, and what a loop gives or carries as the op in the loop's body. Empty: nothing there
/// has a name.
llvm::StringRef valueName(mlir::Value value);

/// Which iteration of a loop, "layer" say, an op belongs to: scale * index + offset, of the index of the loop
/// that it stands in. Scale 0: it stands in none, and is of iteration `offset`.
struct CallIteration {
  llvm::StringRef loop;
  int64_t scale, offset;
};
mlir::Location placeCall(mlir::Location location, CallIteration iteration);
/// Those given, last first: the innermost loop comes first where outer loops are lowered first.
llvm::SmallVector<CallIteration> callIterations(mlir::Location location);
/// `location` of an op that now stands elsewhere: the index of the innermost loop is `factor` times that of
/// the loop that it stands in (0: of none), and `shift`.
mlir::Location moveCall(mlir::Location location, int64_t factor, int64_t shift);

/// A part of a training step that memory is counted by: what follows from the logits, what the derivative of
/// a program adds to it, and the form in which weights are held to be computed with. An op may be of several.
enum class StepPart { Loss, Backward, Weights };
mlir::Location markPart(mlir::Location location, StepPart part);
bool isPart(mlir::Location location, StepPart part);

} // namespace tessera::graph
#endif
