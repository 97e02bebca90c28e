//===- ValueEnds.cpp - Who makes a value and who reads it -----------------===//
#include "ValueEnds.h"

#include "llvm/ADT/STLExtras.h"

using namespace tessera;

std::vector<ValueEnds> tessera::endsOf(const PlacementProgram &program) {
  std::vector<ValueEnds> ends(program.values.size());
  for (auto [i, op] : llvm::enumerate(program.ops)) {
    for (auto [r, value] : llvm::enumerate(op.results))
      ends[value].producer = int(i), ends[value].result = int(r);
    for (auto [o, value] : llvm::enumerate(op.operands))
      ends[value].readers.push_back({int(i), int(o)});
  }
  for (const ProgramUse &use : program.uses)
    ends[use.value].outside.push_back(&use.sharding);
  return ends;
}
