//===- Dropout.cpp - Dropout at the sites of a program --------------------===//
#include "tessera/Dialect/Graph/Transforms/Dropout.h"

#include "tessera/Dialect/Graph/IR/RowNumbers.h"

using namespace mlir;

namespace tessera::graph {

bool isDropoutSite(Operation *op) {
  auto site = dyn_cast<DropSiteOpInterface>(op);
  return site && site.mayDrop();
}

SmallVector<DropSiteOpInterface> dropoutSites(Block &block) {
  SmallVector<DropSiteOpInterface> sites;
  block.walk([&](DropSiteOpInterface op) {
    if (op.mayDrop())
      sites.push_back(op);
  });
  return sites;
}

void numberSites(ArrayRef<DropSiteOpInterface> sites) {
  for (auto [number, site] : llvm::enumerate(sites))
    site->setAttr(kDropSiteAttr,
                  DenseI64ArrayAttr::get(site->getContext(), {int64_t(number), int64_t(sites.size())}));
}

void keepAtSites(ArrayRef<DropSiteOpInterface> sites) {
  for (DropSiteOpInterface site : sites) {
    site.setMayDrop(false);
    site->removeAttr(kDropSiteAttr);
  }
}

namespace {
class SiteWriter {
public:
  SiteWriter(DropSiteOpInterface site, int64_t number, int64_t sites, const DropoutInputs &inputs,
             Operation *outer)
      : site(site), number(number), sites(sites), inputs(inputs), outer(outer), builder(site),
        loc(site->getLoc()) {}

  FailureOr<Value> run() {
    return site.dropElements(
        builder, [this](ArrayRef<int64_t> rows) { return keysOf(rows); }, inputs.probability);
  }

private:
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
    for (auto [loop, body] : llvm::reverse(llvm::zip_equal(loops, bodies))) {
      Value index = loop.getIndex(body);
      if (!layer && inputs.firstLayer)
        index = AddOp::create(builder, loc, index.getType(), index, inputs.firstLayer);
      then(int64_t(loop.getCount()), CastOp::create(builder, loc, scalar, index));
    }
    then(sites, integerConstant(builder, loc, number));
    return layer;
  }

  Value keysOf(ArrayRef<int64_t> rows) {
    Value counts = rowNumbers(builder, loc, rows, inputs.firstRow);
    return RandomKeyOp::create(builder, loc, counts.getType(), inputs.key, stream(), counts);
  }

  DropSiteOpInterface site;
  int64_t number, sites;
  const DropoutInputs &inputs;
  Operation *outer;
  OpBuilder builder;
  Location loc;
};
} // namespace

FailureOr<SmallVector<Value>> dropAtSites(ArrayRef<DropSiteOpInterface> sites, const DropoutInputs &inputs,
                                          Operation *outer) {
  SmallVector<std::pair<int64_t, int64_t>> places;
  for (auto [number, site] : llvm::enumerate(sites)) {
    auto place = site->getAttrOfType<DenseI64ArrayAttr>(kDropSiteAttr);
    places.push_back(place ? std::pair(place[0], place[1])
                           : std::pair(int64_t(number), int64_t(sites.size())));
  }
  keepAtSites(sites);
  SmallVector<Value> left;
  for (auto [place, site] : llvm::zip_equal(places, sites)) {
    FailureOr<Value> dropped = SiteWriter(site, place.first, place.second, inputs, outer).run();
    if (failed(dropped))
      return failure();
    left.push_back(*dropped);
  }
  return left;
}

} // namespace tessera::graph
