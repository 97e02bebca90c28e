// Ranks on the driver of the tests: a program of two ranks that starts a collective and goes on beside it.
#include "CheckedDriver.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/device/Rank.h"

#include <gtest/gtest.h>
#include <thread>

namespace tessera::runtime {
namespace {

constexpr int64_t count = 4096, bytes = count * 4;
// Offsets in the arena.
constexpr int64_t x = 0, sum = bytes, other = 2 * bytes, out = 3 * bytes;

// from, to: to[i] = from[i] + 1.
void nextKernel(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] = static_cast<const float *>(buffers[0])[i] + 1;
}
const ts_kernel_buffer nextBuffers[] = {{bytes, TS_READ}, {bytes, TS_WRITE}};
const ts_kernel kernels[] = {{"next", nextKernel, nextBuffers, 2, 0}};

void next(ts_rank *rank, char *from, char *to) {
  void *buffers[] = {from, to};
  ts_launch(rank, 0, 0, buffers, nullptr, count, 16);
}

void waits(ts_rank *rank, const ts_call *call) {
  char *a = call->base;
  int64_t token = ts_collective_start(rank, 0, 0, a + x, a + sum);
  next(rank, a + x, a + other); // beside it: both read x
  ts_collective_wait(rank, 0, token);
  next(rank, a + sum, a + out);
}
// The wait comes after the first use.
void usesTooEarly(ts_rank *rank, const ts_call *call) {
  char *a = call->base;
  int64_t token = ts_collective_start(rank, 0, 0, a + x, a + sum);
  next(rank, a + sum, a + out);
  ts_collective_wait(rank, 0, token);
}
void neverWaits(ts_rank *rank, const ts_call *call) {
  ts_collective_start(rank, 0, 0, call->base + x, call->base + sum);
}
const ts_entry_fn entries[] = {waits, usesTooEarly, neverWaits};

const std::string manifestText = [] {
  std::string entry =
      R"("outputs": [], "inputs": [{"name": "x", "dtype": "f32", "shape": [4096], "local": [4096], "sharding": [[]], "offset": 0}],
    "collectives": [{"id": 0, "executions": 1}]})";
  return R"({"version": 2, "task": "none", "dtype": "f32", "target": "cpu", "model": "/m", "mesh": [["tp", 2]], "arena_bytes": )" +
         std::to_string(4 * bytes) +
         R"(, "params": [], "states": [], "matmuls": [], "groups": [[["tp", 1, 2]]],
    "collectives": [{"kind": "all_reduce", "op": "sum", "dtype": "f32", "group": 0, "elements": 4096}],
    "entries": [{"name": "waits", )" +
         entry + R"(, {"name": "uses_too_early", )" + entry + R"(, {"name": "never_waits", )" + entry + "]}";
}();
const ts_program program = {TESSERA_ABI_VERSION, 3,       1,      manifestText.data(),
                            manifestText.size(), entries, kernels};

// `body` on both ranks, each a thread.
void onRanks(uint64_t seed, const std::function<void(Rank &)> &body) {
  setCheckedSeed(seed);
  Manifest manifest = Manifest::parse(manifestText);
  WeightPlan plan(manifest, checkedDriver());
  Board board(2);
  auto world = createHostWorld(2, board);
  auto one = [&](int64_t r) {
    auto comm = createHostCommunicator(world, r);
    auto plane = createHostPlane(world, r);
    try {
      RankDevice device({{program, manifest, plan}}, *comm, *plane, board.entry(r), 2);
      Rank rank(device);
      body(rank);
    } catch (const std::exception &e) {
      endRun(e.what());
    }
  };
  std::thread second(one, 1);
  one(0);
  second.join();
}

TEST(CheckedRank, CollectivesGoOnBesideKernels) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    onRanks(seed, [](Rank &rank) {
      for (int turn = 0; turn < 3; ++turn) {
        std::vector<float> given(count), got(count), want(count);
        for (int64_t i = 0; i < count; ++i) {
          given[i] = float(i + rank.id() + turn);
          want[i] = float(2 * (i + turn) + 1 + 1);
        }
        rank.write(rank.arena() + x, given.data(), bytes);
        rank.call(0);
        rank.read(got.data(), rank.arena() + out, bytes);
        EXPECT_EQ(got, want);
      }
    });
}

TEST(CheckedRank, AUseBeforeTheWaitIsFoundInEveryOrder) {
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_EXIT(onRanks(seed, [](Rank &rank) { rank.call(1); }), testing::ExitedWithCode(1),
                "^error: unordered access to device memory .kernel next.: it reads 16384 bytes of the arena "
                "of rank .*collective 0 writes");
}

TEST(CheckedRank, AWaitTakenOutIsFound) {
  EXPECT_EXIT(onRanks(0, [](Rank &rank) { rank.call(2); }), testing::ExitedWithCode(1),
              "^error: .*never waited for");
}

// Inputs come faster than they are copied; each arrives as it was when it was written.
TEST(CheckedRank, InputsAreKeptUntilTheyAreCopied) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    onRanks(seed, [](Rank &rank) {
      for (int32_t i = 0; i < 40; ++i)
        rank.write(rank.arena() + 4 * i, &i, 4);
      std::vector<int32_t> got(40), want(40);
      for (int32_t i = 0; i < 40; ++i)
        want[i] = i;
      rank.read(got.data(), rank.arena(), 160);
      EXPECT_EQ(got, want);
    });
}

} // namespace
} // namespace tessera::runtime
