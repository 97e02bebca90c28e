// The stand-in of NCCL by itself, on streams of the test's own.
#include "../../../runtime/cuda/api/Nccl.h"
#include "Reduce.h"
#include "TestStreams.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tessera::nccl {
TESSERA_NCCL_DECLARE_FUNCTIONS
} // namespace tessera::nccl

using namespace tessera::nccl;
using tessera::cuda::CUstream;

namespace standin::nccl {

namespace {

struct RankOfTest {
  int rank, ranks;
  ncclComm_t comm;
  CUstream stream;
};

void expectSuccess(ncclResult_t result) { ASSERT_EQ(result, ncclSuccess) << ncclGetLastError(nullptr); }

// `body` on threads, one a rank.
void onThreads(int ranks, const std::function<void(RankOfTest &)> &body) {
  ncclUniqueId id;
  expectSuccess(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      RankOfTest rank{r, ranks, nullptr, testStream(r)};
      expectSuccess(ncclCommInitRank(&rank.comm, ranks, id, r));
      body(rank);
      synchronize(rank.stream);
      expectSuccess(ncclCommFinalize(rank.comm));
      expectSuccess(ncclCommDestroy(rank.comm));
    });
  for (std::thread &thread : threads)
    thread.join();
}

std::vector<float> valuesOf(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float(std::sin(double(i * 7 + size_t(rank) * 13 + 1)) * 1000);
  return values;
}

} // namespace

TEST(StandinNccl, SumsHaveOneOrderPerSeedAndPlace) {
  std::vector<std::vector<float>> values;
  std::vector<const char *> sources;
  for (int r = 0; r < 5; ++r)
    values.push_back(valuesOf(r, 1000));
  for (auto &one : values)
    sources.push_back(reinterpret_cast<const char *>(one.data()));
  std::vector<std::vector<float>> results;
  for (uint64_t seed : {1, 1, 2, 3}) {
    results.emplace_back(1000);
    reduce(ncclFloat32, ncclSum, sources, reinterpret_cast<char *>(results.back().data()), 0, 1000, 1000,
           seed);
    for (size_t i = 0; i < 1000; ++i) {
      double exact = 0;
      for (auto &one : values)
        exact += one[i];
      ASSERT_NEAR(results.back()[i], exact, 1e-3);
    }
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_TRUE(results[0] != results[2] || results[0] != results[3]) << "the seed does nothing";
  // A block alone is what it is as part of the whole.
  std::vector<const char *> later;
  for (const char *source : sources)
    later.push_back(source + 400 * 4);
  std::vector<float> block(200);
  reduce(ncclFloat32, ncclSum, later, reinterpret_cast<char *>(block.data()), 400, 200, 1000, 1);
  EXPECT_TRUE(std::equal(block.begin(), block.end(), results[0].begin() + 400));
}

TEST(StandinNccl, CollectivesOnThreads) {
  for (int ranks : {1, 2, 3})
    for (size_t count : {size_t(1), size_t(1000), size_t(60000)}) // more than a ring of bytes holds
      onThreads(ranks, [&](RankOfTest &rank) {
        std::vector<float> src = valuesOf(rank.rank, count * size_t(ranks)), sum(count),
                           gathered(count * ranks), block(count), given = src, largest(count),
                           rooted(count, 7);
        expectSuccess(
            ncclAllReduce(src.data(), sum.data(), count, ncclFloat32, ncclSum, rank.comm, rank.stream));
        expectSuccess(
            ncclAllReduce(src.data(), largest.data(), count, ncclFloat32, ncclMax, rank.comm, rank.stream));
        expectSuccess(ncclAllGather(src.data(), gathered.data(), count, ncclFloat32, rank.comm, rank.stream));
        expectSuccess(
            ncclReduceScatter(src.data(), block.data(), count, ncclFloat32, ncclSum, rank.comm, rank.stream));
        expectSuccess(
            ncclBroadcast(given.data(), given.data(), count, ncclFloat32, ranks - 1, rank.comm, rank.stream));
        expectSuccess(ncclReduce(src.data(), rooted.data(), count, ncclFloat32, ncclSum, ranks - 1, rank.comm,
                                 rank.stream));
        synchronize(rank.stream);
        std::vector<float> same = sum, sums(count * size_t(ranks));
        expectSuccess(ncclAllGather(same.data(), sums.data(), count, ncclFloat32, rank.comm, rank.stream));
        synchronize(rank.stream);
        for (size_t i = 0; i < count; ++i) {
          double all = 0, scattered = 0, most = -1e9;
          for (int r = 0; r < ranks; ++r) {
            float value = float(std::sin(double(i * 7 + size_t(r) * 13 + 1)) * 1000);
            size_t at = size_t(rank.rank) * count + i;
            all += value;
            most = std::max<double>(most, value);
            scattered += float(std::sin(double(at * 7 + size_t(r) * 13 + 1)) * 1000);
            ASSERT_EQ(gathered[size_t(r) * count + i], value);
            ASSERT_EQ(sums[size_t(r) * count + i], sum[i]) << "not the same bits on all ranks";
          }
          ASSERT_NEAR(sum[i], all, 1e-3);
          ASSERT_EQ(largest[i], float(most));
          if (rank.rank == ranks - 1)
            ASSERT_NEAR(rooted[i], all, 1e-3);
          else
            ASSERT_EQ(rooted[i], 7);
          ASSERT_NEAR(block[i], scattered, 1e-3);
          ASSERT_EQ(given[i], float(std::sin(double(i * 7 + size_t(ranks - 1) * 13 + 1)) * 1000));
        }
      });
}

TEST(StandinNccl, MessagesOfAGroupGoOnTogether) {
  onThreads(3, [](RankOfTest &rank) {
    size_t count = 100000; // in a ring, each rank sending first: none could come to its receipt
    std::vector<float> src = valuesOf(rank.rank, count), dst(count), own(count);
    int next = (rank.rank + 1) % 3, previous = (rank.rank + 2) % 3;
    ncclGroupStart();
    expectSuccess(ncclSend(src.data(), count, ncclFloat32, next, rank.comm, rank.stream));
    expectSuccess(ncclSend(src.data(), count, ncclFloat32, rank.rank, rank.comm, rank.stream));
    expectSuccess(ncclRecv(own.data(), count, ncclFloat32, rank.rank, rank.comm, rank.stream));
    expectSuccess(ncclRecv(dst.data(), count, ncclFloat32, previous, rank.comm, rank.stream));
    expectSuccess(ncclGroupEnd());
    synchronize(rank.stream);
    EXPECT_EQ(dst, valuesOf(previous, count));
    EXPECT_EQ(own, src);
  });
}

TEST(StandinNccl, SplitsByColorInTheOrderOfKeys) {
  onThreads(4, [](RankOfTest &rank) {
    ncclComm_t half = nullptr, none = rank.comm;
    expectSuccess(ncclCommSplit(rank.comm, rank.rank % 2, -rank.rank, &half, nullptr));
    expectSuccess(ncclCommSplit(rank.comm, rank.rank == 0 ? 5 : kNoColor, 0, &none, nullptr));
    EXPECT_EQ(none != nullptr, rank.rank == 0);
    int32_t self = rank.rank, both[2];
    expectSuccess(ncclAllGather(&self, both, 1, ncclInt32, half, rank.stream));
    synchronize(rank.stream);
    EXPECT_EQ(both[0], rank.rank % 2 + 2);
    EXPECT_EQ(both[1], rank.rank % 2);
    expectSuccess(ncclCommDestroy(half));
    if (none)
      expectSuccess(ncclCommDestroy(none));
  });
}

TEST(StandinNccl, OneThreadMakesAllRanksInAGroup) {
  ncclUniqueId id;
  expectSuccess(ncclGetUniqueId(&id));
  ncclComm_t comms[2];
  ncclGroupStart();
  for (int r = 0; r < 2; ++r)
    expectSuccess(ncclCommInitRank(&comms[r], 2, id, r));
  expectSuccess(ncclGroupEnd());
  int64_t values[2] = {int64_t(1) << 40, 5}, sums[2];
  ncclGroupStart();
  for (int r = 0; r < 2; ++r)
    expectSuccess(ncclAllReduce(&values[r], &sums[r], 1, ncclInt64, ncclSum, comms[r], testStream(r)));
  expectSuccess(ncclGroupEnd());
  for (int r = 0; r < 2; ++r) {
    synchronize(testStream(r));
    EXPECT_EQ(sums[r], (int64_t(1) << 40) + 5);
    expectSuccess(ncclCommDestroy(comms[r]));
  }
}

// Processes meet by NCCL_COMM_ID; what another run left at that address is in nobody's way.
static void runProcesses() {
  setenv("NCCL_COMM_ID", ("127.0.0.1:" + std::to_string(getpid() % 20000 + 30000)).c_str(), 1);
  auto child = [](int rank, int ranks) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    std::vector<float> values = valuesOf(rank, 50000), sum(50000);
    bool good = ncclGetUniqueId(&id) == ncclSuccess &&
                ncclCommInitRank(&comm, ranks, id, rank) == ncclSuccess &&
                ncclAllReduce(values.data(), sum.data(), 50000, ncclFloat32, ncclSum, comm, testStream(0)) ==
                    ncclSuccess;
    synchronize(testStream(0));
    good = good && std::fabs(sum[77] - (valuesOf(0, 78)[77] + valuesOf(1, 78)[77])) < 1e-3;
    _exit(good ? 0 : 3);
  };
  // One that ends before the other comes.
  pid_t early = fork();
  if (early == 0) {
    std::thread([] { usleep(100000), _exit(0); }).detach();
    child(0, 2);
  }
  waitpid(early, nullptr, 0);
  std::vector<pid_t> children;
  for (int r = 0; r < 2; ++r) {
    children.push_back(fork());
    if (children.back() == 0)
      child(r, 2);
  }
  int result = 0;
  for (pid_t one : children) {
    int status = 0;
    waitpid(one, &status, 0);
    result |= status;
  }
  _exit(result == 0 ? 0 : 1);
}
TEST(StandinNccl, ProcessesMeetAtAnAddress) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(runProcesses(), testing::ExitedWithCode(0), "");
}

//===- What is wrong -===//

TEST(StandinNccl, ArgumentsThatCannotBeAreErrors) {
  onThreads(2, [](RankOfTest &rank) {
    float data[4] = {};
    auto reduceWith = [&](int type, int operation) {
      return ncclAllReduce(data, data, 1, ncclDataType_t(type), ncclRedOp_t(operation), rank.comm,
                           rank.stream);
    };
    EXPECT_EQ(reduceWith(77, 0), ncclInvalidArgument);
    EXPECT_EQ(reduceWith(7, 77), ncclInvalidArgument);
    EXPECT_EQ(ncclSend(data, 1, ncclFloat32, 2, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclRecv(nullptr, 1, ncclFloat32, 1, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(data, data, 1, ncclFloat32, -1, rank.comm, rank.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_EQ(ncclSend(nullptr, 0, ncclFloat32, 1 - rank.rank, rank.comm, rank.stream), ncclSuccess);
  });
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t comm;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  expectSuccess(ncclCommInitRank(&comm, 1, id, 0));
  expectSuccess(ncclCommFinalize(comm));
  float data = 0;
  EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclFloat32, ncclSum, comm, testStream(0)), ncclInvalidUsage);
}

static void wrong(const std::function<void(RankOfTest &, float *)> &body) {
  onThreads(2, [&](RankOfTest &rank) {
    std::vector<float> data(200000);
    body(rank, data.data());
    synchronize(rank.stream);
  });
  _exit(0);
}

TEST(StandinNccl, RanksThatCallDifferentThingsAreFound) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto expect = [](const char *text, const std::function<void(RankOfTest &, float *)> &body) {
    EXPECT_EXIT(wrong(body), testing::ExitedWithCode(86), text);
  };
  expect("calls nccl(AllGather|AllReduce) of .* where rank . calls ncclA", [](RankOfTest &r, float *data) {
    if (r.rank == 0)
      ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, r.comm, r.stream);
    else
      ncclAllGather(data, data + 100, 4, ncclFloat32, r.comm, r.stream);
  });
  expect("ncclAllReduce of [45] float32, sum .*where rank . calls ncclAllReduce of [45] float32",
         [](RankOfTest &r, float *data) {
           ncclAllReduce(data, data, size_t(4 + r.rank), ncclFloat32, ncclSum, r.comm, r.stream);
         });
  expect("of 4 (float32|int32), sum", [](RankOfTest &r, float *data) {
    ncclAllReduce(data, data, 4, r.rank ? ncclFloat32 : ncclInt32, ncclSum, r.comm, r.stream);
  });
  expect("(sum|maximum).* where rank . calls .*(sum|maximum)", [](RankOfTest &r, float *data) {
    ncclAllReduce(data, data, 4, ncclFloat32, r.rank ? ncclSum : ncclMax, r.comm, r.stream);
  });
  expect("ncclBroadcast of 4 float32 from [01]", [](RankOfTest &r, float *data) {
    ncclBroadcast(data, data, 4, ncclFloat32, r.rank, r.comm, r.stream);
  });
  expect("ncclReduce of 4 float32, sum to [01]", [](RankOfTest &r, float *data) {
    ncclReduce(data, data, 4, ncclFloat32, ncclSum, r.rank, r.comm, r.stream);
  });
  expect("calls ncclSend of 8 float32 where rank 1 calls ncclRecv of 4 float32",
         [](RankOfTest &r, float *data) {
           if (r.rank == 0)
             ncclSend(data, 8, ncclFloat32, 1, r.comm, r.stream);
           else
             ncclRecv(data, 4, ncclFloat32, 0, r.comm, r.stream);
         });
  // A collective and a message in another order.
  expect("where rank . calls nccl", [](RankOfTest &r, float *data) {
    for (int turn = 0; turn < 2; ++turn)
      if (turn == r.rank)
        ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, r.comm, r.stream);
      else if (r.rank == 0)
        ncclSend(data, 8, ncclFloat32, 1, r.comm, r.stream);
      else
        ncclRecv(data, 8, ncclFloat32, 0, r.comm, r.stream);
  });
}

TEST(StandinNccl, CirclesOfWaitsAreFound) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  // Two communicators of the same ranks, in another order on each.
  EXPECT_EXIT(
      wrong([](RankOfTest &r, float *data) {
        ncclComm_t other;
        expectSuccess(ncclCommSplit(r.comm, 0, r.rank, &other, nullptr));
        for (int turn = 0; turn < 2; ++turn)
          ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, turn == r.rank ? r.comm : other, r.stream);
      }),
      testing::ExitedWithCode(86), "ranks wait for each other: rank . waits in ncclAllReduce .* for rank");
  // Each sends before it receives.
  EXPECT_EXIT(wrong([](RankOfTest &r, float *data) {
                ncclSend(data, 8, ncclFloat32, 1 - r.rank, r.comm, r.stream);
                ncclRecv(data + 8, 8, ncclFloat32, 1 - r.rank, r.comm, r.stream);
              }),
              testing::ExitedWithCode(86), "ranks wait for each other: rank . waits in ncclSend");
}

TEST(StandinNccl, WhatALibraryWouldDoInSilenceIsFound) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto alone = [](const std::function<void(RankOfTest &, float *)> &body) {
    wrong([&](RankOfTest &r, float *data) {
      if (r.rank == 0)
        body(r, data);
      else
        synchronize(testStream(0));
    });
  };
  EXPECT_EXIT(alone([](RankOfTest &r, float *data) {
                ncclAllReduce(data, data + 1, 4, ncclFloat32, ncclSum, r.comm, r.stream);
              }),
              testing::ExitedWithCode(86), "overlap");
  EXPECT_EXIT(alone([](RankOfTest &r, float *data) {
                ncclCommDestroy(r.comm);
                ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, r.comm, r.stream);
              }),
              testing::ExitedWithCode(86), "ncclAllReduce is given a communicator that was destroyed");
  EXPECT_EXIT(alone([](RankOfTest &r, float *data) {
                ncclCommAbort(r.comm);
                ncclCommDestroy(r.comm);
              }),
              testing::ExitedWithCode(86),
              "ncclCommDestroy is given a communicator that was destroyed or aborted");
  EXPECT_EXIT(alone([](RankOfTest &r, float *data) {
                ncclSend(data, 4, ncclFloat32, 1, r.comm, r.stream);
                ncclSend(data, 4, ncclFloat32, 1, r.comm, testStream(5));
              }),
              testing::ExitedWithCode(86), "another stream");
  EXPECT_EXIT(alone([](RankOfTest &r, float *data) {
                ncclUniqueId id = {};
                ncclCommInitRank(&r.comm, 1, id, 0);
              }),
              testing::ExitedWithCode(86), "did not make");
}

// Who is stuck gets free.
TEST(StandinNccl, AnAbortEndsWhatIsStuck) {
  onThreads(2, [](RankOfTest &rank) {
    ncclComm_t other;
    expectSuccess(ncclCommSplit(rank.comm, 0, rank.rank, &other, nullptr));
    float data = 1;
    if (rank.rank == 0) {
      expectSuccess(ncclAllReduce(&data, &data, 1, ncclFloat32, ncclSum, other, rank.stream));
      usleep(10000);
    }
    expectSuccess(ncclCommAbort(other));
    synchronize(rank.stream);
  });
}

} // namespace standin::nccl
