#include "../comm/SharedSegment.h"
#include "CommConformance.h"
#include "PostingStream.h"
#include "tessera/runtime/comm/ProgramCollectives.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/Wait.h"

#include <atomic>
#include <chrono>
#include <dirent.h>
#include <gtest/gtest.h>
#include <thread>
#include <tuple>
#include <unistd.h>

namespace tessera::runtime {

// On every world of the list whose ranks are threads.
static void onThreads(const Mesh &mesh, bool spin, const std::function<void(CommUnderTest &)> &body) {
  setBusyThreads(spin ? 1 : 1000);
  for (const World *world : worlds()) {
    if (!world->connects("host", RanksFrom::Threads))
      continue;
    SCOPED_TRACE(world->name());
    std::vector<Board *> boards;
    CollectiveNames names;
    WorldOptions options{
        mesh, names, /*stallSeconds=*/1e6, /*oneMachine=*/true, RanksFrom::Threads, 0, {}, [&](Board *board) {
          boards.push_back(board);
        }};
    world->run(options, [&](Communicator &comm, HostPlane &plane, BoardEntry &) {
      PostingStream stream;
      CommUnderTest test{comm, plane, stream, mesh};
      setConformanceGroups(test);
      body(test);
    });
    // Signal handlers that know of the board must forget it.
    ASSERT_EQ(boards.size(), 2u);
    EXPECT_NE(boards[0], nullptr);
    EXPECT_EQ(boards[1], nullptr);
  }
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

TEST(HostComm, RowsGoWhereCountsSay) {
  onThreads(Mesh(), true, runRowExchanges);
  onThreads(Mesh({{"ep", 2}}), true, runRowExchanges);
  onThreads(Mesh({{"ep", 3}}), false, runRowExchanges);
  onThreads(Mesh({{"dp", 2}, {"ep", 4}}), false, runRowExchanges);
}

// Counts are data, and a kernel may have written anything: no row is sent that is not there.
TEST(HostComm, CountsThatNoExchangeHasEndTheRun) {
  for (std::vector<int32_t> counts : {std::vector<int32_t>{3, 2}, {-1, -1}, {5, 5}, {4, 4}})
    onThreads(Mesh(), false, [&](CommUnderTest &rank) {
      RowExchange exchange = {io::DType::F32, 0, 1, 4, 3};
      float src[4] = {}, dst[3] = {};
      EXPECT_THROW(rank.comm.start(exchange, src, counts.data(), dst, rank.stream, 3), Error) << counts[0];
    });
}

// Whoever orders tasks hears of all memory that one touches: of an exchange of rows of its counts, too.
TEST(HostComm, AnExchangeReadsItsRowsAndItsCounts) {
  onThreads(Mesh(), false, [&](CommUnderTest &rank) {
    RowExchange exchange = {io::DType::F32, 0, 2, 4, 3};
    float src[8] = {}, dst[6] = {};
    int32_t counts[2] = {2, 2};
    CommToken token = rank.comm.start(exchange, src, counts, dst, rank.stream, 3);
    std::vector<std::tuple<const void *, size_t, int>> touched;
    for (const MemoryAccess &access : static_cast<PostingStream &>(rank.stream).posted)
      touched.emplace_back(access.address, access.bytes, access.kind);
    EXPECT_EQ(touched, (decltype(touched){{counts, sizeof counts, MemoryAccess::Read},
                                          {src, sizeof src, MemoryAccess::Read},
                                          {dst, sizeof dst, MemoryAccess::Write}}));
    rank.comm.wait(token, rank.stream);
  });
}

// Behind the last member there is nobody, even if the number could be taken for another rank's.
TEST(HostComm, AMessageGoesToAMemberOfItsGroup) {
  onThreads(Mesh({{"tp", 2}}), false, [](CommUnderTest &rank) {
    Manifest manifest;
    manifest.mesh = rank.mesh;
    manifest.groups = {{{"tp", 1, 2}}};
    ProgramCollectives collectives(manifest, rank.comm);
    int64_t data = 5;
    for (int64_t index : {-1, 2, 3}) {
      EXPECT_THROW(collectives.send(0, index, 0, &data, 8, rank.stream), Error) << index;
      EXPECT_THROW(collectives.receive(0, index, 0, &data, 8, rank.stream), Error) << index;
    }
  });
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

// A short message is sent from a copy, so that its sender may go on, but not so far that the copy is gone.
TEST(HostComm, ARankStaysUntilWhatItSentIsRead) {
  setBusyThreads(1000);
  Board board(2);
  auto world = createHostWorld(2, board);
  auto sender = createHostCommunicator(world, 0), receiver = createHostCommunicator(world, 1);
  PostingStream stream;
  std::vector<int64_t> sent(8, 5), received(8);
  sender->wait(sender->send(1, 3, sent.data(), 64, stream), stream);
  std::atomic<bool> gone{false};
  std::thread last([&] {
    sender.reset();
    gone = true;
  });
  for (int turn = 0; turn < 50 && !gone; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(gone);
  receiver->wait(receiver->receive(0, 3, received.data(), 64, stream), stream);
  last.join();
  EXPECT_EQ(received, sent);
}

// Who broadcasts far ahead of the others waits before it writes over what they have still to take.
TEST(HostComm, NotesStayUntilTheyAreTaken) {
  std::atomic<int> given{0};
  onThreads(Mesh({{"a", 3}}), false, [&](CommUnderTest &rank) {
    constexpr int turns = 500;
    const bool isRoot = rank.comm.rank() == 0;
    if (!isRoot) { // the root comes as far as it can
      while (given < 16)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    const bool isBehind = isRoot || given < turns;
    EXPECT_TRUE(isBehind) << "the root did not wait";
    int wrong = 0;
    for (int32_t turn = 0; turn < turns && isBehind; ++turn) {
      int32_t value = isRoot ? turn : -1;
      rank.plane.broadcast(&value, sizeof value, 0);
      wrong += value != turn;
      if (isRoot)
        given = turn + 1;
    }
    EXPECT_EQ(wrong, 0);
    rank.plane.barrier();
    given = 0;
  });
}

// Between its start and its wait a message moves when the rank sees to it.
TEST(HostComm, WhatWasStartedMovesBeforeTheWait) {
  setBusyThreads(1000);
  Board board(2);
  auto world = createHostWorld(2, board);
  auto sender = createHostCommunicator(world, 0), receiver = createHostCommunicator(world, 1);
  PostingStream stream;
  std::vector<int64_t> sent(10000, 5), received(10000);
  CommToken receipt = receiver->receive(0, 3, received.data(), 80000, stream);
  CommToken sending = sender->send(1, 3, sent.data(), 80000, stream);
  EXPECT_NE(received, sent);
  receiver->progress();
  EXPECT_EQ(received, sent);
  sender->wait(sending, stream);
  receiver->wait(receipt, stream);
}

// Over a slow link messages come one after another from when they are asked for, and none too early.
TEST(HostComm, ASlowLinkTakesItsTime) {
  setBusyThreads(1000);
  Board board(2);
  auto world = createHostWorld(2, board);
  setenv("TESSERA_COMM_DELAY", "5000,1e6", 1); // 5 ms, 1000 bytes a millisecond
  auto sender = createHostCommunicator(world, 0), receiver = createHostCommunicator(world, 1);
  for (const char *bad : {"5000", "5000,", "-1,1e6", "1,0", "1,2,3", "x,1"}) {
    setenv("TESSERA_COMM_DELAY", bad, 1);
    EXPECT_THROW(createHostCommunicator(world, 0), Error) << bad;
  }
  unsetenv("TESSERA_COMM_DELAY");
  PostingStream stream;
  std::vector<char> sent(10000, 5), first(10000), second(10000);
  CommToken one = sender->send(1, 3, sent.data(), 10000, stream),
            two = sender->send(1, 3, sent.data(), 10000, stream);
  auto begin = std::chrono::steady_clock::now();
  auto milliseconds = [&] {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  CommToken a = receiver->receive(0, 3, first.data(), 10000, stream),
            b = receiver->receive(0, 3, second.data(), 10000, stream);
  receiver->wait(a, stream);
  EXPECT_GE(milliseconds(), 15);
  receiver->wait(b, stream);
  EXPECT_GE(milliseconds(), 25);
  EXPECT_EQ(first, sent);
  EXPECT_EQ(second, sent);
  sender->wait(one, stream);
  sender->wait(two, stream);
}

// Rows of a block take the time of all of them, gathered and summed up.
TEST(HostComm, OverASlowLinkRowsTakeTheTimeOfAll) {
  const int64_t rows = 10, block = 250; // 10 rows of 1000 bytes
  setenv("TESSERA_COMM_DELAY", "0,1e6", 1);
  onThreads(Mesh({{"a", 2}}), false, [&](CommUnderTest &rank) {
    int64_t group = 0;
    while (shardCount(conformanceGroups(rank.mesh)[size_t(group)]) < 2)
      ++group;
    std::vector<float> piece(size_t(rows * block), 1), whole(size_t(2 * rows * block), 1);
    for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      bool gathers = kind == CollectiveKind::AllGather;
      rank.plane.barrier();
      auto begin = std::chrono::steady_clock::now();
      rank.comm.run({kind, gathers ? Reduction::None : Reduction::Sum, io::DType::F32, group,
                     int64_t(gathers ? piece.size() : whole.size()), rows},
                    gathers ? piece.data() : whole.data(), gathers ? whole.data() : piece.data(), rank.stream,
                    NoCollective);
      rank.stream.synchronize();
      EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 0.01)
          << collectiveName(kind);
    }
  });
  unsetenv("TESSERA_COMM_DELAY");
}

// Whose data move must meet in the group's rounds: a manifest that says otherwise is refused before anything
// runs.
TEST(HostComm, APermuteLeadsNobodyOutOfItsGroup) {
  auto manifest = [](const char *axis) {
    return Manifest::parse(
        R"({"version": 2, "task": "", "dtype": "f32", "target": "cpu", "model": "/m", "mesh": [["a", 2], ["b", 2]], "arena_bytes": 64,
          "params": [], "states": [], "matmuls": [], "groups": [[["a", 1, 2]]], "entries": [],
          "collectives": [{"kind": "collective_permute", "dtype": "f32", "group": 0, "elements": 4, "mirrored": [[")" +
        std::string(axis) + R"(", 1, 2]]}]})");
  };
  Manifest inside = manifest("a"), outside = manifest("b");
  Board board(4);
  auto comm = createHostCommunicator(createHostWorld(4, board), 0);
  EXPECT_NO_THROW(ProgramCollectives(inside, *comm));
  EXPECT_THROW(ProgramCollectives(outside, *comm), Error);
}

// Segments of shared memory of this process that have a name.
static int segments() {
  int count = 0;
  std::string mine = "tessera-" + std::to_string(getpid()) + "-";
  DIR *folder = opendir("/dev/shm");
  while (dirent *entry = folder ? readdir(folder) : nullptr)
    count += std::string(entry->d_name).rfind(mine, 0) == 0;
  if (folder)
    closedir(folder);
  return count;
}

// Memory that is not there is an error at once, not a signal later, and leaves nothing behind.
TEST(SharedSegment, IsThereWholeOrNotAtAll) {
  EXPECT_THROW(SharedSegment(size_t(1) << 50), Error);
  EXPECT_EQ(segments(), 0);
  {
    SharedSegment segment(100000);
    EXPECT_EQ(segments(), 1);
    auto *memory = static_cast<char *>(SharedSegment::map(segment.name(), 100000));
    EXPECT_EQ(memory[99999], 0);
  }
  EXPECT_EQ(segments(), 0);
  EXPECT_THROW(SharedSegment::map("/tessera-none", 100), Error);
}

} // namespace tessera::runtime
