//===- DistDialect.cpp - The dist dialect ---------------------------------===//
#include "tessera/Dialect/Dist/IR/ExchangeRows.h"
#include "tessera/Dialect/Dist/IR/Manual.h"
#include "tessera/Dialect/Dist/IR/PropagationOps.h"

using namespace tessera::dist;

#include "tessera/Dialect/Dist/IR/DistDialect.cpp.inc"

void DistDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Dist/IR/DistOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Dist/IR/DistManualOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Dist/IR/DistPropagationOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tessera/Dialect/Dist/IR/DistRowOps.cpp.inc"
      >();
}
