//===- StageCopies.cpp ----------------------------------------------------===//
#include "StageCopies.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tessera::graph {

LogicalResult StagePrograms::markCopies(Operation *where) {
  // A layer of a stack is in one stage alone.
  llvm::MapVector<StringAttr, SmallVector<unsigned>> holders;
  for (unsigned stage = 0; stage < ofStage.size(); ++stage)
    for (auto parameter : of(stage).getOps<ParameterOp>())
      if (!parameter.getStacked())
        holders[parameter.getSymNameAttr()].push_back(stage);
  using Copies = SmallVector<std::pair<StringAttr, int64_t>>;
  SmallVector<Copies> copies(ofStage.size());
  for (auto &[name, stages] : holders) {
    if (stages.size() > 2)
      return where->emitError() << "has a parameter, @" << name.getValue() << ", that " << stages.size()
                                << " stages read, the first three of them " << stages[0] << ", " << stages[1]
                                << " and " << stages[2] << "; gradients of two copies are added so far";
    if (stages.size() == 2)
      for (int64_t copy = 0; copy < 2; ++copy)
        copies[stages[size_t(copy)]].push_back({name, copy});
  }
  // Programs whose copies are marked: what they were made of, and the copies.
  SmallVector<std::pair<unsigned, Copies>> marked;
  SmallVector<unsigned> programs; ///< their numbers
  for (unsigned stage = 0; stage < ofStage.size(); ++stage) {
    std::pair<unsigned, Copies> wanted{ofStage[stage], copies[stage]};
    if (auto *known = llvm::find(marked, wanted); known != marked.end()) {
      ofStage[stage] = programs[size_t(known - marked.begin())];
      continue;
    }
    bool isTaken = llvm::any_of(marked, [&](auto &other) { return other.first == wanted.first; });
    if (isTaken) {
      ModuleOp clone = of(stage).clone();
      clone.setSymName(nextName());
      ofStage[stage] = unsigned(modules.size());
      modules.push_back(clone);
    }
    for (auto parameter : of(stage).getOps<ParameterOp>()) {
      parameter->removeAttr(kCopyAttr);
      for (auto [name, copy] : copies[stage])
        if (parameter.getSymNameAttr() == name)
          parameter->setAttr(kCopyAttr, IntegerAttr::get(IntegerType::get(where->getContext(), 64), copy));
    }
    marked.push_back(wanted);
    programs.push_back(ofStage[stage]);
  }
  return success();
}

} // namespace tessera::graph
