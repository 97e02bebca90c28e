//===- Branch.h - Branches --------------------------------------*- C++ -*-===//
#ifndef TESSERA_DIALECT_GRAPH_IR_BRANCH_H
#define TESSERA_DIALECT_GRAPH_IR_BRANCH_H

#include "tessera/Dialect/Graph/IR/Graph.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Graph/IR/GraphBranchOps.h.inc"

#endif
