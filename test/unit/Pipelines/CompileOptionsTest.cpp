//===- CompileOptionsTest.cpp - The command line of llm-compile -----------===//
#include "tessera/Pipelines/CompileOptions.h"
#include "FilesApart.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace tessera;

static Result<CompileOptions> parse(std::vector<const char *> arguments) {
  return parseCompileOptions(arguments);
}

static std::string failureOf(std::vector<const char *> arguments) {
  auto options = parse(std::move(arguments));
  return options ? "accepted" : options.failure().message();
}

TEST(CompileOptions, Defaults) {
  auto options = parse({"model", "-o", "out"});
  ASSERT_TRUE(bool(options));
  EXPECT_EQ(options->model, "model");
  EXPECT_EQ(options->output, "out");
  EXPECT_EQ(options->compileTo, Rung::Binary);
  EXPECT_EQ(options->batch, 0);
  EXPECT_EQ(options->target, "cpu");
  EXPECT_TRUE(options->targetOptions.empty());
}

TEST(CompileOptions, ReadsEveryFlagInAnyOrder) {
  auto options =
      parse({"--batch=4", "-o", "out", "--mesh=dp=2,tp=2", "--shard=heads=tp", "--max-seq-len=77", "model",
             "--cpu=x86-64-v3", "--embed-weights", "--explain", "--dump-rungs=dir", "--machine=m.json",
             "--task=generate", "--target=cpu", "--dtype=f32", "--cache=bf16"});
  ASSERT_TRUE(bool(options)) << options.failure().message();
  EXPECT_EQ(options->mesh, "dp=2,tp=2");
  EXPECT_EQ(options->shard, "heads=tp");
  EXPECT_EQ(options->machine, "m.json");
  EXPECT_EQ(options->batch, 4);
  EXPECT_EQ(options->maxSeqLen, 77);
  EXPECT_EQ(options->targetOptions, (TargetOptions{{"cpu", "x86-64-v3"}}));
  EXPECT_TRUE(options->embedWeights && options->explain);
  EXPECT_EQ(options->dumpRungs, "dir");
  EXPECT_EQ(options->dtype, "f32");
  EXPECT_EQ(options->cache, "bf16");
}

TEST(CompileOptions, ReadsWhatBelongsToTraining) {
  auto options =
      parse({"model", "-o", "out", "--task=train", "--batch=8", "--micro-batches=4", "--optimizer=sgd"});
  ASSERT_TRUE(bool(options)) << options.failure().message();
  EXPECT_EQ(options->task, Task::Train);
  EXPECT_EQ(options->microBatches, 4);
  EXPECT_EQ(options->optimizer, "sgd");
  EXPECT_EQ(parse({"model", "-o", "out"})->task, Task::Generate);
  EXPECT_EQ(options->memory, 0);
  EXPECT_EQ(parse({"model", "-o", "out", "--memory=17"})->memory, 17);
  EXPECT_EQ(parse({"model", "-o", "out", "--memory=16G"})->memory, 16'000'000'000);
  EXPECT_EQ(parse({"model", "-o", "out", "--memory=3Ki"})->memory, 3 * 1024);
  // A program in text has a batch of its own.
  EXPECT_TRUE(bool(parse({"model.mlir", "-o", "out", "--task=train", "--micro-batches=4"})));
}

TEST(CompileOptions, ItemsOfTheUserReplaceThoseOfATemplate) {
  auto shard = [](std::initializer_list<const char *> more) {
    std::vector<const char *> arguments = {"model", "-o", "out", "--mesh=tp=2", "--template=megatron"};
    arguments.insert(arguments.end(), more);
    return parseCompileOptions(arguments)->shard;
  };
  EXPECT_EQ(shard({}), "residual:seq=tp");
  EXPECT_EQ(shard({"--shard=ffn=-"}), "ffn=-,residual:seq=tp");
  EXPECT_EQ(shard({"--shard=residual:seq=-"}), "residual:seq=-");
}

TEST(CompileOptions, TemplatesNeedTheirAxis) {
  EXPECT_TRUE(bool(parse({"model", "-o", "out", "--mesh=dp=2", "--template=ddp"})));
  EXPECT_NE(failureOf({"model", "-o", "out", "--mesh=dp=2", "--template=fsdp"}).find("has no axis fsdp"),
            std::string::npos);
  EXPECT_NE(failureOf({"model", "-o", "out", "--template=ddp"}).find("has no axis dp; give --mesh=dp=SIZE"),
            std::string::npos);
}

TEST(CompileOptions, MegatronIsAnItemOfShard) {
  auto options = parse({"model", "-o", "out", "--mesh=dp=2,tp=2", "--template=megatron", "--shard=vocab=tp"});
  ASSERT_TRUE(bool(options));
  EXPECT_EQ(options->shard, "vocab=tp,residual:seq=tp");
  EXPECT_NE(failureOf({"model", "-o", "out", "--mesh=dp=2", "--template=megatron"}).find("has no axis tp"),
            std::string::npos);
}

TEST(CompileOptions, TemplatesOfTrainingShardWhatOnlyTrainingHas) {
  auto zero = parse(
      {"model", "-o", "out", "--task=train", "--mesh=dp=2", "--template=zero2", "--shard=states:largest=-"});
  ASSERT_TRUE(bool(zero));
  EXPECT_EQ(zero->shard, "states:largest=-,gradients:largest=dp");
  // Blanks mean nothing to --mesh and --shard, and nothing to templates.
  auto blanks = parse({"model", "-o", "out", "--task=train", "--mesh=tp=2, dp=2", "--template=zero2",
                       "--shard=ffn=tp, states:largest = -"});
  ASSERT_TRUE(bool(blanks)) << blanks.failure().message();
  EXPECT_EQ(blanks->shard, "ffn=tp, states:largest = -,gradients:largest=dp");
  auto sharded = parse(
      {"model", "-o", "out", "--task=train", "--dtype=bf16", "--mesh=dp=2, fsdp=2", "--template=zero1"});
  ASSERT_TRUE(bool(sharded)) << sharded.failure().message();
  EXPECT_EQ(sharded->shard, "states:largest=dp");
  auto generate = parse({"model", "-o", "out", "--mesh=dp=2,fsdp=2", "--template=hsdp"});
  ASSERT_TRUE(bool(generate));
  EXPECT_EQ(generate->shard, "");
  EXPECT_NE(failureOf({"model", "-o", "out", "--mesh=fsdp=2", "--template=hsdp"}).find("has no axis dp"),
            std::string::npos);
  EXPECT_NE(failureOf({"model", "-o", "out", "--mesh=dp=2", "--template=zero1"})
                .find("it shards what an optimizer keeps, and generate has none"),
            std::string::npos);
}

TEST(CompileOptions, OutputMayBeMissingBeforeRungBinary) {
  auto options = parse({"model", "--compile-to=spmd"});
  ASSERT_TRUE(bool(options));
  EXPECT_EQ(options->compileTo, Rung::Spmd);
  auto printed = parse({"model", "--compile-to=spmd", "-o", "-"});
  EXPECT_TRUE(bool(printed) && printed->output.empty());
  EXPECT_EQ(failureOf({"model"}), "cannot compile (-o): no output is named; write llm-compile MODEL -o OUT");
  EXPECT_EQ(failureOf({"model", "-o", "-"}),
            "cannot compile (-o -): an executable is not printed; name a file, as in -o OUT");
}

TEST(CompileOptions, HelpNeedsNothingElse) {
  for (const char *word : {"--help", "-h", "help"}) {
    auto options = parse({word});
    EXPECT_TRUE(bool(options) && !options->text.empty()) << word;
  }
  EXPECT_FALSE(parse({"model", "--help", "--no-such-flag"})->text.empty());
}

TEST(CompileOptions, ValuesMayStandApart) {
  auto options = parse({"--batch", "4", "-o", "out", "--mesh", "tp=2", "model", "--compile-to", "spmd"});
  ASSERT_TRUE(bool(options)) << options.failure().message();
  EXPECT_EQ(options->batch, 4);
  EXPECT_EQ(options->mesh, "tp=2");
  EXPECT_EQ(options->model, "model");
  EXPECT_EQ(options->compileTo, Rung::Spmd);
  EXPECT_NE(failureOf({"model", "--batch", "--explain"}).find("(--batch=--explain): must be an integer"),
            std::string::npos);
  EXPECT_NE(failureOf({"model", "--batch=1", "--batch", "1"}).find("(--batch): is given twice"),
            std::string::npos);
}

// What may be given stands in the help, once; what is only refused does not.
TEST(CompileOptions, HelpListsEveryFlag) {
  std::string text = cli::helpText(compileProgramText());
  for (const char *flag : {"--batch=N",
                           "--mesh=AXIS=SIZE,...",
                           "--shard=ITEMS",
                           "--template=NAME",
                           "--max-seq-len=N",
                           "--dtype=f32|bf16|f16",
                           "--task=generate|train",
                           "--target=TARGET",
                           "--micro-batches=N",
                           "--optimizer=adamw|sgd",
                           "--recompute=WHAT",
                           "--cpu=NAME",
                           "--machine=NAME|FILE",
                           "--embed-weights ",
                           "--compile-to=RUNG",
                           "--dump-rungs=DIR",
                           "--explain ",
                           "--report=FILE.html",
                           "--help[=man] ",
                           "-o OUT",
                           "--cache=f32|bf16|f16|q8_0"}) {
    size_t at = text.find(std::string("  ") + flag);
    EXPECT_NE(at, std::string::npos) << flag << "\n" << text;
    EXPECT_EQ(text.find(std::string("  ") + flag, at + 1), std::string::npos) << flag;
  }
  EXPECT_EQ(text.find("--cluster"), std::string::npos);
}

// A file of the model in the place of an output: it would be gone.
TEST(CompileOptions, TheModelIsNotWrittenTo) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tessera-options", folder));
  std::string model = folder.str().str(), weights = model + "/model.safetensors", other = model + "/out";
  for (const std::string &path : {weights, other}) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << "x";
    ASSERT_FALSE(error);
  }
  auto refused = [](std::vector<const char *> arguments) {
    auto options = parseCompileOptions(arguments);
    if (!options)
      return false;
    Status apart = checkFilesApart(*options);
    return !apart && apart.failure().message().find("is a file of the model") != std::string::npos;
  };
  std::string report = "--report=" + weights, source = "--report=" + other;
  EXPECT_TRUE(refused({model.c_str(), "-o", weights.c_str()}));
  EXPECT_TRUE(refused({model.c_str(), "-o", other.c_str(), report.c_str()}));
  EXPECT_FALSE(refused({model.c_str(), "-o", other.c_str()})); // an older executable
  EXPECT_TRUE(refused({other.c_str(), "-o", other.c_str()}));
  EXPECT_TRUE(refused({other.c_str(), "-o", "somewhere", source.c_str()}));
  llvm::sys::fs::remove_directories(folder);
}

TEST(CompileOptions, MistakesAreNamed) {
  const std::pair<std::vector<const char *>, const char *> cases[] = {
      {{}, "(MODEL): no model is named"},
      {{"a", "b", "-o", "out"}, "(MODEL): both a and b are given"},
      {{"a", "-o"}, "(-o): has no value"},
      {{"a", "-o", "b", "-o", "c"}, "(-o): is given twice"},
      {{"a", "-o", ""}, "(-o): has an empty value"},
      {{"a", "--mseh=tp=2"}, "(--mseh=tp=2): unknown flag; did you mean --mesh?"},
      {{"a", "--frobnicate"}, "(--frobnicate): unknown flag; see --help"},
      {{"a", "--zero=1"}, "(--zero=1): unknown flag; see --help"},
      {{"a", "-x"}, "(-x): unknown flag; see --help"},
      {{"a", "-ox"}, "(-ox): unknown flag; write -o OUT"},
      {{"a", "-optimizer=sgd"}, "(-optimizer=sgd): unknown flag; did you mean --optimizer?"},
      {{"a", "--batch"}, "(--batch): has no value; write --batch=N"},
      {{"a", "-o"}, "(-o): has no value; write -o OUT"},
      {{"--completion"}, "(--completion): has no value; write --completion=bash|zsh|fish"},
      {{"a", "--explain=yes"}, "(--explain=yes): takes no value"},
      {{"a", "--batch=1", "--batch=1"}, "(--batch): is given twice"},
      {{"a", "--batch=0"}, "(--batch=0): must be an integer from 1"},
      {{"a", "--batch=-1"}, "(--batch=-1): must be an integer"},
      {{"a", "--batch=1.5"}, "(--batch=1.5): must be an integer"},
      {{"a", "--batch=99999999999999999999"}, "must be an integer"},
      {{"a", "--max-seq-len="}, "(--max-seq-len=): must be an integer"},
      {{"a", "--mesh="}, "(--mesh): names no axis"},
      {{"a", "-o", "out", "--shard=heads=tp"}, "there is no mesh to shard over"},
      {{"a", "--task=dance"}, "(--task=dance): is none of the known values; choose one of generate, train"},
      {{"a", "--task=train", "--target=cuda"}, "(--target=cuda): training is not implemented for it"},
      {{"a", "--task=train", "--optimizer=adam"}, "choose one of adamw, sgd"},
      {{"a", "--task=train", "--micro-batches=2"},
       "(--micro-batches=2): a step has 1 row; use a larger --batch"},
      {{"a", "--task=train", "--recompute=full,mlp"}, "(--recompute=full,mlp): full is no name of a value"},
      {{"a", "--task=train", "--recompute="}, "(--recompute=): has an empty name"},
      {{"a", "--recompute=full"}, "(--recompute=full): belongs to training"},
      {{"a", "--memory=0"}, "(--memory=0): is no number of bytes; write --memory=16G, for example"},
      {{"a", "--memory=-1"}, "(--memory=-1): is no number of bytes"},
      {{"a", "--memory=G"}, "(--memory=G): is no number of bytes"},
      {{"a", "--memory=16i"}, "(--memory=16i): is no number of bytes"},
      {{"a", "--memory=16GB"}, "(--memory=16GB): is no number of bytes"},
      {{"a", "--memory=99999999999G"}, "(--memory=99999999999G): is no number of bytes"},
      {{"a", "--task=train", "--grad-dtype=bf16"}, "(--grad-dtype=bf16): belongs to training in bf16"},
      {{"a", "--task=train", "--dtype=f16", "--grad-dtype=bf16"}, "belongs to training in bf16"},
      {{"a", "--task=train", "--grad-dtype=f16"}, "choose one of f32, bf16"},
      {{"a", "--dtype=bf16", "--grad-dtype=bf16"}, "(--grad-dtype): belongs to training"},
      {{"a", "--task=train", "--dtype=bf16", "--loss-scale=2"}, "(--loss-scale): belongs to training in f16"},
      {{"a", "--dtype=f16", "--loss-scale=2"}, "(--loss-scale): belongs to training"},
      {{"a", "--task=train", "--dtype=f16", "--loss-scale=0"},
       "(--loss-scale=0): must be a positive number of at most 3.4e38; write --loss-scale=65536"},
      {{"a", "--task=train", "--dtype=f16", "--loss-scale=nan"}, "must be a positive number"},
      {{"a", "--optimizer=sgd"}, "(--optimizer=sgd): belongs to training"},
      {{"a", "--target=abacus"}, "(--target=abacus): there is no such target; choose one of cpu, cuda"},
      {{"a", "--dtype=f12"}, "choose one of f32, bf16, f16"},
      {{"a", "--cache=f12"},
       "(--cache=f12): is none of the known values; choose one of f32, bf16, f16, q8_0"},
      {{"a", "--task=train", "--cache=q8_0"},
       "(--cache=q8_0): training keeps no keys and values between steps"},
      {{"a", "--task=train", "--cache=bf16"},
       "(--cache=bf16): training keeps no keys and values between steps; leave one of the flags out"},
      {{"a", "--template=ring"}, "(--template=ring): this template is not implemented"},
      {{"a", "--template=origami"}, "choose one of ddp, zero1, zero2, fsdp, hsdp, tp, megatron, 2d"},
      {{"a", "--plan=file"}, "(--plan): reading a plan is not implemented"},
      {{"a", "--cluster=file"}, "(--cluster): choosing a mesh"},
      {{"a", "--report="}, "(--report): has an empty value"},
      {{"a", "--report=x.html", "--compile-to=sharded"}, "(--report=x.html): there are no collectives yet"},
      {{"a", "--micro-batches=2"}, "(--micro-batches=2): belongs to training and to pipelines"},
      {{"a", "--task=generate", "--micro-batches=1"},
       "(--micro-batches=1): belongs to training and to pipelines"},
      {{"a", "--compile-to=attic"}, "choose one of graph, step, sharded, spmd, kernels, exec, binary"},
      {{"a", "--compile-to=step", "--embed-weights"}, "there is no executable"},
      {{"a", "--cpu="}, "(--cpu): has an empty value"},
      {{"a", "--cpu=i386sx"}, "(--cpu=i386sx): no such CPU is known; choose native"},
      {{"a", "--cpi=native"}, "did you mean --cpu?"},
      {{"a", "--temp=ddp"}, "did you mean --template?"},
      {{"a", "--tp=4"}, "(--tp=4): unknown flag; did you mean --mesh=tp=4?"}, // no slip of --cpu
      {{"a", "--fsdp", "2"}, "(--fsdp): unknown flag; did you mean --mesh=fsdp=2?"},
      {{"a", "--dp=x"}, "(--dp=x): unknown flag; did you mean --mesh=dp=2?"},
      {{"a", "--xp=2"}, "(--xp=2): unknown flag; see --help"},
      {{"a", "--t"}, "(--t): unknown flag; see --help"},
      {{"a", "--out"}, "(--out): unknown flag; write -o OUT"},
  };
  for (const auto &[arguments, expected] : cases) {
    std::string message = failureOf(arguments);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}
