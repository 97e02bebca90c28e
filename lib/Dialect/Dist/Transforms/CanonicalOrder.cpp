//===- CanonicalOrder.cpp - The ops of a block, however they are written ----===//
#include "CanonicalOrder.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <set>
#include <unordered_map>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

namespace {
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t pair[] = {a, b};
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(pair), sizeof(pair)));
}

/// What an op is, reads and is read by, as a number.
class Signatures {
public:
  explicit Signatures(Block &block) {
    for (Operation &op : block)
      made(op);
    for (Operation &op : llvm::reverse(block))
      used(op);
  }
  uint64_t of(Operation &op) const { return mix(up.lookup(&op), down.lookup(&op)); }

private:
  static uint64_t text(llvm::function_ref<void(llvm::raw_ostream &)> print) {
    std::string written;
    llvm::raw_string_ostream os(written);
    print(os);
    return llvm::xxh3_64bits(written);
  }

  /// Of an attribute or a type: most stand in a block more than once, and to print one takes long.
  template <typename Printable> StringRef textOf(Printable what) {
    std::string &known = texts[what.getAsOpaquePointer()];
    if (known.empty())
      llvm::raw_string_ostream(known) << what;
    return known;
  }

  /// Says what an op is: not what it is called, nor for which of its readers it was written first, nor that
  /// nobody asked.
  static bool isEssential(StringRef attribute) {
    return attribute != "name" && attribute != graph::kNameAttr && attribute != "why" &&
           attribute != kUnaskedAttr;
  }

  /// A block that is priced before its arguments' types say how they lie is placed in the same order.
  static Type withoutEncoding(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? RankedTensorType::get(tensor.getShape(), tensor.getElementType()) : type;
  }

  /// A value from outside of the block: its type, and what is known of an argument besides its name.
  uint64_t outside(Value value) {
    auto [at, isNew] = values.try_emplace(value, 0);
    if (!isNew)
      return at->second;
    uint64_t hash = text([&](llvm::raw_ostream &os) {
      os << textOf(withoutEncoding(value.getType()));
      auto arg = dyn_cast<BlockArgument>(value);
      auto function =
          arg ? dyn_cast<FunctionOpInterface>(arg.getOwner()->getParentOp()) : FunctionOpInterface();
      if (!function) {
        if (arg)
          os << arg.getArgNumber(); // the op says what each of its arguments is
        return;
      }
      NamedAttrList attrs(function.getArgAttrs(arg.getArgNumber()));
      if (ShardingAttr sharding = getShardingAttr(value.getType());
          sharding && !attrs.get(dist::kShardingAttr))
        attrs.set(dist::kShardingAttr, sharding);
      for (NamedAttribute attr : attrs.getDictionary(arg.getContext()))
        if (isEssential(attr.getName()))
          os << attr.getName().getValue() << textOf(attr.getValue());
    });
    return values[value] = hash;
  }

  uint64_t hashOf(Value value) {
    auto at = values.find(value);
    return at != values.end() ? at->second : outside(value);
  }

  /// Hash of the op from what it reads; gives its results theirs.
  uint64_t made(Operation &op) {
    uint64_t hash = text([&](llvm::raw_ostream &os) {
      os << op.getName();
      for (NamedAttribute attr : op.getAttrs())
        if (isEssential(attr.getName()))
          os << attr.getName().getValue() << textOf(attr.getValue());
      for (Type type : op.getResultTypes())
        os << textOf(type);
    });
    for (Value operand : op.getOperands())
      hash = mix(hash, hashOf(operand));
    for (Region &region : op.getRegions())
      for (Block &block : region)
        for (Operation &inner : block)
          if (uint64_t read = made(inner);
              inner.hasTrait<OpTrait::IsTerminator>()) // which reads all that counts
            hash = mix(hash, read);
    for (OpResult result : op.getResults())
      values[result] = mix(hash, result.getResultNumber());
    return up[&op] = hash;
  }

  /// Hash of the op from who reads it, in the same block.
  void used(Operation &op) {
    std::multiset<uint64_t> users;
    for (OpOperand &use : op.getUses())
      if (Operation *user = op.getBlock()->findAncestorOpInBlock(*use.getOwner()))
        users.insert(mix(mix(up.lookup(user), down.lookup(user)),
                         mix(cast<OpResult>(use.get()).getResultNumber(),
                             user == use.getOwner() ? use.getOperandNumber() : ~0u)));
    uint64_t hash = 0;
    for (uint64_t user : users)
      hash = mix(hash, user);
    down[&op] = hash;
  }

  std::unordered_map<const void *, std::string> texts;
  llvm::DenseMap<Value, uint64_t> values;
  llvm::DenseMap<Operation *, uint64_t> up, down;
};
} // namespace

std::vector<Operation *> tessera::dist::canonicalOrder(Block &block) {
  Signatures signatures(block);
  llvm::DenseMap<Operation *, int> waiting, latest; // makers not placed yet; place of the last maker
  llvm::DenseMap<Operation *, llvm::SmallVector<Operation *, 4>> readers;
  llvm::DenseMap<Operation *, int> written;
  // Latest maker first, then the signature, then as written.
  std::set<std::tuple<int, uint64_t, int, Operation *>> ready;
  auto offer = [&](Operation *op) {
    ready.insert({-latest.lookup(op), signatures.of(*op), written.lookup(op), op});
  };
  for (Operation &op : block) {
    written[&op] = int(written.size());
    std::set<Operation *> makers;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && maker != &op && maker->getBlock() == &block)
          makers.insert(maker);
    });
    waiting[&op] = int(makers.size());
    for (Operation *maker : makers)
      readers[maker].push_back(&op);
  }
  Operation *terminator =
      !block.empty() && block.back().hasTrait<OpTrait::IsTerminator>() ? &block.back() : nullptr;
  for (Operation &op : block)
    if (waiting.lookup(&op) == 0 && &op != terminator)
      offer(&op);
  std::vector<Operation *> order;
  while (!ready.empty()) {
    Operation *op = std::get<3>(*ready.begin());
    ready.erase(ready.begin());
    order.push_back(op);
    for (Operation *reader : readers[op]) {
      latest[reader] = int(order.size());
      if (--waiting[reader] == 0 && reader != terminator)
        offer(reader);
    }
  }
  if (terminator)
    order.push_back(terminator);
  return order;
}
