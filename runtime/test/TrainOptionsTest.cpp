// The command line of train.
#include "ErrorLine.h"
#include "Options.h"

using namespace tessera::runtime;

namespace {

Options parse(std::vector<std::string> words) {
  words.insert(words.begin(), {"OUT", "train", "--data=d", "--steps=20"});
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return parseOptions(int(argv.size()), argv.data());
}

void expectProblem(const std::vector<std::string> &words, const std::string &part) {
  expectParts(errorOf([&] { parse(words); }), {part});
}

} // namespace

TEST(TrainOptions, EveryFlag) {
  Options o = parse({"--lr=3e-3",
                     "--min-lr=3e-4",
                     "--warmup=4",
                     "--schedule=wsd",
                     "--decay-steps=5",
                     "--weight-decay=0.2",
                     "--beta1=0.8",
                     "--beta2=0.9",
                     "--momentum=0.7",
                     "--eps=1e-6",
                     "--clip=0",
                     "--epochs=3",
                     "--shuffle=18446744073709551615",
                     "--documents",
                     "--eval=e",
                     "--eval-every=6",
                     "--log=l",
                     "--save=s",
                     "--save-every=7",
                     "--keep=8",
                     "--overwrite",
                     "--resume=r/step-3",
                     "--trace=t.json",
                     "--trace-steps=3:5",
                     "--peak-flops=1e12",
                     "--threads=2"});
  const TrainOptions &t = o.train;
  EXPECT_EQ(o.command, Options::Command::Train);
  EXPECT_EQ(t.data, "d");
  EXPECT_EQ(t.rate.steps, 20);
  EXPECT_EQ(t.rate.peak, 3e-3);
  EXPECT_EQ(t.rate.least, 3e-4);
  EXPECT_EQ(t.rate.warmup, 4);
  EXPECT_EQ(t.rate.schedule, tessera::train::Schedule::Wsd);
  EXPECT_EQ(t.rate.decaySteps, 5);
  EXPECT_EQ(t.weightDecay, 0.2);
  EXPECT_EQ(t.beta1, 0.8);
  EXPECT_EQ(t.beta2, 0.9);
  EXPECT_EQ(t.momentum, 0.7);
  EXPECT_EQ(t.epsilon, 1e-6);
  EXPECT_EQ(t.clip, 0);
  EXPECT_EQ(t.epochs, 3);
  EXPECT_EQ(t.shuffle, UINT64_MAX);
  EXPECT_TRUE(t.documents);
  EXPECT_EQ(t.eval, "e");
  EXPECT_EQ(t.evalEvery, 6);
  EXPECT_EQ(t.log, "l");
  EXPECT_EQ(t.save, "s");
  EXPECT_EQ(t.saveEvery, 7);
  EXPECT_EQ(t.keep, 8);
  EXPECT_TRUE(t.overwrite);
  EXPECT_EQ(t.resume, "r/step-3");
  EXPECT_EQ(t.trace, "t.json");
  EXPECT_EQ(t.traceSteps, std::pair(int64_t(3), int64_t(5)));
  EXPECT_EQ(parse({"--trace=t", "--trace-steps=4"}).train.traceSteps, std::pair(int64_t(4), int64_t(4)));
  EXPECT_EQ(o.peakFlops, 1e12);
  EXPECT_EQ(o.threads, 2);
  EXPECT_EQ(parse({}).train.rate.peak, 1e-3);
  EXPECT_FALSE(parse({}).train.clip);
}

TEST(TrainOptions, ValuesThatCannotBe) {
  expectProblem({"--lr=nan"}, "(--lr=nan): it is no number; use 0 or a positive number of at most 3.4e38");
  expectProblem({"--lr=-1"}, "(--lr=-1): it is out of range");
  // Programs take float32.
  for (const char *flag : {"--lr", "--min-lr", "--weight-decay", "--eps", "--clip"})
    expectProblem({std::string(flag) + "=1e39"}, "=1e39): it is out of range; use 0 or a positive number");
  EXPECT_EQ(parse({"--clip=3.4e38"}).train.clip, 3.4e38);
  for (const char *value : {"0", "1e-46"})
    expectProblem({std::string("--eps=") + value}, "it is 0 in float32");
  expectProblem({"--beta1=0.999999999"}, "(--beta1=0.999999999): it is 1 in float32");
  expectProblem({"--min-lr=1"}, "(--min-lr=1): it is above --lr=0.001");
  expectProblem({"--beta2=1"}, "(--beta2=1): it is out of range; use a number from 0 to below 1");
  expectProblem({"--peak-flops=0"}, "(--peak-flops=0): it is not positive");
  expectProblem({"--clip=inf"}, "(--clip=inf): it is no number");
  expectProblem({"--schedule=step"}, "(--schedule=step): there is no such schedule");
  expectProblem({"--decay-steps=2"}, "only wsd has a decay of its own");
  expectProblem({"--epochs=0"}, "(--epochs=0): it is out of range");
  expectProblem({"--shuffle=x"}, "(--shuffle=x): it is no seed");
  expectProblem({"--keep=0", "--save=s"}, "(--keep=0): it is out of range");
  expectProblem({"--data=e"}, "--data is given twice");
}

TEST(TrainOptions, FlagsThatNeedOthers) {
  expectProblem({"--eval-every=2"}, "(--eval-every=2): there is nothing to evaluate on; add --eval=FILE");
  expectProblem({"--save-every=2"}, "(--save-every=2): nothing is saved; add --save=DIR");
  expectProblem({"--keep=2"}, "(--keep=2): nothing is saved");
  expectProblem({"--seed=2"}, "(--seed=2): nothing is drawn without --dropout; add --dropout=P");
  expectProblem({"--seed=2", "--dropout=0"}, "nothing is drawn without --dropout");
  expectProblem({"--overwrite"}, "cannot train (--overwrite): nothing is saved; add --save=DIR");
  expectProblem({"--resume=r", "--model=m"},
                "(--resume=r): the weights are those of the save, and --model names");
  expectProblem({"--resume=r", "--init=random:1"}, "and --init names others");
  auto alone = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"OUT", "train"});
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    return errorOf([&] { parseOptions(int(argv.size()), argv.data()); });
  };
  expectParts(alone({"--steps=3"}), {"cannot train: no data was given; add --data=FILE"});
  expectParts(alone({"--data=d"}), {"cannot train: no number of steps was given; add --steps=N"});
  expectParts(alone({"--data=d", "--steps=0"}), {"(--steps=0): it is out of range"});
}

// Below 1 as the program has it, in float32.
TEST(TrainOptions, AShareThatLeavesNothingIsRefused) {
  EXPECT_EQ(parse({"--dropout=0.25", "--seed=9"}).train.dropout, 0.25);
  EXPECT_EQ(parse({"--dropout=0.25", "--seed=9"}).train.seed, 9u);
  for (const char *flag : {"--dropout=1", "--dropout=-0.1"})
    expectProblem({flag}, "it is out of range; use a number from 0 to below 1");
  expectProblem({"--dropout=0.99999999"}, "it is 1 in float32; use a number from 0 to below 1");
  for (const char *flag : {"--dropout=nan", "--dropout=x", "--dropout="})
    expectProblem({flag}, "it is no number");
}

// Nothing is read and ignored.
TEST(TrainOptions, WhatProgramsCannotDoYetIsRefused) {
  expectProblem({"--resume=s", "--grads=f"}, "leave out --grads, or --resume");
  expectProblem({"--trace-steps=1:2"}, "(--trace-steps=1:2): nothing is traced; add --trace=FILE.json");
  expectProblem({"--trace=f", "--trace-steps=3:2"}, "it ends before it begins");
  expectProblem({"--trace=f", "--trace-steps=19:21"}, "(--trace-steps=19:21): the run ends with step 20");
  expectProblem({"--trace=f", "--trace-steps=0:1"}, "(--trace-steps=0): it is out of range");
  std::string help = parse({"--help"}).text;
  EXPECT_NE(help.find("--save-every=N"), std::string::npos);
  EXPECT_NE(help.find("--dropout=P"), std::string::npos);
}
