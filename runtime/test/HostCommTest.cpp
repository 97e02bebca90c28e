#include "CommConformance.h"
#include "tessera/runtime/core/Wait.h"

#include <gtest/gtest.h>
#include <thread>

namespace tessera::runtime {

static void onThreads(const Mesh &mesh, bool spin) {
  int64_t ranks = mesh.size();
  setBusyThreads(spin ? 1 : 1000);
  Board board(ranks);
  auto world = createHostWorld(ranks, board);
  Manifest manifest = conformanceManifest(mesh);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      auto comm = createHostCommunicator(world, rank);
      runConformance(*comm, manifest);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(HostComm, OneRank) { onThreads(Mesh(), true); }
TEST(HostComm, TwoRanksSpinning) { onThreads(Mesh({{"tp", 2}}), true); }
TEST(HostComm, FourRanksOnTwoAxes) { onThreads(Mesh({{"a", 2}, {"b", 2}}), false); }
TEST(HostComm, FourRanksWithSubAxes) { onThreads(Mesh({{"x", 4}}), false); }
TEST(HostComm, ThreeRanks) { onThreads(Mesh({{"tp", 3}}), false); }
TEST(HostComm, EightRanksOnThreeAxes) { onThreads(Mesh({{"a", 2}, {"one", 1}, {"x", 4}}), false); }

} // namespace tessera::runtime
