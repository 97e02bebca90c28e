//===- ChosenRows.cpp - Ops that read chosen rows alone -------------------===//
#include "tessera/Interfaces/ChosenRows.h"

#include "tessera/Interfaces/ChosenRowsOpInterface.cpp.inc"
