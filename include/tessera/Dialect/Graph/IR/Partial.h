//===- Partial.h - Reductions in parts --------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_PARTIAL_H
#define TESSERA_DIALECT_GRAPH_IR_PARTIAL_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphPartialOp.h.inc"

#endif
