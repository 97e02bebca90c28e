// The conformance suite for ranks on GPUs, over NCCL: on the stand-in (test/standin/nccl*.test) and on GPUs.
//
// Alone: ranks are threads with a GPU each. With --mesh=NAME=SIZE,..., started by mpirun or with the
// environment of torchrun, this process is one rank of several.
#include "../comm/nccl/NcclLibrary.h"
#include "../cuda/api/NativeStream.h"
#include "NcclRanks.h"
#include "tessera/runtime/core/Error.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::runtime {

static void suite(CommUnderTest &rank, Device &) {
  runConformance(rank);
  runRandomSequences(rank, 80000, 30);
}

TEST(NcclThreads, OneRankNeedsNoNccl) { onThreads(Mesh(), suite); }
TEST(NcclThreads, TwoRanks) { onThreads(Mesh({{"tp", 2}}), suite); }
TEST(NcclThreads, ThreeRanks) { onThreads(Mesh({{"tp", 3}}), suite); }
TEST(NcclThreads, FourRanksOnTwoAxes) { onThreads(Mesh({{"a", 2}, {"b", 2}}), suite); }

TEST(NcclThreads, SequencesWithChannels) {
  onThreads(
      Mesh({{"tp", 3}}), [](CommUnderTest &rank, Device &) { runRandomSequences(rank, 81000, 15); },
      allChannels(Mesh({{"tp", 3}})));
}

// What is recorded into a graph runs again with other values, on all ranks together.
static void replay(CommUnderTest &rank, Device &device) {
  int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2, ranks = rank.comm.ranks(),
          next = (rank.comm.rank() + 1) % ranks, previous = (rank.comm.rank() + ranks - 1) % ranks;
  constexpr int64_t count = 600;
  std::vector<char> zeros(count * 8 * size_t(ranks));
  DeviceData src(rank, zeros), sum(rank, zeros), all(rank, zeros), moved(rank, zeros), received(rank, zeros);
  Sharding rows = {{{rank.mesh.axes()[0].name, 1, ranks}}, {}}, columns = {rows[1], rows[0]};
  Shape global = {ranks * 3, ranks * 5};
  Transfers transfers = groupedSend(rank.mesh, global, rows, columns, rank.comm.rank());
  int enqueued = 0;
  std::function<void()> enqueue = [&] {
    ++enqueued;
    Stream &stream = rank.stream;
    auto start = [&](CollectiveKind kind, Reduction reduction, DeviceData &dst, int32_t where) {
      return rank.comm.start({kind, reduction, io::DType::I64, everybody, count}, src.address(),
                             dst.address(), stream, where);
    };
    CommToken first = start(CollectiveKind::AllReduce, Reduction::Sum, sum, 1);
    CommToken second = start(CollectiveKind::AllGather, Reduction::None, all, 2);
    rank.comm.wait(first, stream);
    CommToken third =
        rank.comm.start(transfers, everybody, io::DType::I64, src.address(), moved.address(), stream, 3);
    rank.comm.wait(third, stream);
    rank.comm.wait(second, stream);
    if (ranks > 1) {
      CommToken goes = rank.comm.send(next, 7, sum.address(), count * 8, stream);
      rank.comm.wait(rank.comm.receive(previous, 7, received.address(), count * 8, stream), stream);
      rank.comm.wait(goes, stream);
    }
    rank.comm.endEntry(stream);
  };
  std::vector<int64_t> counts;
  std::vector<ByteSpan> dead;
  for (int64_t turn = 1; turn <= 6; ++turn) {
    std::vector<char> given = zeros;
    for (int64_t i = 0; i < count; ++i) {
      int64_t value = (rank.comm.rank() + 1) * turn + i;
      memcpy(given.data() + i * 8, &value, 8);
    }
    src.write(given);
    rank.comm.beginCall(rank.stream);
    device.call({{0}, src.address(), counts, dead, enqueue}, rank.stream);
    rank.comm.endCall();
    rank.comm.expectAllWaitedFor();
    rank.stream.synchronize();
    auto at = [](const std::vector<char> &data, int64_t i) {
      int64_t value;
      memcpy(&value, data.data() + i * 8, 8);
      return value;
    };
    std::vector<char> sums = sum.read(), gathered = all.read(), passed = received.read();
    for (int64_t i : {int64_t(0), count - 1}) {
      int64_t want = ranks * (ranks + 1) / 2 * turn + ranks * i;
      EXPECT_EQ(at(sums, i), want) << "turn " << turn;
      if (ranks > 1)
        EXPECT_EQ(at(passed, i), want);
      for (int64_t r = 0; r < ranks; ++r)
        EXPECT_EQ(at(gathered, r * count + i), (r + 1) * turn + i);
    }
    // Piece [ranks * 3, 5]: row r * 3 + i came from rank r's row i.
    std::vector<char> pieces = moved.read();
    for (int64_t row = 0; row < ranks * 3; ++row)
      for (int64_t column = 0; column < 5; ++column)
        EXPECT_EQ(at(pieces, row * 5 + column),
                  (row / 3 + 1) * turn + row % 3 * ranks * 5 + rank.comm.rank() * 5 + column);
  }
  // The first call runs as it is, the second is recorded.
  EXPECT_EQ(enqueued, 2);
}
TEST(NcclThreads, GraphsHoldCollectives) { onThreads(Mesh({{"tp", 3}}), replay); }
TEST(NcclThreads, GraphsHoldMessagesBesideChannels) {
  onThreads(Mesh({{"tp", 3}}), replay, allChannels(Mesh({{"tp", 3}})));
}
TEST(NcclThreads, GraphsOfOneRank) { onThreads(Mesh({{"tp", 1}}), replay); }

// NCCL itself with one rank, in a graph: what one GPU can show.
TEST(NcclThreads, OneRankOfNcclInAGraph) {
  onThreads(Mesh(), [](CommUnderTest &rank, Device &) {
    auto &native = dynamic_cast<cuda::NativeStream &>(rank.stream);
    const cuda::Functions &cuda = native.functions();
    const NcclLibrary &nccl = NcclLibrary::get();
    auto expect = [&](nccl::ncclResult_t result) { nccl.expect(result, "a test", 0); };
    nccl::ncclUniqueId id;
    nccl::ncclComm_t comm = nullptr;
    expect(nccl.ncclGetUniqueId(&id));
    expect(nccl.ncclCommInitRank(&comm, 1, id, 0));
    DeviceData src(rank, {1, 0, 0, 0}), dst(rank, {0, 0, 0, 0});
    cuda::CUgraph graph = nullptr;
    cuda::CUgraphExec exec = nullptr;
    ASSERT_EQ(cuda.cuStreamBeginCapture(native.handle(), cuda::CU_STREAM_CAPTURE_MODE_RELAXED),
              cuda::CUDA_SUCCESS);
    expect(nccl.ncclAllReduce(src.address(), dst.address(), 1, nccl::ncclInt32, nccl::ncclSum, comm,
                              native.handle()));
    ASSERT_EQ(cuda.cuStreamEndCapture(native.handle(), &graph), cuda::CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), cuda::CUDA_SUCCESS);
    for (char turn = 1; turn < 4; ++turn) {
      src.write({turn, 0, 0, 0});
      ASSERT_EQ(cuda.cuGraphLaunch(exec, native.handle()), cuda::CUDA_SUCCESS);
      EXPECT_EQ(dst.read(), (std::vector<char>{turn, 0, 0, 0}));
    }
    EXPECT_EQ(cuda.cuGraphExecDestroy(exec), cuda::CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuGraphDestroy(graph), cuda::CUDA_SUCCESS);
    expect(nccl.ncclCommDestroy(comm));
  });
}

// Rank 0 starts collective 5, and its host goes on; the other ranks do `instead`.
static void stall(CommUnderTest &rank, const std::function<void()> &instead) {
  int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2;
  DeviceData data(rank, std::vector<char>(64));
  rank.plane.barrier();
  if (rank.comm.rank() != 0)
    return instead();
  BlockCollective collective{CollectiveKind::AllReduce, Reduction::Sum, io::DType::F32, everybody, 16};
  rank.comm.wait(rank.comm.start(collective, data.address(), data.address(), rank.stream, 5), rank.stream);
  rank.stream.synchronize();
}

// Goes on meanwhile, as the watch sees it.
static void awaitRank0InCollective5(int64_t rank) {
  const BoardEntry &entry = theBoard->entry(0);
  while (entry.activityInAll() != Activity::Waiting || entry.whereInAll() != 5) {
    ++theBoard->entry(rank).progress;
    usleep(1000);
  }
}

// Looks at the board by hand once rank 0 is seen to wait there: however slow the machine, patience is counted
// in looks.
static void lookOn() {
  awaitRank0InCollective5(1);
  CollectiveNames names = testNames();
  for (Watch watch(*theBoard, {0, 1}, names, /*stallSeconds=*/1);;)
    watch.tick();
}
TEST(NcclThreads, ARankThatDoesNotComeIsNamed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto body = [](CommUnderTest &rank, Device &) { stall(rank, lookOn); };
  EXPECT_EXIT(onGpus(Mesh({{"tp", 2}}), Launcher(), kPatient, body), testing::ExitedWithCode(1),
              "error: rank 1 stalls \\(collective 5, in which rank 0 waits\\): no progress for 1 s");
}

// Boxes that nobody announced find room, behind those that still go through the smaller memory.
TEST(NcclThreads, StagingMemoryGrowsWhenItIsFree) {
  onThreads(Mesh({{"tp", 2}}), [](CommUnderTest &rank, Device &) {
    Sharding rows = {{{"tp", 1, 2}}, {}}, columns = {{}, {{"tp", 1, 2}}};
    int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2, me = rank.comm.rank();
    std::vector<std::unique_ptr<DeviceData>> received;
    std::vector<CommToken> tokens;
    std::vector<int32_t> given(64 * 32);
    for (size_t i = 0; i < given.size(); ++i)
      given[i] = int32_t(i) + int32_t(me) * 64 * 32; // row by row, over both ranks
    std::vector<char> bytes(given.size() * 4);
    memcpy(bytes.data(), given.data(), bytes.size());
    DeviceData src(rank, bytes);
    for (int64_t size : {4, 16, 64}) { // [size, 64]
      Transfers transfers = groupedSend(rank.mesh, {size, 64}, rows, columns, me);
      received.push_back(std::make_unique<DeviceData>(rank, std::vector<char>(size_t(size) * 32 * 4)));
      tokens.push_back(rank.comm.start(transfers, everybody, io::DType::I32, src.address(),
                                       received.back()->address(), rank.stream, 4));
    }
    for (CommToken token : tokens)
      rank.comm.wait(token, rank.stream);
    for (size_t i = 0; i < received.size(); ++i) {
      std::vector<char> data = received[i]->read();
      int64_t half = int64_t(data.size()) / 4 / 32 / 2;
      for (int64_t row = 0; row < 2 * half; ++row) {
        int32_t first;
        memcpy(&first, data.data() + row * 32 * 4, 4);
        EXPECT_EQ(first, row / half * 64 * 32 + row % half * 64 + me * 32) << i << ", row " << row;
      }
    }
  });
}

// What collectives take beside the program is refused in the words of all memory of a GPU. More than 1 TB.
static void askForTooMuch(CommUnderTest &rank, Device &) {
  Transfers transfers = groupedSend(rank.mesh, {1 << 20, 1 << 20}, {{{"tp", 1, 2}}, {}}, {{}, {{"tp", 1, 2}}},
                                    rank.comm.rank());
  DeviceData data(rank, std::vector<char>(64));
  int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2;
  rank.comm.start(transfers, everybody, io::DType::F32, data.address(), data.address(), rank.stream, 3);
}
TEST(NcclThreads, StagingMemoryThatIsNotThereIsNamed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(onGpus(Mesh({{"tp", 2}}), Launcher(), kPatient, askForTooMuch), testing::ExitedWithCode(1),
              "not enough memory on the GPU \\(the staging memory of collectives of rank ., GPU . .*it takes "
              "[0-9]* bytes .*, and [0-9]* of [0-9]* bytes are free: [0-9]* bytes .* are missing");
}

// What the watch is told of the device follows it in, and out again.
TEST(NcclThreads, ARankLeavesItsCollectives) {
  onThreads(Mesh({{"tp", 2}}), [](CommUnderTest &rank, Device &) {
    int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2;
    DeviceData data(rank, std::vector<char>(64));
    auto &comm = dynamic_cast<NcclCommunicator &>(rank.comm);
    const BoardEntry &entry = theBoard->entry(rank.comm.rank());
    auto &native = dynamic_cast<cuda::NativeStream &>(rank.stream);
    for (int32_t where : {5, 6}) {
      rank.comm.wait(
          rank.comm.start({CollectiveKind::AllReduce, Reduction::Sum, io::DType::F32, everybody, 16},
                          data.address(), data.address(), rank.stream, where),
          rank.stream);
      uint64_t before = entry.progressInAll();
      EXPECT_EQ(native.functions().cuCtxSynchronize(), cuda::CUDA_SUCCESS);
      comm.show();
      EXPECT_EQ(entry.device, 0);
      EXPECT_EQ(entry.activityInAll(), Activity::Working);
      EXPECT_GE(entry.progressInAll(), before);
    }
  });
}

static void recordLate(CommUnderTest &rank, Device &) {
  Sharding rows = {{{"tp", 1, 2}}, {}}, columns = {{}, {{"tp", 1, 2}}};
  Transfers transfers = groupedSend(rank.mesh, {64, 64}, rows, columns, rank.comm.rank());
  DeviceData src(rank, std::vector<char>(64 * 32 * 4)), dst(rank, std::vector<char>(64 * 32 * 4));
  int64_t everybody = int64_t(conformanceGroups(rank.mesh).size()) - 2;
  auto &native = dynamic_cast<cuda::NativeStream &>(rank.stream);
  native.functions().cuStreamBeginCapture(native.handle(), cuda::CU_STREAM_CAPTURE_MODE_RELAXED);
  rank.comm.start(transfers, everybody, io::DType::F32, src.address(), dst.address(), rank.stream, 3);
}
TEST(NcclThreads, StagingMemoryIsNotMadeInARecording) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      onGpus(Mesh({{"tp", 2}}), Launcher(), kPatient, recordLate), testing::ExitedWithCode(1),
      "cannot communicate \\(collective 3 of rank .\\): its boxes were not announced before it was recorded");
}

//===- Processes -===//

static Mesh parseMesh(const char *text) {
  std::vector<MeshAxis> axes;
  for (std::string rest = text; !rest.empty();) {
    size_t comma = std::min(rest.find(','), rest.size()), equals = rest.find('=');
    axes.push_back({rest.substr(0, equals), atoll(rest.c_str() + equals + 1)});
    rest.erase(0, comma + 1);
  }
  return Mesh(axes);
}

static CommUnderTest *thisRank = nullptr;
static Device *thisDevice = nullptr;

TEST(NcclProcesses, Conformance) {
  if (thisRank)
    suite(*thisRank, *thisDevice);
}
TEST(NcclProcesses, GraphsHoldCollectives) {
  if (thisRank && thisRank->mesh.axes().size() == 1)
    replay(*thisRank, *thisDevice);
}

// Rank 1 dies while the others wait for it on their GPUs.
static void die(CommUnderTest &rank, Device &) {
  stall(rank, [&] {
    awaitRank0InCollective5(rank.comm.rank());
    if (rank.comm.rank() == 1)
      kill(getpid(), SIGKILL);
    for (;; usleep(1000))
      ++theBoard->entry(rank.comm.rank()).progress;
  });
}

static int onThisRank(const Mesh &mesh, const std::string &mode) {
  int result = 1;
  onGpus(
      mesh, Launcher::detect(), mode == "die" ? 6 : kPatient,
      [&](CommUnderTest &rank, Device &device) {
        if (mode == "die")
          return die(rank, device);
        thisRank = &rank;
        thisDevice = &device;
        if (rank.comm.rank() != 0)
          delete testing::UnitTest::GetInstance()->listeners().Release(
              testing::UnitTest::GetInstance()->listeners().default_result_printer());
        result = RUN_ALL_TESTS();
      },
      allChannels(mesh));
  return result;
}

} // namespace tessera::runtime

int main(int argc, char **argv) {
  using namespace tessera::runtime;
  testing::InitGoogleTest(&argc, argv);
  std::string mode;
  const char *mesh = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--mesh=", 7) == 0)
      mesh = argv[i] + 7;
    if (strncmp(argv[i], "--mode=", 7) == 0)
      mode = argv[i] + 7;
  }
  try {
    if (mesh) {
      testing::GTEST_FLAG(filter) = "NcclProcesses.*";
      return onThisRank(parseMesh(mesh), mode);
    }
    return RUN_ALL_TESTS();
  } catch (const std::exception &e) {
    endRun(e);
  }
}
