// What no op of today shows: work in flight, and loops whose count the call gives. The rules that ops can
// break are in test/Dialect/Exec/verify-memory.mlir.
#include "tessera/Analysis/Arena/ArenaProgram.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

constexpr int64_t kBytes = 64;

/// Buffers of 64 bytes: 0 is the input, 1 the output, the others are places of their own.
struct Program : ArenaProgram {
  int next = 0;

  explicit Program(int buffers) {
    bytes = buffers * kBytes;
    for (int i = 0; i < buffers; ++i)
      this->buffers.push_back({i * kBytes, kBytes});
    ports.push_back({0, kBytes, true, false});
    ports.push_back({kBytes, kBytes, false, true});
  }
  static ArenaAccess access(int buffer, AccessMode mode) { return {buffer, {}, kBytes, mode}; }
  ArenaItem op(int from, int to, int starts = -1) {
    ArenaItem item;
    item.tag = next++;
    item.op.accesses = {access(from, AccessMode::Read), access(to, AccessMode::Write)};
    item.op.starts = starts;
    return item;
  }
  ArenaItem wait(int token) {
    ArenaItem item;
    item.tag = next++;
    item.op.waitsFor = {token};
    return item;
  }
  ArenaItem loop(int64_t least, int64_t most) {
    ArenaItem item;
    item.tag = next++;
    item.loop = std::make_unique<ArenaLoop>();
    item.loop->least = least;
    item.loop->most = most;
    return item;
  }
  std::string check() {
    auto violation = checkArena(*this);
    return violation ? std::to_string(violation->tag) + " " + violation->what : "";
  }
};

} // namespace

TEST(CheckArena, WorkInFlightIsWaitedFor) {
  Program p(4);
  p.items.push_back(p.op(0, 2, /*starts=*/7));
  p.items.push_back(p.op(0, 3)); // beside it
  p.items.push_back(p.wait(7));
  p.items.push_back(p.op(2, 1));
  EXPECT_EQ(p.check(), "1 writes what nobody reads");
  p.items[3].op.accesses.push_back(Program::access(3, AccessMode::Read));
  EXPECT_EQ(p.check(), "");
}

TEST(CheckArena, ReadingBeforeTheWaitIsFound) {
  Program p(3);
  p.items.push_back(p.op(0, 2, /*starts=*/0));
  p.items.push_back(p.op(2, 1));
  p.items.push_back(p.wait(0));
  EXPECT_EQ(p.check(), "1 reads bytes [128, 192), which are still being written: wait first");
}

TEST(CheckArena, WritingWhatIsStillReadIsFound) {
  Program p(4);
  p.items.push_back(p.op(0, 2));
  p.items.push_back(p.op(2, 3, /*starts=*/0));
  p.items.push_back(p.op(0, 2)); // the place of what is being sent
  p.items.push_back(p.wait(0));
  p.items.push_back(p.op(3, 1));
  EXPECT_EQ(p.check(), "2 writes bytes [128, 192), which are still being read: wait first");
}

TEST(CheckArena, AMissingWaitIsFoundAtTheEnd) {
  Program p(2);
  p.items.push_back(p.op(0, 1, /*starts=*/0));
  EXPECT_EQ(p.check(), "0 is still at work when the entry ends: nobody waits for it");
}

TEST(CheckArena, AMissingWaitIsFoundAtTheEndOfAnIteration) {
  Program p(2);
  ArenaItem loop = p.loop(2, 2);
  loop.loop->body.push_back(p.op(0, 1, /*starts=*/0));
  p.items.push_back(std::move(loop));
  p.items.push_back(p.wait(0));
  EXPECT_EQ(p.check(), "1 is still at work when its iteration ends: nobody waits for it there");
}

TEST(CheckArena, WaitingTwiceIsFound) {
  Program p(2);
  p.items.push_back(p.op(0, 1, /*starts=*/0));
  p.items.push_back(p.wait(0));
  p.items.push_back(p.wait(0));
  EXPECT_EQ(p.check(), "2 waits for what is done, or has not begun");
}

// The bytes of a parameter are no bytes of the arena, but one memory for all buffers that name them.
TEST(CheckArena, WorkInFlightAtAParameterIsWaitedFor) {
  Program p(2);
  p.buffers.push_back({0, kBytes, /*memory=*/1}); // over the input, but another memory
  p.buffers.push_back({0, kBytes, /*memory=*/1});
  p.items.push_back(p.op(0, 2, /*starts=*/0));
  p.items.push_back(p.op(0, 1));
  p.items.push_back(p.wait(0));
  p.items.push_back(p.op(3, 1));
  EXPECT_EQ(p.check(), "1 writes what nobody reads");
  p.items[1] = p.op(3, 1);
  EXPECT_EQ(p.check(), "4 reads bytes [0, 64), which are still being written: wait first");
  p.items[1] = p.op(0, 3);
  EXPECT_EQ(p.check(), "5 writes bytes [0, 64), which are still being written: wait first");
}

TEST(CheckArena, WhatAnOpWritesLiesApartFromWhatItReads) {
  Program p(3);
  p.items.push_back(p.op(0, 2));
  p.items.push_back(p.op(2, 2));
  p.items.push_back(p.op(2, 1));
  EXPECT_EQ(p.check(), "1 writes bytes [128, 192), which the same op reads: bytes [128, 192)");
  p.items[1].op.accesses[0].inPlace = true;
  EXPECT_EQ(p.check(), "");
  p.buffers.push_back({2 * kBytes - 32, kBytes}); // not the same bytes, only some of them
  p.items[1].op.accesses[1].buffer = 3;
  EXPECT_EQ(p.check(), "1 writes bytes [96, 160), which the same op reads: bytes [128, 192)");
}

// With a least of 0 the output may stay as it was.
TEST(CheckArena, ALoopThatMayNotRunWritesNothing) {
  Program p(2);
  ArenaItem loop = p.loop(0, 3);
  loop.loop->body.push_back(p.op(0, 1));
  p.items.push_back(std::move(loop));
  EXPECT_EQ(p.check(), "-1 returns bytes [64, 128), of which nobody has written [64, 128)");
  p.items[0].loop->least = 1;
  EXPECT_EQ(p.check(), "");
}

// Layer i is written in iteration i: with a count of 3 the fourth layer is not there.
TEST(CheckArena, ALoopMayEndAfterItsFewestIterations) {
  Program p(3);
  ArenaItem loop = p.loop(3, 4), op = p.op(0, 2);
  ArenaAccess &layer = op.op.accesses[1];
  layer.bytes = kBytes / 4;
  layer.layers.push_back({{{{0, 1}}, 0}, 4, kBytes / 4});
  loop.loop->body.push_back(std::move(op));
  p.items.push_back(std::move(loop));
  p.items.push_back(p.op(2, 1));
  EXPECT_EQ(p.check(), "2 reads bytes [128, 192), of which nobody has written [176, 192)");
  p.items[0].loop->least = 4;
  EXPECT_EQ(p.check(), "");
}

// Of two loops one runs: each writes the output, or keeps a value in a place that the other one uses.
TEST(CheckArena, OneOfTwoBranchesRuns) {
  auto program = [](int first, int second, bool isChoice) {
    Program p(3);
    ArenaItem taken = p.loop(0, 1), other = p.loop(0, 1);
    other.loop->other = isChoice ? taken.tag : -1;
    taken.loop->body.push_back(p.op(0, 2));
    taken.loop->body.push_back(p.op(2, first));
    other.loop->body.push_back(p.op(0, second));
    p.items.push_back(std::move(taken));
    p.items.push_back(std::move(other));
    return p;
  };
  EXPECT_EQ(program(1, 1, true).check(), "");
  const std::string missing = "-1 returns bytes [64, 128), of which nobody has written [64, 128)";
  EXPECT_EQ(program(1, 1, false).check(), missing); // neither may have run
  Program p = program(1, 2, true);                  // the second branch does not make it
  EXPECT_EQ(p.check(), missing);
  p = program(1, 1, true); // it reads what is made in the first one alone
  p.items[1].loop->body[0].op.accesses[0].buffer = 2;
  EXPECT_EQ(p.check(), "4 reads bytes [128, 192), of which nobody has written [128, 192)");
  p = program(1, 1, true); // what it makes for nobody, though the first one's value is read
  p.items[1].loop->body.push_back(p.op(0, 2));
  EXPECT_EQ(p.check(), "5 writes what nobody reads");
}

// A loop whose iterations are alike is not run to its end, or this test would not end.
TEST(CheckArena, EqualIterationsAreRunUntilNothingChanges) {
  Program p(3);
  p.items.push_back(p.op(0, 1));
  ArenaItem loop = p.loop(int64_t(1) << 50, int64_t(1) << 50);
  loop.loop->body.push_back(p.op(1, 2));
  loop.loop->body.push_back(p.op(2, 1));
  p.items.push_back(std::move(loop));
  EXPECT_EQ(p.check(), "");
}
