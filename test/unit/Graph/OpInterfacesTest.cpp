// Passes ask ops what they do and know none by name: ops of another dialect are treated alike.
#include "Parse.h"

#include "tessera/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"

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

class OtherDialect : public Dialect {
public:
  explicit OtherDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<OtherDialect>()) {
    addOperations<ThinOp>();
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
  passes.addPass(graph::createLeaveOutDropout());
  ASSERT_TRUE(succeeded(passes.run(*program.module)));
  auto train = program.module->lookupSymbol<func::FuncOp>("train");
  ASSERT_TRUE(train);
  EXPECT_EQ(train.getNumArguments(), 1u);
  EXPECT_EQ(train.getBody().front().getTerminator()->getOperand(0), train.getArgument(0));
}
