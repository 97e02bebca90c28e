// The passes below rung `spmd` ask ops what they do and know none by name: ops of another dialect go through
// them.
#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Interfaces/TileLowering.h"
#include "tessera/Pipelines/Register.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

template <typename OpT, template <typename> class... Traits>
using TestOp = Op<OpT, OpTrait::ZeroRegions, OpTrait::OneResult, OpTrait::ZeroSuccessors,
                  OpTrait::VariadicOperands, Traits...>;

/// other.flat %tag, %x: the elements of x in another shape. The first operand is none of them.
class FlatOp : public TestOp<FlatOp, SameElementsOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.flat"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  Value getSource() { return (*this)->getOperand(1); }
};

/// other.mark %x: x, as it is.
class MarkOp : public TestOp<MarkOp, SameElementsOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.mark"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
};

/// other.flip %x: -x, element by element.
class FlipOp : public TestOp<FlipOp, ShardingRuleOpInterface::Trait, CostOpInterface::Trait,
                             TileLoweringOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.flip"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  ShardingRule getShardingRule() {
    ShardingRule rule;
    TensorFactors factors;
    for (int64_t size : cast<RankedTensorType>((*this)->getResult(0).getType()).getShape())
      factors.dims.push_back({rule.addFactor(size)});
    rule.operands = rule.results = {factors};
    return rule;
  }
  OpCost getCost() { return streamingCost(*this, 1); }
  LogicalResult lowerTile(OpBuilder &builder, ValueRange tiles, TypeRange, TileContext &,
                          SmallVectorImpl<Value> &results) {
    results.push_back(arith::NegFOp::create(builder, getLoc(), tiles[0]));
    return success();
  }
};

/// [n, m] -> [n]: m is summed over.
ShardingRule rowSumRule(Operation *op) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  ShardingRule rule;
  int row = rule.addFactor(type.getDimSize(0)),
      column = rule.addFactor(type.getDimSize(1), FactorKind::Reduction);
  rule.operands = {TensorFactors{{{row}, {column}}}};
  rule.results = {TensorFactors{{{row}}}};
  return rule;
}

/// other.blind %x: the sum of every row of x; nobody knows how.
class BlindOp : public TestOp<BlindOp, ShardingRuleOpInterface::Trait, CostOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.blind"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  ShardingRule getShardingRule() { return rowSumRule(*this); }
  OpCost getCost() { return streamingCost(*this, 1); }
};

/// other.total %x: the sum of every row of x.
class TotalOp : public TestOp<TotalOp, ShardingRuleOpInterface::Trait, CostOpInterface::Trait,
                              TileLoweringOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.total"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  ShardingRule getShardingRule() { return rowSumRule(*this); }
  OpCost getCost() { return streamingCost(*this, 1); }
  LogicalResult lowerTile(OpBuilder &builder, ValueRange tiles, TypeRange types, TileContext &,
                          SmallVectorImpl<Value> &results) {
    auto type = cast<RankedTensorType>(types[0]);
    Location loc = getLoc();
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
    Value start = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
    auto add = [](OpBuilder &b, Location loc, ValueRange x) {
      linalg::YieldOp::create(b, loc, ValueRange(arith::AddFOp::create(b, loc, x[0], x[1]).getResult()));
    };
    results.push_back(linalg::ReduceOp::create(builder, loc, tiles.take_front(), ValueRange(start),
                                               ArrayRef<int64_t>{1}, add)
                          .getResult(0));
    return success();
  }
};

/// other.ask %x: a number that the runtime knows of an array.
class AskOp : public TestOp<AskOp, exec::ExecCallOpInterface::Trait, exec::ExecHostCodeOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.ask"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void describeCall(llvm::json::Object &call, exec::ManifestTables &) { call["of"] = "x"; }
  FailureOr<Value> emitHostCode(exec::HostCode &code) {
    return code.callForNumber("ts_other", {code.at((*this)->getOperand(0))});
  }
};

/// other.twice %n: 2 n.
class TwiceOp : public TestOp<TwiceOp, exec::ExecHostCodeOpInterface::Trait> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "other.twice"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  FailureOr<Value> emitHostCode(exec::HostCode &code) {
    return code.multiply(code.at((*this)->getOperand(0)), code.constant(2));
  }
};

class OtherDialect : public Dialect {
public:
  explicit OtherDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<OtherDialect>()) {
    addOperations<FlatOp, MarkOp, FlipOp, BlindOp, TotalOp, AskOp, TwiceOp>();
  }
  static StringRef getDialectNamespace() { return "other"; }
};

struct LoweringInterfaces : ::testing::Test {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;

  LoweringInterfaces() {
    static const bool registered = (registerPasses(), true);
    (void)registered;
    DialectRegistry registry;
    registerDialects(registry);
    registry.insert<OtherDialect>();
    context.appendDialectRegistry(registry);
  }
  /// The first error, or nothing.
  std::string lower(StringRef text, StringRef pass) {
    std::string error;
    ScopedDiagnosticHandler keep(&context, [&](Diagnostic &diagnostic) {
      if (error.empty())
        error = diagnostic.str();
    });
    module = parseSourceString<ModuleOp>(text, &context);
    PassManager passes(&context);
    if (!module || failed(parsePassPipeline(pass, passes)) || failed(passes.run(*module)))
      return error;
    return "";
  }
  template <typename OpT> SmallVector<OpT> all() {
    SmallVector<OpT> found;
    module->walk([&](OpT op) { found.push_back(op); });
    return found;
  }
};

} // namespace

TEST_F(LoweringInterfaces, WhatHasItsOperandsElementsIsAView) {
  EXPECT_EQ(lower(R"(
    func.func @step(%tag: tensor<2xf32> {graph.kind = #graph.kind<input>, graph.name = "tag"},
        %x: tensor<4x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
        -> (tensor<24xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
      %marked = "other.mark"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %flat = "other.flat"(%tag, %marked) : (tensor<2xf32>, tensor<4x6xf32>) -> tensor<24xf32>
      %y = graph.silu %flat : tensor<24xf32>
      return %y : tensor<24xf32>
    })",
                  "spmd-to-kernels"),
            "");
  SmallVector<exec::ReshapeOp> views = all<exec::ReshapeOp>();
  ASSERT_EQ(views.size(), 1u);
  auto argument = dyn_cast<BlockArgument>(views[0].getInput());
  ASSERT_TRUE(argument);
  EXPECT_EQ(argument.getArgNumber(), 1u);
  EXPECT_TRUE(all<FlatOp>().empty());
  EXPECT_TRUE(all<MarkOp>().empty());
}

TEST_F(LoweringInterfaces, WhatComputesTilesFuses) {
  EXPECT_EQ(lower(R"(
    func.func @step(%x: tensor<4x6xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
        -> (tensor<4x6xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
      %a = graph.silu %x : tensor<4x6xf32>
      %b = "other.flip"(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %y = graph.add %b, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    })",
                  "spmd-to-kernels"),
            "");
  SmallVector<exec::LaunchOp> launches = all<exec::LaunchOp>();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_TRUE(launches[0].getKernel().starts_with("silu_flip_add")) << launches[0].getKernel().str();
  EXPECT_EQ(llvm::count_if(all<arith::NegFOp>(),
                           [](arith::NegFOp op) { return isa<RankedTensorType>(op.getType()); }),
            1);
  EXPECT_TRUE(all<FlipOp>().empty());
}

TEST_F(LoweringInterfaces, WhatComputesTilesRunsInParts) {
  EXPECT_EQ(lower(R"(
    func.func @step(%x: tensor<1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
        -> (tensor<2x1xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
      %y = graph.partial 2 of 1 (%x) : (tensor<1x8xf32>) -> tensor<2x1xf32> {
      ^bb0(%all: tensor<1x8xf32>):
        %total = "other.total"(%all) : (tensor<1x8xf32>) -> tensor<1xf32>
        graph.part %total : tensor<1xf32>
      }
      return %y : tensor<2x1xf32>
    })",
                  "spmd-to-kernels"),
            "");
  EXPECT_EQ(all<exec::LaunchOp>().size(), 1u);
  SmallVector<linalg::ReduceOp> sums = all<linalg::ReduceOp>();
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(cast<RankedTensorType>(sums[0].getInputs()[0].getType()).getDimSize(1), 4);
  EXPECT_TRUE(all<TotalOp>().empty());
}

TEST_F(LoweringInterfaces, WhatComputesNoTilesDoesNotRunInParts) {
  EXPECT_EQ(lower(R"(
    func.func @step(%x: tensor<1x8xf32> {graph.kind = #graph.kind<input>, graph.name = "x"})
        -> (tensor<2x1xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}) {
      %y = graph.partial 2 of 1 (%x) : (tensor<1x8xf32>) -> tensor<2x1xf32> {
      ^bb0(%all: tensor<1x8xf32>):
        %total = "other.blind"(%all) : (tensor<1x8xf32>) -> tensor<1xf32>
        graph.part %total : tensor<1xf32>
      }
      return %y : tensor<2x1xf32>
    })",
                  "spmd-to-kernels"),
            "'graph.partial' op runs other.blind in parts, which computes no tiles");
}

TEST_F(LoweringInterfaces, WhatAsksTheRuntimeIsACall) {
  EXPECT_EQ(lower(R"(
    module attributes {exec.arena_bytes = 4096 : i64} {
      func.func @run() attributes {exec.entry} {
        %x = exec.buffer at 64 : memref<4xf32>
        %n = "other.ask"(%x) : (memref<4xf32>) -> index
        %m = "other.twice"(%n) : (index) -> index
        return
      }
    })",
                  "exec-to-llvm"),
            "");
  SmallVector<LLVM::CallOp> calls = all<LLVM::CallOp>();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].getCallee(), "ts_other");
  EXPECT_EQ(calls[0].getNumOperands(), 2u); // the rank, and the array
  SmallVector<LLVM::MulOp> products = all<LLVM::MulOp>();
  ASSERT_EQ(products.size(), 1u);
  EXPECT_EQ(products[0].getLhs(), calls[0].getResult());
  auto manifest = module->lookupSymbol<LLVM::GlobalOp>("tessera_manifest");
  ASSERT_TRUE(manifest);
  StringRef text = cast<StringAttr>(manifest.getValueAttr()).getValue();
  EXPECT_TRUE(text.contains(R"("calls":[{"do":"ask","of":"x"}])")) << text.str();
}

TEST_F(LoweringInterfaces, WhatIsNoCodeOfTheHostIsRefused) {
  EXPECT_EQ(lower(R"(
    module attributes {exec.arena_bytes = 4096 : i64} {
      func.func @run() attributes {exec.entry} {
        %x = exec.buffer at 0 : memref<1x4xf32>
        %y = "other.blind"(%x) : (memref<1x4xf32>) -> memref<1xf32>
        return
      }
    })",
                  "exec-to-llvm"),
            "'other.blind' op does not stand on rung exec");
}
