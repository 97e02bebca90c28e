//===- AttentionScores.h - Attention written out ----------------*- C++ -*-===//
#ifndef TESSERA_LIB_DIALECT_GRAPH_IR_ATTENTIONSCORES_H
#define TESSERA_LIB_DIALECT_GRAPH_IR_ATTENTIONSCORES_H

#include "RowProgram.h"

#include "tessera/Dialect/Graph/IR/AttentionWindow.h"

namespace tessera::graph::inner {

/// What attention and its gradients are written out with. OpT: one of these ops.
template <typename OpT> class AttentionScores : public RowProgram {
public:
  /// `operands` are those of `op`, whatever their encodings.
  AttentionScores(mlir::OpBuilder &builder, OpT op, mlir::ValueRange operands)
      : RowProgram(builder, op.getLoc(), operands[0]), op(op), operands(operands),
        scale(op.getScale().convertToDouble()),
        softcap(op.getSoftcap() ? op.getSoftcap()->convertToDouble() : 0) {}

  /// [batch, seq, kv_heads, group, last], widened.
  mlir::RankedTensorType perQuery(int64_t last) {
    llvm::SmallVector<int64_t> shape(typeOf(op.getQuery()).getShape());
    shape.back() = last;
    return mlir::RankedTensorType::get(shape, wideType());
  }
  int64_t context() { return sizeOf(op.getKey(), 1); }

  mlir::Value einsum(mlir::RankedTensorType type, mlir::Value lhs, mlir::Value rhs, llvm::StringRef letters) {
    return EinsumOp::create(builder, loc, type, lhs, rhs, letters);
  }

  /// Scores over tanh's range: q . k * scale (over softcap), before tanh is applied.
  mlir::Value rawScores() {
    mlir::Value products = einsum(perQuery(context()), operands[0], operands[1], "bshgd,bchd->bshgc");
    return binary<MulOp>(products, number(softcap != 0 ? scale / softcap : scale));
  }
  /// The scores of raw ones; `bent` is tanh of them, if there is a softcap.
  mlir::Value capped(mlir::Value raw, mlir::Value *bent = nullptr) {
    if (softcap == 0)
      return raw;
    mlir::Value tanh = unary<TanhOp>(raw);
    if (bent)
      *bent = tanh;
    return binary<MulOp>(tanh, number(softcap));
  }

  /// The positions of the keys: [context], or where a table says where they stand [batch, 1, 1, 1, context].
  mlir::Value keyPositions() {
    mlir::Type integer = typeOf(operands[3]).getElementType();
    auto of = [&](llvm::ArrayRef<int64_t> sizes, mlir::Type element) {
      return mlir::RankedTensorType::get(sizes, element);
    };
    auto count = [&](llvm::ArrayRef<int64_t> sizes) -> mlir::Value {
      return IotaOp::create(builder, loc, of(sizes, integer), builder.getI64IntegerAttr(0));
    };
    if constexpr (std::is_same_v<OpT, AttentionOp>)
      if (op.getPages())
        return positionsOfPlaces(of, count);
    return count({context()});
  }

  /// `value` [..., context] where the query of the row sees the key of the column, `hidden` elsewhere. Keys
  /// have the positions of their places, which a rank knows.
  mlir::Value whereSeen(mlir::Value value, double hidden) {
    llvm::SmallVector<int64_t> shape(typeOf(value).getShape());
    mlir::Value positions = operands[3];
    mlir::Type integer = typeOf(positions).getElementType();
    auto of = [&](llvm::ArrayRef<int64_t> sizes, mlir::Type element) {
      return mlir::RankedTensorType::get(sizes, element);
    };
    mlir::Value keys = keyPositions();
    bool ranges = typeOf(positions).getRank() == 3;
    auto ofQueries = [&](int64_t number) -> mlir::Value { // the last key in sight, or the first
      mlir::Value one = positions;
      if (ranges)
        one = SliceOp::create(builder, loc, of({shape[0], shape[1], 1}, integer), positions,
                              builder.getDenseI64ArrayAttr({0, 0, number}));
      return ReshapeOp::create(builder, loc, of({shape[0], shape[1], 1, 1, 1}, integer), one);
    };
    mlir::Value queries = ofQueries(0);
    auto keep = [&](CompareKind kind, mlir::Value limit) {
      mlir::Value seen = CompareOp::create(
          builder, loc, of({shape[0], shape[1], 1, 1, shape.back()}, builder.getI1Type()), kind, keys, limit);
      value = SelectOp::create(builder, loc, of(shape, typeOf(value).getElementType()), seen, value,
                               number(hidden));
    };
    auto scalar = of({}, integer);
    auto integerOf = [&](int64_t number) -> mlir::Value {
      return ConstantOp::create(
          builder, loc, scalar,
          mlir::DenseElementsAttr::get(scalar, mlir::Attribute(builder.getIntegerAttr(integer, number))));
    };
    if (isRing()) // the place of a key says how far it is behind a query: less than once round
      keys = positionsInRing(queries, keys, of({shape[0], shape[1], 1, 1, shape.back()}, integer),
                             integerOf(shape.back()));
    keep(CompareKind::le, queries);
    if (ranges)
      keep(CompareKind::ge, ofQueries(1));
    if (isRing())
      keep(CompareKind::ge, integerOf(0));
    if (std::optional<int32_t> window = hidingWindow(op))
      keep(CompareKind::gt, SubOp::create(builder, loc, typeOf(queries), queries, integerOf(*window)));
    // The last rank's padding: no key.
    return MaskPaddingOp::create(builder, loc, of(shape, typeOf(value).getElementType()), value,
                                 builder.getDenseI64ArrayAttr({int64_t(shape.size()) - 1}),
                                 builder.getF64FloatAttr(hidden));
  }

  /// What belongs to weights [batch, seq, kv_heads, group, context], dropped from as the op says.
  mlir::Value dropped(mlir::Value value) {
    if (!op.getDropKeys())
      return value;
    mlir::Value keys = operands[operands.size() - 2];
    mlir::Value columns =
        IotaOp::create(builder, loc, mlir::RankedTensorType::get({context()}, builder.getI32Type()),
                       builder.getI64IntegerAttr(0));
    return DropoutOp::create(builder, loc, plain(value), value, column(keys), columns, operands.back());
  }

private:
  bool isRing() {
    if constexpr (std::is_same_v<OpT, AttentionOp>)
      return op.getRing();
    return false;
  }

  /// For each query [batch, seq, 1, 1, 1] the positions of the keys at `places` [context]: the last ones up
  /// to its own that stand there; below 0: none yet. `round` is the context. A query at -1 sees none at 0 or
  /// above.
  mlir::Value positionsInRing(mlir::Value queries, mlir::Value places, mlir::RankedTensorType type,
                              mlir::Value round) {
    // Not below 0, so that quotients are rounded down.
    mlir::Value next = AddOp::create(builder, loc, typeOf(queries), queries, round);
    mlir::Value apart = SubOp::create(builder, loc, type, next, places);
    mlir::Value times = DivOp::create(builder, loc, type, apart, round);
    mlir::Value behind =
        SubOp::create(builder, loc, type, apart, MulOp::create(builder, loc, type, times, round));
    return SubOp::create(builder, loc, type, queries, behind);
  }

  /// The table turned round: which page stands at each place, and so the position of each key. A place where
  /// none stands is that of a position that no query reaches.
  template <typename Of, typename Count> mlir::Value positionsOfPlaces(Of of, Count count) {
    constexpr int32_t nowhere = -(1 << 30);
    mlir::Value pages = operands[4];
    mlir::Type integer = typeOf(pages).getElementType();
    int64_t batch = sizeOf(pages, 0), n = sizeOf(pages, 1), page = int64_t(*op.getPage());
    auto number = [&](int64_t value) -> mlir::Value {
      auto type = of({}, integer);
      mlir::Attribute attr = builder.getIntegerAttr(integer, value);
      return ConstantOp::create(builder, loc, type, mlir::DenseElementsAttr::get(type, attr));
    };
    mlir::Value own = count({n}), places = AddOp::create(builder, loc, of({batch, n}, integer), pages, own);
    places = ReshapeOp::create(builder, loc, of({batch, 1, n}, integer), places);
    mlir::Value here = CompareOp::create(builder, loc, of({batch, n, n}, builder.getI1Type()),
                                         CompareKind::eq, places, count({n, 1}));
    // A maximum of what is not above 0: the least position.
    mlir::Value first = MulOp::create(builder, loc, of({n}, integer), own, number(-page));
    mlir::Value there =
        SelectOp::create(builder, loc, of({batch, n, n}, integer), here, first, number(nowhere));
    mlir::Value back = ReduceOp::create(builder, loc, of({batch, n}, integer),
                                        ReduceKindAttr::get(builder.getContext(), ReduceKind::max), there,
                                        builder.getDenseI64ArrayAttr({2}));
    back = ReshapeOp::create(builder, loc, of({batch, n, 1}, integer), back);
    mlir::Value keys = SubOp::create(builder, loc, of({batch, n, page}, integer), count({page}), back);
    return ReshapeOp::create(builder, loc, of({batch, 1, 1, 1, n * page}, integer), keys);
  }

protected:
  OpT op;
  mlir::ValueRange operands;
  double scale, softcap;
};

} // namespace tessera::graph::inner
#endif
