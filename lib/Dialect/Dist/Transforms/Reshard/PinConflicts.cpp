//===- PinConflicts.cpp - Pins that do not agree with each other ----------===//
#include "Reshard/PinConflicts.h"

#include "Explain.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <deque>

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

static constexpr size_t kMostOps = 256;

/// From a value back towards what it is made from.
struct PinConflicts::Path {
  Value at;
  std::vector<Operation *> ops; ///< nearest to the start first
};

void PinConflicts::add(Value value, StringRef name, const Sharding &pin) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  std::deque<Path> open{
      {value,
       {}}}; // breadth first: where a value can be reached past a reshard, the reshard is of another's making
  while (!open.empty() && seen.size() < kMostOps) {
    Path path = std::move(open.front());
    open.pop_front();
    if (path.at != value)
      if (pins.contains(path.at)) {
        tell(path, path.at, value, name);
        continue;
      }
    Operation *op = path.at.getDefiningOp();
    if (!op || op->getNumRegions() || !seen.insert(op).second)
      continue;
    path.ops.push_back(op);
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        open.push_back({operand, path.ops});
  }
  pins.insert({value, Pin{name.str(), pin}});
}

/// `lies` has what `pin` says of dimensions that it speaks of.
static bool isHeld(const Sharding &pin, const Sharding &lies) {
  return llvm::all_of(llvm::zip(pin.dims, lies.dims), [](auto dims) {
    return std::get<0>(dims).open || std::get<0>(dims).axes == std::get<1>(dims).axes;
  });
}

void PinConflicts::finish() {
  for (auto &[value, pin] : pins) {
    SmallVector<std::string> needed;
    SmallVector<Value> same = {value}; // under all the names that it has
    bool isRead = false;
    while (!same.empty() && !isRead) {
      Value next = same.pop_back_val();
      for (Operation *user : next.getUsers()) {
        if (isa<graph::NameOp>(user)) {
          same.push_back(user->getResult(0));
          continue;
        }
        if (isa<ConstraintOp>(user)) // the pin itself, taken out of the program
          continue;
        auto reshard = dyn_cast<ReshardOp>(user);
        Sharding lies = getShardingAttr((reshard ? reshard.getResult() : next).getType()).toSharding(mesh);
        isRead |= isHeld(pin.sharding, lies);
        if (std::string text = toString(lies, mesh); !llvm::is_contained(needed, text))
          needed.push_back(text);
      }
    }
    if (!isRead && !needed.empty())
      say(value.getLoc(),
          llvm::formatv("{0} is pinned to {1}, and nobody reads it so: who reads it needs {2}", pin.name,
                        toString(getShardingAttr(value.getType()).toSharding(mesh), mesh),
                        llvm::join(needed, " or ")));
  }
  pins.clear();
}

void PinConflicts::say(Location loc, const std::string &text) {
  if (said.insert(text).second)
    explainMissed(loc, "pins", text);
}

void PinConflicts::tell(const Path &path, Value from, Value to, StringRef name) {
  auto shardingOf = [&](Value value) { return getShardingAttr(value.getType()).toSharding(mesh); };
  Sharding before = shardingOf(from), after = shardingOf(to);
  AxisList pinned = before.usedAxes();
  pinned.append(after.usedAxes());
  double bytes = 0;
  std::vector<std::string> between;
  for (Operation *op : llvm::reverse(path.ops)) {
    auto reshard = dyn_cast<ReshardOp>(op);
    if (!reshard) {
      std::string known = graph::knownAs(op).str(); // the parts of one op are one after the other
      if (!isa<graph::NameOp, ConstraintOp>(op) && (between.empty() || between.back() != known))
        between.push_back(std::move(known));
      continue;
    }
    Sharding source = shardingOf(reshard.getInput()), target = shardingOf(reshard.getResult());
    for (auto [old, now] : llvm::zip(source.dims, target.dims)) {
      AxisList moved = old.axes;
      moved.append(now.axes);
      if (old.axes != now.axes && llvm::any_of(moved, [&](const AxisRef &axis) {
            return llvm::any_of(pinned, [&](const AxisRef &other) { return axis.overlaps(other); });
          })) {
        bytes += price(reshard);
        break;
      }
    }
  }
  if (bytes <= 0)
    return;
  const std::string first = pins.find(from)->second.name, ops = llvm::join(between, ", ");
  if (before.samePlacement(after)) {
    std::string who = first == name
                          ? first + " is pinned to " + toString(before, mesh) + " twice"
                          : first + " and " + name.str() + " are pinned to " + toString(before, mesh);
    return say(to.getLoc(),
               llvm::formatv("{0}; {1} between the two run otherwise: a rank receives {2:F0} bytes", who, ops,
                             bytes));
  }
  say(to.getLoc(),
      llvm::formatv("{0} pinned to {1} and {2} pinned to {3} do not agree: {4} between them, a "
                    "rank receives {5:F0} bytes",
                    first, toString(before, mesh), name, toString(after, mesh),
                    between.empty() ? std::string("no op is") : ops + (between.size() == 1 ? " is" : " are"),
                    bytes));
}
