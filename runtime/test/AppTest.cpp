// Executables end to end: the fake program on several meshes against plain loops.
#include "AppFixture.h"

#include <filesystem>

using namespace fake;
using nlohmann::json;

namespace {

TEST(Generate, SameTokensOnEveryMesh) {
  std::string args, expected;
  size_t read = 0, stepped = 0;
  for (auto &prompt : prompts) {
    args += flag(prompt);
    const std::vector<int32_t> made = model().greedy(prompt, 9);
    expected += tokensLine(made);
    read += prompt.size();
    stepped += made.size() - 1;
  }
  for (const char *mesh : meshes)
    for (const char *threads : {"", " --threads=1", " --threads=9"}) {
      Outcome o =
          shell(program(mesh) + " generate --print-tokens --max-new-tokens=9 --model=" + model().path + args +
                threads);
      EXPECT_EQ(o.status, 0) << mesh << o.err;
      EXPECT_EQ(o.out, expected) << mesh << threads;
      EXPECT_EQ(o.err.find("error"), std::string::npos) << o.err;
      // The first token of an answer is the prompt's.
      EXPECT_NE(o.err.find("; prefill: " + std::to_string(read) + " tokens in"), std::string::npos) << o.err;
      EXPECT_NE(o.err.find("; decode: " + std::to_string(stepped) + " tokens in"), std::string::npos)
          << o.err;
    }
}

// The same objects with the driver of the tests: late streams in many orders, memory that the host cannot
// touch.
TEST(Generate, SameTokensInEveryOrder) {
  std::string args, expected;
  for (auto &prompt : prompts) {
    args += flag(prompt);
    expected += tokensLine(model().greedy(prompt, 9));
  }
  for (const char *mesh : meshes)
    for (int seed = 0; seed < 10; ++seed) {
      std::string checked = std::string(FAKE_PROGRAM_DIR) + "/checked_" + mesh;
      Outcome o = shell("TESSERA_CHECKED_SEED=" + std::to_string(seed) + " " + checked +
                        " generate --print-tokens --max-new-tokens=9 --model=" + model().path + args +
                        " --logits=" + tempDir() + "/logits.safetensors");
      EXPECT_EQ(o.status, 0) << mesh << o.err;
      EXPECT_EQ(o.out, expected) << mesh << " seed " << seed << o.err;
    }
}

// One token is the prompt's: none is left for steps.
TEST(Generate, TheSummaryNamesWhatWasDone) {
  const std::string one = program("1") + " generate --init=random:1 --tokens=1 --max-new-tokens=";
  EXPECT_NE(shell(one + "2").err.find("; prefill: 1 token in "), std::string::npos);
  EXPECT_NE(shell(one + "2").err.find("; decode: 1 token in "), std::string::npos);
  EXPECT_EQ(shell(one + "1").err.find("decode"), std::string::npos) << shell(one + "1").err;
}

TEST(Generate, EndTokenStopsARow) {
  // Some prompt ends early; its neighbours go on.
  bool found = false;
  for (int32_t first = 0; first < V && !found; ++first)
    for (int32_t second = 0; second < V && !found; ++second) {
      std::vector<int32_t> prompt = {first, second}, other = {1, 2, 3};
      std::vector<int32_t> made = model().greedy(prompt, 12);
      if (made.size() < 2 || made.size() == 12)
        continue;
      found = true;
      Outcome o =
          shell(program("tp2") + " generate --print-tokens --max-new-tokens=12 --model=" + model().path +
                flag(prompt) + flag(other));
      EXPECT_EQ(o.out, tokensLine(made) + tokensLine(model().greedy(other, 12)));
    }
  EXPECT_TRUE(found);
}

TEST(Generate, DefaultIsTheRoomLeft) {
  std::vector<int32_t> prompt(L - 3, 4);
  Outcome o = shell(program("1") + " generate --print-tokens --model=" + model().path + flag(prompt));
  EXPECT_EQ(o.out, tokensLine(model().greedy(prompt, 3)));
}

TEST(Generate, LogitsOfEveryPosition) {
  for (const char *mesh : meshes)
    for (auto [p, count] : {std::pair(0, 6), {1, 6}, {3, 6}, {0, 0}, {1, 0}, {2, 1}}) {
      std::string file = tempDir() + "/logits.safetensors";
      Outcome o = shell(program(mesh) + " generate --max-new-tokens=" + std::to_string(count) +
                        " --logits=" + file + " --model=" + model().path + flag(prompts[p]) +
                        flag(prompts[2]) + flag(prompts[3]) + flag(prompts[0]));
      ASSERT_EQ(o.status, 0) << o.err;
      auto opened = tessera::io::ModelFile::open(file);
      ASSERT_TRUE(bool(opened));
      const tessera::io::TensorInfo *t = (*opened)->find("logits");
      ASSERT_NE(t, nullptr);
      std::vector<int32_t> sequence = prompts[p], made = model().greedy(sequence, count);
      // The last token has none, but that of a prompt that nothing follows.
      sequence.insert(sequence.end(), made.begin(), made.end() - (count > 0));
      ASSERT_EQ(t->shape, (std::vector<int64_t>{int64_t(sequence.size()), V}));
      std::vector<float> got(t->elements);
      ASSERT_TRUE(bool((*opened)->readRange(*t, 0, t->elements, got.data())));
      for (size_t i = 0; i < sequence.size(); ++i) {
        std::vector<double> want = model().logits({sequence.begin(), sequence.begin() + i + 1});
        for (int64_t v = 0; v < V; ++v)
          ASSERT_NEAR(got[i * V + v], want[v], 1e-4) << mesh << " row " << i << " id " << v;
      }
    }
}

TEST(Generate, SamplesTheSameOnEveryMesh) {
  std::string args =
      " generate --print-tokens --max-new-tokens=20 --temperature=1.5 --seed=11 --model=" + model().path;
  for (auto &prompt : prompts)
    args += flag(prompt);
  std::string one = shell(program("1") + args).out;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 5);
  for (const char *mesh : meshes)
    EXPECT_EQ(shell(program(mesh) + args).out, one) << mesh;
  EXPECT_NE(shell(program("1") + args + " --seed=12").out, one);
  // Alone a prompt draws what it draws in company only if it has the same number: the first one.
  std::string alone =
      shell(program("1") +
            " generate --print-tokens --max-new-tokens=20 --temperature=1.5 --seed=11 --model=" +
            model().path + flag(prompts[0]))
          .out;
  EXPECT_EQ(one.substr(0, alone.size()), alone);
  // A tiny nucleus is greedy.
  Outcome o = shell(
      program("tp3") +
      " generate --print-tokens --max-new-tokens=9 --temperature=0.7 --top-p=0.000001 --seed=3 --model=" +
      model().path + flag(prompts[0]));
  EXPECT_EQ(o.out, tokensLine(model().greedy(prompts[0], 9)));
}

TEST(Generate, TokensOfTheTextArePenalized) {
  std::string expected,
      args = " generate --print-tokens --max-new-tokens=9 --repeat-penalty=0.3 --model=" + model().path;
  for (auto &prompt : prompts)
    args += flag(prompt), expected += tokensLine(model().greedy(prompt, 9, 0.3));
  for (const char *mesh : meshes)
    EXPECT_EQ(shell(program(mesh) + args).out, expected) << mesh;
}

// A folder of --model has the tokenizer, also where that is SentencePiece's own file. What the program was
// compiled from is not there at all.
TEST(Generate, TheTokenizerLiesBesideTheWeights) {
  const std::string folder = tempDir() + "/pieces";
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(model().path, folder + "/model.safetensors");
  std::ofstream(folder + "/config.json") << "{}";
  auto message = [](int field, const std::string &bytes) {
    return std::string(1, char(field << 3 | 2)) + char(bytes.size()) + bytes;
  };
  auto piece = [&](const std::string &text, char type) {
    return message(1, message(1, text) + "\x18" + type);
  };
  std::ofstream(folder + "/tokenizer.model", std::ios::binary)
      << piece("<unk>", 2) << piece("<s>", 3) << piece("</s>", 3) << piece("\xE2\x96\x81", 1) << piece("a", 1)
      << message(2, std::string("\x18\x02")); // merged by scores
  const std::vector<int32_t> prompt = {1, 3, 4, 4};
  Outcome o = shell(program("1") + " generate --json --max-new-tokens=5 --prompt=aa --model=" + folder);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["tokens"], json(model().greedy(prompt, 5)));
}

TEST(Generate, AFolderWithoutWeightsSaysWhatItHas) {
  const std::string folder = tempDir() + "/bare",
                    run = program("tp2") + " generate --tokens=1 --max-new-tokens=2 --model=" + folder;
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/config.json") << "{}";
  expectError(run, "(" + folder + "): there are none beside its config.json; download them");
  std::ofstream(folder + "/pytorch_model.bin") << "PK";
  expectError(run, "(" + folder + "): they are in pytorch_model.bin, which is not read; convert them");
  std::filesystem::remove(folder + "/pytorch_model.bin");
  std::ofstream(folder + "/consolidated.safetensors") << "?";
  expectError(run, "(" + folder + "): they are in consolidated.safetensors, which is not read; convert them");
}

TEST(Generate, MadeUpWeightsDoNotDependOnTheMesh) {
  std::string args = " generate --print-tokens --max-new-tokens=8 --init=random:5" + flag(prompts[0]);
  std::string one = shell(program("1") + args).out;
  EXPECT_EQ(one.rfind("tokens: ", 0), 0u);
  for (const char *mesh : meshes)
    EXPECT_EQ(shell(program(mesh) + args).out, one) << mesh;
}

TEST(Generate, RefusesBadInput) {
  std::string run = program("tp2"), with = " --model=" + model().path;
  expectError(run, "no command");
  expectError(run + " frobnicate", "no such command");
  expectError(run + " train --data=x --steps=1", "--task=generate");
  expectError(run + " generate" + with, "no prompt");
  expectError(run + " generate --tokens=1 --bogus=2" + with, "no such flag");
  expectError(run + " generate" + with + " --tokens", "no value");
  expectError(run + " generate --tokens=1 --print-tokens=yes" + with, "takes no value");
  expectError(run + " generate --tokens=1,,2" + with, "is no token id");
  expectError(run + " generate --tokens=" + with, "is no token id");
  expectError(run + " generate --tokens=1,2x" + with, "is no token id");
  expectError(run + " generate --tokens=37" + with, "out of range");
  expectError(run + " generate --tokens=1,-1" + with, "out of range");
  expectError(run + " generate --tokens=99999999999" + with, "is no token id");
  expectError(run + " generate --tokens=1 --max-new-tokens=32" + with, "do not fit");
  expectError(run + " generate --tokens=1 --tokens=1,2,3,4 --max-new-tokens=29" + with, "prompt 2");
  std::string full = "1"; // as many as the context has, and no word of an answer's length
  for (int i = 1; i < 32; ++i)
    full += ",1";
  expectError(run + " generate --tokens=" + full + with, "32 prompt tokens do not fit");
  expectError(run + " generate --max-new-tokens=x --tokens=1" + with, "no integer");
  expectError(run + " generate --max-new-tokens=-1 --tokens=1" + with, "out of range");
  expectError(run + " generate --temperature=hot --tokens=1" + with, "no number");
  expectError(run + " generate --temperature=-1 --tokens=1" + with, "negative");
  expectError(run + " generate --top-p=0 --tokens=1" + with, "out of range");
  expectError(run + " generate --seed=-3 --tokens=1" + with, "no seed");
  expectError(run + " generate --threads=0 --tokens=1" + with, "out of range");
  expectError(run + " generate --init=zero --tokens=1", "no such initialization");
  expectError(run + " generate --tokens=1 --max-new-tokens=2 --model=/nonexistent", "/nonexistent");
  expectError(run + " generate --prompt=hello --max-new-tokens=2" + with, "/nonexistent/model");
  expectError(run + " generate --tokens=1 --max-new-tokens=2 --logits=/nonexistent/x --init=random:1 2>&1 "
                    ">&2 | grep ^error >&2; exit 1",
              "/nonexistent/x");
  expectError(run + " generate --tokens=1 --logits=-" + with,
              "cannot write logits (--logits=-): nothing is written to standard output; name a file");
  expectError(run + " bench --prompt-len=30 --decode=3" + with, "longest context");
  expectError(run + " bench --tokens=1" + with, "no such flag");
  expectError(run + " info --prompt=x", "no such flag");
  expectError("env FAKE_CPU=warp_drive " + run + " generate --tokens=1" + with, "it lacks warp_drive");
  EXPECT_EQ(shell("FAKE_CPU=warp_drive " + run + " info").status, 0); // may be asked anywhere
  EXPECT_EQ(shell("FAKE_CPU=pni " + run + " generate --tokens=1 --max-new-tokens=1" + with).status, 0);
  expectError("env FAKE_TARGET=abacus " + run + " generate --tokens=1" + with, "(target abacus)");
  expectError("env TORCHELASTIC_RUN_ID=1 " + run + " generate --tokens=1" + with, "torchrun");
  for (const char *number : {"OMPI_COMM_WORLD_SIZE=0", "OMPI_COMM_WORLD_LOCAL_SIZE=0",
                             "OMPI_COMM_WORLD_LOCAL_SIZE=99999999999999999999", "OMPI_COMM_WORLD_RANK=-1"})
    expectError("env OMPI_COMM_WORLD_SIZE=1 " + std::string(number) + " " + run + " generate --tokens=1" +
                    with,
                number);
  expectError("env SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS_PER_NODE=0 " + run +
                  " generate --tokens=1" + with,
              "SLURM_NTASKS_PER_NODE=0");
  expectError("env OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 " + run + " generate --tokens=1" + with,
              "tp=2");
  expectError("env TESSERA_STALL_TIMEOUT=soon " + run +
                  " generate --tokens=1 --init=random:1 2>&1 >&2 | grep ^error >&2; exit 1",
              "TESSERA_STALL_TIMEOUT");
}

// Stacks of a gigabyte where there is room for two, or for two more beside the ranks'.
TEST(Generate, ThreadsThatCannotBeStartedAreAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "shadow memory is beyond any limit";
#endif
  std::string limited = "bash -c 'ulimit -s 1048576; ulimit -v 2900000; ";
  for (std::string run : {program("dp2tp2"), program("tp2") + " generate --threads=64",
                          program("1") + " generate --threads=64"}) {
    if (run.find("generate") == std::string::npos)
      run += " generate";
    expectError(limited + run +
                    " --init=random:1 --tokens=1 --max-new-tokens=2 2>&1 >&2 | grep -v ^no.text >&2; exit 1'",
                "cannot ");
  }
}

TEST(Generate, RefusesWeightsThatDoNotMatch) {
  using tessera::io::DType;
  std::vector<float> data(V * D * 2);
  auto refuse = [&](const std::vector<tessera::io::TensorToWrite> &tensors, const std::string &why) {
    std::string path = tempDir() + "/other.safetensors";
    ASSERT_TRUE(bool(tessera::io::writeSafetensors(path, tensors)));
    Outcome o = shell(program("tp2") + " generate --tokens=1 --max-new-tokens=2 --model=" + path +
                      " 2>&1 >/dev/null | grep '^error: ' >&2");
    EXPECT_NE(o.err.find(why), std::string::npos) << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  };
  refuse({{"embed.weight", DType::F32, {V, D}, data.data()}}, "scale.weight");
  refuse(
      {{"embed.weight", DType::F32, {V, D + 1}, data.data()}, {"scale.weight", DType::F32, {D}, data.data()}},
      "[37, 13]");
  refuse({{"embed.weight", DType::I32, {V, D}, data.data()}, {"scale.weight", DType::F32, {D}, data.data()}},
         "I32");
}

TEST(Generate, ReportsWritesThatFail) {
  std::string args =
      program("tp2") + " generate --print-tokens --tokens=1 --max-new-tokens=4 --model=" + model().path;
  Outcome full = shell(args + " >/dev/full");
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("error: cannot write (standard output): No space left"), std::string::npos)
      << full.err;
  // A reader that is gone wants no more: that is no error.
  Outcome pipe = shell("bash -c 'exec 3> >(true); wait $!; " + args + " >&3; echo status $? >&2'");
  EXPECT_EQ(pipe.err.find("error: "), std::string::npos) << pipe.err;
  EXPECT_NE(pipe.err.find("status 0"), std::string::npos) << pipe.err;
  Outcome logits = shell(args + " --logits=/dev/full");
  EXPECT_EQ(logits.status, 1);
  EXPECT_NE(logits.err.find("error: "), std::string::npos) << logits.err;
}

TEST(Info, IsOneLineOfJsonThatAddsUp) {
  Outcome o = shell(program("dp2tp2") + " info --json");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 1);
  json info = json::parse(o.out);
  EXPECT_EQ(info["ranks"], 4);
  // 37 rows over 2: 19, held as one block of 32 by 16 floats; 12 floats of scale in a line of 64 bytes.
  EXPECT_EQ(info["weight_bytes"], (std::vector<int64_t>(4, 32 * 16 * 4 + 64)));
  EXPECT_EQ(info["arena_bytes"].size(), 4u);
  json prefill = info["steps"]["prefill"]["collectives"];
  ASSERT_EQ(prefill.size(), 2u);
  EXPECT_EQ(prefill[0]["kind"], "all_reduce");
  EXPECT_EQ(prefill[0]["axes"], json::array({"tp"}));
  EXPECT_EQ(prefill[0]["executions"], 1);
  EXPECT_EQ(prefill[0]["bytes_per_rank"], 2 * C * D * 4); // rows: ceil(3 / 2); 2 (G-1)/G with G = 2 is 1
  EXPECT_EQ(prefill[0]["why"], "rows of the embedding");
  EXPECT_TRUE(info["steps"].contains("decode"));
  EXPECT_EQ(shell(program("1") + " info").status, 0);
}

// Weights are held, and one of the states is a cache: seeds and lengths are none.
TEST(Info, SaysWhatNumbersAre) {
  Outcome o = shell(program("dp2tp2") + " info --json");
  ASSERT_EQ(o.status, 0) << o.err;
  json info = json::parse(o.out), numbers = info["numbers"];
  EXPECT_EQ(numbers["held"], json::array({{{"type", "f32"}, {"bytes", info["weight_bytes"][0]}}}));
  EXPECT_EQ(numbers["computed"], json::array({"f32"}));
  EXPECT_EQ(numbers["accumulated"], json::array({"f32"}));
  ASSERT_EQ(info["states"][0]["name"], "cache");
  EXPECT_EQ(numbers["cached"], json::array({{{"type", "f32"}, {"bytes", info["states"][0]["bytes"]}}}));
  const std::string page = shell(program("1") + " info").out;
  EXPECT_NE(page.find("\nnumbers      held f32 "), std::string::npos) << page;
  EXPECT_NE(page.find(", computed f32, accumulated f32, cached f32 "), std::string::npos) << page;
}

TEST(Bench, IsOneLineOfJson) {
  Outcome o = shell(program("tp2") + " bench --json --prompt-len=9 --decode=4 --init=random:1");
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), '\n'), 1);
  json result = json::parse(o.out);
  EXPECT_GT(result["prefill_tokens_per_s"].get<double>(), 0);
  EXPECT_GT(result["decode_tokens_per_s"].get<double>(), 0);
}

// --threads are those of the process: its ranks share them.
TEST(Bench, RanksShareTheThreads) {
  auto threads = [](const std::string &mesh, const std::string &given) {
    Outcome o =
        shell(program(mesh) + " bench --json --prompt-len=1 --decode=1 --init=random:1 --threads=" + given);
    return o.status ? json(o.err) : json::parse(o.out)["threads_per_rank"];
  };
  EXPECT_EQ(threads("tp2", "4"), 2);
  EXPECT_EQ(threads("tp3", "4"), 1);
  EXPECT_EQ(threads("tp3", "2"), 1);
  EXPECT_EQ(threads("1", "3"), 3);
}

// `run` in the background, told to end once it catches signal `caught` (a bit of SigCgt in /proc).
Outcome told(const std::string &run, const std::string &signal, const std::string &caught) {
  return shell(run +
               " & pid=$!; for i in $(seq 3000); do "
               "c=$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$pid/status 2>/dev/null); "
               "[ $((0x${c:-0} & " +
               caught + ")) -ne 0 ] && break; sleep 0.01; done; kill -" + signal + " $pid; wait $pid");
}
constexpr const char *catchesTerm = "0x4000", *catchesInt = "0x2", *catchesUsr1 = "0x200",
                     *catchesHup = "0x1";

// Where there is nothing to finish: one line, and the status that a shell gives who is ended by the signal.
TEST(Signals, EndAtOnceWhatHasNothingToFinish) {
  // Reading prompts of a pipe that nobody writes to.
  const std::string pipe = tempDir() + "/pipe", start = "mkfifo " + pipe + "; ",
                    waits = program("1") + " generate --init=random:1 --prompt-file=" + pipe;
  Outcome o = told(start + waits, "TERM", catchesTerm);
  EXPECT_EQ(o.status, 143);
  EXPECT_EQ(o.err, "error: cannot finish (SIGTERM): it was told to end; run it again\n");
  // Ctrl-C, which a shell has those that it starts by & ignore.
  o = told("env --default-signal=INT " + waits, "INT", catchesInt);
  EXPECT_EQ(o.status, 130);
  EXPECT_EQ(o.err, "error: cannot finish (SIGINT): it was told to end; run it again\n");
  // A terminal that goes, unless nohup has that ignored.
  o = told("env --default-signal=HUP " + waits, "HUP", catchesHup);
  EXPECT_EQ(o.status, 129);
  EXPECT_EQ(o.err, "error: cannot finish (SIGHUP): it was told to end; run it again\n");
  o = told("env --ignore-signal=HUP " + waits, "HUP $pid; kill -TERM", catchesTerm);
  EXPECT_EQ(o.status, 143);
  EXPECT_EQ(o.err, "error: cannot finish (SIGTERM): it was told to end; run it again\n");
  // A bench whose result nobody takes.
  o = told("exec 3<>" + pipe + "; head -c 65536 /dev/zero >&3; " + program("tp2") +
               " bench --init=random:1 --prompt-len=1 --decode=1 >&3",
           "TERM", catchesTerm);
  EXPECT_EQ(o.status, 143);
  const size_t last = o.err.find("error"); // behind what it said of its weights, if it came so far
  EXPECT_EQ(o.err.substr(std::min(last, o.err.size())),
            "error: cannot finish (SIGTERM): it was told to end; run it again\n");
}

// In the midst of answers the run goes on to the end of a step, and says what it did.
TEST(Signals, EndAnswersWithTheirSummary) {
  const std::string many = " $(printf ' --tokens=1%.0s' $(seq 20000))";
  for (const std::string mode : {"", " --quiet"}) {
    Outcome o =
        told(program("tp2") + " generate --init=random:1 --print-tokens" + mode + many, "TERM", catchesUsr1);
    EXPECT_EQ(o.status, 143);
    EXPECT_NE(o.err.find("stopped by a signal\n"), std::string::npos) << o.err;
    EXPECT_EQ(o.err.find("decode:") == std::string::npos, !mode.empty()) << o.err;
    EXPECT_EQ(o.err.find("error"), std::string::npos) << o.err;
    EXPECT_LT(std::count(o.out.begin(), o.out.end(), '\n'), 20000);
  }
}

} // namespace
