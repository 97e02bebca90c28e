// Gradients of loops against central differences: what is carried, sliced, shared and returned.
#include "Gradients.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static graph::Recompute everything() {
  graph::Recompute recompute;
  recompute.all = true;
  return recompute;
}

/// Whatever backward computes again.
static void expectProgram(const char *text, bool positive = false) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Program program(text);
    ASSERT_TRUE(program.module);
    expectGradients(program.func(), seed, positive, text);
    expectGradients(program.func(), seed, positive, text, everything());
  }
}

/// The loop of a differentiated program: forward's is number 0, backward's 1.
static graph::RepeatOp loopOf(Program &program, unsigned number) {
  graph::RepeatOp found;
  program.func().walk<WalkOrder::PreOrder>([&](graph::RepeatOp op) {
    if (number-- == 0)
      found = op;
  });
  return found;
}

constexpr const char *kLayers = R"(
func.func @f(%x: tensor<2x3xf32>, %w: tensor<4x3x3xf32>, %b: tensor<4x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  %r = graph.repeat 4 carry(%x : tensor<2x3xf32>) stack(%w, %b : tensor<4x3x3xf32>, tensor<4x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3xf32>, %wi: tensor<3x3xf32>, %bi: tensor<3xf32>):
    %l = graph.linear %h, %wi contract = 1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %t = graph.tanh %l : tensor<2x3xf32>
    %m = graph.mul %t, %s : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %a = graph.add %m, %bi : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %n = graph.add %h, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    graph.yield %n : tensor<2x3xf32>
  }
  return %r : tensor<2x3xf32>
})";

TEST(DerivativeOfRepeat, CarriesSlicesAndSums) { expectProgram(kLayers); }

// Backward reads the carried value and tanh's result: two stacks. Weights are read from the stack that there
// is, and the bias not at all.
TEST(DerivativeOfRepeat, KeepsWhatBackwardReadsAndNoMore) {
  Program program(kLayers);
  ASSERT_TRUE(succeeded(graph::addVectorJacobianProduct(program.func())));
  graph::RepeatOp forward = loopOf(program, 0), backward = loopOf(program, 1);
  ASSERT_TRUE(forward && backward);
  EXPECT_EQ(forward.getCollected().size(), 2u);
  EXPECT_EQ(backward.getStacks().size(), 3u);
  EXPECT_EQ(backward.getInits().size(), 2u); // of the carried value; of the shared scale
  EXPECT_TRUE(backward.getReverse());
}

TEST(DerivativeOfRepeat, RunsTheOtherWayOfReverse) {
  expectProgram(R"(
func.func @f(%x: tensor<3xf32>, %w: tensor<3x3xf32>) -> tensor<3xf32> {
  %r = graph.repeat 3 reverse carry(%x : tensor<3xf32>) stack(%w : tensor<3x3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<3xf32>, %wi: tensor<3xf32>):
    %f = graph.cast %i : (tensor<i32>) -> tensor<f32>
    %m = graph.mul %wi, %f : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %p = graph.mul %h, %m : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %n = graph.add %p, %wi : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %t = graph.tanh %n : tensor<3xf32>
    graph.yield %t : tensor<3xf32>
  }
  return %r : tensor<3xf32>
})");
}

// Layers 0 and 2 keep a matrix, layer 1 a vector and another: stacks are shared by type, and one body has
// nothing for one of them.
TEST(DerivativeOfRepeat, BodiesOfAPeriodKeepDifferentValues) {
  const char *text = R"(
func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x3xf32>, %s: tensor<2xf32>) -> tensor<2x3xf32> {
  %r = graph.repeat 3 carry(%x : tensor<2x3xf32>) stack(%w : tensor<3x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3xf32>, %wi: tensor<3xf32>):
    %m = graph.mul %h, %wi : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %t = graph.sin %m : tensor<2x3xf32>
    graph.yield %t : tensor<2x3xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3xf32>, %wi: tensor<3xf32>):
    %e = graph.reduce sum %h dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
    %t = graph.tanh %e : tensor<2xf32>
    %p = graph.mul %t, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %b = graph.broadcast %p dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %u = graph.mul %b, %wi : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %n = graph.add %u, %h : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    graph.yield %n : tensor<2x3xf32>
  }
  return %r : tensor<2x3xf32>
})";
  expectProgram(text);
}

// The inner loop's values are kept as stacks of stacks; a value shared through both loops is summed in both.
constexpr const char *kNested = R"(
func.func @f(%x: tensor<3xf32>, %w: tensor<2x3xf32>, %u: tensor<3x3xf32>, %s: tensor<3xf32>) -> tensor<3xf32> {
  %r = graph.repeat 2 carry(%x : tensor<3xf32>) stack(%w : tensor<2x3xf32>) -> (tensor<3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<3xf32>, %wi: tensor<3xf32>):
    %o = graph.sin %wi : tensor<3xf32>
    %q = graph.repeat 3 carry(%h : tensor<3xf32>) stack(%u : tensor<3x3xf32>) -> (tensor<3xf32>) {
    ^bb0(%j: tensor<i32>, %g: tensor<3xf32>, %uj: tensor<3xf32>):
      %a = graph.mul %g, %o : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %b = graph.mul %a, %s : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %c = graph.add %b, %uj : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %d = graph.tanh %c : tensor<3xf32>
      graph.yield %d : tensor<3xf32>
    }
    %e = graph.mul %q, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %e : tensor<3xf32>
  }
  return %r : tensor<3xf32>
})";

TEST(DerivativeOfRepeat, NestedLoopsKeepStacksOfStacks) { expectProgram(kNested); }

// Computed again, backward of the outer loop runs the inner one itself: forward's returns nothing for it.
TEST(DerivativeOfRepeat, NestedLoopsRunAgain) {
  Program program(kNested);
  ASSERT_TRUE(succeeded(graph::addVectorJacobianProduct(program.func(), everything())));
  graph::RepeatOp forward = loopOf(program, 0), inner = loopOf(program, 1), backward = loopOf(program, 2);
  EXPECT_EQ(forward.getCollected().size(), 1u); // what it carries
  EXPECT_EQ(inner.getCollected().size(), 0u);
  EXPECT_TRUE(backward.getReverse());
  EXPECT_EQ(loopOf(program, 3).getCollected().size(), 1u); // forward's inner loop again
}

// The fewest bytes: of what leads from m to what backward reads (m, p and s) two numbers a row are saved and
// the row twelve times as long is made again; e, which is as long as m, is not.
TEST(DerivativeOfRepeat, SavesTheFewestBytes) {
  Program program(R"(
func.func @f(%x: tensor<2x3xf32>, %w: tensor<1x2x3xf32>) -> tensor<2x3xf32> {
  %r = graph.repeat 1 carry(%x : tensor<2x3xf32>) stack(%w : tensor<1x2x3xf32>) -> (tensor<2x3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<2x3xf32>, %wi: tensor<2x3xf32>):
    %m = graph.reduce sum %h dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
    %p = graph.broadcast %m dims = [0] : (tensor<2xf32>) -> tensor<2x12xf32>
    %s = graph.sin %p : tensor<2x12xf32>
    %q = graph.mul %s, %s : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
    %e = graph.reduce sum %q dims = [1] : (tensor<2x12xf32>) -> tensor<2xf32>
    %b = graph.broadcast %e dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %n = graph.add %b, %wi : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    graph.yield %n : tensor<2x3xf32>
  }
  return %r : tensor<2x3xf32>
})");
  expectGradients(program.func(), 4, false, "fewest bytes");
  ASSERT_TRUE(succeeded(graph::addVectorJacobianProduct(program.func())));
  graph::RepeatOp forward = loopOf(program, 0);
  ASSERT_EQ(forward.getCollected().size(), 1u);
  EXPECT_EQ(forward.getCollected()[0].getType(),
            RankedTensorType::get({1, 2}, Float32Type::get(&testContext())));
}

// Stacks that a loop returns have gradients, also where a later loop reads them; the initial value is read
// inside too.
TEST(DerivativeOfRepeat, ReturnedStacksHaveGradients) {
  expectProgram(R"(
func.func @f(%x: tensor<3xf32>, %w: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>) {
  %r, %k = graph.repeat 3 carry(%x : tensor<3xf32>) stack(%w : tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<3xf32>, %wi: tensor<3xf32>):
    %p = graph.mul %h, %wi : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %n = graph.add %p, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %n, %h : tensor<3xf32>, tensor<3xf32>
  }
  %s, %m = graph.repeat 3 carry(%x : tensor<3xf32>) stack(%k : tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<3xf32>, %ki: tensor<3xf32>):
    %p = graph.mul %h, %ki : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %p, %p : tensor<3xf32>, tensor<3xf32>
  }
  return %s, %m : tensor<3xf32>, tensor<3x3xf32>
})");
}

// Values change places, one is carried through as it is, one begins anew, and of one the loop's result is not
// read.
TEST(DerivativeOfRepeat, CarriedValuesChangePlaces) {
  expectProgram(R"(
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>, %w: tensor<3x2xf32>) -> tensor<2xf32> {
  %r:4 = graph.repeat 3 carry(%x, %y, %z, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) stack(%w : tensor<3x2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i32>, %a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>, %wi: tensor<2xf32>):
    %p = graph.mul %a, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %q = graph.add %p, %wi : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %e = graph.sin %wi : tensor<2xf32>
    graph.yield %b, %q, %c, %e : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  %n = graph.mul %r#1, %r#3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %n : tensor<2xf32>
})");
}

// An attention in a loop gives its log-sum-exp to backward: one number a query is kept, no weights.
TEST(DerivativeOfRepeat, AttentionKeepsItsLogSumExp) {
  Program program(R"(
func.func @f(%x: tensor<1x3x1x2x2xf32>, %p: tensor<1x3xi32>, %k: tensor<2x1x3x1x2xf32>) -> tensor<1x3x1x2x2xf32> {
  %r = graph.repeat 2 carry(%x : tensor<1x3x1x2x2xf32>) stack(%k : tensor<2x1x3x1x2xf32>) -> (tensor<1x3x1x2x2xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<1x3x1x2x2xf32>, %ki: tensor<1x3x1x2xf32>):
    %a = graph.attention %h, %ki, %ki, %p scale = 0.5 : (tensor<1x3x1x2x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3x1x2xf32>, tensor<1x3xi32>) -> tensor<1x3x1x2x2xf32>
    graph.yield %a : tensor<1x3x1x2x2xf32>
  }
  return %r : tensor<1x3x1x2x2xf32>
})");
  expectGradients(program.func(), 2, false, "attention in a loop");
  ASSERT_TRUE(succeeded(graph::addVectorJacobianProduct(program.func())));
  SmallVector<Type> kept(loopOf(program, 0).getCollected().getTypes());
  auto of = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, Float32Type::get(&testContext()));
  };
  EXPECT_TRUE(llvm::is_contained(kept, of({2, 1, 3, 1, 2})));
  EXPECT_EQ(kept.size(), 3u); // queries, log-sum-exp, result
}
