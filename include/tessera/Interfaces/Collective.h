//===- Collective.h - Ops that bring a value to another sharding -*- C++ -*-===//
#ifndef TESSERA_INTERFACES_COLLECTIVE_H
#define TESSERA_INTERFACES_COLLECTIVE_H

#include "tessera/Analysis/Sharding/Mesh.h"
#include "tessera/Analysis/Sharding/StepKind.h"

#include "mlir/IR/OpDefinition.h"

#include "tessera/Interfaces/CollectiveOpInterface.h.inc"

#endif
