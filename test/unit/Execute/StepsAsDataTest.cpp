//===- StepsAsDataTest.cpp - What an executable can do is data --------------===//
//
// A program on rung exec, written by hand: a variable is updated as often as the call says and its packed
// form made again, ranks are in different entries of the program, two arenas are in use at once. On the CPU,
// and by the driver `checked` in many orders;
// test/Integration/steps-as-data-mpi.test runs it under MPI.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "CheckedDriver.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cpu/Driver.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::test;

// w [16, 8], x and sum [2, 8], y [2, 16]. A name of a place in the arena: sum 0, x 64, delta 128, y 640,
// scratch 768.
static const char *text = R"(
#id = affine_map<(i, j) -> (i, j)>
module attributes {exec.arena_bytes = 1280 : i64, exec.states = [{name = "sum", offset = 0 : i64, type = tensor<2x8xf32>, clear = #graph.clear<before_prompts>}]} {
  dist.mesh @mesh = <["x"=2]>
  graph.parameter @w : tensor<16x8xf32> variable from [#graph.source<"w", file = [16, 8]>] {exec.local = tensor<16x8xf32>, exec.pack = 1 : i64}

  func.func private @add(%a: tensor<16x8xf32>, %b: tensor<16x8xf32>, %out: tensor<16x8xf32>, %begin: index, %end: index) -> tensor<16x8xf32> attributes {tessera.kernel} {
    %e = tensor.empty() : tensor<16x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<16x8xf32>
    %r = tensor.insert_slice %s into %out[0, 0] [16, 8] [1, 1] : tensor<16x8xf32> into tensor<16x8xf32>
    return %r : tensor<16x8xf32>
  }
  func.func private @accumulate(%a: tensor<2x8xf32>, %out: tensor<2x8xf32>, %begin: index, %end: index) -> tensor<2x8xf32> attributes {tessera.kernel} {
    %e = tensor.empty() : tensor<2x8xf32>
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %out : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    } -> tensor<2x8xf32>
    %r = tensor.insert_slice %s into %out[0, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<2x8xf32>
    return %r : tensor<2x8xf32>
  }

  // w += delta, as often as the call says; then whoever multiplies must see it.
  func.func @update() attributes {exec.entry, exec.inputs = [{name = "delta", offset = 128 : i64, type = tensor<16x8xf32>}]} {
    %w = exec.param @w : memref<16x8xf32>
    %delta = exec.buffer at 128 : memref<16x8xf32>
    %scratch = exec.buffer at 768 : memref<16x8xf32>
    exec.for %i = call[0] in 0 to 4 step 1 {
      exec.launch @add ins(%w, %delta : memref<16x8xf32>, memref<16x8xf32>) outs(%scratch : memref<16x8xf32>) count = 1 grain = 1
      exec.copy %scratch to %w : memref<16x8xf32>, memref<16x8xf32>
    }
    exec.pack @w
    return
  }
  func.func @apply() attributes {exec.entry, exec.inputs = [{name = "x", offset = 64 : i64, type = tensor<2x8xf32>}], exec.outputs = [{name = "y", offset = 640 : i64, type = tensor<2x16xf32>}]} {
    %x = exec.buffer at 64 : memref<2x8xf32>
    %y = exec.buffer at 640 : memref<2x16xf32>
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    return
  }
  func.func @accumulate_x() attributes {exec.entry, exec.inputs = [{name = "x", offset = 64 : i64, type = tensor<2x8xf32>}]} {
    %x = exec.buffer at 64 : memref<2x8xf32>
    %sum = exec.buffer at 0 : memref<2x8xf32>
    exec.launch @accumulate ins(%x : memref<2x8xf32>) outs(%sum : memref<2x8xf32>) count = 1 grain = 1
    return
  }
  // Two entries that meet in one collective.
  func.func @update_and_meet() attributes {exec.entry, exec.inputs = [{name = "delta", offset = 128 : i64, type = tensor<16x8xf32>}, {name = "y", offset = 640 : i64, type = tensor<2x16xf32>}],
      exec.outputs = [{name = "y", offset = 640 : i64, type = tensor<2x16xf32>}]} {
    %w = exec.param @w : memref<16x8xf32>
    %delta = exec.buffer at 128 : memref<16x8xf32>
    %y = exec.buffer at 640 : memref<2x16xf32>
    exec.copy %delta to %w : memref<16x8xf32>, memref<16x8xf32>
    exec.collective all_reduce sum over [#dist.axis_ref<"x">] ins(%y : memref<2x16xf32>) outs(%y : memref<2x16xf32>)
    exec.pack @w
    return
  }
  func.func @apply_and_meet() attributes {exec.entry, exec.inputs = [{name = "x", offset = 64 : i64, type = tensor<2x8xf32>}], exec.outputs = [{name = "y", offset = 640 : i64, type = tensor<2x16xf32>}]} {
    %x = exec.buffer at 64 : memref<2x8xf32>
    %y = exec.buffer at 640 : memref<2x16xf32>
    exec.matmul m = 2 n = 16 k = 8 ins(%x : memref<2x8xf32>) packed @w outs(%y : memref<2x16xf32>)
    exec.collective all_reduce sum over [#dist.axis_ref<"x">] ins(%y : memref<2x16xf32>) outs(%y : memref<2x16xf32>)
    return
  }
}
)";

using Values = std::vector<float>;

/// A rank and what it knows of the program's entries.
struct Caller {
  Rank &rank;
  char *base;

  const EntrySpec &entry(const char *name) {
    return rank.manifest().entries[size_t(rank.manifest().entryIndex(name))];
  }
  void call(const char *name, const std::vector<int64_t> &counts = {}) {
    rank.call(rank.manifest().entryIndex(name), counts, base);
  }
  void give(const char *name, const char *input, const Values &values) {
    rank.write(base + entry(name).input(input)->offset, values.data(), values.size() * 4);
  }
  Values take(const BufferSpec &spec) {
    Values values(size_t(spec.bytes) / 4);
    rank.read(values.data(), base + spec.offset, size_t(spec.bytes));
    return values;
  }
  Values variable() {
    Values values(16 * 8);
    rank.readVariable(0, 0, values.data());
    return values;
  }
};

static Values ramp(size_t count, float from, float step) {
  Values values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(from + step * float(i % 11));
  return values;
}
static Values plus(const Values &a, const Values &b) {
  Values sum = a;
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += b[i];
  return sum;
}
/// x [2, 8] . w [16, 8]^T
static Values product(const Values &x, const Values &w) {
  Values y(2 * 16, 0);
  for (int i = 0; i < 2; ++i)
    for (int n = 0; n < 16; ++n)
      for (int k = 0; k < 8; ++k)
        y[size_t(i * 16 + n)] += x[size_t(i * 8 + k)] * w[size_t(n * 8 + k)];
  return y;
}
static void expectNear(const Values &found, const Values &expected, const char *what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4) << what << ", element " << i;
}

static void onEveryRank(const std::function<void(Caller)> &body) {
  auto context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  Library library;
  ASSERT_EQ(compile(*module, Rung::Binary, library), "");
  auto run = [&](const Driver &driver) {
    ASSERT_EQ(runOnRanks(library.program(), driver, 1,
                         [&](Rank &rank) {
                           rank.loadWeights({nullptr, 7});
                           body({rank, rank.arena()});
                         }),
              "");
  };
  run(cpuDriver());
  if (getenv("OMPI_COMM_WORLD_SIZE")) // `checked` has threads of its own, this MPI is asked for one
    return;
  for (uint64_t seed = 0; seed < 50 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("checked, order " + std::to_string(seed));
    setCheckedSeed(seed);
    run(checkedDriver());
  }
}

TEST(StepsAsData, VariablesAreUpdatedAndTheirPackedFormMadeAgain) {
  onEveryRank([](Caller c) {
    Values x = ramp(16, 0.5f, 0.25f), delta = ramp(128, -1, 0.125f), w = c.variable();
    c.give("apply", "x", x);
    c.call("apply");
    expectNear(c.take(*c.entry("apply").output("y")), product(x, w), "before");
    c.give("update", "delta", delta);
    c.call("update", {3});
    Values updated = plus(plus(plus(w, delta), delta), delta);
    EXPECT_EQ(c.variable(), updated);
    c.give("apply", "x", x);
    c.call("apply");
    expectNear(c.take(*c.entry("apply").output("y")), product(x, updated), "after");
  });
}

// A count is data: it may be none at all, and what is outside of what was compiled never reaches the loop.
TEST(StepsAsData, CountsComeFromTheCallWithinTheirBounds) {
  onEveryRank([](Caller c) {
    Values w = c.variable(), delta = ramp(128, 1, 0.5f);
    c.give("update", "delta", delta);
    c.call("update", {0});
    EXPECT_EQ(c.variable(), w);
    for (std::vector<int64_t> counts : {std::vector<int64_t>{5}, {-1}, {}, {1, 1}})
      EXPECT_THROW(c.call("update", counts), Error);
    EXPECT_THROW(c.call("apply", {1}), Error);
    EXPECT_EQ(c.variable(), w);
  });
}

// States belong to the base of a call.
TEST(StepsAsData, TwoArenasKnowNothingOfEachOther) {
  onEveryRank([](Caller a) {
    Buffer more = a.rank.newArena();
    Caller b{a.rank, more.address()};
    const StateSpec &sum = a.rank.manifest().states[0];
    Values one = ramp(16, 1, 1), two = ramp(16, -3, 0.5f);
    a.give("accumulate_x", "x", one);
    b.give("accumulate_x", "x", two);
    a.call("accumulate_x");
    b.call("accumulate_x");
    a.give("accumulate_x", "x", one);
    a.call("accumulate_x");
    EXPECT_EQ(a.take(sum), plus(one, one));
    EXPECT_EQ(b.take(sum), two);
    a.rank.clearStates(); // of the rank's own arena
    EXPECT_EQ(a.take(sum), Values(16, 0));
    EXPECT_EQ(b.take(sum), two);
    // Whatever the other one was used for meanwhile.
    a.give("accumulate_x", "x", one);
    a.call("accumulate_x");
    a.rank.clearStates();
    EXPECT_EQ(a.take(sum), Values(16, 0));
    EXPECT_EQ(b.take(sum), two);
  });
}

// While one rank updates its variable the other multiplies; they meet in a collective.
TEST(StepsAsData, RanksRunDifferentEntries) {
  onEveryRank([](Caller c) {
    Values x = ramp(16, 1, 0.5f), given = ramp(32, 2, 1), w = c.variable(), delta = ramp(128, 0.5f, 0.25f);
    Values expected = plus(given, product(x, w));
    if (c.rank.id() == 0) {
      c.give("update_and_meet", "delta", delta);
      c.give("update_and_meet", "y", given);
      c.call("update_and_meet");
    } else {
      c.give("apply_and_meet", "x", x);
      c.call("apply_and_meet");
    }
    expectNear(c.take(*c.entry("apply").output("y")), expected, "the sum of both");
    EXPECT_EQ(c.variable(), c.rank.id() == 0 ? delta : w);
    c.give("apply", "x", x);
    c.call("apply");
    expectNear(c.take(*c.entry("apply").output("y")), product(x, c.variable()), "each its own weight");
  });
}

// Both forms are memory of the rank; what is no variable is held once.
TEST(StepsAsData, BothFormsOfAVariableCount) {
  onEveryRank([](Caller c) {
    const WeightPlan::Param &p = c.rank.plan().param(0);
    ASSERT_TRUE(p.plain);
    EXPECT_EQ(p.plain->bytes, 16 * 8 * 4);
    EXPECT_GE(c.rank.plan().bytes(), p.layout->bytes + p.plain->bytes);
    const EntrySpec &update = c.entry("update");
    EXPECT_EQ(update.paramsUpdated, std::vector<int64_t>{0});
    EXPECT_EQ(c.entry("apply").paramsRead, std::vector<int64_t>{0});
    EXPECT_TRUE(c.entry("apply").paramsUpdated.empty());
    EXPECT_EQ(c.entry("accumulate_x").statesWritten, std::vector<int64_t>{0});
    EXPECT_TRUE(update.statesWritten.empty());
    Values layer(128);
    EXPECT_THROW(c.rank.readVariable(0, 1, layer.data()), Error);
  });
}
