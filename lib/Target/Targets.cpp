//===- Targets.cpp - the list of targets ----------------------------------===//

#include "tessera/Target/Targets.h"

#include "tessera/Target/CPU/CPU.h"

void tessera::registerTargets() {
  static bool done = [] {
    registerTarget(describeCPU());
    return true;
  }();
  (void)done;
}
