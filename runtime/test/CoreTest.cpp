#include "tessera/runtime/core/Board.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/core/ThreadPool.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera::runtime {

TEST(Mesh, NumbersRanksRowMajor) {
  Mesh mesh({{"dp", 2}, {"tp", 3}});
  EXPECT_EQ(mesh.size(), 6);
  EXPECT_EQ(mesh.coordinate(4, {"dp", 1, 2}), 1);
  EXPECT_EQ(mesh.coordinate(4, {"tp", 1, 3}), 1);
  EXPECT_EQ(mesh.group(4, {{"tp", 1, 3}}), (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(mesh.group(4, {{"dp", 1, 2}}), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(mesh.group(4, {{"tp", 1, 3}, {"dp", 1, 2}}), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(mesh.group(4, {}), (std::vector<int64_t>{4}));
  // The place in a group: the first axis is the slowest.
  EXPECT_EQ(mesh.index(5, {{"tp", 1, 3}}), 2);
  EXPECT_EQ(mesh.index(5, {{"dp", 1, 2}, {"tp", 1, 3}}), 5);
  EXPECT_EQ(mesh.index(5, {{"tp", 1, 3}, {"dp", 1, 2}}), 5);
  EXPECT_EQ(mesh.index(4, {{"tp", 1, 3}, {"dp", 1, 2}}), 3);
  EXPECT_EQ(mesh.index(4, {}), 0);
}

TEST(Mesh, SplitsAxes) {
  Mesh mesh({{"x", 8}});
  // x = (1)2 major, (2)2 middle, (4)2 minor.
  EXPECT_EQ(mesh.coordinate(6, {"x", 1, 2}), 1);
  EXPECT_EQ(mesh.coordinate(6, {"x", 2, 2}), 1);
  EXPECT_EQ(mesh.coordinate(6, {"x", 4, 2}), 0);
  EXPECT_EQ(mesh.group(6, {{"x", 2, 2}}), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(mesh.group(6, {{"x", 4, 2}, {"x", 1, 2}}), (std::vector<int64_t>{2, 6, 3, 7}));
  EXPECT_TRUE(mesh.has({"x", 2, 4}));
  EXPECT_FALSE(mesh.has({"x", 3, 2}));
  EXPECT_FALSE(mesh.has({"y", 1, 1}));
}

TEST(Mesh, LastShardsMayBeShortOrEmpty) {
  EXPECT_EQ(shardRange(3, 2, 1).begin, 2);
  EXPECT_EQ(shardRange(3, 2, 1).end, 3);
  EXPECT_EQ(shardRange(5, 2, 3).begin, shardRange(5, 2, 3).end);
}

// Of 24 bytes in a group of 4, as a ring does it.
TEST(Collective, BytesThatARankSends) {
  EXPECT_EQ(bytesSent(CollectiveKind::AllReduce, 4, 24), 36);
  EXPECT_EQ(bytesSent(CollectiveKind::AllGather, 4, 24), 72);
  EXPECT_EQ(bytesSent(CollectiveKind::ReduceScatter, 4, 24), 18);
  EXPECT_EQ(bytesSent(CollectiveKind::AllToAll, 4, 24), 18);
  EXPECT_EQ(bytesSent(CollectiveKind::CollectivePermute, 4, 24), 24);
  EXPECT_EQ(bytesSent(CollectiveKind::AllSlice, 4, 24), 0);
}

// 5 columns over 4 ranks, 2 each: the third has one, the last none.
TEST(Collective, RowsOfBlocks) {
  BlockRows gathered = blockRows(CollectiveKind::AllGather, 4, /*elements=*/6, /*rows=*/3, /*cut=*/9);
  EXPECT_EQ(std::tuple(gathered.rows, gathered.block, gathered.whole), std::tuple(3, 2, 5));
  std::vector<int64_t> parts;
  for (int64_t member = 0; member < 4; ++member)
    parts.push_back(gathered.part(member));
  EXPECT_EQ(parts, (std::vector<int64_t>{2, 2, 1, 0}));
  EXPECT_TRUE(gathered.isCut(4));
  EXPECT_EQ(resultElements(CollectiveKind::AllGather, 4, 6, 9), 15);
  BlockRows scattered = blockRows(CollectiveKind::ReduceScatter, 4, 15, 3, 9);
  EXPECT_EQ(std::tuple(scattered.block, scattered.whole), std::tuple(2, 5));
  EXPECT_EQ(resultElements(CollectiveKind::ReduceScatter, 4, 15, 9), 6);
  EXPECT_FALSE(blockRows(CollectiveKind::AllGather, 4, 6, 3, 0).isCut(4));

  EXPECT_TRUE(areBlockRows(CollectiveKind::AllGather, 4, 6, 3, 9));
  EXPECT_TRUE(areBlockRows(CollectiveKind::ReduceScatter, 4, 15, 3, 9));
  EXPECT_FALSE(areBlockRows(CollectiveKind::AllGather, 4, 6, 3, 10)) << "rows that are not alike";
  EXPECT_FALSE(areBlockRows(CollectiveKind::AllGather, 4, 6, 4, 0));
  EXPECT_TRUE(areBlockRows(CollectiveKind::AllGather, 4, 6, 3, 18));
  EXPECT_FALSE(areBlockRows(CollectiveKind::AllGather, 4, 6, 3, 21)) << "of the first block, too";
  EXPECT_FALSE(areBlockRows(CollectiveKind::ReduceScatter, 4, 14, 3, 9));
  EXPECT_FALSE(areBlockRows(CollectiveKind::AllReduce, 4, 6, 3, 0));
  EXPECT_TRUE(areBlockRows(CollectiveKind::AllReduce, 4, 6, 1, 0));
}

TEST(ThreadPool, EveryPartOnceAndAllDone) {
  for (bool spin : {true, false}) {
    setBusyThreads(spin ? 1 : 1000);
    for (int size : {1, 2, 5}) {
      ThreadPool pool(size);
      std::vector<int64_t> counts(size * 16);
      for (int round = 0; round < 2000; ++round) {
        int parts = 1 + round % size;
        pool.parallel(parts, [&](int part) { ++counts[part * 16]; });
      }
      int64_t total = 0;
      for (int part = 0; part < size; ++part)
        total += counts[part * 16];
      int64_t expected = 0;
      for (int round = 0; round < 2000; ++round)
        expected += 1 + round % size;
      EXPECT_EQ(total, expected);
      EXPECT_EQ(counts[0], 2000);
    }
  }
}

TEST(ThreadPool, CallerTakesOverPartsOfWorkersThatDoNotCome) {
  setBusyThreads(1000);
  ThreadPool pool(3);
  // A worker that is asleep needs a while to wake; the caller has long done such little work. Every part
  // still runs once.
  std::vector<std::atomic<int>> counts(3);
  for (int round = 0; round < 20000; ++round)
    pool.parallel(3, [&](int part) { ++counts[part]; });
  for (auto &count : counts)
    EXPECT_EQ(count, 20000);
}

TEST(ThreadPool, FailureOfAnyPartReachesTheCaller) {
  for (int failing : {0, 1, 2}) {
    ThreadPool pool(3);
    for (int turn = 0; turn < 100; ++turn) {
      std::atomic<int> done{0};
      try {
        pool.parallel(3, [&](int part) {
          if (part == failing)
            throw Error("cannot compute", "part " + std::to_string(part), "it was told to fail");
          ++done;
        });
        ADD_FAILURE();
      } catch (const Error &e) {
        EXPECT_NE(std::string(e.what()).find("part " + std::to_string(failing)), std::string::npos);
      }
      EXPECT_EQ(done, 2); // nobody uses the context any more
      done = 0;
      pool.parallel(3, [&](int) { ++done; });
      EXPECT_EQ(done, 3);
    }
  }
}

// Threads with stacks of a gigabyte, in a process that may map three more of them.
[[noreturn]] static void startMoreThreadsThanFit() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages;
  size_t stack = size_t(1) << 30, allowed = pages * 4096 + stack * 7 / 2;
  rlimit limit = {allowed, allowed};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack);
  if (pthread_setattr_default_np(&attributes) != 0 || setrlimit(RLIMIT_AS, &limit) != 0)
    _exit(2);
  try {
    ThreadPool pool(64);
  } catch (const Error &e) {
    endRun(e.what());
  }
  _exit(0);
}

TEST(ThreadPool, ThreadsThatCannotBeStartedAreAnError) {
  EXPECT_EXIT(startMoreThreadsThanFit(), testing::ExitedWithCode(1),
              "^error: cannot start threads .rank 0.: [2-5] of 64 could be started: ");
}

// What a thread needs and does not find is the maker's to hear of, however many threads miss it.
TEST(ThreadPool, AFailureAtTheStartOfAThreadReachesTheMaker) {
  for (int size : {2, 3, 9}) {
    std::atomic<int> started{0};
    try {
      ThreadPool pool(size, [&] {
        if (++started % 2)
          throw Error("cannot start a thread", "a test", "it was told to fail");
      });
      ADD_FAILURE();
    } catch (const Error &e) {
      EXPECT_NE(std::string(e.what()).find("told to fail"), std::string::npos) << e.what();
    }
    EXPECT_EQ(started, size - 1);
  }
}

TEST(ThreadPool, SplitsContiguously) {
  int64_t at = 0;
  for (int64_t part = 0; part < 7; ++part) {
    Range range = splitRange(31, 7, part);
    EXPECT_EQ(range.begin, at);
    at = range.end;
    EXPECT_GE(range.end - range.begin, 4);
    EXPECT_LE(range.end - range.begin, 5);
  }
  EXPECT_EQ(at, 31);
}

// The watch counts ticks: what a test gives it is no time.
struct WatchTest : testing::Test {
  WatchTest() {
    for (int64_t rank = 0; rank < 3; ++rank)
      set(rank, Activity::Working);
  }
  void set(int64_t rank, Activity activity, int32_t where = -1) {
    board.entry(rank).activity = int32_t(activity);
    board.entry(rank).where = where;
  }
  void tick(int64_t times) {
    for (int64_t i = 0; i < times; ++i)
      watch.tick();
  }
  Board board{3};
  CollectiveNames names{{"collective 0, all_reduce over tp", "collective 1, all_gather over tp"}};
  Watch watch{board, {0, 1, 2}, names, 1};
};

TEST_F(WatchTest, WorkThatGoesOnIsNoStall) {
  set(0, Activity::Waiting, 1);
  for (int step = 0; step < 30; ++step) { // much longer than the limit, one step shorter than it at a time
    tick(watch.patience() - 1);
    board.entry(1).progress++;
    board.entry(2).progress++;
    tick(1);
  }
}

TEST_F(WatchTest, FilesMayBeSlow) {
  set(0, Activity::Waiting, 1);
  set(1, Activity::Outside);
  set(2, Activity::Outside);
  tick(100 * watch.patience());
}

TEST_F(WatchTest, WorkWithoutProgressIsAStallWhenSomebodyWaits) {
  set(2, Activity::Finished);
  tick(100 * watch.patience()); // nobody waits: work may last
  board.entry(1).progress++;
  set(0, Activity::Waiting, 1);
  tick(watch.patience());
  EXPECT_EXIT(tick(1), testing::ExitedWithCode(1),
              "^error: rank 1 stalls .collective 1, all_gather over tp, in which rank 0 waits.: no progress "
              "for 1 s; ");
}

TEST_F(WatchTest, APeerWithoutABeatStandsStill) {
  Watch far(board, {0, 1}, names, 1); // rank 2 is of another process
  set(0, Activity::Waiting, 0);
  auto ticks = [&](int64_t times) {
    for (int64_t i = 0; i < times; ++i) {
      board.entry(1).progress++;
      far.tick();
    }
  };
  ticks(far.patience() - 1);
  EXPECT_EXIT(ticks(1), testing::ExitedWithCode(1),
              "^error: rank 2 stands still .collective 0, all_reduce over tp, in which rank 0 waits.: no "
              "sign of its ");
}

TEST_F(WatchTest, WhoAllWaitWaitInVain) {
  for (int64_t rank = 0; rank < 3; ++rank)
    set(rank, Activity::Waiting, 1);
  tick(watch.patience() - 1);
  EXPECT_EXIT(tick(1), testing::ExitedWithCode(1),
              "^error: rank 0 waits in vain .collective 1, all_gather over tp.");
}

} // namespace tessera::runtime
