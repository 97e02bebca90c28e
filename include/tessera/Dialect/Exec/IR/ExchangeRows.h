//===- ExchangeRows.h - Communication of rows by counts ---------*- C++ -*-===//
#ifndef TESSERA_DIALECT_EXEC_IR_EXCHANGEROWS_H
#define TESSERA_DIALECT_EXEC_IR_EXCHANGEROWS_H

#include "tessera/Dialect/Exec/IR/Exec.h"

#define GET_OP_CLASSES
#include "tessera/Dialect/Exec/IR/ExecRowOps.h.inc"

#endif
