//===- MachineDescription.h - The machine a module is for -------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_MACHINEDESCRIPTION_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_MACHINEDESCRIPTION_H

#include "tessera/AutoParallel/Machine.h"
#include "tessera/Interfaces/Collective.h"
#include "tessera/Interfaces/Interfaces.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::dist {

/// Attribute of a module: the text of a machine description. Made by dist-annotate; every pass that weighs
/// costs reads it.
inline constexpr llvm::StringLiteral kMachineAttr = "dist.machine";

/// The machine that `given` names (`h100:8`), describes (JSON text), or is the file of
/// (tessera/AutoParallel/Machine.h has the form), with which neighbours of `mesh` share nodes. None, and one
/// line in `error`, if the file cannot be read, is no description, or speaks of an axis that `mesh` lacks. A
/// file without a name for the machine gives it its own.
std::optional<Machine> loadMachine(llvm::StringRef given, const Mesh &mesh, std::string &error);
/// What the module is for; the nominal machine if it says nothing, or nothing that can be read.
Machine machineOf(mlir::ModuleOp module);
/// Predicted seconds of one execution of a collective of rung spmd, in stages where that is faster.
double collectiveTime(const Machine &machine, const Mesh &mesh, CollectiveOpInterface collective);
/// The stages of a collective that is done within nodes and between them (Hierarchy.h); none: it stays whole.
std::optional<ReshardPlan> stagesOf(const Machine &machine, const Mesh &mesh,
                                    CollectiveOpInterface collective);

/// What `op` computes in: the type of its first operand of real numbers.
ComputeType computeTypeOf(mlir::Operation *op);
/// Seconds of `work`, which is that of `op`.
double workTime(const Machine &machine, mlir::Operation *op, const OpCost &work);

} // namespace tessera::dist
#endif
