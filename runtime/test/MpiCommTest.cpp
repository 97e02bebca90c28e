// The conformance suite under mpirun: every process runs it as one rank.
#include "CommConformance.h"
#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/core/Error.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace tessera::runtime {

static MpiWorld *world = nullptr;

TEST(MpiComm, OneAxisWithSubAxes) {
  runConformance(world->communicator(), conformanceManifest(Mesh({{"x", world->board().ranks()}})));
}
TEST(MpiComm, TwoAxes) {
  runConformance(world->communicator(),
                 conformanceManifest(Mesh({{"a", 2}, {"b", world->board().ranks() / 2}})));
}
TEST(MpiComm, BoardShowsEveryRankOfThisMachine) {
  for (int64_t r = 0; r < world->board().ranks(); ++r)
    EXPECT_NE(world->board().entry(r).pid, 0);
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
    auto started = MpiWorld::start(atoi(size), true);
    world = started.get();
    if (world->rank() != 0) // one report is enough; failures elsewhere show in the exit status
      delete testing::UnitTest::GetInstance()->listeners().Release(
          testing::UnitTest::GetInstance()->listeners().default_result_printer());
    int result = RUN_ALL_TESTS();
    world->finish();
    return result;
  } catch (const Error &e) {
    fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
