// The conformance suite for ranks that are processes, under their launcher: each process runs it as one rank.
#include "../comm/mpi/MpiLibrary.h"
#include "../comm/mpi/MpiTransport.h"
#include "CommConformance.h"
#include "PostingStream.h"
#include "tessera/runtime/comm/MpiWorld.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tessera::runtime {

// This process's rank.
static Communicator *communicator = nullptr;
static HostPlane *plane = nullptr;
static Board *board = nullptr;

static void onThisRank(const Mesh &mesh, const std::function<void(CommUnderTest &)> &body) {
  PostingStream stream;
  CommUnderTest test{*communicator, *plane, stream, mesh};
  setConformanceGroups(test);
  body(test);
}

static Mesh oneAxis() { return Mesh({{"x", plane->ranks()}}); }
static Mesh twoAxes() { return Mesh({{"a", plane->ranks() / 2}, {"b", 2}}); }

TEST(MpiComm, OneAxisWithSubAxes) { onThisRank(oneAxis(), runConformance); }
TEST(MpiComm, TwoAxes) {
  if (plane->ranks() % 2 == 0)
    onThisRank(twoAxes(), runConformance);
}
TEST(MpiComm, RowsGoWhereCountsSay) { onThisRank(oneAxis(), runRowExchanges); }
TEST(MpiComm, RandomSequences) {
  onThisRank(oneAxis(), [](CommUnderTest &rank) { runRandomSequences(rank, 60000, 200); });
  if (plane->ranks() % 2 == 0)
    onThisRank(twoAxes(), [](CommUnderTest &rank) { runRandomSequences(rank, 70000, 200); });
}
TEST(MpiComm, BoardShowsEveryRankOfThisMachine) {
  for (int64_t r = 0; r < plane->ranks(); ++r)
    if (!getenv("TESSERA_MACHINE") || (r - plane->rank()) % 2 == 0) // --machines
      EXPECT_NE(board->entry(r).pid, 0);
}
// Nobody leaves a barrier before the last one has come, whoever that is.
TEST(MpiComm, ABarrierWaitsForEverybody) {
  int64_t absent = 0;
  for (int64_t turn = 1; turn <= 2 * plane->ranks(); ++turn) {
    if (turn % plane->ranks() == plane->rank())
      usleep(5000);
    board->entry(plane->rank()).progress = uint64_t(turn);
    plane->barrier();
    for (int64_t r = 0; r < plane->ranks(); ++r)
      if (!getenv("TESSERA_MACHINE")) // where the board is everybody's
        absent += board->entry(r).progress.load() < uint64_t(turn);
  }
  EXPECT_EQ(absent, 0);
}

static int (*sendOfMpi)(const void *, int, MpiType, int, int, MpiComm, MpiRequest *) = nullptr;
static int64_t messagesSent = 0;
static int countedSend(const void *data, int count, MpiType type, int rank, int tag, MpiComm comm,
                       MpiRequest *request) {
  messagesSent += tag < mpiPlaneTag; // between machines heartbeats go beside them, from another thread
  return sendOfMpi(data, count, type, rank, tag, comm, request);
}
// Rows of a block that lie apart go to another rank together: each message costs, and waits to be looked at.
TEST(MpiComm, RowsAreOneMessage) {
  onThisRank(oneAxis(), [](CommUnderTest &rank) {
    MpiLibrary &mpi = const_cast<MpiLibrary &>(MpiLibrary::get());
    int64_t ranks = plane->ranks(), rows = 64, block = 5, group = 0;
    while (shardCount(conformanceGroups(rank.mesh)[size_t(group)]) < ranks)
      ++group;
    for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      bool gathers = kind == CollectiveKind::AllGather;
      std::vector<float> piece(size_t(rows * block), 1), whole(size_t(ranks * rows * block), 1);
      const void *src = gathers ? piece.data() : whole.data();
      void *dst = gathers ? whole.data() : piece.data();
      plane->barrier();
      messagesSent = 0;
      sendOfMpi = std::exchange(mpi.Isend, countedSend);
      rank.comm.run({kind, gathers ? Reduction::None : Reduction::Sum, io::DType::F32, group,
                     int64_t(gathers ? piece.size() : whole.size()), rows},
                    src, dst, rank.stream, NoCollective);
      rank.stream.synchronize();
      mpi.Isend = sendOfMpi;
      EXPECT_EQ(messagesSent, ranks - 1);
      EXPECT_EQ(gathers ? whole.back() : piece.back(), gathers ? 1 : float(ranks));
    }
  });
}

// One report is enough; failures elsewhere show in the exit status.
static int runTests() {
  if (plane->rank() != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  return RUN_ALL_TESTS();
}

// On the world that programs take.
static int onWorld(int64_t ranks) {
  int result = 1;
  CollectiveNames names;
  Mesh mesh({{"x", ranks}});
  WorldOptions options{
      mesh, names, /*stallSeconds=*/1e6, /*oneMachine=*/true, RanksFrom::Mpi, 0, {}, [](Board *known) {
        board = known;
      }};
  findWorld("host", RanksFrom::Mpi)->run(options, [&](Communicator &comm, HostPlane &host, BoardEntry &) {
    communicator = &comm;
    plane = &host;
    result = runTests();
  });
  if (board)
    throw Error("wrong world", "onBoard", "the board is gone, and nobody was told");
  return result;
}

// With another name for every second rank, heartbeats of MPI go between machines, and have to end before MPI
// does.
static int onMachines(int64_t ranks) {
  setenv("TESSERA_MACHINE", atoi(getenv("OMPI_COMM_WORLD_RANK")) % 2 ? "odd" : "even", 1);
  auto world = MpiWorld::start(ranks, /*oneMachine=*/false);
  communicator = &world->communicator();
  plane = &world->plane();
  board = &world->board();
  std::atomic<bool> stop{false};
  std::thread watch([&] {
    for (; !stop; usleep(1000))
      world->tick();
  });
  int result = runTests();
  plane->barrier();
  stop = true;
  watch.join();
  world->finish();
  if (int64_t open = world->openRequests())
    throw Error("wrong world", "heartbeats",
                std::to_string(open) + " requests were open when MPI was finalized");
  return result;
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
    bool machines = argc > 1 && strcmp(argv[1], "--machines") == 0;
    return machines ? onMachines(atoi(size)) : onWorld(atoi(size));
  } catch (const Error &e) {
    fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
