//===- TileDistributorGroups.cpp - reductions that groups of threads share --===//

#include "TileDistributor.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {

/// What this thread adds up of item `number`: one value for each output that is reduced.
TileDistributor::Values TileDistributor::accumulate(const Groups &groups, Value number) {
  placeItem(number, nullptr);
  int64_t chunks = ranges[d] / how.width;
  auto step = [&](Value place, ValueRange accumulators) -> Values {
    Value start =
        how.width == 1 ? place : b.createOrFold<arith::MulIOp>(loc, place, constantIndex(how.width));
    Chunk chunk{start, how.width, how.width, 0};
    Values outs;
    size_t next = 0;
    for (auto [out, combiner] : llvm::zip(op.getDpsInitsMutable(), combiners))
      outs.push_back(combiner                               ? accumulators[next++]
                     : op.payloadUsesValueFromOperand(&out) ? held(out, chunk)
                                                            : Value());
    Values updated = runBody(chunk, outs), sums;
    for (auto [i, out] : llvm::enumerate(op.getDpsInitsMutable())) {
      if (combiners[i])
        sums.push_back(updated[i]);
      else
        store(out, updated[i], chunk);
    }
    return sums;
  };
  Values totals;
  emitLoops(
      dimsOf(utils::IteratorType::reduction, d), neutrals(how.width),
      [&](ValueRange carried) { return forPlaces(groups.lane, chunks, how.group, carried, step); }, &totals);
  for (auto [output, total] : llvm::zip_equal(groups.reduced, totals))
    total = reduceLanes(output, total);
  return totals;
}

/// The same where `active` holds; elsewhere what changes nothing.
TileDistributor::Values TileDistributor::accumulateWhere(const Groups &groups, Value number, Value active) {
  SmallVector<Type> types = llvm::map_to_vector(groups.reduced, [&](unsigned output) -> Type {
    return cast<MemRefType>(op.getDpsInits()[output].getType()).getElementType();
  });
  auto branch = scf::IfOp::create(b, loc, types, active, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Values sums = accumulate(groups, number);
  if (!groups.reduced.empty())
    scf::YieldOp::create(b, loc, sums);
  b.setInsertionPointToStart(branch.elseBlock());
  Values none = neutrals(1);
  if (!groups.reduced.empty())
    scf::YieldOp::create(b, loc, none);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// `totals` of a group's threads put together: within warps by shuffles, beyond through shared memory.
/// `again`: what is there now has been read before something else is written.
void TileDistributor::shareTotals(const Groups &groups, Values &totals, bool again) {
  for (auto [output, total] : llvm::zip_equal(groups.reduced, totals))
    for (int64_t distance = std::min(how.group, kWarp) / 2; distance; distance /= 2)
      total = combine(output, total, shuffle(total, distance));
  if (groups.parts.empty())
    return;
  Value warp = quotient(id, kWarp), ofWarp = remainder(id, kWarp);
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, ofWarp, constantIndex(0));
  {
    OpBuilder::InsertionGuard inner(b);
    auto branch = scf::IfOp::create(b, loc, first, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
    for (auto [part, total] : llvm::zip_equal(groups.parts, totals))
      memref::StoreOp::create(b, loc, total, part, warp);
  }
  gpu::BarrierOp::create(b, loc);
  Value begin = b.createOrFold<arith::MulIOp>(loc, groups.number, constantIndex(how.group / kWarp));
  for (auto [output, part, total] : llvm::zip_equal(groups.reduced, groups.parts, totals)) {
    for (int64_t i = 0; i < how.group / kWarp; ++i) {
      Value place = i ? b.createOrFold<arith::AddIOp>(loc, begin, constantIndex(i)) : begin;
      Value value = memref::LoadOp::create(b, loc, part, place);
      total = i ? combine(output, total, value) : value;
    }
  }
  if (again) // before the next round writes there
    gpu::BarrierOp::create(b, loc);
}

/// The items from `base` on, one a group. Every thread of the block goes through all rounds: it meets the
/// others there.
void TileDistributor::emitRound(const Groups &groups, Value base) {
  int64_t count = threads / how.group;
  Value number = b.createOrFold<arith::AddIOp>(loc, base, groups.number), active;
  if (how.items % count)
    active = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, constantIndex(how.items));
  Values totals = active ? accumulateWhere(groups, number, active) : accumulate(groups, number);
  if (groups.reduced.empty())
    return;
  shareTotals(groups, totals, how.items > count || again);
  Value mine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, groups.lane, constantIndex(0));
  if (active)
    mine = arith::AndIOp::create(b, loc, mine, active);
  OpBuilder::InsertionGuard inner(b);
  if (how.group > 1 || active) {
    auto branch = scf::IfOp::create(b, loc, mine, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  placeItem(number, nullptr);
  Chunk one{constantIndex(0), 1, 1, 0};
  for (auto [output, total] : llvm::zip_equal(groups.reduced, totals))
    finish(output, total, one);
}

void TileDistributor::emitGrouped() {
  (void)findCombiners(d);
  Groups groups;
  for (auto [i, combiner] : llvm::enumerate(combiners))
    if (combiner)
      groups.reduced.push_back(i);
  if (how.group > kWarp)
    for (unsigned output : groups.reduced)
      groups.parts.push_back(
          scratch({threads / kWarp}, cast<MemRefType>(op.getDpsInits()[output].getType()).getElementType()));
  groups.lane = remainder(id, how.group);
  groups.number = quotient(id, how.group);
  int64_t count = threads / how.group, rounds = (how.items + count - 1) / count;
  if (rounds == 1)
    return emitRound(groups, constantIndex(0));
  OpBuilder::InsertionGuard guard(b);
  auto loop =
      scf::ForOp::create(b, loc, constantIndex(0), constantIndex(rounds * count), constantIndex(count));
  b.setInsertionPointToStart(loop.getBody());
  emitRound(groups, loop.getInductionVar());
}

} // namespace tessera
