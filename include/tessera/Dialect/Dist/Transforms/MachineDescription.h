//===- MachineDescription.h - The machine a module is for -------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_TRANSFORMS_MACHINEDESCRIPTION_H
#define TESSERA_DIALECT_DIST_TRANSFORMS_MACHINEDESCRIPTION_H

#include "tessera/AutoParallel/Machine.h"
#include "tessera/Interfaces/Collective.h"

#include "mlir/IR/BuiltinOps.h"

namespace tessera::dist {

/// Attribute of a module: the text of a machine description. Made by dist-annotate; every pass that weighs
/// costs reads it.
inline constexpr llvm::StringLiteral kMachineAttr = "dist.machine";

/// Reads a description (tessera/AutoParallel/Machine.h has the form) for `mesh`. None, and one line in
/// `error`, if the file cannot be read, is no description, or names an axis that `mesh` lacks. `text` gets
/// what the file says.
std::optional<Machine> loadMachine(llvm::StringRef path, const Mesh &mesh, std::string &text,
                                   std::string &error);
/// What the module is for; the default machine if it says nothing, or nothing that can be read.
Machine machineOf(mlir::ModuleOp module);
/// Predicted seconds of one execution of a collective of rung spmd.
double collectiveTime(const Machine &machine, const Mesh &mesh, CollectiveOpInterface collective);

} // namespace tessera::dist
#endif
