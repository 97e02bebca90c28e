//===- PropagationOps.h - What is said to propagation -----------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_IR_PROPAGATIONOPS_H
#define TESSERA_DIALECT_DIST_IR_PROPAGATIONOPS_H

#include "tessera/Dialect/Dist/IR/Dist.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistPropagationOps.h.inc"

#endif
