//===- NormTiles.cpp - tiles of norms, softmax and rotary embedding ---------===//

#include "Tiles.h"

namespace tessera::tiles {
namespace {

/// Row-wise ops: statistics over the last `rowRank` dimensions, in float32, then one elementwise pass.
struct Rows {
  TileBuilder &t;
  Value x;
  RankedTensorType type;
  SmallVector<int64_t> kept; ///< shape without the dimensions of a row
  int64_t rank, rowRank, size;
  Type element, wide;

  Rows(TileBuilder &t, Value x, int64_t rowRank = 1)
      : t(t), x(x), type(typeOf(x)), rank(type.getRank()), rowRank(rowRank), size(1),
        element(type.getElementType()) {
    kept.assign(type.getShape().begin(), type.getShape().end() - rowRank);
    for (int64_t n : type.getShape().take_back(size_t(rowRank)))
      size *= n;
    wide = element.isF16() || element.isBF16() ? Type(t.b.getF32Type()) : element;
  }
  Read input() { return {x, t.identity(rank)}; }
  /// A statistic: one value per row.
  Read perRow(Value value) { return {value, t.leading(rank, rank - rowRank)}; }
  /// Elements of one row, the same for all.
  Read perColumn(Value value) { return {value, t.trailing(rank, rowRank)}; }

  Value fold(ArrayRef<Read> reads, double neutral, Body body) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(rank - rowRank, rank));
    return t.fold(type.getShape(), dims, reads, t.filled(kept, t.scalar(wide, neutral)), body);
  }
  /// sum of body(reads...) over each row.
  Value sum(ArrayRef<Read> reads, Body body) {
    return fold(reads, 0, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      return arith::AddFOp::create(b, x.back(), body(b, x.drop_back()));
    });
  }
  /// The largest element of each row.
  Value most() {
    return fold({input()}, -std::numeric_limits<double>::infinity(),
                [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                  return arith::MaximumFOp::create(b, x[1], TileBuilder(b, b.getLoc()).widen(x[0]));
                });
  }
  Value result(ArrayRef<Read> reads, Body body) {
    return t.map(type.getShape(), element, reads, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      return TileBuilder(b, b.getLoc()).narrow(body(b, x), element);
    });
  }
  /// 1 / sqrt(sum / size + eps) of a row's sum.
  Value reciprocalRoot(ImplicitLocOpBuilder &b, Value sum, double eps) {
    TileBuilder inner(b, b.getLoc());
    Value mean = arith::MulFOp::create(b, sum, inner.scalar(wide, 1.0 / double(size)));
    return math::RsqrtOp::create(b, arith::AddFOp::create(b, mean, inner.scalar(wide, eps)));
  }
};

Value widen(ImplicitLocOpBuilder &b, Value x) { return TileBuilder(b, b.getLoc()).widen(x); }

struct RmsNormTile : Tile<RmsNormTile, graph::RmsNormOp> {
  static Value emit(graph::RmsNormOp op, TileBuilder &t, ValueRange tiles, RankedTensorType, TileContext &) {
    Rows rows(t, tiles[0], cast<RankedTensorType>(op.getWeight().getType()).getRank());
    double eps = op.getEps().convertToDouble();
    Value squares = rows.sum({rows.input()}, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      Value v = widen(b, x[0]);
      return arith::MulFOp::create(b, v, v);
    });
    return rows.result({rows.input(), rows.perRow(squares), rows.perColumn(tiles[1])},
                       [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                         Value scale = rows.reciprocalRoot(b, x[1], eps);
                         Value normal = arith::MulFOp::create(b, widen(b, x[0]), scale);
                         return arith::MulFOp::create(b, normal, widen(b, x[2]));
                       });
  }
};

struct LayerNormTile : Tile<LayerNormTile, graph::LayerNormOp> {
  static Value emit(graph::LayerNormOp op, TileBuilder &t, ValueRange tiles, RankedTensorType,
                    TileContext &) {
    Rows rows(t, tiles[0]);
    double eps = op.getEps().convertToDouble();
    auto centered = [&](ImplicitLocOpBuilder &b, Value x, Value sum) -> Value {
      Value mean = arith::MulFOp::create(
          b, sum, TileBuilder(b, b.getLoc()).scalar(rows.wide, 1.0 / double(rows.size)));
      return arith::SubFOp::create(b, widen(b, x), mean);
    };
    Value total =
        rows.sum({rows.input()}, [](ImplicitLocOpBuilder &b, ValueRange x) { return widen(b, x[0]); });
    // Two passes: the mean of squares minus the square of the mean cancels.
    Value squares =
        rows.sum({rows.input(), rows.perRow(total)}, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          Value v = centered(b, x[0], x[1]);
          return arith::MulFOp::create(b, v, v);
        });
    return rows.result(
        {rows.input(), rows.perRow(total), rows.perRow(squares), rows.perColumn(tiles[1]),
         rows.perColumn(tiles[2])},
        [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          Value normal = arith::MulFOp::create(b, centered(b, x[0], x[1]), rows.reciprocalRoot(b, x[2], eps));
          return arith::AddFOp::create(b, arith::MulFOp::create(b, normal, widen(b, x[3])), widen(b, x[4]));
        });
  }
};

struct SoftmaxTile : Tile<SoftmaxTile, graph::SoftmaxOp> {
  static Value emit(graph::SoftmaxOp, TileBuilder &t, ValueRange tiles, RankedTensorType, TileContext &) {
    Rows rows(t, tiles[0]);
    Value most = rows.most();
    auto exponential = [](ImplicitLocOpBuilder &b, Value x, Value most) -> Value {
      return math::ExpOp::create(b, arith::SubFOp::create(b, widen(b, x), most));
    };
    Value exps = t.map(rows.type.getShape(), rows.wide, {rows.input(), rows.perRow(most)},
                       [&](ImplicitLocOpBuilder &b, ValueRange x) { return exponential(b, x[0], x[1]); });
    Read read{exps, t.identity(rows.rank)};
    Value total = rows.sum({read}, [](ImplicitLocOpBuilder &, ValueRange x) { return x[0]; });
    return rows.result({read, rows.perRow(total)}, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      return arith::DivFOp::create(b, x[0], x[1]);
    });
  }
};

struct CrossEntropyTile : TileLoweringOpInterface::ExternalModel<CrossEntropyTile, graph::CrossEntropyOp> {
  LogicalResult lowerTile(Operation *op, OpBuilder &builder, ValueRange tiles, TypeRange, TileContext &,
                          SmallVectorImpl<Value> &results) const {
    TileBuilder t(builder, op->getLoc());
    Rows rows(t, tiles[0]);
    Value most = rows.most();
    Value total =
        rows.sum({rows.input(), rows.perRow(most)}, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          return math::ExpOp::create(b, arith::SubFOp::create(b, widen(b, x[0]), x[1]));
        });
    Read whole{most, t.identity(rows.rank - 1)}, sums{total, t.identity(rows.rank - 1)};
    Value logSumExp =
        t.map(rows.kept, rows.wide, {whole, sums}, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          return arith::AddFOp::create(b, x[0], math::LogOp::create(b, x[1]));
        });
    // No label, no term: an ignored one gives 0.
    results.push_back(rows.sum(
        {rows.input(), rows.perRow(logSumExp), rows.perRow(tiles[1])},
        [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          Value index =
              arith::IndexCastOp::create(b, x[2].getType(), linalg::IndexOp::create(b, rows.rank - 1));
          Value isLabel = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, index, x[2]);
          Value term = arith::SubFOp::create(b, x[1], widen(b, x[0]));
          return arith::SelectOp::create(b, isLabel, term, TileBuilder(b, b.getLoc()).scalar(rows.wide, 0));
        }));
    results.push_back(logSumExp);
    return success();
  }
};

struct RopeTile : Tile<RopeTile, graph::RopeOp> {
  static Value emit(graph::RopeOp op, TileBuilder &t, ValueRange tiles, RankedTensorType type,
                    TileContext &context) {
    Type f32 = t.b.getF32Type();
    int64_t rank = type.getRank(), pairs = op.getFrequencies().size();
    bool half = op.getStyle() == graph::RopeStyle::half;
    double magnitude = op.getMagnitude().convertToDouble();

    // cos and sin once per position: [b, s, pairs], shared by all heads.
    SmallVector<float> frequencies(op.getFrequencies().begin(), op.getFrequencies().end());
    Value table = arith::ConstantOp::create(
        t.b, DenseElementsAttr::get(RankedTensorType::get({pairs}, f32), ArrayRef<float>(frequencies)));
    // A tile of some of the pairs: the last dimension stands as two.
    bool some = rank > cast<RankedTensorType>(op.getType()).getRank();
    int64_t pairDim = half || !some ? rank - 1 : rank - 2, otherDim = half ? rank - 2 : rank - 1;
    if (some) {
      pairs = type.getDimSize(pairDim);
      table = t.slice(table, {context.begin(t.b, op.getInput(), pairDim)}, {pairs});
    }
    SmallVector<int64_t> angleShape{type.getDimSize(0), type.getDimSize(1), pairs};
    auto turn = [&](auto emit) {
      return t.map(angleShape, f32, {{tiles[1], t.leading(3, 2)}, {table, t.last(3)}},
                   [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                     Value angle = arith::MulFOp::create(b, arith::SIToFPOp::create(b, f32, x[0]), x[1]);
                     Value value = emit(b, angle);
                     if (magnitude == 1.0)
                       return value;
                     return arith::MulFOp::create(b, value,
                                                  TileBuilder(b, b.getLoc()).scalar(f32, magnitude));
                   });
    };
    Value cos = turn([](ImplicitLocOpBuilder &b, Value a) -> Value { return math::CosOp::create(b, a); });
    Value sin = turn([](ImplicitLocOpBuilder &b, Value a) -> Value { return math::SinOp::create(b, a); });

    // The two members of every pair as two slices of the last dimension, or of that of members.
    SmallVector<OpFoldResult> at(rank, t.b.getIndexAttr(0)), second(at);
    SmallVector<int64_t> sizes(type.getShape()), strides(rank, 1);
    if (some) {
      second[otherDim] = t.b.getIndexAttr(1);
      sizes[otherDim] = 1;
    } else {
      second.back() = t.b.getIndexAttr(half ? pairs : 1);
      sizes.back() = pairs;
      strides.back() = half ? 1 : 2;
    }
    Value x = t.slice(tiles[0], at, sizes, strides), y = t.slice(tiles[0], second, sizes, strides);
    AffineMap angleMap = AffineMap::get(
        rank, 0, {t.b.getAffineDimExpr(0), t.b.getAffineDimExpr(1), t.b.getAffineDimExpr(unsigned(pairDim))},
        t.b.getContext());
    auto combine = [&](Value first, Value other, bool subtract) {
      return t.map(sizes, type.getElementType(),
                   {{first, t.identity(rank)}, {other, t.identity(rank)}, {cos, angleMap}, {sin, angleMap}},
                   [&](ImplicitLocOpBuilder &b, ValueRange v) -> Value {
                     Value a = arith::MulFOp::create(b, widen(b, v[0]), v[2]);
                     Value c = arith::MulFOp::create(b, widen(b, v[1]), v[3]);
                     Value sum = subtract ? arith::SubFOp::create(b, a, c).getResult()
                                          : arith::AddFOp::create(b, a, c).getResult();
                     return TileBuilder(b, b.getLoc()).narrow(sum, type.getElementType());
                   });
    };
    Value out = t.empty(type.getShape(), type.getElementType());
    out = t.insert(combine(x, y, /*subtract=*/true), out, at, strides);
    out = t.insert(combine(y, x, /*subtract=*/false), out, second, strides);
    if (int64_t rest = type.getShape().back() - 2 * pairs; !some && rest > 0) {
      at.back() = t.b.getIndexAttr(2 * pairs);
      sizes.back() = rest;
      out = t.insert(t.slice(tiles[0], at, sizes), out, at);
    }
    return out;
  }

  /// Pairs are independent of each other, if there is nothing but pairs.
  static ShardingRule tilingRule(graph::RopeOp op) {
    ShardingRule rule = op.getShardingRule();
    auto &last = rule.operands[0].dims.back();
    int64_t pairs = op.getFrequencies().size(), size = rule.factors[last[0]].size;
    if (size != 2 * pairs)
      return rule;
    int members = last[0], pair = rule.addFactor(pairs);
    rule.factors[members].size = 2;
    for (TensorFactors *tensor : {&rule.operands[0], &rule.results[0]})
      if (op.getStyle() == graph::RopeStyle::half)
        tensor->dims.back() = {members, pair};
      else
        tensor->dims.back() = {pair, members};
    return rule;
  }
  /// Cosines and sines, once for all heads.
  static SmallVector<TileScratch> tileScratch(graph::RopeOp op, const ShardingRule &rule) {
    TileScratch angles{{}, int64_t(sizeof(float))};
    for (const auto &dim : rule.operands[1].dims)
      angles.factors.append(dim.begin(), dim.end());
    int64_t pairs = op.getFrequencies().size();
    const auto &last = rule.operands[0].dims.back();
    if (last.size() == 2)
      angles.factors.push_back(last[op.getStyle() == graph::RopeStyle::half ? 1 : 0]);
    else
      angles.bytes *= pairs;
    return {angles, angles};
  }
};

} // namespace

void attachNorms(MLIRContext *context) {
  graph::RmsNormOp::attachInterface<RmsNormTile>(*context);
  graph::LayerNormOp::attachInterface<LayerNormTile>(*context);
  graph::SoftmaxOp::attachInterface<SoftmaxTile>(*context);
  graph::CrossEntropyOp::attachInterface<CrossEntropyTile>(*context);
  graph::RopeOp::attachInterface<RopeTile>(*context);
}

} // namespace tessera::tiles
