#include "CommConformance.h"
#include "PostingStream.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

static void onThreads(const Mesh &mesh, bool spin, const std::function<void(CommUnderTest &)> &body) {
  int64_t ranks = mesh.size();
  setBusyThreads(spin ? 1 : 1000);
  Board board(ranks);
  auto world = createHostWorld(ranks, board);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto comm = createHostCommunicator(world, rank);
      auto plane = createHostPlane(world, rank);
      std::vector<RankGroup> groups;
      for (const AxisList &axes : conformanceGroups(mesh))
        groups.push_back({mesh.group(rank, axes), mesh.index(rank, axes)});
      comm->setGroups(std::move(groups));
      PostingStream stream;
      CommUnderTest test{*comm, *plane, stream, mesh};
      body(test);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(HostComm, OneRank) { onThreads(Mesh(), true, runConformance); }
TEST(HostComm, TwoRanksSpinning) { onThreads(Mesh({{"tp", 2}}), true, runConformance); }
TEST(HostComm, FourRanksOnTwoAxes) { onThreads(Mesh({{"a", 2}, {"b", 2}}), false, runConformance); }
TEST(HostComm, FourRanksWithSubAxes) { onThreads(Mesh({{"x", 4}}), false, runConformance); }
TEST(HostComm, ThreeRanks) { onThreads(Mesh({{"tp", 3}}), false, runConformance); }
TEST(HostComm, EightRanksOnThreeAxes) {
  onThreads(Mesh({{"a", 2}, {"one", 1}, {"x", 4}}), false, runConformance);
}

TEST(HostComm, RandomSequences) {
  auto sequences = [](uint32_t seed, int count) {
    return [=](CommUnderTest &rank) { runRandomSequences(rank, seed, count); };
  };
  onThreads(Mesh({{"tp", 2}}), true, sequences(10000, 250));
  onThreads(Mesh({{"a", 3}}), false, sequences(20000, 250));
  onThreads(Mesh({{"a", 2}, {"b", 2}}), false, sequences(30000, 250));
  onThreads(Mesh({{"x", 4}}), false, sequences(40000, 150));
  onThreads(Mesh({{"a", 2}, {"x", 4}}), false, sequences(50000, 100));
}

// Both ends of a message must mean the same.
TEST(HostComm, AMessageOfAnotherLengthIsAnError) {
  auto differ = [] {
    onThreads(Mesh({{"tp", 2}}), false, [](CommUnderTest &rank) {
      int64_t data = 5;
      try {
        CommToken token = rank.comm.rank() == 0 ? rank.comm.send(1, 3, &data, 8, rank.stream)
                                                : rank.comm.receive(0, 3, &data, 4, rank.stream);
        rank.comm.wait(token, rank.stream);
        rank.stream.synchronize();
      } catch (const Error &e) {
        endRun(e.what());
      }
    });
    _exit(0);
  };
  EXPECT_EXIT(differ(), testing::ExitedWithCode(1),
              "^error: cannot communicate .*: it has 8 bytes where 4 are expected");
}

// A communicator for more groups than messages can tell apart says so.
TEST(HostComm, TooManyGroupsAreAnError) {
  Board board(1);
  auto comm = createHostCommunicator(createHostWorld(1, board), 0);
  EXPECT_THROW(comm->setGroups(std::vector<RankGroup>(5000, RankGroup{{0}, 0})), std::exception);
}

} // namespace tessera::runtime
