//===- ModelBuilderTest.cpp - Layers of different kinds in one loop -------===//
#include "tessera/Import/Layers.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::importer;

namespace {

constexpr int64_t kHidden = 6;

struct PeriodTest : testing::Test {
  MLIRContext context;
  PeriodTest() { context.loadDialect<graph::GraphDialect, func::FuncDialect>(); }

  /// Scales by `own`, which the body named, and adds `layers.shared`, which both bodies have, and
  /// `everywhere`, which is no layer's.
  static Value scaleAndAdd(ModelBuilder &model, Value x, StringRef own) {
    Dims dims{{"hidden", kHidden}};
    ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape();
    Value y = model.make<graph::MulOp>(shape, x, model.weight(own, dims));
    y = model.make<graph::AddOp>(shape, y, model.weight("layers.shared", dims));
    EXPECT_EQ(model.weight("layers.shared", dims), model.weight("layers.shared", dims));
    return model.make<graph::AddOp>(shape, y, model.weight("everywhere", dims));
  }

  OwningOpRef<ModuleOp> build(int64_t layers) {
    ModelBuilder model(context, 1, 4, NumberFormat::F32);
    Value x = Embedding{"embedding", "vocab", 10, kHidden}(model, model.tokens());
    Value bias = model.weight("everywhere", {{"hidden", kHidden}});
    x = model.make<graph::AddOp>({1, 4, kHidden}, x, bias);
    auto even = [&](Value h) { return scaleAndAdd(model, h, "layers.even"); };
    auto odd = [&](Value h) {
      return scaleAndAdd(model, scaleAndAdd(model, h, "layers.odd"), "layers.odder");
    };
    x = model.repeat(layers, x, {even, odd});
    Value logits = Head{"embedding", 10, kHidden}(model, x);
    std::vector<WeightSource> sources;
    for (const Weight &weight : model.weights()) {
      SmallVector<int64_t> shape;
      for (const Dim &dim : weight.dims)
        shape.push_back(dim.size);
      sources.push_back({weight.layers ? weight.name + ".{}" : weight.name, shape, {}, {}, {}});
    }
    return model.finish(logits, sources);
  }
};

TEST_F(PeriodTest, EachBodySeesItsOwnLayerOfEveryStack) {
  OwningOpRef<ModuleOp> module = build(/*layers=*/5);
  ASSERT_TRUE(succeeded(verify(*module)));
  graph::RepeatOp repeat;
  module->walk([&](graph::RepeatOp op) { repeat = op; });
  ASSERT_TRUE(repeat);
  EXPECT_EQ(repeat.getCount(), 5u); // two periods and a remainder of one
  ASSERT_EQ(repeat.getBodies().size(), 2u);
  // In the order they were asked for: even, shared, odd, odder.
  ASSERT_EQ(repeat.getStacks().size(), 4u);
  auto used = [&](unsigned body) {
    std::string text;
    for (BlockArgument slice : repeat.getSlices(body))
      text += slice.use_empty() ? '-' : 'x';
    return text;
  };
  EXPECT_EQ(used(0), "xx--");
  EXPECT_EQ(used(1), "-xxx");
  for (Value stack : repeat.getStacks())
    EXPECT_EQ(cast<RankedTensorType>(stack.getType()).getDimSize(0), 5);
}

TEST_F(PeriodTest, BodiesThatNoLayerRunsAreLeftOut) {
  OwningOpRef<ModuleOp> module = build(/*layers=*/1);
  ASSERT_TRUE(succeeded(verify(*module)));
  graph::RepeatOp repeat;
  module->walk([&](graph::RepeatOp op) { repeat = op; });
  EXPECT_EQ(repeat.getBodies().size(), 1u);
  EXPECT_FALSE(SymbolTable::lookupSymbolIn(*module, "layers.odd"));
}

} // namespace
