#include "RunSchedules.h"
#include "tessera/runtime/comm/World.h"
#include "tessera/runtime/core/Wait.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Text.h"

#include <chrono>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;

static bool full() {
  const char *value = getenv("TESSERA_FULL");
  return value && std::string(value) == "1";
}

// Seconds in which no rank gets anywhere: then the run ends with a line that says where they stand.
static constexpr double kPatience = 60;

// Ranks are threads.
static void onThreads(int32_t ranks, const CollectiveNames &names, double stallSeconds,
                      const std::function<void(Communicator &)> &body) {
  setBusyThreads(1000);
  Mesh mesh({{"pp", ranks}});
  WorldOptions options{mesh, names, stallSeconds,  /*oneMachine=*/true, RanksFrom::Threads,
                       0,    {},    [](Board *) {}};
  findWorld("host", RanksFrom::Threads)->run(options, [&](Communicator &comm, HostPlane &, BoardEntry &) {
    body(comm);
  });
}

// Any order, any placement, with the least buffers.
TEST(PipelineExecutor, RandomSchedulesArriveWithTheLeastBuffers) {
  schedule::RandomSchedules random(7);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    RandomRun run(random, 5, 8, 40000);
    ASSERT_NE(run.least.withoutDeadlock, schedule::kEndless);
    onThreads(run.schedule.numRanks(), {}, kPatience,
              [&](Communicator &comm) { runOnRank(run, run.buffers(), comm); });
    if (HasFailure())
      return;
  }
}

// What a process says and how it ends.
static std::string inAProcess(const std::function<void()> &body) {
  int pipe[2];
  if (::pipe(pipe))
    return "no pipe";
  pid_t child = fork();
  if (child == 0) {
    dup2(pipe[1], 2);
    body();
    _exit(0);
  }
  close(pipe[1]);
  std::string text;
  char piece[4096];
  for (ssize_t n; (n = read(pipe[0], piece, sizeof(piece))) > 0;)
    text.append(piece, size_t(n));
  close(pipe[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return std::to_string(WEXITSTATUS(status)) + " " + text;
}

// With one buffer less than the least the simulator says where it stalls; so it does, and the line names an
// action of the list.
TEST(PipelineExecutor, OneBufferLessStalls) {
  schedule::RandomSchedules random(11);
  int stalled = 0;
  for (int i = 0; stalled < (full() ? 40 : 4) && i < 2000; ++i) {
    // More than transports copy.
    RandomRun run(random, 4, 100000, 120000);
    if (run.least.withoutDeadlock < 2)
      continue;
    ++stalled;
    schedule::Transport transport;
    transport.sendBuffers = run.least.withoutDeadlock - 1;
    schedule::Simulation predicted = schedule::simulate(run.schedule, {}, transport);
    EXPECT_FALSE(predicted.ended());
    CollectiveNames names;
    // One numbering for all ranks.
    std::vector<int32_t> first;
    for (const schedule::ActionList &list : run.schedule.ranks) {
      first.push_back(int32_t(names.names.size()));
      for (const schedule::Action &action : list)
        names.names.push_back(schedule::toString(action));
    }
    std::string said = inAProcess([&] {
      onThreads(run.schedule.numRanks(), names, 1, [&](Communicator &comm) {
        runOnRank(run, transport.sendBuffers, comm, first[size_t(comm.rank())]);
      });
    });
    EXPECT_EQ(said[0], '1') << said;
    // The first rank of those that wait, at what the simulator has it stand at, or at the message for that.
    bool named = false;
    for (const schedule::Place &place : predicted.stalled) {
      const schedule::Action &action = run.schedule.ranks[size_t(place.rank)][size_t(place.index)];
      named |= said.find("(" + schedule::toString(action) + ")") != std::string::npos;
      for (const schedule::Action &part : schedule::partsOf(action))
        if (std::optional<schedule::Action> receive = schedule::receiveFor(run.schedule, part))
          named |= said.find("(" + schedule::toString(*receive) + ")") != std::string::npos;
    }
    EXPECT_TRUE(named) << said;
  }
  EXPECT_GE(stalled, 4);
}

// Whoever is done with a send may send again, whichever it was.
TEST(PipelineExecutor, AnySendThatIsDoneFreesItsBuffer) {
  // Rank 0 sends to ranks 1 and 2; rank 1 takes its message only after what follows from rank 2's.
  std::vector<int64_t> order;
  onThreads(3, {}, kPatience, [&](Communicator &comm) {
    PostingStream stream;
    std::vector<char> data(100000, char(comm.rank()));
    if (comm.rank() == 0) {
      std::vector<CommToken> tokens{comm.send(1, 1, data.data(), data.size(), stream, 0),
                                    comm.send(2, 2, data.data(), data.size(), stream, 0)};
      EXPECT_EQ(comm.waitForAny(tokens, stream, 0), 1u);
      comm.wait(comm.send(1, 3, data.data(), 8, stream, 0), stream);
      comm.wait(tokens[0], stream);
    } else if (comm.rank() == 1) {
      comm.wait(comm.receive(0, 3, data.data(), 8, stream, 0), stream);
      comm.wait(comm.receive(0, 1, data.data(), data.size(), stream, 0), stream);
    } else {
      comm.wait(comm.receive(0, 2, data.data(), data.size(), stream, 0), stream);
    }
    comm.expectAllWaitedFor();
  });
}

// A communicator whose messages are told apart by their order alone; nothing is sent.
class Nameless final : public Communicator {
public:
  void setGroups(std::vector<RankGroup>) override {}
  bool messagesHaveNames() const override { return false; }
  CommToken start(const BlockCollective &, const void *, void *, Stream &, int32_t) override { return 0; }
  CommToken start(const Transfers &, int64_t, io::DType, const void *, void *, Stream &, int32_t) override {
    return 0;
  }
  CommToken send(int64_t, int64_t, const void *, size_t, Stream &, int32_t) override { return 0; }
  CommToken receive(int64_t, int64_t, void *, size_t, Stream &, int32_t) override { return 0; }
  void wait(CommToken, Stream &) override {}
  void expectAllWaitedFor() override {}
};

// Where a message has no name its receive has to stand where its send does.
TEST(PipelineExecutor, ListsThatOvertakeAreRefusedWhereMessagesHaveNoNames) {
  Nameless comm;
  PostingDevice device;
  auto why = [&](schedule::Lowering lowering) -> std::string {
    schedule::Schedule lists =
        lower(schedule::generate(schedule::Name::ZeroBubble, 2, 4, 2).take(), lowering);
    try {
      PipelineExecutor(lists, 0, {0, 1}, {{8, 8, 8}, {8, 8, 8}}, 2, comm, device);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(why(schedule::Lowering::Eager), "");
  EXPECT_EQ(
      why(schedule::Lowering::Late),
      "cannot run the pipeline (r0 at 0RECV_B0: r1 sends 1SEND_F2 first): messages of these ranks arrive "
      "in the order of their sends; compile with a list whose receives stand in that order");
}

// A step takes as long as the simulator says, or longer where the machine is busy: the first rank has both
// the first and the last action.
TEST(PipelineExecutor, DelaysStretchActionsAndMessages) {
  schedule::Schedule lists = lower(schedule::generate(schedule::Name::OneForwardOneBackward, 3, 4).take(),
                                   schedule::Lowering::Eager);
  schedule::Costs delays;
  delays.forward = {2, 5, 1};
  delays.backwardInput = {3, 1, 4};
  delays.backwardWeight = {1, 2, 1};
  delays.link = {7};
  ValueSizes sizes{{100, 64}, {8, 24}}; // of no multiple of what is put behind them
  onThreads(3, {}, kPatience, [&](Communicator &comm) {
    PostingStream stream;
    CheckedWork work(lists, sizes);
    PipelineExecutor executor(lists, int32_t(comm.rank()), {0, 1, 2}, sizes, 2, comm, stream.device(), 0,
                              delays);
    auto begin = std::chrono::steady_clock::now();
    executor.run(work, stream);
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(work.complaint, "");
    if (comm.rank() == 0) {
      EXPECT_GE(took.count(), schedule::simulate(lists, delays).makespan);
    }
  });
}
