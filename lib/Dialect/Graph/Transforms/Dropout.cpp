//===- Dropout.cpp - Dropout at the sites of a program --------------------===//
#include "tessera/Dialect/Graph/Transforms/Dropout.h"

#include "tessera/Dialect/Graph/IR/RowNumbers.h"

using namespace mlir;

namespace tessera::graph {

SmallVector<Operation *> dropoutSites(Block &block) {
  SmallVector<Operation *> sites;
  block.walk([&](Operation *op) {
    auto name = dyn_cast<NameOp>(op);
    auto attention = dyn_cast<AttentionOp>(op);
    if ((name && name.getDrops()) || (attention && attention.getDrops()))
      sites.push_back(op);
  });
  return sites;
}

void keepAtSites(ArrayRef<Operation *> sites) {
  for (Operation *site : sites) {
    if (auto name = dyn_cast<NameOp>(site))
      name.setDrops(false);
    if (auto attention = dyn_cast<AttentionOp>(site))
      attention.setDrops(false);
  }
}

namespace {
class SiteWriter {
public:
  SiteWriter(Operation *site, int64_t number, int64_t sites, const DropoutInputs &inputs, Operation *outer)
      : site(site), number(number), sites(sites), inputs(inputs), outer(outer), builder(site),
        loc(site->getLoc()) {}

  LogicalResult run() {
    if (auto attention = dyn_cast<AttentionOp>(site))
      return drop(attention);
    return drop(cast<NameOp>(site));
  }

private:
  LogicalResult drop(AttentionOp op) {
    if (op.getPages())
      return op.emitOpError() << "drops weights of keys that a table finds: what has pages is not trained";
    op.getDropKeysMutable().assign(keysOf(op.getQuery().getType().getShape().drop_back()));
    op.getDropShareMutable().assign(inputs.probability);
    return success();
  }

  LogicalResult drop(NameOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() < 2 || !isa<FloatType>(type.getElementType()))
      return op.emitOpError() << "drops elements of " << type
                              << ": expected floats whose first dimension is the row of the batch";
    builder.setInsertionPointAfter(op);
    SmallVector<int64_t> rows(type.getShape());
    rows.back() = 1;
    Value keys = keysOf(rows);
    auto columnType = RankedTensorType::get(type.getShape().back(), builder.getI32Type());
    Value columns = IotaOp::create(builder, loc, columnType, builder.getI64IntegerAttr(0));
    Value dropped = DropoutOp::create(builder, loc, type, op.getResult(), keys, columns, inputs.probability);
    op.getResult().replaceAllUsesExcept(dropped, dropped.getDefiningOp());
    return success();
  }

  /// The stream of the site in this layer: layers of the loops around it, the outermost first, then its
  /// number.
  Value stream() {
    SmallVector<RepeatOp> loops;
    SmallVector<unsigned> bodies;
    for (Region *region = site->getParentRegion(); region->getParentOp() != outer;
         region = region->getParentRegion())
      if (auto loop = dyn_cast<RepeatOp>(region->getParentOp())) {
        loops.push_back(loop);
        bodies.push_back(region->getRegionNumber());
      }
    Value layer;
    auto scalar = RankedTensorType::get({}, builder.getI64Type());
    auto then = [&](int64_t count, Value index) {
      if (layer) {
        layer = MulOp::create(builder, loc, scalar, layer, integerConstant(builder, loc, count));
        index = AddOp::create(builder, loc, scalar, layer, index);
      }
      layer = index;
    };
    for (auto [loop, body] : llvm::reverse(llvm::zip_equal(loops, bodies)))
      then(int64_t(loop.getCount()), CastOp::create(builder, loc, scalar, loop.getIndex(body)));
    then(sites, integerConstant(builder, loc, number));
    return layer;
  }

  Value keysOf(ArrayRef<int64_t> rows) {
    Value counts = rowNumbers(builder, loc, rows, inputs.firstRow);
    return RandomKeyOp::create(builder, loc, counts.getType(), inputs.key, stream(), counts);
  }

  Operation *site;
  int64_t number, sites;
  const DropoutInputs &inputs;
  Operation *outer;
  OpBuilder builder;
  Location loc;
};
} // namespace

LogicalResult dropAtSites(ArrayRef<Operation *> sites, const DropoutInputs &inputs, Operation *outer) {
  keepAtSites(sites);
  for (auto [number, site] : llvm::enumerate(sites))
    if (failed(SiteWriter(site, int64_t(number), int64_t(sites.size()), inputs, outer).run()))
      return failure();
  return success();
}

} // namespace tessera::graph
