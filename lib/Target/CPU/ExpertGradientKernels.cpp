//===- ExpertGradientKernels.cpp - kernels of gradients by expert ---------===//

#include "ExpertKernels.h"

#include "ExpertEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera::experts;

namespace tessera {

func::FuncOp buildWeighRowsKernel(Location loc, const ExpertChoices &c, int64_t width, Type sourceType,
                                  Type weightType, Type resultType, int64_t lanes) {
  Kernel k(loc, llvm::formatv("weigh_rows_{0}x{1}x{2}", c.rows(), c.choices, width).str(),
           {array({c.tokens, width}, sourceType), array({c.tokens, c.choices}, weightType),
            numbers(loc, {c.tokens, c.choices}), numbers(loc, c.rows())},
           {array({c.rows(), width}, resultType)}, 0);
  ImplicitLocOpBuilder &b = k.b;
  return k.overIterations([&](Value r) {
    Value token = k.toIndex(k.load(k.in[3], {r}));
    // The row is there for one choice: no id stands twice. One that is there for nobody has no token to ask.
    Value asked = arith::MaxSIOp::create(b, token, k.index(0));
    Values weight = k.loop(k.index(0), k.index(c.choices), 1, Values{k.f32(0)},
                           [&](Value j, ValueRange before) -> Values {
                             Value place = k.toIndex(k.load(k.in[2], {asked, j}));
                             Value isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place, r);
                             Value own = k.widened(k.load(k.in[1], {asked, j}));
                             return {arith::SelectOp::create(b, isHere, own, before[0])};
                           });
    Value factor = k.spread(weight[0], lanes);
    k.writeRow(r, token, width, lanes, [&](Value d, int64_t active) {
      Value x = k.widened(k.loadVector(k.in[0], {token, d}, lanes, active));
      Value product = arith::MulFOp::create(b, x, factor);
      return k.narrowed(product, resultType);
    });
  });
}

func::FuncOp buildChosenDotKernel(Location loc, const ExpertChoices &c, int64_t width, Type sourceType,
                                  Type rowType, Type resultType, int64_t lanes) {
  Kernel k(loc, llvm::formatv("chosen_dot_{0}x{1}x{2}", c.tokens, c.choices, width).str(),
           {array({c.tokens, width}, sourceType), array({c.rows(), width}, rowType),
            numbers(loc, {c.tokens, c.choices})},
           {array({c.tokens, c.choices}, resultType)}, 0);
  ImplicitLocOpBuilder &b = k.b;
  return k.overIterations([&](Value t) {
    k.loop(k.index(0), k.index(c.choices), 1, [&](Value j) {
      Value place = k.toIndex(k.load(k.in[2], {t, j}));
      auto product = [&] {
        Values sum = k.forStretches(width, lanes, {k.zero(k.floats(lanes))},
                                    [&](Value d, int64_t active, ValueRange before) -> Values {
                                      Value x = k.widened(k.loadVector(k.in[0], {t, d}, lanes, active));
                                      Value row = k.widened(k.loadVector(k.in[1], {place, d}, lanes, active));
                                      return {math::FmaOp::create(b, x, row, before[0])};
                                    });
        k.store(k.narrowed(k.total(sum[0]), resultType), k.out[0], {t, j});
      };
      k.ifThen(k.less(place, k.index(0)), [&] { k.store(k.zero(resultType), k.out[0], {t, j}); }, product);
    });
  });
}

namespace {

/// Sums along rows: of a tile of results every one is a lane, and each row adds its product to all.
class OuterEmitter {
public:
  OuterEmitter(Kernel &kernel, const ExpertOuter &outer, int64_t lanes)
      : k(kernel), b(kernel.b), p(outer), lanes(lanes) {}

  void emit(Value block) {
    Value first = k.mul(block, ExpertOuter::kBlock);
    Value last = arith::MinSIOp::create(b, k.add(first, k.index(ExpertOuter::kBlock)), k.index(p.m));
    k.loop(k.index(0), k.index(p.experts), 1, [&](Value expert) {
      Value row = start(expert), end = start(k.add(expert, k.index(1)));
      k.inTiles(first, last, kTileRows, [&](Value i, int64_t count) {
        int64_t pair = 2 * lanes, whole = p.n / pair * pair, rest = p.n - whole;
        if (whole)
          k.loop(k.index(0), k.index(whole), pair,
                 [&](Value j) { tile(expert, row, end, i, count, j, {lanes, lanes}); });
        if (rest > lanes)
          tile(expert, row, end, i, count, k.index(whole), {lanes, rest - lanes});
        else if (rest)
          tile(expert, row, end, i, count, k.index(whole), {rest});
      });
    });
  }

private:
  static constexpr int64_t kTileRows = 4;

  Value start(Value expert) { return k.toIndex(k.load(k.in[2], {expert})); }

  /// Results [i, i + count) by vectors from `j` on, of which so many lanes are there.
  void tile(Value expert, Value row, Value end, Value i, int64_t count, Value j, ArrayRef<int64_t> vectors) {
    auto column = [&](size_t v) { return k.add(j, k.index(int64_t(v) * lanes)); };
    k.outerTile(
        row, end, count, vectors.size(), lanes,
        [&](Value r, int64_t n) { return k.load(k.in[0], {r, k.add(i, k.index(n))}); },
        [&](Value r, size_t v) {
          return k.widened(k.loadVector(k.in[1], {r, column(v)}, lanes, vectors[v]));
        },
        [&](int64_t n, size_t v, Value sum) {
          k.storeVector(k.narrowed(sum, p.resultType), k.out[0], {expert, k.add(i, k.index(n)), column(v)},
                        vectors[v]);
        });
  }

  Kernel &k;
  ImplicitLocOpBuilder &b;
  const ExpertOuter &p;
  int64_t lanes;
};

} // namespace

func::FuncOp buildExpertOuterKernel(Location loc, const ExpertOuter &p, int64_t lanes) {
  Kernel k(loc, llvm::formatv("expert_outer_{0}x{1}x{2}x{3}", p.rows, p.experts, p.m, p.n).str(),
           {array({p.rows, p.m}, p.lhsType), array({p.rows, p.n}, p.rhsType), numbers(loc, p.experts + 1)},
           {array({p.experts, p.m, p.n}, p.resultType)}, 0);
  OuterEmitter emitter(k, p, lanes);
  return k.overIterations([&](Value block) { emitter.emit(block); });
}

} // namespace tessera
