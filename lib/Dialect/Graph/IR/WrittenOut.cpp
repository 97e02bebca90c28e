//===- WrittenOut.cpp - What an op was before it was written out ----------===//
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tessera::graph {

// Beside the location stands a dictionary with the whole; that of a view is empty.
static constexpr llvm::StringLiteral kPartOf = "part_of";

Location markPartOf(Location location, StringRef whole) {
  Builder builder(location.getContext());
  auto entry = builder.getNamedAttr(kPartOf, builder.getStringAttr(whole));
  return FusedLoc::get(location.getContext(), {location}, builder.getDictionaryAttr(entry));
}

Location markView(Location location) { return markPartOf(location, ""); }

/// The whole that was said last: a part that is written out once more is one of the same whole, but ops are
/// written out once.
static StringAttr wholeOf(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return {};
  if (auto mark = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()))
    if (auto whole = mark.getAs<StringAttr>(kPartOf))
      return whole;
  for (Location inner : fused.getLocations())
    if (StringAttr whole = wholeOf(inner))
      return whole;
  return {};
}

bool isView(Operation *op) {
  StringAttr whole = wholeOf(op->getLoc());
  return whole && whole.empty();
}

StringRef knownAs(Operation *op) {
  StringAttr whole = wholeOf(op->getLoc());
  return whole && !whole.empty() ? whole.getValue() : op->getName().stripDialect();
}

} // namespace tessera::graph
