// Random schedules on ranks that are processes, under their launcher: each process runs this as one rank.
#include "RunSchedules.h"
#include "tessera/runtime/comm/World.h"

#include <cstdio>
#include <cstdlib>

using namespace tessera;
using namespace tessera::runtime;

static Communicator *communicator = nullptr;

// Of as many ranks as there are or fewer; the others look on.
TEST(PipelineExecutorMpi, RandomSchedulesArriveWithTheLeastBuffers) {
  schedule::RandomSchedules random(21);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    RandomRun run(random, int32_t(communicator->ranks()), 8, i % 4 ? 20000 : 200000);
    if (communicator->rank() < run.schedule.numRanks())
      runOnRank(run, run.buffers(), *communicator);
  }
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  const char *size = getenv("OMPI_COMM_WORLD_SIZE");
  if (!size) {
    fprintf(stderr, "start with mpirun -np 4\n");
    return 1;
  }
  int result = 1;
  try {
    CollectiveNames names;
    Mesh mesh({{"pp", atoi(size)}});
    WorldOptions options{mesh, names, /*stallSeconds=*/60, /*oneMachine=*/true, RanksFrom::Mpi,
                         0,    {},    [](Board *) {}};
    findWorld("host", RanksFrom::Mpi)->run(options, [&](Communicator &comm, HostPlane &, BoardEntry &) {
      communicator = &comm;
      // One report is enough; failures elsewhere show in the exit status.
      auto &listeners = testing::UnitTest::GetInstance()->listeners();
      if (comm.rank() != 0)
        delete listeners.Release(listeners.default_result_printer());
      result = RUN_ALL_TESTS();
    });
  } catch (const Error &e) {
    fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
  return result;
}
