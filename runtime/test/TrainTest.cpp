// OUT train end to end: the numbers of plain loops on every mesh, saves, resumed runs, signals.
#include "TrainRun.h"

using namespace fake;
using nlohmann::json;

namespace {

using Train = TrainRun;

TEST_F(Train, NumbersOfPlainLoopsOnEveryMesh) {
  Weights after;
  std::vector<Line> lines = reference(4, after);
  for (int ranks : {1, 2, 3})
    for (const char *driver : {"fake", "checked"}) {
      Outcome o = shell(program(ranks, driver) + words(4, "--log=log --save=save"));
      ASSERT_EQ(o.status, 0) << ranks << driver << o.err;
      EXPECT_EQ(o.out, "");
      expectLog("log", lines);
      expectWeights("save/step-4", after);
      std::filesystem::remove_all(folder + "/save");
    }
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  for (int ranks : {2, 3}) {
    Outcome o = shell(mpirun(ranks, program(ranks) + words(4, "--log=log --save=save")));
    ASSERT_EQ(o.status, 0) << ranks << o.err;
    expectLog("log", lines);
    expectWeights("save/step-4", after);
    std::filesystem::remove_all(folder + "/save");
  }
}

TEST_F(Train, AWarmupLongerThanTheRunIsSaid) {
  Outcome o = shell(program(2) + words(1)); // --warmup=2
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.err.find("--warmup=2 is longer than --steps=1: the learning rate does not reach --lr"),
            std::string::npos)
      << o.err;
  EXPECT_EQ(shell(program(2) + words(2)).err.find("longer"), std::string::npos);
}

TEST_F(Train, HyperparametersReachTheProgram) {
  Weights after;
  for (const char *clip : {"0", "0.01"}) {
    std::vector<Line> lines = reference(4, after, atof(clip));
    ASSERT_EQ(
        shell(program(2) + words(4, std::string("--log=log --save=save --overwrite --clip=") + clip)).status,
        0);
    expectLog("log", lines);
    expectWeights("save/step-4", after);
  }
  auto losses = [&](const std::string &flags) {
    EXPECT_EQ(shell(program(1) + words(4, "--log=log " + flags)).status, 0) << read("err");
    std::istringstream text(read("log"));
    std::vector<double> all;
    for (std::string line; std::getline(text, line);)
      all.push_back(json::parse(line)["loss"].get<double>());
    return all;
  };
  const std::vector<double> plain = losses("");
  for (const char *flag : {"--weight-decay=0.9", "--beta1=0.2", "--beta2=0.2", "--eps=1", "--shuffle=1"}) {
    std::vector<double> other = losses(flag);
    EXPECT_EQ(other.size(), 4u);
    EXPECT_NE(other, plain) << flag;
    if (std::string(flag) == "--shuffle=1")
      EXPECT_NE(other[0], plain[0]);
    else
      EXPECT_EQ(other[0], plain[0]) << flag;
  }
}

// More passes, and a step that ends one and begins the next.
TEST_F(Train, PassesOverTheData) {
  EXPECT_EQ(shell(program(2) + words(9, "--epochs=3 --log=log")).status, 0) << read("err");
  expectError(program(2) + words(9), "use --epochs=3, or --steps=4");
}

TEST_F(Train, AResumedRunEndsAsIfItHadNeverStopped) {
  const std::string whole = "--epochs=2 --shuffle=5 --log=log";
  ASSERT_EQ(shell(program(2) + words(8, whole + " --save=whole")).status, 0) << read("err");
  ASSERT_EQ(shell(program(2) + words(8, whole + " --save=kept --save-every=3 --keep=9")).status, 0);
  expectSame("whole/step-8", "kept/step-8");
  auto losses = [&] {
    std::istringstream text(read("log"));
    std::vector<double> all;
    for (std::string line; std::getline(text, line);)
      all.push_back(json::parse(line)["loss"].get<double>());
    return all;
  };
  std::vector<double> wanted = losses();
  ASSERT_EQ(wanted.size(), 8u);
  // On the same mesh: the same bytes, and a log whose later lines are written again.
  Outcome o = shell(program(2) + resumed(8, "kept/step-3", whole + " --save=again"));
  ASSERT_EQ(o.status, 0) << o.err;
  expectSame("whole/step-8", "again/step-8");
  EXPECT_EQ(losses(), wanted);
  // On other meshes: close.
  std::vector<float> table = tensor("whole/step-8/model.safetensors", "table.weight");
  for (int ranks : {1, 3}) {
    ASSERT_EQ(shell(program(ranks) + resumed(8, "kept/step-6", whole + " --save=other --overwrite")).status,
              0)
        << read("err");
    std::vector<float> other = tensor("other/step-8/model.safetensors", "table.weight");
    for (size_t i = 0; i < table.size(); ++i)
      EXPECT_NEAR(other[i], table[i], 2e-5) << ranks << " " << i;
    EXPECT_EQ(losses().size(), 8u);
  }
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  ASSERT_EQ(shell(mpirun(2, program(2) + resumed(8, "kept/step-3", whole + " --save=mpi"))).status, 0)
      << read("err");
  expectSame("whole/step-8", "mpi/step-8");
}

TEST_F(Train, SavesTakeAlongWhatLiesBesideTheWeights) {
  std::filesystem::create_directory(folder + "/model");
  std::filesystem::copy(folder + "/model.safetensors", folder + "/model/model.safetensors");
  std::ofstream(folder + "/model/config.json") << "{\"model_type\": \"llama\"}";
  std::string flags = words(3, "--save=s --save-every=1");
  flags.replace(flags.find("model.safetensors"), 17, "model");
  ASSERT_EQ(shell(program(2) + flags).status, 0) << read("err");
  EXPECT_EQ(read("s/config.json"), read("model/config.json"));
  EXPECT_EQ(read("s/step-3/config.json"), read("model/config.json"));
  EXPECT_TRUE(std::filesystem::exists(folder + "/s/step-2"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/s/step-1")); // --keep=2
  // They come along from a save, too.
  ASSERT_EQ(shell(program(1) + resumed(4, "s", "--save=t")).status, 0) << read("err");
  EXPECT_EQ(read("t/config.json"), read("model/config.json"));
}

// Whatever clipping and rate are; the run goes on as if it had written nothing.
TEST_F(Train, WritesGradients) {
  std::vector<double> w(weights.table.begin(), weights.table.end()), wanted;
  w.insert(w.end(), weights.bias.begin(), weights.bias.end());
  lossOf(w, 0, B, &wanted);
  ASSERT_EQ(shell(program(1) + words(2, "--clip=0.01 --save=plain")).status, 0) << read("err");
  for (int ranks : {1, 2, 3}) {
    Outcome o = shell(program(ranks) +
                      words(2, "--clip=0.01 --grads=g.safetensors --save=s" + std::to_string(ranks)));
    ASSERT_EQ(o.status, 0) << o.err;
    std::vector<float> got = tensor("g.safetensors", "table.weight");
    std::vector<float> bias = tensor("g.safetensors", "table.bias");
    got.insert(got.end(), bias.begin(), bias.end());
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], wanted[i], 1e-6) << ranks << " " << i;
    EXPECT_FALSE(std::filesystem::exists(folder + "/g.safetensors.part"));
  }
  ASSERT_EQ(shell(program(1) + words(2, "--clip=0.01 --grads=h.safetensors --save=again")).status, 0);
  expectSame("plain/step-2", "again/step-2");
  // The program says which state they are in, whatever that is called.
  Outcome renamed =
      shell("env FAKE_MOMENT=velocity " + program(1) + words(1, "--clip=0.01 --grads=v.safetensors"));
  ASSERT_EQ(renamed.status, 0) << renamed.err;
  EXPECT_EQ(tensor("v.safetensors", "table.weight"), tensor("h.safetensors", "table.weight"));
  expectError(program(2) + words(1, "--grads=none/g.safetensors"), "cannot write tensors");
  // Through a link, and beside what others call so.
  std::filesystem::create_symlink("h.safetensors", folder + "/link");
  std::filesystem::remove(folder + "/h.safetensors");
  std::ofstream(folder + "/h.safetensors") << "earlier";
  std::ofstream(folder + "/link.part") << "mine";
  std::ofstream(folder + "/h.safetensors.part") << "mine";
  ASSERT_EQ(shell(program(2) + words(1, "--grads=link")).status, 0) << read("err");
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(tensor("h.safetensors", "table.bias").size(), size_t(V));
  EXPECT_EQ(read("link.part") + read("h.safetensors.part"), "minemine");
  expectError(program(2) + resumed(4, "plain", "--grads=g.safetensors"), "leave out --grads, or --resume");
}

TEST_F(Train, Evaluates) {
  // The steps' own rows as data to evaluate on, the last two rows in a step that is not whole.
  ASSERT_EQ(shell(program(3) + words(4, "--lr=0 --min-lr=0 --log=log --eval=data.safetensors --eval-every=3"))
                .status,
            1); // --lr is given twice
  ASSERT_EQ(shell(program(3) + " train --data=data.safetensors --model=model.safetensors --steps=4 --lr=0 "
                               "--log=log --eval=data.safetensors --eval-every=3")
                .status,
            0)
      << read("err");
  std::vector<double> w(weights.table.begin(), weights.table.end());
  w.insert(w.end(), weights.bias.begin(), weights.bias.end());
  double wanted = lossOf(w, 0, rows, nullptr);
  std::istringstream text(read("log"));
  int evaluated = 0;
  for (std::string line; std::getline(text, line);) {
    json step = json::parse(line);
    EXPECT_EQ(step.contains("eval_loss"), step["step"] == 3 || step["step"] == 4) << line;
    if (step.contains("eval_loss")) {
      EXPECT_NEAR(step["eval_loss"].get<double>(), wanted, 1e-5);
      ++evaluated;
    }
  }
  EXPECT_EQ(evaluated, 2);
}

// Rows 5 to 9 are step 2, and none has two tokens: it takes its rows and changes nothing. So in evaluation.
TEST_F(Train, StepsWithoutATokenToPredictChangeNothing) {
  std::vector<int32_t> silent = tokens, others;
  for (int64_t row = B; row < 2 * B; ++row)
    std::fill_n(silent.begin() + row * (S + 1) + 1, S, -1);
  for (int64_t row = 0; row < rows; ++row)
    if (row < B || row >= 2 * B)
      others.insert(others.end(), tokens.begin() + row * (S + 1), tokens.begin() + (row + 1) * (S + 1));
  writeTokens("others", others, S + 1);
  writeTokens("silent", silent, S + 1);
  auto on = [](const std::string &data, int steps, const std::string &more) {
    return " train --data=" + data +
           ".safetensors --model=model.safetensors --schedule=constant --steps=" + std::to_string(steps) +
           " --eval=" + data + ".safetensors " + more;
  };
  ASSERT_EQ(shell(program(2) + on("others", 3, "--log=log0 --save=o")).status, 0) << read("err");
  ASSERT_EQ(shell(program(2) + on("silent", 4, "--log=log1 --save=l --save-every=2")).status, 0)
      << read("err");
  EXPECT_NE(read("err").find("step 2 has changed nothing: none of its rows has a token to predict"),
            std::string::npos);
  expectSame("o/step-3", "l/step-4");
  auto lines = [&](const std::string &name) {
    std::istringstream text(read(name));
    std::vector<json> lines;
    for (std::string line; std::getline(text, line);)
      lines.push_back(json::parse(line));
    return lines;
  };
  const std::vector<json> log0 = lines("log0"), log1 = lines("log1");
  ASSERT_EQ(log1.size(), 4u);
  EXPECT_TRUE(log1[1]["loss"].is_null());
  EXPECT_EQ(log1[2]["loss"], log0[1]["loss"]);
  EXPECT_NEAR(log1[3]["eval_loss"].get<double>(), log0[2]["eval_loss"].get<double>(), 1e-6);
  // A run goes on from such a step, and may end with one.
  ASSERT_EQ(shell(program(2) + " train --data=silent.safetensors --schedule=constant --resume=l/step-2 "
                               "--steps=4 --save=again")
                .status,
            0)
      << read("err");
  expectSame("l/step-4", "again/step-4");
  ASSERT_EQ(shell(program(2) + on("silent", 2, "--save=last")).status, 0) << read("err");
}

// The folder is there before the log is.
TEST_F(Train, TheLogMayLieInTheFolderOfTheSaves) {
  Outcome o = shell(program(1) + words(2, "--save=runs/s/ --log=./runs/s/log.jsonl"));
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(read("runs/s/log.jsonl"), "");
  EXPECT_TRUE(std::filesystem::exists(folder + "/runs/s/step-2"));
  expectError(program(1) + words(2, "--save=other --log=none/log.jsonl"), "No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder + "/other"));
  // Or in a folder that the first save makes, too.
  o = shell(program(1) + words(2, "--save=t/u/ck --log=t/log.jsonl"));
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_NE(read("t/log.jsonl"), "");
  EXPECT_TRUE(std::filesystem::exists(folder + "/t/u/ck/step-2"));
  expectError(program(1) + words(2, "--save=v/ck --log=v/none/log.jsonl"), "No such file or directory");
  // A run that is refused makes no folder.
  expectError(program(1) + words(2, "--save=v/ck --log=v/l --grads=none/g.safetensors"),
              "cannot write tensors (none/g.safetensors): No such file or directory");
  expectError(program(1) + words(2, "--save=v --log=v/l --grads=none/g.safetensors"),
              "cannot write tensors (none/g.safetensors): No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder + "/v"));
}

// In a file: lines of the first step, the last and every twentieth of the run.
TEST_F(Train, PlainLinesInAFile) {
  Outcome o = shell(program(1) + words(4, "--save=s"));
  ASSERT_EQ(o.status, 0) << o.err;
  for (const char *part : {"step 1 of 4: loss ", ", norm ", " tokens/s, ", " MB, 0:00 left\n",
                           "step 4 of 4: loss ", "saved step 4 in s\n"})
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find('\r'), std::string::npos);
}

// SIGTERM, SIGHUP, Ctrl-C, and under mpirun SIGUSR1: the step is finished and saved, and the run goes on from
// there.
TEST_F(Train, SignalsSaveAndEnd) {
  const std::string whole = "--epochs=9 --log=log";
  ASSERT_EQ(shell(program(2) + words(30, whole + " --save=whole")).status, 0) << read("err");
  auto interrupted = [&](const std::string &start, const std::string &signal) {
    std::filesystem::remove(folder + "/log");
    std::filesystem::remove_all(folder + "/s");
    // Three seconds of steps: whoever sends the signal comes in time, however long he waits for a processor.
    return shell("FAKE_DELAY=100 " + start +
                 " & pid=$!; for i in $(seq 1000); do [ -s log ] && break; sleep 0.02; done; kill -" +
                 signal + " $pid; wait $pid");
  };
  auto goesOn = [&] {
    int steps = 0;
    std::istringstream text(read("log"));
    for (std::string line; std::getline(text, line);)
      ++steps;
    EXPECT_GT(steps, 0);
    EXPECT_LT(steps, 30);
    EXPECT_TRUE(std::filesystem::exists(folder + "/s/step-" + std::to_string(steps)));
    ASSERT_EQ(shell(program(2) + resumed(30, "s", whole + " --save=s")).status, 0) << read("err");
    expectSame("whole/step-30", "s/step-30");
  };
  Outcome o = interrupted(program(2) + words(30, whole + " --save=s"), "TERM");
  EXPECT_EQ(o.status, 143) << o.err;
  EXPECT_NE(o.err.find("stopped by a signal after step "), std::string::npos) << o.err;
  EXPECT_EQ(o.err.find("error"), std::string::npos) << o.err;
  goesOn();
  // Ctrl-C, which a shell has those that it starts by & ignore.
  o = interrupted("env --default-signal=INT " + program(2) + words(30, whole + " --save=s"), "INT");
  EXPECT_EQ(o.status, 143) << o.err;
  EXPECT_NE(o.err.find("stopped by a signal after step "), std::string::npos) << o.err;
  goesOn();
  // A terminal that goes.
  o = interrupted("env --default-signal=HUP " + program(2) + words(30, whole + " --save=s"), "HUP");
  EXPECT_EQ(o.status, 143) << o.err;
  EXPECT_NE(o.err.find("stopped by a signal after step "), std::string::npos) << o.err;
  goesOn();
  // Under nohup it goes on to its end.
  o = interrupted("env --ignore-signal=HUP " + program(2) + words(30, whole), "HUP");
  EXPECT_EQ(o.status, 0) << o.err;
  o = interrupted(program(2) + words(30, whole + " --save=s"), "USR1"); // of a batch system
  EXPECT_EQ(o.status, 143) << o.err;
  goesOn();
  o = interrupted(program(2) + words(30, whole), "TERM");
  EXPECT_EQ(o.status, 143) << o.err;
  EXPECT_NE(o.err.find("nothing was saved: there is no --save"), std::string::npos) << o.err;
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  o = interrupted("ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -np 2 " +
                      program(2) + words(30, whole + " --save=s"),
                  "USR1");
  EXPECT_EQ(o.status, 143) << o.err;
  EXPECT_EQ(o.err.find("error"), std::string::npos) << o.err;
  goesOn();
}

TEST_F(Train, BenchAndInfo) {
  Outcome o = shell(program(2) + " bench --json --init=random:1");
  ASSERT_EQ(o.status, 0) << o.err;
  json bench = json::parse(o.out);
  EXPECT_GT(bench["step_s"].get<double>(), 0);
  EXPECT_GT(bench["cpu_s"].get<double>(), 0);
  EXPECT_NEAR(bench["tokens_per_s"].get<double>() * bench["step_s"].get<double>(), B * S, 1e-6);
  expectError(program(2) + " bench --decode=4 --init=random:1", "this program trains, and takes no prompts");
  json info = json::parse(shell(program(2) + " info --json").out);
  EXPECT_EQ(info["train"], json({{"batch", B}, {"seq", S}, {"micro_batches", M}, {"vocab", V}}));
  json collectives = info["steps"]["train"]["collectives"];
  ASSERT_EQ(collectives.size(), 4u);
  EXPECT_EQ(collectives[0]["kind"], "all_gather");
  EXPECT_EQ(collectives[0]["axes"], json::array({"fsdp"}));
  EXPECT_EQ(collectives[0]["executions"], 1);
  EXPECT_EQ(collectives[0]["bytes_per_rank"], 6 * V * 4);
  EXPECT_EQ(info["steps"]["evaluate"]["collectives"].size(), 2u);
  // Half of the table a rank, in lines of 64 bytes, and of each moment as much.
  int64_t table = (6 * V * 4 + 63) / 64 * 64, bias = 64;
  EXPECT_EQ(info["memory"]["parameters"], json({{"f32", table + bias}}));
  EXPECT_EQ(info["memory"]["moments"], json({{"f32", 2 * (table + bias)}}));
  EXPECT_EQ(info["memory"]["scratch"], json({{"untyped", info["arena_bytes"][0]}})); // it says nothing of it
  EXPECT_EQ(info["weight_bytes"][0], 3 * (table + bias));
  EXPECT_NE(shell(program(2) + " info").out.find("memory       moments "), std::string::npos);
  EXPECT_NE(shell(program(2) + " info").out.find("training     5 rows of 6 tokens a step, 2 micro-batches"),
            std::string::npos);
}

} // namespace
