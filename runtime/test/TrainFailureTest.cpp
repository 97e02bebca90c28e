// OUT train: what is wrong with its input is one line, and no save is lost.
#include "TrainRun.h"

using namespace fake;

namespace {

class TrainFailure : public TrainRun {
protected:
  void SetUp() override {
    TrainRun::SetUp();
    ASSERT_EQ(shell(program(2) + words(4, "--save=s --save-every=2")).status, 0) << read("err");
  }
  // A byte of a file, from the end, is another one afterwards.
  void flip(const std::string &name, int fromEnd) const {
    std::string bytes = read(name);
    ASSERT_GT(bytes.size(), size_t(fromEnd));
    bytes[bytes.size() - size_t(fromEnd)] ^= 1;
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  }
  std::string other(const std::string &words, const std::string &from, const std::string &to) const {
    std::string text = words;
    EXPECT_NE(text.find(from), std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  }
};

TEST_F(TrainFailure, Data) {
  auto refused = [&](const std::string &data, const std::string &why, int steps = 1) {
    expectError(program(2) + other(words(steps), "data.safetensors", data), why);
  };
  refused("nothing.safetensors", "nothing.safetensors");
  refused("data.safetensors",
          "a step takes 5 rows, and 1 pass over the data has 22; use --epochs=2, or --steps=4", 5);
  writeTokens("empty", {}, S + 1);
  refused("empty.safetensors", "empty.safetensors");
  writeTokens("wide", std::vector<int32_t>(5 * 9), 9);
  refused("wide.safetensors", "--max-seq-len=8");
  std::vector<int32_t> ids(5 * (S + 1), 1);
  ids[9] = V;
  writeTokens("ids", ids, S + 1);
  refused("ids.safetensors", "row 1, column 2");
  std::ofstream(folder + "/short.bin") << "ab";
  refused("short.bin", "short.bin");
  std::ofstream(folder + "/text.txt") << "a text, and no tokenizer beside the weights";
  refused("text.txt", "/dev/null");
  writeTokens("silent", std::vector<int32_t>(5 * (S + 1), -1), S + 1);
  refused("silent.safetensors", "none of its rows has a token to predict");
}

TEST_F(TrainFailure, Flags) {
  expectError(program(2) + other(words(1), "--steps=1", "--steps=0"), "(--steps=0): it is out of range");
  expectError(program(2) + other(words(1), "--lr=0.1", "--lr=nan"), "(--lr=nan): it is no number");
  expectError(
      program(2) + words(1, "--momentum=0.9"),
      "cannot train (--momentum): the optimizer that this program was compiled with has no such number");
  expectError(std::string(FAKE_PROGRAM_DIR) + "/fake_1" + words(1),
              "this program was compiled with --task=generate; compile the model with --task=train");
  expectError(program(2) + " generate --tokens=1 --init=random:1", "this program does not generate text");
  // What the program is for comes before what is missing.
  expectError(std::string(FAKE_PROGRAM_DIR) + "/fake_1 train", "compile the model with --task=train");
  expectError(program(2) + " generate", "this program does not generate text");
  std::ofstream(folder + "/notes") << "no log\n";
  expectError(program(2) + words(1, "--log=notes"), "line 1 of it is no line of a log");
  EXPECT_EQ(read("notes"), "no log\n");
  expectError(program(2) + words(1, "--log=no/log"), "no/log");
  // Written by hand, it says neither what it calls nor what the model computes.
  expectError(program(2) + words(1, "--trace=t"), "cannot trace (t): this program does not name its calls");
  expectError(program(2) + words(1, "--peak-flops=1e9"),
              "does not say what the model computes: there is no MFU");
  expectError(program(2) + " bench --init=random:1 --peak-flops=1e9", "cannot measure (--peak-flops)");
}

// What a run reads, or writes otherwise, it does not replace; and it knows that before it loads weights.
TEST_F(TrainFailure, FilesThatCannotBeWritten) {
  auto refused = [&](const std::string &flags, const std::string &why) {
    expectError(program(2) + words(1, flags), why);
    EXPECT_EQ(read("err").find("loaded "), std::string::npos) << flags;
  };
  refused("--log=-", "cannot write log (--log=-): nothing is written to standard output; name a file");
  refused("--save=-",
          "cannot save checkpoint (--save=-): nothing is written to standard output; name a folder");
  // There are no earlier saves to speak of.
  refused("--save=/dev/null", "cannot save checkpoint (/dev/null): Not a directory; check the path\n");
  const std::string data = read("data.safetensors"), model = read("model.safetensors");
  writeTokens("eval", tokens, S + 1);
  std::filesystem::create_symlink("data.safetensors", folder + "/link");
  refused("--grads=model.safetensors", "cannot write tensors (model.safetensors): it is a file of the model");
  refused("--grads=./data.safetensors", "this run reads that file; name another file with --grads=");
  refused("--grads=link", "this run reads that file");
  refused("--grads=eval.safetensors --eval=eval.safetensors", "this run reads that file");
  refused("--grads=log --log=log", "--log writes that file, too");
  // Other names of what is not there yet.
  refused("--grads=./log --log=log", "--log writes that file, too");
  std::filesystem::create_symlink("log", folder + "/another");
  refused("--grads=log --log=another", "--log writes that file, too");
  refused("--grads=" + program(2), "this run reads that file");
  refused("--grads=s", "(s): it is no regular file");
  refused("--grads=/dev/null", "(/dev/null): it is no regular file");
  refused("--grads=none/g.safetensors",
          "cannot write tensors (none/g.safetensors): No such file or directory");
  refused("--log=none/log", "cannot write log (none/log): No such file or directory; check the path");
  refused("--log=s", "cannot write log (s): Is a directory");
  refused("--log=model.safetensors", "cannot write log (model.safetensors): it is a file of the model");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(read("data.safetensors"), data);
  EXPECT_EQ(read("model.safetensors"), model);
  expectError("env FAKE_NO_GRADIENTS=1 " + program(1) + words(1, "--grads=g.safetensors"),
              "this program does not say what gradients are read from");
}

TEST_F(TrainFailure, Resuming) {
  expectError(program(2) + resumed(4, "s"), "4 steps are done, and --steps=4 is the number of all");
  expectError(program(2) + resumed(3, "s"), "4 steps are done, and --steps=3 is the number of all");
  expectError(program(2) + resumed(4, "nothing"), "name a folder that --save wrote");
  expectError(program(2) + resumed(4, "s/step-3"), "s/step-3");
  expectError(
      program(2) + resumed(5, "s", "--epochs=2 --shuffle=3"),
      "it took rows as they lie, and this run takes them in the order of --shuffle=3; leave out --shuffle;");
  writeTokens("more", std::vector<int32_t>(40 * (S + 1), 1), S + 1);
  expectError(
      program(2) + other(resumed(5, "s"), "data.safetensors", "more.safetensors"),
      "its data had 22 rows, and more.safetensors has 40; resume with the data that it was saved with");
  std::vector<int32_t> ids = tokens;
  ids[size_t(21 * (S + 1))] ^= 1; // the last row's first: no step has taken it
  writeTokens("other", ids, S + 1);
  expectError(
      program(2) + other(resumed(5, "s", "--epochs=2"), "data.safetensors", "other.safetensors"),
      "its data had other tokens than other.safetensors; resume with the data that it was saved with; "
      "to begin anew from its weights, name it with --model=");
  std::filesystem::copy(folder + "/s", folder + "/t", std::filesystem::copy_options::recursive);
  std::ofstream(folder + "/t/step-4/tokenizer.json") << "{}";
  std::ofstream(folder + "/t/step-4/config.json") << R"({"eos_token_id": 0})";
  expectError(program(2) + resumed(5, "t/step-4", "--epochs=2 --documents"),
              "its rows were one document each; leave out --documents");
  flip("t/step-2/exp_avg.safetensors", 3);
  expectError(program(2) + resumed(4, "t/step-2"), "its bytes are not those that were saved");
  expectError(program(1) + resumed(4, "t/step-2"), "exp_avg.safetensors, tensor table.");
  std::filesystem::remove(folder + "/t/step-2/exp_avg.safetensors");
  expectError(program(2) + resumed(4, "t/step-2"), "exp_avg.safetensors");
  std::filesystem::remove(folder + "/t/step-4/model.safetensors");
  expectError(program(2) + resumed(5, "t"), "model.safetensors");
}

TEST_F(TrainFailure, NumbersThatAreNotFinite) {
  // The first update makes numbers that the next step cannot take: the save after it stays.
  std::string run = other(words(4, "--log=log --save=n --save-every=1"), "--lr=0.1", "--lr=1e38");
  expectError(program(2) + run, "cannot go on training (step 2): the loss is ");
  EXPECT_NE(read("n/model.safetensors.index.json").find("step-1/"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder + "/n/step-2"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/n/step-2.part"));
  // An update that breaks the weights, and no step after it that would see it.
  run = other(words(1, "--weight-decay=1e30 --save=n --overwrite"), "--lr=0.1", "--lr=1e38");
  expectError(program(2) + run, "cannot save (table): after step 1 it holds numbers that are not finite");
  EXPECT_NE(read("n/model.safetensors.index.json").find("step-1/"), std::string::npos);
  run = other(words(1, "--weight-decay=1e30"), "--lr=0.1", "--lr=1e38"); // nor a save
  expectError(program(2) + run,
              "cannot finish training (table): after step 1 it holds numbers that are not finite");
  std::string before = read("s/model.safetensors.index.json");
  // A loss that is none: the log has its line.
  std::vector<float> table(V * V, NAN), bias(V, 0);
  ASSERT_TRUE(bool(tessera::io::writeSafetensors(
      folder + "/model.safetensors", {{"table.weight", tessera::io::DType::F32, {V, V}, table.data()},
                                      {"table.bias", tessera::io::DType::F32, {V}, bias.data()}})));
  expectError(program(3) + words(4, "--log=log --save=s --overwrite"), "(step 1): the loss is not a number");
  EXPECT_NE(read("log").find("\"loss\":null"), std::string::npos) << read("log");
  EXPECT_EQ(read("s/model.safetensors.index.json"), before);
}

TEST_F(TrainFailure, Saving) {
  std::string before = read("s/step-4/model.safetensors");
  std::filesystem::create_directory(folder + "/model");
  std::filesystem::copy(folder + "/model.safetensors", folder + "/model/model.safetensors");
  expectError(program(2) + words(2, "--save=model"), "it holds a model that is no save of a run");
  expectError(program(2) + words(2, "--save=model.safetensors"),
              "cannot save checkpoint (model.safetensors)");
  // The folder of the model, whatever its weights are called.
  std::filesystem::create_directory(folder + "/own");
  std::filesystem::copy(folder + "/model.safetensors", folder + "/own/weights.safetensors");
  std::ofstream(folder + "/own/config.json") << "{}";
  expectError(program(2) + other(words(2, "--save=own"), "model.safetensors", "own/weights.safetensors"),
              "cannot save checkpoint (own): it is the model's own folder; name another folder");
  // A forgotten --resume: earlier saves stay, and so do files that no save has written.
  expectError(
      program(2) + words(1, "--save=s"),
      "cannot save checkpoint (s): it holds saves of an earlier run, up to step 4; go on from them with "
      "--resume=s, name another folder, or add --overwrite");
  EXPECT_EQ(read("err").find("loaded "), std::string::npos);
  expectError(program(2) + resumed(5, "s", "--epochs=2 --save=model"), "it holds a model");
  std::filesystem::copy(folder + "/s", folder + "/t", std::filesystem::copy_options::recursive);
  expectError(program(2) + resumed(5, "s", "--epochs=2 --save=t"), "it holds saves of an earlier run");
  ASSERT_EQ(shell(program(2) + resumed(5, "t/step-2", "--epochs=2 --save=./t")).status, 0) << read("err");
  ASSERT_EQ(shell(program(2) + words(1, "--save=t --overwrite")).status, 0) << read("err");
  EXPECT_FALSE(std::filesystem::exists(folder + "/t/step-5"));
  // No file may have a byte, which is as full as a disk can be.
  expectError("bash -o pipefail -c '(ulimit -f 0; exec " + program(2) +
                  resumed(5, "s", "--epochs=2 --save=s") + ") 2>&1 >/dev/null | cat >&2'",
              "cannot save checkpoint (s/step-5.part/model.safetensors): File too large");
  EXPECT_FALSE(std::filesystem::exists(folder + "/s/step-5.part"));
  EXPECT_EQ(read("s/step-4/model.safetensors"), before);
}

// They have the names and shapes of the weights.
TEST_F(TrainFailure, MomentsAndGradientsAreNoWeights) {
  ASSERT_EQ(shell(program(2) + words(1, "--grads=g.safetensors")).status, 0) << read("err");
  const std::string hint =
      " of a training run, under the names of the weights; name the model.safetensors of a save";
  for (auto [file, what] :
       {std::pair("s/step-4/exp_avg.safetensors", "exp_avg"),
        std::pair("s/step-4/exp_avg_sq.safetensors", "exp_avg_sq"), std::pair("g.safetensors", "gradients")})
    expectError(program(2) + other(words(1), "model.safetensors", file),
                std::string("cannot load weights (") + file + "): it holds " + what + hint);
  // Whatever the file is called by now.
  std::filesystem::create_directory(folder + "/renamed");
  std::ofstream(folder + "/renamed/config.json") << "{}";
  std::filesystem::copy(folder + "/s/step-4/exp_avg.safetensors", folder + "/renamed/model.safetensors");
  expectError(program(2) + other(words(1), "model.safetensors", "renamed"), "it holds exp_avg of a");
  EXPECT_EQ(shell(program(2) + other(words(1), "model.safetensors", "s/step-4/model.safetensors")).status, 0)
      << read("err");
}

// Each process reads files of its own machine: numbers would come out of data that are no run's.
TEST_F(TrainFailure, ProcessesWithOtherFilesUnderMpi) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  auto ofRank = [&](const std::string &words) {
    Outcome o = shell(mpirun(2, "sh -c 'exec " + program(2) + words + "'"));
    EXPECT_NE(o.status, 0) << words;
    EXPECT_NE(o.err.find("error: cannot start (rank 1): the data or the save that it reads are not those of "
                         "rank 0; give all processes the same files"),
              std::string::npos)
        << words << o.err;
  };
  std::vector<int32_t> ids = tokens;
  ids[0] ^= 1;
  writeTokens("data0", tokens, S + 1);
  writeTokens("data1", ids, S + 1);
  const std::string own = "data$OMPI_COMM_WORLD_RANK.safetensors";
  ofRank(other(words(1), "data.safetensors", own));
  ofRank(words(1, "--eval=" + own));
  std::filesystem::copy(folder + "/s", folder + "/s0", std::filesystem::copy_options::recursive);
  ASSERT_EQ(shell(program(2) + words(4, "--weight-decay=0.5 --save=s1")).status, 0) << read("err");
  ofRank(resumed(5, "s$OMPI_COMM_WORLD_RANK", "--epochs=2"));
}

TEST_F(TrainFailure, OneLineUnderMpi) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  flip("s/step-4/model.safetensors", 3);
  for (const std::string &run :
       {other(words(1), "data.safetensors", "none.bin"), words(9), resumed(5, "s", "--epochs=2")}) {
    Outcome o = shell(mpirun(2, program(2) + run));
    EXPECT_NE(o.status, 0) << run;
    size_t at = o.err.find("error: ");
    ASSERT_NE(at, std::string::npos) << o.err;
    EXPECT_EQ(o.err.find("\nerror: ", at), std::string::npos) << o.err;
  }
}

} // namespace
