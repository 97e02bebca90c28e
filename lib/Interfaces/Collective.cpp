//===- Collective.cpp - Ops that bring a value to another sharding --------===//
#include "tessera/Interfaces/Collective.h"

#include "tessera/Interfaces/CollectiveOpInterface.cpp.inc"
