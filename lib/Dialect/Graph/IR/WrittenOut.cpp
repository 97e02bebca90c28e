//===- WrittenOut.cpp - What an op was before it was written out ----------===//
#include "tessera/Dialect/Graph/IR/WrittenOut.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tessera::graph {

// Beside the location stands a dictionary with the whole; that of a view is empty.
static constexpr llvm::StringLiteral kPartOf = "part_of";
static constexpr llvm::StringLiteral kNumber = "number";

Location markPartOf(Location location, StringRef whole, std::optional<int64_t> number) {
  Builder builder(location.getContext());
  SmallVector<NamedAttribute> mark = {builder.getNamedAttr(kPartOf, builder.getStringAttr(whole))};
  if (number)
    mark.push_back(builder.getNamedAttr(kNumber, builder.getI64IntegerAttr(*number)));
  return FusedLoc::get(location.getContext(), {location}, builder.getDictionaryAttr(mark));
}

Location markView(Location location) { return markPartOf(location, ""); }

/// The mark of the whole that was said last: a part that is written out once more is one of the same whole,
/// but ops are written out once. Null: there is none.
static FusedLoc markOf(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return {};
  if (auto mark = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()); mark && mark.contains(kPartOf))
    return fused;
  for (Location inner : fused.getLocations())
    if (FusedLoc mark = markOf(inner))
      return mark;
  return {};
}

static DictionaryAttr entriesOf(FusedLoc mark) {
  return mark ? cast<DictionaryAttr>(mark.getMetadata()) : DictionaryAttr();
}

/// Null: the op is no part; empty: it is a view.
static StringAttr wholeOf(Operation *op) {
  DictionaryAttr entries = entriesOf(markOf(op->getLoc()));
  return entries ? entries.getAs<StringAttr>(kPartOf) : StringAttr();
}

bool isView(Operation *op) {
  StringAttr whole = wholeOf(op);
  return whole && whole.empty();
}

StringRef knownAs(Operation *op) {
  StringAttr whole = wholeOf(op);
  return whole && !whole.empty() ? whole.getValue() : op->getName().stripDialect();
}

std::optional<int64_t> partNumber(Operation *op) {
  DictionaryAttr entries = entriesOf(markOf(op->getLoc()));
  auto number = entries ? entries.getAs<IntegerAttr>(kNumber) : IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

Attribute identityOfWhole(Operation *op) {
  if (isView(op))
    return {};
  FusedLoc mark = markOf(op->getLoc());
  return partNumber(op) ? Attribute(entriesOf(mark)) : Attribute(mark);
}

} // namespace tessera::graph
