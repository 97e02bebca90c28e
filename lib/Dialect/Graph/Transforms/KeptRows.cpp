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
  /// Where an element of `x` [batch, 1] is none of `list` [n].
  Value isNoneOf(Value x, Value list) {
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> pairs(type.getShape());
    pairs.push_back(cast<RankedTensorType>(list.getType()).getDimSize(0));
    Value wide =
        BroadcastOp::create(builder, loc, type.clone(pairs), x, builder.getDenseI64ArrayAttr({0, 1}));
    Value equal = CompareOp::create(builder, loc, RankedTensorType::get(pairs, builder.getI1Type()),
                                    CompareKind::eq, wide, list);
    equal = SelectOp::create(builder, loc, type.clone(pairs), equal, number(1), number(0));
    Value any =
        ReduceOp::create(builder, loc, type, ReduceKind::max, equal, builder.getDenseI64ArrayAttr({2}));
    return compare(CompareKind::eq, any, 0);
  }
};
} // namespace

Rows rowsAfter(OpBuilder &builder, Location loc, Value positions, Value next, Value ends, int64_t context) {
  Arithmetic a{builder, loc};
  Value inert = a.number(-1);
  Value follows = AddOp::create(builder, loc, positions.getType(), positions, a.number(1));
  follows = a.select(a.compare(CompareKind::lt, follows, context), follows, inert);
  follows = a.select(a.compare(CompareKind::ge, positions, 0), follows, inert);
  follows = a.select(a.compare(CompareKind::ge, next, 0), follows, inert);
  follows = a.select(a.isNoneOf(next, ends), follows, inert);
  // A row that is inert looks a token up all the same.
  return {MaximumOp::create(builder, loc, next.getType(), next, a.number(0)), follows};
}

Rows rowsWhere(OpBuilder &builder, Location loc, Value positions, const Rows &made, const Rows &kept) {
  Arithmetic a{builder, loc};
  Value isMade = a.compare(CompareKind::ge, positions, 0);
  return {a.select(isMade, made.tokens, kept.tokens), a.select(isMade, made.positions, kept.positions)};
}

Rows rowsDrawn(OpBuilder &builder, Location loc, const Rows &rows, Value starts, Value ids, Value ends) {
  Arithmetic a{builder, loc};
  Value inert = a.number(-1);
  Value at = a.select(a.compare(CompareKind::ge, starts, 0), rows.positions, inert);
  Value isDrawn = a.compare(CompareKind::ge, at, 0);
  Value token = MaximumOp::create(builder, loc, ids.getType(), ids, a.number(0));
  Value position = a.select(a.compare(CompareKind::ge, ids, 0), at, inert);
  position = a.select(a.isNoneOf(ids, ends), position, inert);
  return {a.select(isDrawn, token, rows.tokens), a.select(isDrawn, position, rows.positions)};
}

Port endTokens(Builder &builder, std::string name, FillSource source) {
  return {RankedTensorType::get({kEndTokens}, builder.getI32Type()),
          Kind::State,
          std::move(name),
          {"end"},
          builder.getNamedAttr(kFillAttr, FillAttr::get(builder.getContext(), source))};
}

std::string freeName(StringRef name, const llvm::StringSet<> &taken) {
  std::string free = name.str();
  for (unsigned i = 1; taken.contains(free); ++i)
    free = (name + "_" + Twine(i)).str();
  return free;
}

KeptRows::KeptRows(Builder &builder, ArrayRef<Port> inputs, const llvm::StringSet<> &taken) {
  auto source = [](const Port &port) { return cast<FillAttr>(port.fact->getValue()).getSource(); };
  if (inputs.size() != 2) // token ids alone
    return;
  auto type = cast<RankedTensorType>(inputs.front().type);
  if (type != inputs.back().type || type.getRank() != 2 || type.getElementType() != builder.getI32Type())
    return;
  tokensFirst_ = source(inputs.front()) == FillSource::TokenIds;
  for (const Port &input : inputs)
    ports_.push_back(
        {input.type, Kind::State, freeName("next_" + input.name, taken), input.dims, input.fact});
}

Rows KeptRows::rows(ArrayRef<Value> values) const {
  return tokensFirst_ ? Rows{values[0], values[1]} : Rows{values[1], values[0]};
}

SmallVector<Value> KeptRows::values(const Rows &rows) const {
  return tokensFirst_ ? SmallVector<Value>{rows.tokens, rows.positions}
                      : SmallVector<Value>{rows.positions, rows.tokens};
}

} // namespace tessera::graph
