//===- CheckShardItems.cpp - Items of --shard that no stage knows ---------===//
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/StepPorts.h"

namespace tessera::dist {
#define GEN_PASS_DEF_DISTCHECKSHARDITEMSPASS
#include "tessera/Dialect/Dist/Transforms/Passes.h.inc"
} // namespace tessera::dist

using namespace mlir;

namespace tessera::dist {
namespace {

struct CheckShardItems : impl::DistCheckShardItemsPassBase<CheckShardItems> {
  using Base::Base;
  void runOnOperation() override {
    std::optional<SmallVector<StringRef>> nowhere;
    for (auto stage : getOperation().getOps<ModuleOp>()) {
      auto unknown = stage->getAttrOfType<ArrayAttr>(graph::kUnknownItemsAttr);
      if (!unknown)
        continue;
      auto here = llvm::map_to_vector(unknown.getAsRange<StringAttr>(),
                                      [](StringAttr text) { return text.getValue(); });
      if (!nowhere)
        nowhere = SmallVector<StringRef>(here.begin(), here.end());
      else
        llvm::erase_if(*nowhere, [&](StringRef text) { return !llvm::is_contained(here, text); });
      stage->removeAttr(graph::kUnknownItemsAttr);
    }
    if (!nowhere || nowhere->empty())
      return;
    getOperation().emitError()
        << "--shard item '" << nowhere->front()
        << "': no stage has a value or a dimension of this name; compile without pp to be "
           "told the names that there are";
    signalPassFailure();
  }
};

} // namespace
} // namespace tessera::dist
