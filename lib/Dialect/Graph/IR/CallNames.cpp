//===- CallNames.cpp - What locations say of an op, down to calls ---------===//
#include "tessera/Dialect/Graph/IR/CallNames.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tessera::graph {

// A name is a text beside the location that it is of, an iteration an array [loop, scale, offset], a part of
// the step a number.

Location nameCall(Location location, StringRef name) {
  return FusedLoc::get(location.getContext(), {location}, StringAttr::get(location.getContext(), name));
}

StringRef callName(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return "";
  if (auto name = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
    return name.getValue();
  for (Location inner : fused.getLocations())
    if (StringRef name = callName(inner); !name.empty())
      return name;
  return "";
}

Location placeCall(Location location, CallIteration iteration) {
  Builder builder(location.getContext());
  return FusedLoc::get(
      location.getContext(), {location},
      builder.getArrayAttr({builder.getStringAttr(iteration.loop), builder.getI64IntegerAttr(iteration.scale),
                            builder.getI64IntegerAttr(iteration.offset)}));
}

SmallVector<CallIteration> callIterations(Location location) {
  SmallVector<CallIteration> iterations;
  for (auto fused = dyn_cast<FusedLoc>(location); fused;
       fused = dyn_cast<FusedLoc>(fused.getLocations().front()))
    if (auto parts = dyn_cast_or_null<ArrayAttr>(fused.getMetadata()))
      iterations.push_back({cast<StringAttr>(parts[0]).getValue(), cast<IntegerAttr>(parts[1]).getInt(),
                            cast<IntegerAttr>(parts[2]).getInt()});
  return iterations;
}

Location moveCall(Location location, int64_t factor, int64_t shift) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return location;
  Builder builder(location.getContext());
  SmallVector<Location> inner(fused.getLocations());
  Attribute metadata = fused.getMetadata();
  auto parts = dyn_cast_or_null<ArrayAttr>(metadata);
  int64_t scale = parts ? cast<IntegerAttr>(parts[1]).getInt() : 0;
  if (scale != 0)
    metadata = builder.getArrayAttr(
        {parts[0], builder.getI64IntegerAttr(scale * factor),
         builder.getI64IntegerAttr(scale * shift + cast<IntegerAttr>(parts[2]).getInt())});
  else
    inner.front() = moveCall(inner.front(), factor, shift);
  return FusedLoc::get(location.getContext(), inner, metadata);
}

Location markPart(Location location, StepPart part) {
  MLIRContext *context = location.getContext();
  return FusedLoc::get(context, {location}, Builder(context).getI32IntegerAttr(int(part)));
}

bool isPart(Location location, StepPart part) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return false;
  if (auto mark = dyn_cast_or_null<IntegerAttr>(fused.getMetadata()); mark && mark.getInt() == int(part))
    return true;
  return llvm::any_of(fused.getLocations(), [&](Location inner) { return isPart(inner, part); });
}

} // namespace tessera::graph
