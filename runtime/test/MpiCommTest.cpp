// The conformance suite under mpirun: every process runs it as one rank.
#include "CommConformance.h"
#include "PostingStream.h"
#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/core/Error.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace tessera::runtime {

static MpiWorld *world = nullptr;

static void onThisRank(const Mesh &mesh, const std::function<void(CommUnderTest &)> &body) {
  std::vector<RankGroup> groups;
  for (const AxisList &axes : conformanceGroups(mesh))
    groups.push_back({mesh.group(world->rank(), axes), mesh.index(world->rank(), axes)});
  world->communicator().setGroups(std::move(groups));
  PostingStream stream;
  CommUnderTest test{world->communicator(), world->plane(), stream, mesh};
  body(test);
}

static Mesh oneAxis() { return Mesh({{"x", world->board().ranks()}}); }
static Mesh twoAxes() { return Mesh({{"a", world->board().ranks() / 2}, {"b", 2}}); }

TEST(MpiComm, OneAxisWithSubAxes) { onThisRank(oneAxis(), runConformance); }
TEST(MpiComm, TwoAxes) {
  if (world->board().ranks() % 2 == 0)
    onThisRank(twoAxes(), runConformance);
}
TEST(MpiComm, RandomSequences) {
  onThisRank(oneAxis(), [](CommUnderTest &rank) { runRandomSequences(rank, 60000, 200); });
  if (world->board().ranks() % 2 == 0)
    onThisRank(twoAxes(), [](CommUnderTest &rank) { runRandomSequences(rank, 70000, 200); });
}
TEST(MpiComm, BoardShowsEveryRankOfThisMachine) {
  for (int64_t r = 0; r < world->board().ranks(); ++r)
    if (!getenv("TESSERA_MACHINE") || (r - world->rank()) % 2 == 0) // --machines
      EXPECT_NE(world->board().entry(r).pid, 0);
}
// Nobody leaves a barrier before the last one has come, whoever that is.
TEST(MpiComm, ABarrierWaitsForEverybody) {
  Board &board = world->board();
  int64_t absent = 0;
  for (int64_t turn = 1; turn <= 2 * board.ranks(); ++turn) {
    if (turn % board.ranks() == world->rank())
      usleep(5000);
    board.entry(world->rank()).progress = uint64_t(turn);
    world->plane().barrier();
    for (int64_t r = 0; r < board.ranks(); ++r)
      if (!getenv("TESSERA_MACHINE")) // where the board is everybody's
        absent += board.entry(r).progress.load() < uint64_t(turn);
  }
  EXPECT_EQ(absent, 0);
}

} // namespace tessera::runtime

int main(int argc, char **argv) {
  using namespace tessera::runtime;
  testing::InitGoogleTest(&argc, argv);
  const char *size = getenv("OMPI_COMM_WORLD_SIZE");
  if (!size) {
    fprintf(stderr, "start with mpirun -np 4\n");
    return 1;
  }
  try {
    // With another name for every second rank, heartbeats go between machines, and have to end before MPI
    // does.
    bool machines = argc > 1 && strcmp(argv[1], "--machines") == 0;
    if (machines)
      setenv("TESSERA_MACHINE", atoi(getenv("OMPI_COMM_WORLD_RANK")) % 2 ? "odd" : "even", 1);
    auto started = MpiWorld::start(atoi(size), !machines);
    world = started.get();
    if (world->rank() != 0) // one report is enough; failures elsewhere show in the exit status
      delete testing::UnitTest::GetInstance()->listeners().Release(
          testing::UnitTest::GetInstance()->listeners().default_result_printer());
    std::atomic<bool> stop{false};
    std::thread watch([&] {
      for (; machines && !stop; usleep(1000))
        world->tick();
    });
    int result = RUN_ALL_TESTS();
    world->plane().barrier();
    stop = true;
    watch.join();
    world->finish();
    if (int64_t open = world->openRequests()) {
      fprintf(stderr, "error: %lld requests were open when MPI was finalized\n", (long long)open);
      return 1;
    }
    return result;
  } catch (const Error &e) {
    fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
