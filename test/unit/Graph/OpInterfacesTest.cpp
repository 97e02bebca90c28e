// Passes ask ops what they do and know none by name: ops of another dialect are treated alike.
#include "Parse.h"

#include "tessera/Dialect/Graph/Transforms/Documents.h"
#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Dialect/Graph/Transforms/PositionWise.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

template <typename OpT, template <typename> class... Traits>
using TestOp = Op<OpT, OpTrait::ZeroRegions, OpTrait::OneResult, OpTrait::ZeroSuccessors,
                  OpTrait::VariadicOperands, Traits...>;

/// other.thin %x, %key, %share: drops elements of x, with keys of its own.
class ThinOp : public TestOp<ThinOp, DropOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.thin"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void keepAllElements() {
    (*this)->getResult(0).replaceAllUsesWith((*this)->getOperand(0));
    (*this)->erase();
  }
};

/// other.blur %query, %rows, %positions: [batch, seq, d], [batch, context, d], [batch, seq] -> [batch, seq,
/// d].
class BlurOp : public TestOp<BlurOp, ShardingRuleOpInterface::Trait, PositionMixingOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.blur"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  ShardingRule getShardingRule() {
    auto rows = cast<RankedTensorType>((*this)->getOperand(1).getType());
    auto result = cast<RankedTensorType>((*this)->getResult(0).getType());
    ShardingRule rule;
    int batch = rule.addFactor(result.getDimSize(0)), seq = rule.addFactor(result.getDimSize(1)),
        context = rule.addFactor(rows.getDimSize(1), FactorKind::NeedReplication),
        d = rule.addFactor(result.getDimSize(2));
    TensorFactors row{{{batch}, {seq}, {d}}};
    rule.operands = {row, TensorFactors{{{batch}, {context}, {d}}}, TensorFactors{{{batch}, {seq}}}};
    rule.results = {row};
    return rule;
  }
  SmallVector<unsigned, 2> getContextOperands() { return {1}; }
  OpOperand *getSeenOperand() { return &(*this)->getOpOperand(2); }
};

class OtherDialect : public Dialect {
public:
  explicit OtherDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<OtherDialect>()) {
    addOperations<ThinOp, BlurOp>();
  }
  static StringRef getDialectNamespace() { return "other"; }
};

Program withOthers(StringRef text) {
  testContext().loadDialect<OtherDialect>();
  return Program(text);
}

} // namespace

TEST(OpInterfaces, WhateverDropsIsLeftOut) {
  Program program = withOthers(R"(
    func.func @train_dropout(%x: tensor<4x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
        %key: tensor<i64> {graph.fill = #graph.fill<dropout_key>, graph.kind = #graph.kind<input>, graph.name = "key"},
        %p: tensor<f32> {graph.fill = #graph.fill<dropout>, graph.kind = #graph.kind<input>, graph.name = "p"})
        -> (tensor<4x8xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) attributes {graph.role = #graph.role<train_dropout>} {
      %y = "other.thin"(%x, %key, %p) : (tensor<4x8xf32>, tensor<i64>, tensor<f32>) -> tensor<4x8xf32>
      return %y : tensor<4x8xf32>
    })");
  PassManager passes(&program.context);
  graph::registerGraphPasses();
  ASSERT_TRUE(succeeded(parsePassPipeline("graph-leave-out-dropout", passes)));
  ASSERT_TRUE(succeeded(passes.run(*program.module)));
  auto train = program.module->lookupSymbol<func::FuncOp>("train");
  ASSERT_TRUE(train);
  EXPECT_EQ(train.getNumArguments(), 1u);
  EXPECT_EQ(train.getBody().front().getTerminator()->getOperand(0), train.getArgument(0));
}

static const char *const kMixing = R"(
  func.func @forward(%x: tensor<2x4x8xf32> {graph.dims = ["batch", "seq", "hidden"]},
      %positions: tensor<2x4xi32> {graph.dims = ["batch", "seq"]}) -> tensor<2x4x8xf32> {
    %query = graph.neg %x : tensor<2x4x8xf32>
    %mixed = "other.blur"(%query, %x, %positions) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
    %y = graph.exp %mixed : tensor<2x4x8xf32>
    return %y : tensor<2x4x8xf32>
  })";

TEST(OpInterfaces, WhatMixesPositionsEndsTheTail) {
  Program program = withOthers(kMixing);
  DimNames names(*program.module);
  graph::PositionWise positionWise(program.func(), names);
  EXPECT_TRUE(succeeded(positionWise.checkPassesThrough("seq")));
  graph::PositionWise::Tail tail = positionWise.findTail();
  EXPECT_EQ(tail.ops.size(), 1u);
  EXPECT_EQ(tail.input, program.op<BlurOp>()->getResult(0));
}

TEST(OpInterfaces, WhatMixesPositionsSeesItsDocumentAlone) {
  Program program = withOthers(kMixing);
  func::FuncOp function = program.func();
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Value positions = function.getArgument(1);
  Value keys = graph::keysOfDocuments(builder, function.getLoc(), positions);
  graph::useKeysOfDocuments(function, positions, keys);
  EXPECT_EQ(program.op<BlurOp>()->getOperand(2), keys);
}
