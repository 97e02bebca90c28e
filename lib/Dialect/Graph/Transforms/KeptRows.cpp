//===- KeptRows.cpp -------------------------------------------------------===//
#include "tessera/Dialect/Graph/Transforms/KeptRows.h"

using namespace mlir;

namespace tessera::graph {

namespace {
/// Elementwise arithmetic on i32 with single numbers.
struct Arithmetic {
  OpBuilder &builder;
  Location loc;

  Value number(int64_t value) {
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    return ConstantOp::create(builder, loc, scalar,
                              DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(int32_t(value))));
  }
  Value compare(CompareKind kind, Value x, int64_t value) {
    auto type = cast<RankedTensorType>(x.getType()).clone(builder.getI1Type());
    return CompareOp::create(builder, loc, type, kind, x, number(value));
  }
  Value select(Value condition, Value x, Value y) {
    return SelectOp::create(builder, loc, x.getType(), condition, x, y);
  }
};
} // namespace

Rows rowsAfter(OpBuilder &builder, Location loc, Value positions, Value next, int64_t context) {
  Arithmetic a{builder, loc};
  Value inert = a.number(-1);
  Value follows = AddOp::create(builder, loc, positions.getType(), positions, a.number(1));
  follows = a.select(a.compare(CompareKind::lt, follows, context), follows, inert);
  follows = a.select(a.compare(CompareKind::ge, positions, 0), follows, inert);
  follows = a.select(a.compare(CompareKind::ge, next, 0), follows, inert);
  // A row that is inert looks a token up all the same.
  return {MaximumOp::create(builder, loc, next.getType(), next, a.number(0)), follows};
}

Rows rowsWhere(OpBuilder &builder, Location loc, Value positions, const Rows &made, const Rows &kept) {
  Arithmetic a{builder, loc};
  Value isMade = a.compare(CompareKind::ge, positions, 0);
  return {a.select(isMade, made.tokens, kept.tokens), a.select(isMade, made.positions, kept.positions)};
}

KeptRows::KeptRows(Builder &builder, ArrayRef<Port> inputs, const llvm::StringSet<> &taken) {
  auto source = [](const Port &port) { return cast<FillAttr>(port.fact->getValue()).getSource(); };
  if (inputs.size() != 2) // token ids alone
    return;
  auto type = cast<RankedTensorType>(inputs.front().type);
  if (type != inputs.back().type || type.getRank() != 2 || type.getElementType() != builder.getI32Type())
    return;
  tokensFirst_ = source(inputs.front()) == FillSource::TokenIds;
  for (const Port &input : inputs) {
    std::string name = "next_" + input.name;
    for (unsigned i = 1; taken.contains(name); ++i)
      name = "next_" + input.name + "_" + std::to_string(i);
    ports_.push_back({input.type, Kind::State, name, input.dims, input.fact});
  }
}

Rows KeptRows::rows(ArrayRef<Value> values) const {
  return tokensFirst_ ? Rows{values[0], values[1]} : Rows{values[1], values[0]};
}

SmallVector<Value> KeptRows::values(const Rows &rows) const {
  return tokensFirst_ ? SmallVector<Value>{rows.tokens, rows.positions}
                      : SmallVector<Value>{rows.positions, rows.tokens};
}

} // namespace tessera::graph
