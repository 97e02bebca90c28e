//===- StepsAsDataTest.cpp - What an executable can do is data --------------===//
//
// test/Inputs/steps-as-data.mlir, a program on rung exec that was written by hand, with one set of numbers: a
// variable is updated as often as the call says and its packed form made again, ranks are in different
// entries, two collectives are started in different orders and waited for, a message is exchanged, two arenas
// are in use at once. On the CPU, by the driver `checked` in many orders, and
// (test/Integration/steps-as-data-mpi.test) under MPI. Whichever wait is taken out, or comes too late, the
// driver `checked` finds it.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "CheckedDriver.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/cpu/Driver.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::test;

static std::string programText() {
  std::ifstream file(STEPS_AS_DATA);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

using Values = std::vector<float>;

namespace {
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
  Values take(const char *name, const char *output) { return take(*entry(name).output(output)); }
  Values state() { return take(rank.manifest().states[0]); }
  Values variable() {
    std::vector<char> copy;
    auto rows = static_cast<const float *>(rank.variable(0, 0, copy));
    EXPECT_TRUE(copy.empty()); // the host reads this device's memory
    return Values(rows, rows + 16 * 8);
  }
};
} // namespace

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
static void expectNear(const Values &found, const Values &expected, const std::string &what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4) << what << ", element " << i;
}

/// What a rank has in `a` (0) and `b` (1): whole numbers, whose sums are exact in any order.
static Values given(int64_t rank, int buffer, int turn, int arena) {
  return ramp(16, float(100 * rank + 1000 * buffer + 10 * turn + arena), 1);
}

/// Three turns on two arenas. Half of the ranks update the variable while the others multiply by it, then the
/// other way round, then all update.
static void callAndCompare(Rank &rank) {
  Buffer more = rank.newArena();
  int64_t id = rank.id(), overX = id ^ 2, overY = id ^ 1; // on the mesh x=2, y=2
  Values x = ramp(16, 0.5f, 0.25f), delta = ramp(128, -1, 0.125f);
  Values w = Caller{rank, rank.arena()}.variable(), sums[2] = {Values(16, 0), Values(16, 0)};
  for (int turn = 0; turn < 3; ++turn)
    for (int arena : {0, 1}) {
      std::string where = "rank " + std::to_string(id) + ", turn " + std::to_string(turn) + ", arena " +
                          std::to_string(arena);
      Caller c{rank, arena ? more.address() : rank.arena()};
      bool updates = turn == 2 || ((id == 0 || id == 3) == (turn == 0));
      const char *entry = updates ? "update_x_first" : "apply_y_first";
      auto of = [&](int64_t other, int buffer) { return given(other, buffer, turn, arena); };
      c.give(entry, "a", of(id, 0));
      c.give(entry, "b", of(id, 1));
      if (updates) {
        c.give(entry, "delta", delta);
        c.call(entry, {arena ? 0 : turn + 1});
        for (int times = arena ? 0 : turn + 1; times > 0; --times)
          w = plus(w, delta);
      } else {
        c.give(entry, "x", x);
        c.call(entry);
        expectNear(c.take(entry, "y"), product(x, w), "y of " + where);
      }
      Values xSum = plus(of(id, 0), of(overX, 0)), ySum = plus(of(id, 1), of(overY, 1));
      EXPECT_EQ(c.take(entry, "over_x"), xSum) << where;
      EXPECT_EQ(c.take(entry, "over_y"), ySum) << where;
      EXPECT_EQ(c.take(entry, "came"), of(overX, 0)) << where;
      sums[arena] = plus(plus(plus(sums[arena], of(overX, 0)), xSum), ySum);
      EXPECT_EQ(c.state(), sums[arena]) << where;
      EXPECT_EQ(c.variable(), w) << where;
      c.give("apply", "x", x);
      c.call("apply");
      expectNear(c.take("apply", "y"), product(x, w), "y behind, " + where);
    }
  // Of the rank's own arena, whatever the other one was used for; and again, once the own one alone was used.
  Caller a{rank, rank.arena()}, b{rank, more.address()};
  for (int time = 0; time < 2; ++time) {
    rank.clearStates();
    EXPECT_EQ(a.state(), Values(16, 0));
    EXPECT_EQ(b.state(), sums[1]);
    for (const char *input : {"a", "b"})
      a.give("update_x_first", input, Values(16, 1));
    a.give("update_x_first", "delta", delta);
    a.call("update_x_first", {0});
    EXPECT_EQ(a.state(), Values(16, 5)); // what came, and two sums of two
  }
}

static void runOn(const CompiledProgram &program, const Driver &driver,
                  const std::function<void(Rank &)> &body) {
  RunOptions options;
  options.driver = &driver;
  Status status = runOnRanks(program.program(), options, body);
  EXPECT_TRUE(status) << status.failure().message();
}
static void runChecked(const CompiledProgram &program, uint64_t seed,
                       const std::function<void(Rank &)> &body) {
  setCheckedSeed(seed);
  runOn(program, checkedDriver(), body);
}

TEST(StepsAsData, OneProgramOnTheCpu) {
  auto program = compileExec(programText());
  ASSERT_TRUE(program) << program.failure().message();
  EXPECT_EQ(program->ranks(), 4);
  runOn(*program, cpuDriver(), callAndCompare);
}

TEST(StepsAsData, TheSameNumbersInEveryOrder) {
  auto program = compileExec(programText());
  ASSERT_TRUE(program) << program.failure().message();
  for (uint64_t seed = 0; seed < 50 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("checked, order " + std::to_string(seed));
    runChecked(*program, seed, callAndCompare);
  }
}

static llvm::SmallVector<mlir::LLVM::CallOp> waitsOf(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::LLVM::CallOp> waits;
  module.walk([&](mlir::LLVM::CallOp call) {
    if (call.getCallee() == "ts_collective_wait")
      waits.push_back(call);
  });
  return waits;
}

// In the machine code: on rung exec a program without a wait is refused
// (test/Dialect/Exec/steps-as-data.test).
TEST(StepsAsData, EveryWaitTakenOutOrTooLateIsFound) {
  for (size_t number = 0, count = 1; number < count; ++number)
    for (bool late : {false, true}) {
      SCOPED_TRACE("wait " + std::to_string(number) + (late ? " at the end" : " taken out"));
      auto program = compileExec(programText(), [&](mlir::ModuleOp module) {
        auto waits = waitsOf(module);
        count = waits.size();
        auto entry = waits[number]->getParentOfType<mlir::LLVM::LLVMFuncOp>();
        if (late)
          entry.walk([&](mlir::LLVM::ReturnOp end) { waits[number]->moveBefore(end); });
        else
          waits[number].erase();
      });
      ASSERT_TRUE(program) << program.failure().message();
      EXPECT_EQ(count, 8u);
      auto run = [&](uint64_t seed) {
        runChecked(*program, seed, callAndCompare);
        exit(0);
      };
      for (uint64_t seed : {1, 2})
        EXPECT_EXIT(run(seed), testing::ExitedWithCode(1), "^error: unordered access to device memory");
    }
}

// An error to look at, not one that ends who loads the program.
TEST(StepsAsData, AManifestThatCannotBeReadIsNoProgram) {
  auto program = compileExec(programText(), [](mlir::ModuleOp module) {
    auto manifest = module.lookupSymbol<mlir::LLVM::GlobalOp>("tessera_manifest");
    std::string text = mlir::cast<mlir::StringAttr>(manifest.getValueAttr()).str(), version = "\"version\":2";
    text.replace(text.find(version), version.size(), "\"version\":3");
    manifest.setValueAttr(mlir::StringAttr::get(module.getContext(), text));
  });
  ASSERT_FALSE(program);
  EXPECT_NE(program.failure().message().find("cannot load program"), std::string::npos);
  EXPECT_NE(program.failure().message().find("is not 2"), std::string::npos);
}

// A count is data: what is outside of what was compiled never reaches the loop.
TEST(StepsAsData, CountsComeFromTheCallWithinTheirBounds) {
  auto program = compileExec(programText());
  ASSERT_TRUE(program) << program.failure().message();
  runOn(*program, cpuDriver(), [](Rank &rank) {
    Caller c{rank, rank.arena()};
    for (std::vector<int64_t> counts : {std::vector<int64_t>{5}, {-1}, {}, {1, 1}})
      EXPECT_THROW(c.call("update_x_first", counts), Error);
    EXPECT_THROW(c.call("apply", {1}), Error);
  });
}

// Both forms are memory of the rank; what is no variable is held once.
TEST(StepsAsData, BothFormsOfAVariableCount) {
  auto program = compileExec(programText());
  ASSERT_TRUE(program) << program.failure().message();
  runOn(*program, cpuDriver(), [](Rank &rank) {
    Caller c{rank, rank.arena()};
    const WeightPlan::Param &p = rank.plan().param(0);
    ASSERT_TRUE(p.plain);
    EXPECT_EQ(p.plain->bytes, 16 * 8 * 4);
    EXPECT_GE(rank.plan().bytes(), p.layout->bytes + p.plain->bytes);
    const EntrySpec &update = c.entry("update_x_first"), &apply = c.entry("apply");
    EXPECT_EQ(update.paramsUpdated, std::vector<int64_t>{0});
    EXPECT_EQ(apply.paramsRead, std::vector<int64_t>{0});
    EXPECT_TRUE(apply.paramsUpdated.empty());
    EXPECT_EQ(update.statesWritten, std::vector<int64_t>{0});
    EXPECT_TRUE(apply.statesWritten.empty());
    std::vector<char> copy;
    EXPECT_THROW(rank.variable(0, 1, copy), Error);
  });
}
