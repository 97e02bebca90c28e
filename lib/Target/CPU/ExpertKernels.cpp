//===- ExpertKernels.cpp - kernels of ops by expert -----------------------===//

#include "ExpertKernels.h"

#include "ExpertEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace tessera::experts;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace tessera {

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

func::FuncOp buildTopKKernel(Location loc, int64_t rows, int64_t size, int64_t count, Type element) {
  Kernel k(loc, llvm::formatv("top_k_{0}x{1}x{2}", rows, size, count).str(), {array({rows, size}, element)},
           {array({rows, count}, element), numbers(loc, {rows, count})}, 0);
  ImplicitLocOpBuilder &b = k.b;
  Type i64 = b.getI64Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  // An integer that orders like (element, -index): NaN above all, zeros of either sign alike.
  auto keyOf = [&](Value x, Value i) -> Value {
    x = k.widened(x);
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), x);
    Value lowest = k.i32(std::numeric_limits<int32_t>::min()), most = k.i32(0x7fffffff);
    bits =
        arith::SelectOp::create(b, arith::CmpIOp::create(b, CmpIPredicate::eq, bits, lowest), k.i32(0), bits);
    Value flipped = arith::XOrIOp::create(b, bits, most);
    bits = arith::SelectOp::create(b, k.less(bits, k.i32(0)), flipped, bits);
    bits = arith::SelectOp::create(b, arith::CmpFOp::create(b, CmpFPredicate::UNO, x, x), most, bits);
    Value high = arith::ShLIOp::create(b, arith::ExtSIOp::create(b, i64, bits), integer(32));
    Value low = arith::SubIOp::create(b, integer(0x7fffffff), arith::IndexCastOp::create(b, i64, i));
    return arith::OrIOp::create(b, high, low);
  };
  return k.overIterations([&](Value row) {
    // Each pass finds the largest below the one before.
    k.loop(k.index(0), k.index(count), 1, Values{integer(std::numeric_limits<int64_t>::max())},
           [&](Value j, ValueRange before) -> Values {
             Values best =
                 k.loop(k.index(0), k.index(size), 1, Values{integer(std::numeric_limits<int64_t>::min())},
                        [&](Value i, ValueRange best) -> Values {
                          Value key = keyOf(k.load(k.in[0], {row, i}), i);
                          Value larger = arith::CmpIOp::create(b, CmpIPredicate::sgt, key, best[0]);
                          Value better = k.both(k.less(key, before[0]), larger);
                          return {arith::SelectOp::create(b, better, key, best[0])};
                        });
             Value low = arith::AndIOp::create(b, best[0], integer(0x7fffffff));
             Value at = arith::SubIOp::create(b, integer(0x7fffffff), low);
             k.store(k.load(k.in[0], {row, k.toIndex(at)}), k.out[0], {row, j});
             k.store(arith::TruncIOp::create(b, b.getI32Type(), at), k.out[1], {row, j});
             return best;
           });
  });
}

//===----------------------------------------------------------------------===//
// Rows by expert
//===----------------------------------------------------------------------===//

func::FuncOp buildGroupKernel(Location loc, const ExpertChoices &c) {
  int64_t rows = c.rows();
  Kernel k(loc, llvm::formatv("group_rows_{0}x{1}_of_{2}", c.tokens, c.choices, c.experts).str(),
           {numbers(loc, {c.tokens, c.choices})},
           {numbers(loc, {c.tokens, c.choices}), numbers(loc, rows), numbers(loc, rows),
            numbers(loc, c.experts + 1)},
           c.sharded ? 1 : 0);
  Value ids = k.in[0], place = k.out[0], token = k.out[1], expert = k.out[2], start = k.out[3];
  ImplicitLocOpBuilder &b = k.b;
  auto forChoices = [&](llvm::function_ref<void(Value, Value)> body) {
    k.loop(k.index(0), k.index(c.tokens), 1,
           [&](Value t) { k.loop(k.index(0), k.index(c.choices), 1, [&](Value j) { body(t, j); }); });
  };
  return k.overIterations([&](Value) {
    Value zero = k.index(0), none = k.i32(-1), one = k.i32(1), all = k.index(c.experts);
    k.loop(zero, k.index(c.experts + 1), 1, [&](Value e) { k.store(k.i32(0), start, {e}); });
    // Count the rows of each expert. Until they are given out, `place` says whose they are.
    Value first = c.sharded ? k.toI32(k.mul(k.shell.scalars[0], c.experts)) : k.i32(0);
    forChoices([&](Value t, Value j) {
      Value id = k.load(ids, {t, j}), own = k.sub(id, first);
      // Unsigned: what is negative is large.
      Value here = k.both(arith::CmpIOp::create(b, CmpIPredicate::ult, own, k.i32(c.experts)),
                          arith::CmpIOp::create(b, CmpIPredicate::ult, id, k.i32(c.known)));
      Values counts = k.loop(zero, j, 1, Values{here}, [&](Value i, ValueRange still) -> Values {
        Value other = arith::CmpIOp::create(b, CmpIPredicate::ne, k.load(place, {t, i}), own);
        return {k.both(still[0], other)};
      });
      k.store(arith::SelectOp::create(b, counts[0], own, none), place, {t, j});
      k.ifThen(counts[0], [&] {
        Value e = k.toIndex(own);
        k.store(k.add(k.load(start, {e}), one), start, {e});
      });
    });
    Values total = k.loop(zero, all, 1, Values{k.i32(0)}, [&](Value e, ValueRange sum) -> Values {
      Value count = k.load(start, {e});
      k.store(sum[0], start, {e});
      return {k.add(sum[0], count)};
    });
    k.loop(zero, k.index(rows), 1, [&](Value r) {
      k.store(none, token, {r});
      k.store(none, expert, {r});
    });
    // Fill: `start` moves to each expert's end.
    forChoices([&](Value t, Value j) {
      Value own = k.load(place, {t, j});
      k.ifThen(arith::CmpIOp::create(b, CmpIPredicate::sge, own, k.i32(0)), [&] {
        Value e = k.toIndex(own), at = k.load(start, {e}), r = k.toIndex(at);
        k.store(k.add(at, one), start, {e});
        k.store(at, place, {t, j});
        k.store(k.toI32(t), token, {r});
        k.store(own, expert, {r});
      });
    });
    // ... which is where the next one's begin.
    k.loop(zero, all, 1, [&](Value i) {
      Value e = k.sub(all, i), before = k.sub(e, k.index(1));
      k.store(k.load(start, {before}), start, {e});
    });
    k.store(k.i32(0), start, {zero});
    k.store(total[0], start, {all});
  });
}

func::FuncOp buildTakeRowsKernel(Location loc, int64_t rows, int64_t sourceRows, int64_t width, Type element,
                                 int64_t perToken, int64_t perExpert, int64_t lanes) {
  Kernel k(loc, llvm::formatv("take_rows_{0}x{1}", rows, width).str(),
           {array({sourceRows, width}, element), numbers(loc, rows), numbers(loc, rows)},
           {array({rows, width}, element)}, 0);
  return k.overIterations([&](Value r) {
    Value token = k.toIndex(k.load(k.in[1], {r})), expert = k.toIndex(k.load(k.in[2], {r}));
    Value from = k.add(k.mul(token, perToken), k.mul(expert, perExpert));
    k.writeRow(r, token, width, lanes,
               [&](Value d, int64_t active) { return k.loadVector(k.in[0], {from, d}, lanes, active); });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// Outputs side by side in vectors: of every input the weights of these lie so.
class ProductEmitter {
public:
  ProductEmitter(Kernel &kernel, const ExpertProduct &product, int64_t lanes)
      : k(kernel), b(kernel.b), p(product), lanes(lanes), tileRows(lanes >= 16 ? 4 : 2) {}

  void emit(Value block) {
    Value first = k.mul(block, p.kBlock);
    Value last = arith::MinSIOp::create(b, k.add(first, k.index(p.kBlock)), k.index(p.out));
    k.loop(k.index(0), k.index(p.experts), 1, [&](Value expert) {
      Value row = start(expert), end = start(k.add(expert, k.index(1)));
      k.ifThen(k.less(row, end), [&] {
        columns(block, [&](int64_t count) {
          k.inTiles(row, end, tileRows,
                    [&](Value r, int64_t rows) { columnTile(expert, r, rows, first, count); });
        });
      });
    });
    k.loop(start(k.index(p.experts)), k.index(p.rows), 1, [&](Value r) {
      k.loop(first, last, 1, [&](Value o) { k.store(k.zero(p.resultType), k.out[0], {r, o}); });
    });
  }

private:
  Value start(Value expert) { return k.toIndex(k.load(k.in[2], {expert})); }

  /// `body(count)` with the outputs of this block: the last one may have fewer.
  void columns(Value block, llvm::function_ref<void(int64_t)> body) {
    int64_t whole = p.out / p.kBlock, rest = p.out % p.kBlock;
    if (!rest || !whole)
      return body(whole ? p.kBlock : rest);
    k.ifThen(k.less(block, k.index(whole)), [&] { body(p.kBlock); }, [&] { body(rest); });
  }

  /// `count` outputs from `first` on: of every input the weights of these lie side by side.
  void columnTile(Value expert, Value row, int64_t rows, Value first, int64_t count) {
    SmallVector<std::pair<Value, int64_t>> vectors; // where each begins, and what of it is there
    for (int64_t at = 0; at < count; at += lanes)
      vectors.push_back({k.add(first, k.index(at)), std::min(lanes, count - at)});
    k.outerTile(
        k.index(0), k.index(p.in), rows, vectors.size(), lanes,
        [&](Value i, int64_t r) { return k.load(k.in[0], {k.add(row, k.index(r)), i}); },
        [&](Value i, size_t v) {
          return k.widened(k.loadVector(k.in[1], {expert, i, vectors[v].first}, lanes, vectors[v].second));
        },
        [&](int64_t r, size_t v, Value sum) {
          k.storeVector(k.narrowed(sum, p.resultType), k.out[0], {k.add(row, k.index(r)), vectors[v].first},
                        vectors[v].second);
        });
  }

  Kernel &k;
  ImplicitLocOpBuilder &b;
  const ExpertProduct &p;
  int64_t lanes, tileRows;
};

} // namespace

func::FuncOp buildExpertProductKernel(Location loc, const ExpertProduct &p, int64_t lanes) {
  Kernel k(loc,
           llvm::formatv("expert_linear_transposed_{0}x{1}x{2}x{3}", p.rows, p.experts, p.out, p.in).str(),
           {array({p.rows, p.in}, p.rowType), array({p.experts, p.in, p.out}, p.weightType),
            numbers(loc, p.experts + 1)},
           {array({p.rows, p.out}, p.resultType)}, 0);
  ProductEmitter emitter(k, p, lanes);
  return k.overIterations([&](Value block) { emitter.emit(block); });
}

//===----------------------------------------------------------------------===//
// Back to tokens
//===----------------------------------------------------------------------===//

func::FuncOp buildCombineKernel(Location loc, const ExpertChoices &c, int64_t width, Type rowType,
                                Type weightType, Type resultType, int64_t lanes) {
  Kernel k(loc, llvm::formatv("combine_{0}x{1}x{2}", c.tokens, c.choices, width).str(),
           {array({c.rows(), width}, rowType), numbers(loc, {c.tokens, c.choices}),
            array({c.tokens, c.choices}, weightType)},
           {array({c.tokens, width}, resultType)}, 0);
  ImplicitLocOpBuilder &b = k.b;
  Type floats = k.floats(lanes);
  return k.overIterations([&](Value t) {
    k.forStretches(width, lanes, [&](Value d, int64_t active) {
      Values sum = k.loop(
          k.index(0), k.index(c.choices), 1, Values{k.zero(floats)}, [&](Value j, ValueRange sum) -> Values {
            Value place = k.toIndex(k.load(k.in[1], {t, j}));
            auto chosen = scf::IfOp::create(b, floats, k.less(place, k.index(0)), /*withElseRegion=*/true);
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(chosen.thenBlock());
            scf::YieldOp::create(b, sum[0]);
            b.setInsertionPointToStart(chosen.elseBlock());
            Value row = k.widened(k.loadVector(k.in[0], {place, d}, lanes, active));
            Value more = math::FmaOp::create(b, row, k.spread(k.load(k.in[2], {t, j}), lanes), sum[0]);
            scf::YieldOp::create(b, more);
            return {chosen.getResult(0)};
          });
      k.storeVector(k.narrowed(sum[0], resultType), k.out[0], {t, d}, active);
    });
  });
}

func::FuncOp buildSpreadRowsKernel(Location loc, const ExpertChoices &c, int64_t width, Type element,
                                   int64_t lanes) {
  Kernel k(loc, llvm::formatv("spread_rows_{0}x{1}x{2}", c.tokens, c.experts, width).str(),
           {array({c.rows(), width}, element), numbers(loc, {c.tokens, c.choices}),
            numbers(loc, {c.tokens, c.choices})},
           {array({c.tokens, c.experts, width}, element)}, c.sharded ? 1 : 0);
  return k.overIterations([&](Value t) {
    k.loop(k.index(0), k.index(c.experts), 1, [&](Value e) {
      k.forStretches(width, lanes, [&](Value d, int64_t active) {
        k.storeVector(k.zero(VectorType::get({lanes}, element)), k.out[0], {t, e, d}, active);
      });
    });
    k.loop(k.index(0), k.index(c.choices), 1, [&](Value j) {
      Value place = k.toIndex(k.load(k.in[1], {t, j}));
      k.ifThen(arith::CmpIOp::create(k.b, CmpIPredicate::sge, place, k.index(0)), [&] {
        Value e = k.toIndex(k.load(k.in[2], {t, j}));
        if (c.sharded)
          e = k.sub(e, k.mul(k.shell.scalars[0], c.experts));
        k.forStretches(width, lanes, [&](Value d, int64_t active) {
          k.storeVector(k.loadVector(k.in[0], {place, d}, lanes, active), k.out[0], {t, e, d}, active);
        });
      });
    });
  });
}

} // namespace tessera
