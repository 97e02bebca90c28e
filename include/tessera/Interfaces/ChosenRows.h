//===- ChosenRows.h - Ops that read chosen rows alone -----------*- C++ -*-===//
#ifndef TESSERA_INTERFACES_CHOSENROWS_H
#define TESSERA_INTERFACES_CHOSENROWS_H

#include "mlir/IR/OpDefinition.h"

#include "tessera/Interfaces/ChosenRowsOpInterface.h.inc"

#endif
