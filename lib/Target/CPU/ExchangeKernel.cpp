//===- ExchangeKernel.cpp - which rows go to which rank -------------------===//

#include "ExpertKernels.h"

#include "ExpertEmitter.h"

using namespace mlir;
using namespace tessera::experts;
using arith::CmpIPredicate;

namespace tessera {

func::FuncOp buildExchangeKernel(Location loc, const ExchangedRows &x) {
  Kernel k(loc,
           llvm::formatv("exchange_{0}_{1}x{2}_of_{3}", x.toExperts ? "to_experts" : "back", x.rows, x.ranks,
                         x.experts)
               .str(),
           {numbers(loc, x.rows), numbers(loc, x.experts + 1)},
           {numbers(loc, x.rows), numbers(loc, x.ranks), numbers(loc, 2 * x.ranks)}, 0);
  Value token = k.in[0], start = k.in[1], places = k.out[0], end = k.out[1], counts = k.out[2];
  ImplicitLocOpBuilder &b = k.b;
  return k.overIterations([&](Value) {
    Value zero = k.index(0), one = k.i32(1), none = k.i32(-1), ranks = k.index(x.ranks),
          rows = k.index(x.rows);
    // On the side that has rows for all experts: those of one rank's experts lie side by side, so `start`
    // says how many there are.
    Value byExpert = k.index(x.toExperts ? 0 : x.ranks), byToken = k.index(x.toExperts ? x.ranks : 0);
    auto begin = [&](Value rank) {
      Value expert = arith::MinSIOp::create(b, k.mul(rank, x.expertsOfRank), k.index(x.experts));
      return k.load(start, {expert});
    };
    k.loop(zero, ranks, 1, [&](Value rank) {
      Value count = k.sub(begin(k.add(rank, k.index(1))), begin(rank));
      k.store(count, counts, {k.add(byExpert, rank)});
      k.store(k.i32(0), counts, {k.add(byToken, rank)});
    });
    // On the side that has the tokens of all ranks: each row is counted for the rank whose token it is of.
    auto forRows = [&](llvm::function_ref<void(Value, Value)> body) {
      k.loop(zero, rows, 1, [&](Value r) {
        Value t = k.load(token, {r});
        k.ifThen(arith::CmpIOp::create(b, CmpIPredicate::sge, t, k.i32(0)), [&] {
          Value piece = arith::DivUIOp::create(b, k.toIndex(t), k.index(x.behind * x.tokensOfRank));
          body(r, arith::RemUIOp::create(b, piece, ranks));
        });
      });
    };
    forRows([&](Value, Value rank) {
      Value at = k.add(byToken, rank);
      k.store(k.add(k.load(counts, {at}), one), counts, {at});
    });
    k.loop(zero, ranks, 1, Values{k.i32(0)}, [&](Value rank, ValueRange sum) -> Values {
      k.store(sum[0], end, {rank});
      return {k.add(sum[0], k.load(counts, {k.add(byToken, rank)}))};
    });
    k.loop(zero, rows, 1, [&](Value r) { k.store(none, places, {r}); });
    forRows([&](Value r, Value rank) {
      Value at = k.load(end, {rank});
      k.store(k.add(at, one), end, {rank});
      if (x.toExperts)
        k.store(at, places, {r});
      else
        k.store(k.toI32(r), places, {k.toIndex(at)});
    });
  });
}

} // namespace tessera
