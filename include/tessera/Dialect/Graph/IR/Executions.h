//===- Executions.h - How often an op runs ----------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_EXECUTIONS_H
#define TESSERA_DIALECT_GRAPH_IR_EXECUTIONS_H

#include "mlir/IR/Operation.h"

namespace tessera::graph {

/// How often `op` runs in one run of its function: the executions of the bodies around it, multiplied.
int64_t executionsOf(mlir::Operation *op);

} // namespace tessera::graph
#endif
