//===- EntryUses.cpp - which states and parameters an entry touches ---------===//
//
// Read off the program itself: what an op reads or writes, followed through views to its buffer or parameter.
//
//===----------------------------------------------------------------------===//
#include "ManifestWriter.h"

#include "tessera/Dialect/Graph/IR/Graph.h"

using namespace mlir;

namespace tessera::exec {

ManifestWriter::EntryUses ManifestWriter::usesOf(func::FuncOp entry) const {
  struct State {
    int64_t number, begin, end;
  };
  SmallVector<State> states;
  if (auto list = module->getAttrOfType<ArrayAttr>("exec.states"))
    for (auto state : list.getAsRange<DictionaryAttr>()) {
      int64_t begin = state.getAs<IntegerAttr>("offset").getInt();
      states.push_back(
          {int64_t(states.size()), begin, begin + arrayBytes(state.getAs<TypeAttr>("type").getValue())});
    }
  EntryUses uses;
  auto touch = [&](Value value, bool writes) {
    Value root = rootOf(value);
    if (auto param = root.getDefiningOp<ParamOp>())
      (writes ? uses.paramsUpdated : uses.paramsRead).insert(this->param(param.getParamAttr()));
    auto buffer = root.getDefiningOp<BufferOp>();
    if (!buffer)
      return;
    int64_t begin = int64_t(buffer.getOffset()), end = begin + arrayBytes(buffer.getType());
    for (const State &state : states)
      if (begin < state.end && state.begin < end)
        (writes ? uses.statesWritten : uses.statesRead).insert(state.number);
  };
  entry.walk([&](Operation *op) {
    // Library ops name packed parameters by symbol.
    if (auto symbol = op->getAttrOfType<FlatSymbolRefAttr>("param"); symbol && !isa<ParamOp>(op))
      uses.paramsRead.insert(param(symbol));
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return;
    SmallVector<MemoryEffects::EffectInstance> list;
    effects.getEffects(list);
    for (const MemoryEffects::EffectInstance &effect : list)
      if (Value value = effect.getValue())
        touch(value, isa<MemoryEffects::Write>(effect.getEffect()));
  });
  return uses;
}

} // namespace tessera::exec
