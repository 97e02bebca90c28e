//===- CompareTest.cpp - What the judge of executions takes for equal -----===//
#include "ExecuteHarness.h"

#include "tessera/Dialect/Exec/IR/Exec.h"
#include "tessera/Dialect/Graph/IR/Experts.h"
#include "tessera/Execution/Compare.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

struct CompareTest : ::testing::Test {
  std::unique_ptr<MLIRContext> context = test::createContext();

  ReferenceTensor tensor(Type type, ArrayRef<double> values) {
    ReferenceTensor made(type, {int64_t(values.size())});
    made.f.assign(values.begin(), values.end());
    return made;
  }
  /// One call with an output and a state.
  std::vector<GlobalCall> call(Type type, ArrayRef<double> output, ArrayRef<double> state) {
    std::vector<GlobalCall> calls = {{"f", {}, {}, {}}};
    calls[0].outputs["y"] = tensor(type, output);
    calls[0].states["s"] = tensor(type, state);
    return calls;
  }
  RoundedRuns runs(const std::vector<GlobalCall> &expected,
                   const std::vector<std::vector<GlobalCall>> &rounded) {
    RoundedRuns made;
    for (const std::vector<GlobalCall> &run : rounded)
      made.add(expected, run);
    return made;
  }
  Bounds bounds;
  /// What is too large, by where.
  std::vector<std::string> tooLarge(const std::vector<GlobalCall> &expected,
                                    const std::vector<GlobalCall> &found,
                                    const std::vector<std::vector<GlobalCall>> &rounded = {}) {
    std::vector<std::string> list;
    for (const Difference &difference : compareCalls(expected, found, runs(expected, rounded), bounds))
      if (difference.tooLarge())
        list.push_back(difference.where);
    return list;
  }
};

} // namespace

TEST_F(CompareTest, FloatsMayDifferByTheBoundOfTheLargestElement) {
  Type f32 = Float32Type::get(context.get());
  auto expected = call(f32, {10, 1}, {2});
  EXPECT_TRUE(tooLarge(expected, call(f32, {10, 1 + 9e-5}, {2})).empty());
  EXPECT_EQ(tooLarge(expected, call(f32, {10, 1 + 11e-5}, {2})),
            std::vector<std::string>{"call 1 of f, output y"});
}

TEST_F(CompareTest, StatesAreComparedToo) {
  Type f32 = Float32Type::get(context.get());
  EXPECT_EQ(tooLarge(call(f32, {1}, {2}), call(f32, {1}, {2.1})),
            std::vector<std::string>{"call 1 of f, state s"});
}

TEST_F(CompareTest, WhatIsNoNumberEqualsNothing) {
  Type f32 = Float32Type::get(context.get());
  double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(tooLarge(call(f32, {1, 2}, {3}), call(f32, {1, nan}, {3})).size(), 1u);
  EXPECT_EQ(tooLarge(call(f32, {1, 2}, {3}), call(f32, {1, infinity}, {3})).size(), 1u);
  auto isFinite = [&](double wanted, double found) {
    return compareCalls(call(f32, {wanted}, {3}), call(f32, {found}, {3}), {}, bounds).front().finite;
  };
  EXPECT_TRUE(isFinite(-infinity, -infinity)); // a mask
  EXPECT_FALSE(isFinite(infinity, -infinity));
  EXPECT_FALSE(isFinite(nan, nan)); // which are no difference, but nothing is known of them
}

TEST_F(CompareTest, ShortFloatsMayDifferByThreeTimesWhatRoundingDoes) {
  Type bf16 = BFloat16Type::get(context.get());
  auto expected = call(bf16, {1}, {1});
  std::vector<std::vector<GlobalCall>> rounded = {call(bf16, {1 + 0x1p-6}, {1}),
                                                  call(bf16, {1 - 0x1p-7}, {1})};
  double allowed = 3 * 0x1p-6 + 0x1p-7;
  EXPECT_TRUE(tooLarge(expected, call(bf16, {1 + allowed}, {1 + 0x1p-7}), rounded).empty());
  EXPECT_EQ(tooLarge(expected, call(bf16, {1 + allowed + 0x1p-8}, {1}), rounded).size(), 1u);
  EXPECT_EQ(tooLarge(expected, call(bf16, {1}, {1 + 0x1p-6}), rounded).size(), 1u);
}

// A run that overflows says nothing of how far rounding carries the others.
TEST_F(CompareTest, ARoundedRunThatOverflowsAllowsNothing) {
  Type f16 = Float16Type::get(context.get());
  double infinity = std::numeric_limits<double>::infinity();
  auto expected = call(f16, {65504, 1}, {1});
  std::vector<std::vector<GlobalCall>> rounded = {call(f16, {infinity, 1}, {1}),
                                                  call(f16, {65504 - 32, 1}, {1})};
  EXPECT_TRUE(tooLarge(expected, call(f16, {65504 - 96, 1}, {1}), rounded).empty());
  EXPECT_EQ(tooLarge(expected, call(f16, {-65504, 1}, {1}), rounded).size(), 1u);
  EXPECT_EQ(tooLarge(expected, call(f16, {infinity, 1}, {1}), rounded).size(), 1u);
}

// The unit in the last place is that of the type: float16 has three bits more than bfloat16.
TEST_F(CompareTest, Float16HasAUnitOfItsOwn) {
  Type f16 = Float16Type::get(context.get());
  auto expected = call(f16, {1}, {1});
  EXPECT_TRUE(tooLarge(expected, call(f16, {1 + 0x1p-10}, {1}), {expected}).empty());
  EXPECT_EQ(tooLarge(expected, call(f16, {1 + 0x1p-9}, {1}), {expected}).size(), 1u);
}

// Terms that cancel leave rounding alone: that bounds what is found, not the little that is expected.
TEST_F(CompareTest, WhatIsLittleButRoundingIsComparedWithRounding) {
  Type f32 = Float32Type::get(context.get());
  auto expected = call(f32, {1e-17}, {0});
  std::vector<std::vector<GlobalCall>> rounded = {call(f32, {3e-8}, {1e-8}), call(f32, {-2e-8}, {0})};
  EXPECT_TRUE(tooLarge(expected, call(f32, {8.9e-8}, {-2.9e-8}), rounded).empty());
  EXPECT_EQ(tooLarge(expected, call(f32, {9.1e-8}, {0}), rounded),
            std::vector<std::string>{"call 1 of f, output y"});
  EXPECT_EQ(tooLarge(expected, call(f32, {0}, {3.1e-8}), rounded),
            std::vector<std::string>{"call 1 of f, state s"});
  // For other weights, of which other runs say how much is rounding, it counts relative to what is expected.
  const double carried = compareCalls(expected, expected, runs(expected, rounded), bounds)[0].carried;
  EXPECT_NEAR(carried, 3, 1e-6);
  bounds.carried["call 1 of f, output y"] = carried;
  EXPECT_TRUE(tooLarge(call(f32, {2}, {1}), call(f32, {-3.9}, {1})).empty());
  EXPECT_EQ(tooLarge(call(f32, {2}, {1}), call(f32, {-4.1}, {1})).size(), 1u);
  EXPECT_EQ(tooLarge(call(f32, {2}, {1}), call(f32, {2}, {1.1})),
            std::vector<std::string>{"call 1 of f, state s"});
}

// The second call finds what the first one left.
TEST_F(CompareTest, InterpretedStatesAreKept) {
  auto module = parseSourceString<ModuleOp>(
      R"(func.func @f(%x: tensor<2xf32> {graph.kind = #graph.kind<input>, graph.name = "x"},
                      %s: tensor<2xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
          -> (tensor<2xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<2xf32> {graph.kind = #graph.kind<state>, graph.name = "s"}) {
        %sum = graph.add %x, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        return %sum, %sum : tensor<2xf32>, tensor<2xf32>
      })",
      context.get());
  ASSERT_TRUE(module);
  std::vector<GlobalCall> calls(2, GlobalCall{"f", {}, {}, {}});
  Type f32 = Float32Type::get(context.get());
  calls[0].inputs["x"] = tensor(f32, {1, 2});
  calls[1].inputs["x"] = tensor(f32, {10, 20});
  ASSERT_TRUE(succeeded(interpretCalls(*module, {}, calls)));
  EXPECT_EQ(calls[0].outputs["y"].f[1], 2);
  EXPECT_EQ(calls[1].outputs["y"].f[1], 22);
  EXPECT_EQ(calls[1].states["s"].f[0], 11);
}

TEST_F(CompareTest, IntegersMayFollowFloatsThatDiffer) {
  ReferenceTensor one(IntegerType::get(context.get(), 32), {1}), two = one;
  one.i = {1};
  two.i = {2};
  std::vector<GlobalCall> expected = {{"f", {}, {{"next", one}}, {}}},
                          found = {{"f", {}, {{"next", two}}, {}}};
  EXPECT_EQ(tooLarge(expected, found), std::vector<std::string>{"call 1 of f, output next"});
  bounds.integersFollow = true;
  EXPECT_TRUE(tooLarge(expected, found).empty());
}

// Two entries give ids under one name, chosen from logits under two.
TEST_F(CompareTest, IdsAreComparedWithTheLogitsOfTheirEntry) {
  auto module = parseSourceString<ModuleOp>(
      R"(func.func @f(%x: tensor<1x1xi32>, %y: tensor<1x2xf32>) -> (tensor<1x1xi32> {graph.name = "next", graph.gives = #graph.gives<next_tokens>},
            tensor<1x2xf32> {graph.name = "a", graph.gives = #graph.gives<logits>}) {
        return %x, %y : tensor<1x1xi32>, tensor<1x2xf32>
      }
      func.func @g(%x: tensor<1x1xi32>, %y: tensor<1x2xf32>) -> (tensor<1x1xi32> {graph.name = "next", graph.gives = #graph.gives<next_tokens>},
            tensor<1x2xf32> {graph.name = "b", graph.gives = #graph.gives<logits>}) {
        return %x, %y : tensor<1x1xi32>, tensor<1x2xf32>
      })",
      context.get());
  ASSERT_TRUE(module);
  bounds.integersFollow = true;
  bounds.logitsOfTokens = chosenTokens(*module);
  auto calls = [&](int64_t idOfF, int64_t idOfG) {
    std::vector<GlobalCall> list;
    for (auto [entry, logits, id] : {std::tuple("f", "a", idOfF), std::tuple("g", "b", idOfG)}) {
      ReferenceTensor next(IntegerType::get(context.get(), 32), {1});
      next.i = {id};
      list.push_back(
          {entry, {}, {{"next", next}, {logits, tensor(Float32Type::get(context.get()), {1, 2})}}, {}});
    }
    return list;
  };
  EXPECT_TRUE(tooLarge(calls(1, 1), calls(1, 1)).empty());
  EXPECT_EQ(tooLarge(calls(1, 1), calls(0, 1)), std::vector<std::string>{"call 1 of f, output next"});
  EXPECT_EQ(tooLarge(calls(1, 1), calls(1, 0)), std::vector<std::string>{"call 1 of g, output next"});
}

// Each id is looked for in the logits of its own row.
TEST_F(CompareTest, TokensAreTheLargestOfTheirRows) {
  auto calls = [&](std::vector<int64_t> tokens) {
    auto list = call(Float32Type::get(context.get()), {1, 2, 3, 3, 2, 1}, {1});
    ReferenceTensor ids(IntegerType::get(context.get(), 32), {2});
    ids.i.assign(tokens.begin(), tokens.end());
    list[0].outputs["next"] = ids;
    return list;
  };
  bounds.integersFollow = true;
  bounds.logitsOfTokens[{"f", "next"}] = "y";
  EXPECT_TRUE(tooLarge(calls({2, 0}), calls({2, 0})).empty());
  for (std::vector<int64_t> wrong : {std::vector<int64_t>{2, 2}, {0, 0}, {2, 1}, {2, 3}, {-1, 0}})
    EXPECT_EQ(tooLarge(calls({2, 0}), calls(wrong)), std::vector<std::string>{"call 1 of f, output next"});
}

// A row that has a number that is none, or an infinite one, has no largest; the others are judged.
TEST_F(CompareTest, RowsThatAreNotFiniteHaveNoLargest) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  bounds.integersFollow = true;
  bounds.logitsOfTokens[{"f", "next"}] = "y";
  for (double bad : {nan, infinity}) {
    auto calls = [&](int64_t first, int64_t second) {
      auto list = call(Float32Type::get(context.get()), {1, bad, 3, 1, 2, 3}, {1});
      ReferenceTensor ids(IntegerType::get(context.get(), 32), {2});
      ids.i = {first, second};
      list[0].outputs["next"] = ids;
      return list;
    };
    EXPECT_TRUE(tooLarge(calls(1, 2), calls(0, 2)).empty());
    EXPECT_EQ(tooLarge(calls(1, 2), calls(1, 0)), std::vector<std::string>{"call 1 of f, output next"});
  }
}

// Of an optimizer, whose states begin as zeros; a state of calls is no parameter.
TEST_F(CompareTest, WeightsAreDrawnAndStatesOfThemAreZeros) {
  auto module = parseSourceString<ModuleOp>(
      R"(graph.parameter @w : tensor<3xf32> variable from [#graph.source<"w", file = [3]>]
      graph.parameter @v : tensor<3xf32> variable from [#graph.source<"w", file = [3]>] {graph.state_of = #graph.state_of<"v" of @w>}
      func.func @f(%w: tensor<3xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w"},
                   %v: tensor<3xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v"},
                   %s: tensor<3xf32> {graph.kind = #graph.kind<state>, graph.name = "s"})
          -> (tensor<3xf32> {graph.kind = #graph.kind<output>, graph.name = "y"}, tensor<3xf32> {graph.kind = #graph.kind<state>, graph.name = "s"},
              tensor<3xf32> {graph.kind = #graph.kind<parameter>, graph.name = "v"}) {
        %sum = graph.add %w, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        return %sum, %s, %sum : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
      })",
      context.get());
  ASSERT_TRUE(module);
  NamedValues values = randomParameters(*module, *module, /*seed=*/1);
  EXPECT_EQ(values.size(), 2u);
  EXPECT_TRUE(llvm::any_of(values["w"].f, [](double x) { return x != 0; }));
  EXPECT_EQ(values["v"].f, decltype(values["v"].f)(3, 0));
}

// All terms lie on the first rank: without the sum over ranks its copy is right, and the other one is not.
TEST_F(CompareTest, CopiesOfOneElementAreTheSameOnAllRanks) {
  auto module = parseSourceString<ModuleOp>(
      R"(dist.mesh @mesh = <["x"=2]>
      func.func @f(%x: tensor<4xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
        %place = graph.iota dim = 0 : tensor<4xi32>
        %two = graph.constant dense<2> : tensor<i32> : tensor<i32>
        %first = graph.compare lt %place, %two : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
        %zero = graph.constant dense<0.0> : tensor<f32> : tensor<f32>
        %terms = graph.select %first, %x, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
        %sum = graph.reduce sum %terms dims = [0] : (tensor<4xf32>) -> tensor<f32>
        return %sum : tensor<f32>
      })",
      context.get());
  ASSERT_TRUE(module);
  ExecutionJudgement judgement;
  int broken = 0;
  judgement.execution.onExec = [&](ModuleOp exec) {
    exec.walk([&](exec::CollectiveOp op) {
      op.setAxesAttr(ArrayAttr::get(op.getContext(), {})); // everybody for himself
      ++broken;
    });
  };
  Result<std::vector<Difference>> differences = judgeExecution(*module, judgement);
  EXPECT_EQ(broken, 1);
  ASSERT_FALSE(differences);
  EXPECT_EQ(differences.failure().what, "ranks disagree");
}

// Of each row the larger of x and x * factor is looked up, on the machine the smaller one. In 16 bits it may
// be either where they are as close as rounding brings them.
TEST_F(CompareTest, AChoiceThatRoundingMayTurnMayBeEither) {
  auto judge = [&](const std::string &factor, TurnedChoices *turned, const std::string &type = "bf16",
                   const std::string &bits = "0.0") {
    std::string text =
        R"(func.func @f(%x: tensor<8x1xbf16> {graph.kind = #graph.kind<input>, graph.name = "x"},
                        %table: tensor<2x4xf32> {graph.kind = #graph.kind<input>, graph.name = "table"}) -> tensor<8x1x4xf32> {
          %factors = graph.constant dense<[[1.0, )" +
        factor + R"(]]> : tensor<1x2xbf16> : tensor<1x2xbf16>
          %exact = graph.mul %x, %factors : (tensor<8x1xbf16>, tensor<1x2xbf16>) -> tensor<8x2xbf16>
          %bits = graph.constant dense<)" +
        bits + R"(> : tensor<bf16> : tensor<bf16>
          %more = graph.add %exact, %bits : (tensor<8x2xbf16>, tensor<bf16>) -> tensor<8x2xbf16>
          %keys = graph.sub %more, %bits : (tensor<8x2xbf16>, tensor<bf16>) -> tensor<8x2xbf16>
          %values, %ids = graph.top_k %keys : (tensor<8x2xbf16>) -> (tensor<8x1xbf16>, tensor<8x1xi32>)
          %y = graph.embedding %table, %ids : (tensor<2x4xf32>, tensor<8x1xi32>) -> tensor<8x1x4xf32>
          return %y : tensor<8x1x4xf32>
        })";
    for (size_t at; (at = text.find("bf16")) != std::string::npos && type != "bf16";)
      text.replace(at, 4, type);
    auto module = parseSourceString<ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    ExecutionJudgement judgement;
    judgement.bounds.roundsWider = true;
    judgement.execution.onSpmd = [](ModuleOp spmd) {
      spmd.walk([](graph::TopKOp op) {
        OpBuilder b(op);
        op->setOperand(0, graph::NegOp::create(b, op.getLoc(), op.getInput().getType(), op.getInput()));
      });
    };
    Result<std::vector<Difference>> differences = judgeExecution(*module, judgement, turned);
    EXPECT_TRUE(differences) << differences.failure().message();
    return differences && llvm::any_of(*differences, [](const Difference &d) { return d.tooLarge(); });
  };
  TurnedChoices close, apart;
  EXPECT_FALSE(judge("1.0078125", &close));
  EXPECT_TRUE(judge("2.0", &apart));
  EXPECT_EQ(close.all, 16); // two calls
  EXPECT_GE(close.close, 12) << "at random no rounding moves a row";
  EXPECT_EQ(apart.close, 0);
  EXPECT_GT(apart.error, 0.1) << "the closest choice is turned, for who has to know what that makes";
  // What a choice that turned makes is no rounding of float32.
  EXPECT_TRUE(judge("1.0000001", nullptr, "f32", /*bits=*/"64.0"));
}

// The terms of a softmax are 1 together: less 1 there is rounding, as much of it as sums in other orders
// make.
TEST_F(CompareTest, ProgramsThatCancelMayRoundOtherwise) {
  auto judged = [&](bool roundsWider, float subtracted) {
    auto module = parseSourceString<ModuleOp>(
        R"(dist.mesh @mesh = <["x"=4]>
        func.func @f(%x: tensor<6x96xf32> {graph.kind = #graph.kind<input>, graph.name = "x", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}]>})
            -> tensor<6xf32> {
          %p = graph.softmax %x : tensor<6x96xf32>
          %sum = graph.reduce sum %p dims = [1] : (tensor<6x96xf32>) -> tensor<6xf32>
          %one = graph.constant dense<1.0> : tensor<f32> : tensor<f32>
          %rest = graph.sub %sum, %one : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
          return %rest : tensor<6xf32>
        })",
        context.get());
    EXPECT_TRUE(module);
    ExecutionJudgement judgement;
    judgement.bounds.roundsWider = roundsWider;
    judgement.execution.onSpmd = [&](ModuleOp spmd) {
      spmd.walk([&](graph::ConstantOp op) {
        auto type = cast<RankedTensorType>(op.getType());
        if (isa<FloatType>(type.getElementType()))
          op.setValueAttr(
              DenseElementsAttr::get(cast<ShapedType>(op.getValueAttr().getType()), APFloat(subtracted)));
      });
    };
    Result<std::vector<Difference>> differences = judgeExecution(*module, judgement);
    EXPECT_TRUE(bool(differences)) << differences.failure().message();
    return differences ? int(llvm::count_if(*differences, [](const Difference &d) { return d.tooLarge(); }))
                       : -1;
  };
  EXPECT_GT(judged(false, 1), 0);
  EXPECT_EQ(judged(true, 1), 0);
  EXPECT_GT(judged(true, 1.00001f), 0);
}
