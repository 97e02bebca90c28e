// Executables of several ranks: as threads that fail, and as processes under MPI.
#include "AppFixture.h"

using namespace fake;

namespace {

// A rank of a thread world that fails, stalls or crashes ends the run with one line.
TEST(Watch, ThreadRanksThatFail) {
  auto run = [&](const std::string &fault) {
    return shell("bash -c \"FAKE_FAULT=" + fault + " " + program("dp2tp2") +
                 " generate --tokens=1 --max-new-tokens=4 --init=random:1\"");
  };
  struct {
    const char *fault, *what;
  } cases[] = {{"throw:2", "told to fail"},
               {"stall:3", "rank 3 stalls (collective 1, all_reduce over tp, in which rank 2 waits)"},
               {"stall:0", "rank 0 stalls"},
               {"crash:1", "rank 1 crashed"}};
  for (auto &[fault, what] : cases) {
    Outcome o = run(fault);
    EXPECT_EQ(o.status, 1) << fault;
    size_t at = o.err.find("error: ");
    ASSERT_NE(at, std::string::npos) << fault << o.err;
    EXPECT_EQ(o.err.find("error: ", at + 1), std::string::npos) << o.err;
    EXPECT_NE(o.err.find(what), std::string::npos) << fault << ": " << o.err;
  }
}

bool haveMpi() { return system("command -v mpirun >/dev/null 2>&1") == 0; }

// MPI itself leaks: only that is not for the leak checker to say.
std::string mpirun(int ranks, const std::string &command) {
  return "ASAN_OPTIONS=detect_leaks=0 timeout 300 mpirun --allow-run-as-root --oversubscribe -np " +
         std::to_string(ranks) + " " + command;
}

// Lines of ours that start with "error: ".
int errorLines(const std::string &text) {
  int count = 0;
  for (size_t at = 0; (at = text.find("error: ", at)) != std::string::npos; ++at)
    count += at == 0 || text[at - 1] == '\n';
  return count;
}

TEST(Mpi, SameTokensAsThreads) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  std::string args = " generate --print-tokens --max-new-tokens=9 --model=" + model().path, expected;
  for (auto &prompt : prompts) {
    args += flag(prompt);
    expected += tokensLine(model().greedy(prompt, 9));
  }
  for (auto [mesh, ranks] : {std::pair<const char *, int>{"1", 1}, {"tp3", 3}, {"dp2tp2", 4}}) {
    Outcome o = shell(mpirun(ranks, program(mesh) + args));
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.out, expected) << mesh;
  }
  std::string sampled = args + " --temperature=1.2 --seed=4";
  EXPECT_EQ(shell(mpirun(4, program("dp2tp2") + sampled)).out, shell(program("1") + sampled).out);
}

TEST(Mpi, RanksThatTakeEachOtherForOtherMachines) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  // Heartbeats over MPI in place of a shared board.
  auto run = [&](const std::string &fault) {
    return shell("FAKE_FAULT=" + fault + " " +
                 mpirun(3, "sh -c 'TESSERA_MACHINE=$OMPI_COMM_WORLD_RANK exec " + program("tp3") +
                               " generate --print-tokens --max-new-tokens=5 --model=" + model().path +
                               flag(prompts[0]) + "'"));
  };
  Outcome good = run("none:9");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(good.out, tokensLine(model().greedy(prompts[0], 5)));
  for (const char *fault : {"stop:1", "stall:0"}) {
    Outcome o = run(fault);
    EXPECT_NE(o.status, 0);
    EXPECT_GE(errorLines(o.err), 1) << o.err; // each machine may say it
    EXPECT_NE(o.err.find("collective 1"), std::string::npos) << o.err;
  }
}

TEST(Mpi, RanksThatFail) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  struct {
    const char *fault, *what;
  } cases[] = {{"kill:1", "rank 1 ended"},   {"kill:0", "rank 0 ended"},    {"stop:2", "rank 2 stands still"},
               {"stall:1", "rank 1 stalls"}, {"crash:2", "rank 2 crashed"}, {"throw:1", "told to fail"},
               {"exit:1", "rank 1 ended"}};
  for (auto &[fault, what] : cases) {
    // The limit as it is by default; a run that does not end is killed, and says none of these.
    Outcome o =
        shell(std::string("FAKE_FAULT=") + fault + " " +
              mpirun(4, program("dp2tp2") + " generate --tokens=1 --max-new-tokens=4 --init=random:1"));
    EXPECT_NE(o.status, 0) << fault;
    EXPECT_EQ(errorLines(o.err), 1) << fault << "\n" << o.err;
    EXPECT_NE(o.err.find(what), std::string::npos) << fault << "\n" << o.err;
  }
}

TEST(Mpi, ReportsMistakesOnce) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  std::string args = program("tp3") + " generate --init=random:1 --tokens=1";
  for (std::string run : {mpirun(2, args), mpirun(4, args), mpirun(3, args + ",99"),
                          mpirun(3, program("tp3") + " generate --tokens=1 --model=/nonexistent"),
                          mpirun(3, args + " --logits=/nonexistent/x")}) {
    Outcome o = shell(run);
    EXPECT_NE(o.status, 0) << run;
    EXPECT_EQ(errorLines(o.err), 1) << run << "\n" << o.err;
  }
}

} // namespace
