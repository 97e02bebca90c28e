//===- ExchangeRows.h - Collectives of rows by counts -----------*- C++ -*-===//
#ifndef TESSERA_DIALECT_DIST_IR_EXCHANGEROWS_H
#define TESSERA_DIALECT_DIST_IR_EXCHANGEROWS_H

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Interfaces/ChosenRows.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Dist/IR/DistRowOps.h.inc"

#endif
