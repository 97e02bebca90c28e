//===- CommunicationTest.cpp - Started, waited for, sent --------------------===//
//
// A program on rung exec, written by hand: collectives on two groups that half of the ranks start in the
// other order, with work between, and a message. On the CPU and on the driver `checked`, whose streams run
// late and in orders of its own.
//
//===----------------------------------------------------------------------===//
#include "CheckedDriver.h"
#include "ExecuteHarness.h"

#include "tessera/runtime/cpu/Driver.h"
#include "tessera/runtime/device/Rank.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::test;

// 16 floats each: a at 0, b at 64, their sums over x at 128 and over y at 192, what came at 256, a copy of b
// at 320.
static const char *text = R"(
module attributes {exec.arena_bytes = 384 : i64, exec.states = []} {
  dist.mesh @mesh = <["x"=2, "y"=2]>
  func.func @x_first() attributes {exec.entry,
      exec.inputs = [{name = "a", offset = 0 : i64, type = tensor<16xf32>}, {name = "b", offset = 64 : i64, type = tensor<16xf32>}],
      exec.outputs = [{name = "sums", offset = 128 : i64, type = tensor<64xf32>}]} {
    %a = exec.buffer at 0 : memref<16xf32>
    %b = exec.buffer at 64 : memref<16xf32>
    %over_x = exec.buffer at 128 : memref<16xf32>
    %over_y = exec.buffer at 192 : memref<16xf32>
    %came = exec.buffer at 256 : memref<16xf32>
    %copy = exec.buffer at 320 : memref<16xf32>
    %self = exec.group_index [#dist.axis_ref<"x">]
    %other = exec.index_offset %self, 1 reverse
    %t = exec.collective_start all_reduce sum over [#dist.axis_ref<"x">] ins(%a : memref<16xf32>) outs(%over_x : memref<16xf32>)
    %u = exec.collective_start all_reduce sum over [#dist.axis_ref<"y">] ins(%b : memref<16xf32>) outs(%over_y : memref<16xf32>)
    %s = exec.send %a to %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    exec.copy %b to %copy : memref<16xf32>, memref<16xf32>
    %r = exec.receive %came from %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    exec.wait %r
    exec.wait %t
    exec.wait %u
    exec.wait %s
    return
  }
  func.func @y_first() attributes {exec.entry,
      exec.inputs = [{name = "a", offset = 0 : i64, type = tensor<16xf32>}, {name = "b", offset = 64 : i64, type = tensor<16xf32>}],
      exec.outputs = [{name = "sums", offset = 128 : i64, type = tensor<64xf32>}]} {
    %a = exec.buffer at 0 : memref<16xf32>
    %b = exec.buffer at 64 : memref<16xf32>
    %over_x = exec.buffer at 128 : memref<16xf32>
    %over_y = exec.buffer at 192 : memref<16xf32>
    %came = exec.buffer at 256 : memref<16xf32>
    %copy = exec.buffer at 320 : memref<16xf32>
    %self = exec.group_index [#dist.axis_ref<"x">]
    %other = exec.index_offset %self, 1 reverse
    %r = exec.receive %came from %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    %u = exec.collective_start all_reduce sum over [#dist.axis_ref<"y">] ins(%b : memref<16xf32>) outs(%over_y : memref<16xf32>)
    %t = exec.collective_start all_reduce sum over [#dist.axis_ref<"x">] ins(%a : memref<16xf32>) outs(%over_x : memref<16xf32>)
    exec.wait %u
    exec.copy %b to %copy : memref<16xf32>, memref<16xf32>
    %s = exec.send %a to %other over [#dist.axis_ref<"x">] tag 3 : memref<16xf32>
    exec.wait %t
    exec.wait %s
    exec.wait %r
    return
  }
}
)";

static float valueOf(int64_t rank, int buffer, int i) { return float(rank * 100 + buffer * 1000 + i); }

TEST(Communication, GroupsInDifferentOrderAndAMessage) {
  auto context = createContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  Library library;
  ASSERT_EQ(compile(*module, Rung::Binary, library), "");
  auto body = [](Rank &rank) {
    const Manifest &m = rank.manifest();
    rank.loadWeights({nullptr, 7});
    for (int turn = 0; turn < 3; ++turn) {
      // Ranks 0 and 3 against 1 and 2, then the other way round, then all alike.
      bool first = turn == 2 || ((rank.id() == 0 || rank.id() == 3) == (turn == 0));
      for (int buffer : {0, 1}) {
        float data[16];
        for (int i = 0; i < 16; ++i)
          data[i] = valueOf(rank.id(), buffer, i) + float(turn);
        rank.write(rank.arena() + buffer * 64, data, sizeof(data));
      }
      rank.call(m.entryIndex(first ? "x_first" : "y_first"));
      float found[64];
      rank.read(found, rank.arena() + 128, sizeof(found));
      int64_t overX = rank.id() ^ 2, overY = rank.id() ^ 1; // on the mesh x=2, y=2
      for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(found[i], valueOf(rank.id(), 0, i) + valueOf(overX, 0, i) + 2 * float(turn))
            << "over x, rank " << rank.id();
        ASSERT_EQ(found[16 + i], valueOf(rank.id(), 1, i) + valueOf(overY, 1, i) + 2 * float(turn))
            << "over y, rank " << rank.id();
        ASSERT_EQ(found[32 + i], valueOf(overX, 0, i) + float(turn)) << "the message to rank " << rank.id();
        ASSERT_EQ(found[48 + i], valueOf(rank.id(), 1, i) + float(turn)) << "the copy, rank " << rank.id();
      }
    }
  };
  ASSERT_EQ(runOnRanks(library.program(), cpuDriver(), 1, body), "");
  for (uint64_t seed = 0; seed < 50 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("checked, order " + std::to_string(seed));
    setCheckedSeed(seed);
    ASSERT_EQ(runOnRanks(library.program(), checkedDriver(), 1, body), "");
  }
}
