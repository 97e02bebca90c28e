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
  entry.walk([&](ExecAccessOpInterface op) {
    for (const ParameterAccess &access : op.getParameterAccesses())
      (access.kind == AccessKind::Read ? uses.paramsRead : uses.paramsUpdated)
          .insert(this->param(access.param));
    for (const Access &access : op.getAccesses()) {
      if (access.kind != AccessKind::Write) // of a stack, the other layers are as needed as if they were read
        touch(access.operand->get(), /*writes=*/false);
      if (access.kind != AccessKind::Read)
        touch(access.operand->get(), /*writes=*/true);
    }
  });
  return uses;
}

} // namespace tessera::exec
