// Messages along channels: each pair of ranks has an order of its own, and waits for nobody else.
#include "NcclRanks.h"

#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::runtime {

static DeviceData eight(CommUnderTest &rank, char value) {
  return DeviceData(rank, std::vector<char>(8, value));
}
static int64_t everybodyOf(CommUnderTest &rank) { return int64_t(conformanceGroups(rank.mesh).size()) - 2; }

// Rank 1 takes rank 0's message behind what follows from the one that rank 0 sends next, to rank 2.
TEST(NcclChannels, OneIsNotHeldUpByAnother) {
  Mesh mesh({{"pp", 3}});
  auto body = [](CommUnderTest &rank, Device &) {
    DeviceData first = eight(rank, 1), second = eight(rank, 2), in = eight(rank, 0), also = eight(rank, 0);
    Communicator &comm = rank.comm;
    if (comm.rank() == 0) {
      CommToken one = comm.send(1, 0, first.address(), 8, rank.stream),
                two = comm.send(2, 0, second.address(), 8, rank.stream);
      comm.wait(one, rank.stream);
      comm.wait(two, rank.stream);
    } else if (comm.rank() == 2) {
      comm.wait(comm.receive(0, 0, in.address(), 8, rank.stream), rank.stream);
      comm.wait(comm.send(1, 0, in.address(), 8, rank.stream), rank.stream);
    } else {
      comm.wait(comm.receive(2, 0, in.address(), 8, rank.stream), rank.stream);
      EXPECT_EQ(in.read(), std::vector<char>(8, 2));
      comm.wait(comm.receive(0, 0, also.address(), 8, rank.stream), rank.stream);
      EXPECT_EQ(also.read(), std::vector<char>(8, 1));
    }
    comm.expectAllWaitedFor();
  };
  onThreads(mesh, body, allChannels(mesh));
}

// The order of the sends says which message is which, and nothing else does.
TEST(NcclChannels, AreFirstInFirstOut) {
  Mesh mesh({{"pp", 2}});
  auto body = [](CommUnderTest &rank, Device &) {
    EXPECT_FALSE(rank.comm.messagesHaveNames());
    std::vector<DeviceData> data;
    std::vector<CommToken> tokens;
    for (char i = 0; i < 5; ++i) {
      data.push_back(eight(rank, rank.comm.rank() == 0 ? i : -1));
      tokens.push_back(rank.comm.rank() == 0
                           ? rank.comm.send(1, i, data.back().address(), 8, rank.stream)
                           : rank.comm.receive(0, 4 - i, data.back().address(), 8, rank.stream));
    }
    for (size_t i = tokens.size(); i-- > 0;)
      rank.comm.wait(tokens[i], rank.stream);
    for (char i = 0; i < 5; ++i)
      EXPECT_EQ(data[size_t(i)].read(), std::vector<char>(8, i));
  };
  onThreads(mesh, body, {{0, 1}});
}

// A message that nobody takes yet holds up no collective, and has no part in what is recorded meanwhile.
TEST(NcclChannels, CallsGoOnBesideThem) {
  Mesh mesh({{"pp", 2}});
  auto body = [](CommUnderTest &rank, Device &device) {
    DeviceData message = eight(rank, rank.comm.rank() == 0 ? 7 : 0), src = eight(rank, 0),
               sum = eight(rank, 0);
    std::function<void()> enqueue = [&] {
      rank.comm.wait(
          rank.comm.start({CollectiveKind::AllReduce, Reduction::Sum, io::DType::I64, everybodyOf(rank), 1},
                          src.address(), sum.address(), rank.stream, 2),
          rank.stream);
      rank.comm.endEntry(rank.stream);
    };
    auto call = [&](int64_t turn) {
      std::vector<char> given(8), wanted(8);
      int64_t both = 2 * turn;
      memcpy(given.data(), &turn, 8);
      memcpy(wanted.data(), &both, 8);
      src.write(given);
      std::vector<int64_t> counts;
      std::vector<ByteSpan> dead;
      rank.comm.beginCall(rank.stream);
      device.call({{0}, src.address(), counts, dead, enqueue}, rank.stream);
      rank.comm.endCall();
      EXPECT_EQ(sum.read(), wanted);
    };
    // As it is, recorded, launched again; with a message on its way that is taken later.
    for (int64_t turn = 1; turn <= 9; ++turn) {
      CommToken goes = 0;
      BlockCollective beside{CollectiveKind::AllReduce, Reduction::Sum, io::DType::I64, everybodyOf(rank), 1};
      rank.comm.run(beside, src.address(), sum.address(), rank.stream, 4); // its marks are not the call's
      if (rank.comm.rank() == 0)
        goes = rank.comm.send(1, 0, message.address(), 8, rank.stream, 3);
      call(turn);
      rank.plane.barrier(); // nobody takes it before
      if (rank.comm.rank() == 1) {
        goes = rank.comm.receive(0, 0, message.address(), 8, rank.stream, 3);
        rank.comm.wait(goes, rank.stream);
        EXPECT_EQ(message.read(), std::vector<char>(8, 7));
      } else {
        rank.comm.wait(goes, rank.stream);
      }
    }
  };
  onThreads(mesh, body, {{0, 1}});
}

// The watch hears of a message from whoever waits for it: who has sent one goes on.
TEST(NcclChannels, WhoWaitsIsSeen) {
  Mesh mesh({{"pp", 2}});
  auto body = [](CommUnderTest &rank, Device &) {
    DeviceData out = eight(rank, 1), in = eight(rank, 0);
    auto &comm = dynamic_cast<NcclCommunicator &>(rank.comm);
    const BoardEntry &first = theBoard->entry(0);
    CommToken goes = comm.send(1 - comm.rank(), 0, out.address(), 8, rank.stream, 3);
    if (comm.rank() == 0) {
      rank.stream.synchronize();
      comm.show();
      EXPECT_EQ(first.device, 0);
    }
    rank.plane.barrier();
    if (comm.rank() == 0) {
      comm.wait(goes, rank.stream); // rank 1 takes it once it has seen this
      rank.stream.synchronize();
      comm.show();
      EXPECT_EQ(first.device, 0);
    } else {
      for (int turn = 0; turn < 30000 && first.whereInAll() != 3; ++turn)
        usleep(1000);
      EXPECT_EQ(first.activityInAll(), Activity::Waiting);
      EXPECT_EQ(first.whereInAll(), 3);
    }
    comm.wait(comm.receive(1 - comm.rank(), 0, in.address(), 8, rank.stream, 4), rank.stream);
    if (comm.rank() == 1)
      comm.wait(goes, rank.stream);
    EXPECT_EQ(in.read(), std::vector<char>(8, 1));
  };
  onThreads(mesh, body, allChannels(mesh));
}

} // namespace tessera::runtime
