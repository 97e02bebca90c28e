// OUT train of a pipeline: the numbers of the same model in one program, saves, refusals.
#include "TrainRun.h"

using namespace fake;
using nlohmann::json;

namespace {

// A program of FakePipeline.cpp.
struct Cut {
  std::string stages = "5", schedule = "1f1b";
  int pp = 1, dp = 1;
  std::string more{};
  std::string environment() const {
    return "FAKE_STAGES=" + stages + " FAKE_SCHEDULE=" + schedule + " FAKE_PP=" + std::to_string(pp) +
           " FAKE_DP=" + std::to_string(dp) + " " + more + " ";
  }
};
std::ostream &operator<<(std::ostream &out, const Cut &cut) { return out << cut.environment(); }

class PipelineTrain : public TrainRun {
protected:
  static std::string run(const Cut &cut, const std::string &words, const char *driver = "fake") {
    return cut.environment() + FAKE_PROGRAM_DIR + "/" + driver +
           "_pipeline train --data=data.safetensors --epochs=9 --lr=0.1 " + words;
  }
  // A run of steps from made-up weights. Without clipping, which multiplies with a norm: sums over stages are
  // other sums.
  static std::string steps(const Cut &cut, int count, const std::string &save, const char *driver = "fake") {
    return run(cut,
               "--init=random:7 --clip=0 --eval=data.safetensors --log=" + save + ".log --save=" + save +
                   " --steps=" + std::to_string(count),
               driver);
  }
  std::vector<json> lines(const std::string &name) const {
    std::istringstream text(read(name));
    std::vector<json> lines;
    for (std::string line; std::getline(text, line);)
      lines.push_back(json::parse(line));
    return lines;
  }
  // The same losses, to the last bit or nearly.
  void expectLog(const std::string &name, const std::string &wanted, double within) const {
    const std::vector<json> got = lines(name), want = lines(wanted);
    ASSERT_EQ(got.size(), want.size());
    ASSERT_FALSE(want.empty());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i]["loss"].get<double>(), want[i]["loss"].get<double>(), within) << i;
      EXPECT_NEAR(got[i]["grad_norm"].get<double>(), want[i]["grad_norm"].get<double>(), 1e-5) << i;
    }
    EXPECT_NEAR(got.back()["eval_loss"].get<double>(), want.back()["eval_loss"].get<double>(), within);
  }
};

// However the layers are cut, wherever stages lie, in whatever order they run: one program's numbers.
TEST_F(PipelineTrain, NumbersOfOneProgram) {
  ASSERT_EQ(shell(steps({}, 4, "whole")).status, 0) << read("err");
  for (const Cut &cut :
       {Cut{"2,3", "1f1b", 2}, Cut{"2,3", "gpipe", 2}, Cut{"2,3", "zb1p", 2}, Cut{"2,0,3", "1f1b", 3},
        Cut{"1,1,1,2", "interleaved", 2}, Cut{"1,1,1,2", "zbv", 2}, Cut{"1,2,1,1", "1f1b", 4},
        Cut{"2,3", "1f1b", 2, 1, "FAKE_RECOMPUTE=1"}, Cut{"1,1,3", "zb1p", 3, 1, "FAKE_RECOMPUTE=1"}})
    for (const char *driver : {"fake", "checked"}) {
      SCOPED_TRACE(testing::Message() << cut << driver);
      Outcome o = shell(steps(cut, 4, "cut", driver));
      ASSERT_EQ(o.status, 0) << o.err;
      EXPECT_EQ(o.out, "");
      expectLog("cut.log", "whole.log", 0);
      expectSame("whole/step-4", "cut/step-4");
      std::filesystem::remove_all(folder + "/cut");
      std::filesystem::remove(folder + "/cut.log");
    }
}

// A stage that drops nothing has no step with dropout: it runs the one without.
TEST_F(PipelineTrain, StagesThatDropNothing) {
  ASSERT_EQ(shell(steps({}, 3, "whole")).status, 0) << read("err");
  const Cut cut{"2,3", "zb1p", 2, 1, "FAKE_DROPS=1"};
  ASSERT_EQ(shell(steps(cut, 3, "cut") + " --dropout=0.5").status, 0) << read("err");
  expectLog("cut.log", "whole.log", 0);
  expectSame("whole/step-3", "cut/step-3");
  expectError("env " + steps({"2,3", "zb1p", 2}, 3, "none") + " --dropout=0.5", "train without dropout");
}

// Rows over other ranks, too: each stage reduces its gradients among them.
TEST_F(PipelineTrain, StagesBesideReplicas) {
  ASSERT_EQ(shell(steps({"5", "1f1b", 1, 2}, 4, "whole")).status, 0) << read("err");
  for (const Cut &cut : {Cut{"2,3", "1f1b", 2, 2}, Cut{"1,1,1,2", "zbv", 2, 2}}) {
    SCOPED_TRACE(testing::Message() << cut);
    ASSERT_EQ(shell(steps(cut, 4, "cut")).status, 0) << read("err");
    expectLog("cut.log", "whole.log", 0);
    expectSame("whole/step-4", "cut/step-4");
    std::filesystem::remove_all(folder + "/cut");
    std::filesystem::remove(folder + "/cut.log");
  }
}

TEST_F(PipelineTrain, UnderMpi) {
  if (!haveMpi())
    GTEST_SKIP() << "no mpirun";
  ASSERT_EQ(shell(steps({}, 4, "whole")).status, 0) << read("err");
  ASSERT_EQ(shell(steps({"5", "1f1b", 1, 2}, 4, "rows")).status, 0) << read("err");
  for (const Cut &cut :
       {Cut{"2,3", "1f1b", 2}, Cut{"1,1,1,2", "zbv", 2}, Cut{"2,0,3", "1f1b", 3}, Cut{"2,3", "zb1p", 2, 2}}) {
    SCOPED_TRACE(testing::Message() << cut);
    const std::string wanted = cut.dp == 1 ? "whole" : "rows";
    Outcome o = shell("export " + cut.environment() + "; " +
                      mpirun(cut.pp * cut.dp, steps(Cut(), 4, "cut").substr(Cut().environment().size())));
    ASSERT_EQ(o.status, 0) << o.err;
    expectLog("cut.log", wanted + ".log", 0);
    expectSame(wanted + "/step-4", "cut/step-4");
    std::filesystem::remove_all(folder + "/cut");
    std::filesystem::remove(folder + "/cut.log");
  }
}

// The norm is added up by stages, and clips all of them alike.
TEST_F(PipelineTrain, StagesClipByTheNormOfTheWhole) {
  const std::string words = "--init=random:7 --clip=0.3 --steps=5 --eval=data.safetensors ";
  ASSERT_EQ(shell(run({}, words + "--log=whole.log --save=whole")).status, 0) << read("err");
  ASSERT_EQ(shell(run({"2,0,3", "1f1b", 3}, words + "--log=cut.log --save=cut")).status, 0) << read("err");
  expectLog("cut.log", "whole.log", 1e-5);
  for (const char *name : {"table", "bias", "layers.1.scale", "layers.4.scale"}) {
    std::vector<float> whole = tensor("whole/step-5/model.safetensors", name),
                       cut = tensor("cut/step-5/model.safetensors", name);
    ASSERT_EQ(whole.size(), cut.size());
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_NEAR(cut[i], whole[i], 1e-5) << name << " " << i;
  }
}

// A save has no stages: it goes on on any cut.
TEST_F(PipelineTrain, ARunGoesOnOnOtherStages) {
  const std::string same = "--clip=0 --schedule=constant ";
  ASSERT_EQ(shell(run({}, same + "--init=random:7 --steps=5 --save=whole")).status, 0) << read("err");
  ASSERT_EQ(shell(run({"2,3", "1f1b", 2}, same + "--init=random:7 --steps=2 --save=two")).status, 0)
      << read("err");
  for (const Cut &cut : {Cut{"2,3", "1f1b", 2}, Cut{"1,1,1,2", "zbv", 2}, Cut{"4,0,1", "gpipe", 3}, Cut{}}) {
    SCOPED_TRACE(testing::Message() << cut);
    ASSERT_EQ(shell(run(cut, same + "--resume=two --steps=5 --save=on")).status, 0) << read("err");
    expectSame("whole/step-5", "on/step-5");
    std::filesystem::remove_all(folder + "/on");
  }
}

TEST_F(PipelineTrain, WritesGradients) {
  const std::string words = "--init=random:7 --clip=0 --steps=2 ";
  ASSERT_EQ(shell(run({}, words + "--grads=whole.safetensors --save=whole")).status, 0) << read("err");
  ASSERT_EQ(shell(run({"2,0,3", "zb1p", 3}, words + "--grads=cut.safetensors --save=cut")).status, 0)
      << read("err");
  EXPECT_EQ(read("cut.safetensors"), read("whole.safetensors"));
  EXPECT_GT(read("cut.safetensors").size(), size_t(11 * 8 * 4));
  expectSame("whole/step-2", "cut/step-2");
}

TEST_F(PipelineTrain, InfoShowsStagesAndLists) {
  const Cut cut{"1,1,1,2", "interleaved", 2};
  const std::string program = cut.environment() + FAKE_PROGRAM_DIR + "/fake_pipeline ";
  Outcome o = shell(program + "info --json");
  ASSERT_EQ(o.status, 0) << o.err;
  json pipeline = json::parse(o.out)["pipeline"];
  ASSERT_EQ(pipeline["stages"].size(), 4u);
  EXPECT_EQ(pipeline["stages"][1]["program"], pipeline["stages"][2]["program"]);
  EXPECT_EQ(pipeline["stages"][3]["first_layer"], 3);
  EXPECT_EQ(pipeline["stages"][3]["at"], 1);
  EXPECT_EQ(pipeline["lists"].size(), 2u);
  const json &rank = pipeline["ranks"][1];
  EXPECT_EQ(rank["weight_bytes"], pipeline["stages"][1]["weight_bytes"].get<int64_t>() +
                                      pipeline["stages"][3]["weight_bytes"].get<int64_t>());
  int64_t slots = 0;
  for (int stage : {1, 3})
    slots += (pipeline["stages"][stage]["slots"].get<int64_t>() - 1) *
             pipeline["stages"][stage]["slot_bytes"].get<int64_t>();
  EXPECT_GT(slots, 0);
  EXPECT_EQ(rank["more_slots_bytes"], slots);
  EXPECT_FALSE(pipeline["stages"][1].contains("weight_gradient_reads"));
  o = shell(program + "info");
  EXPECT_NE(o.out.find("stage 3      at 1, layers 3 to 4, weights "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("shared       table, by stages 0 and 3: each holds a copy\n"), std::string::npos)
      << o.out;
  EXPECT_NE(o.out.find("r0 0F0 0SEND_F0"), std::string::npos) << o.out;
  // One layer, and what there is nothing of.
  EXPECT_NE(o.out.find("stage 1      at 1, layer 1, weights "), std::string::npos) << o.out;
  EXPECT_EQ(o.out.find("0.0000 MB"), std::string::npos) << o.out;
  for (const char *part : {" 0 bytes", "1 micro-batches", "micro-batchs"})
    EXPECT_EQ(o.out.find(part), std::string::npos) << o.out;
}

// What ranks allocate is what `info` says, to the byte, whatever steps they run: with and without dropout,
// evaluations. Only the sums over stages, some numbers, are beside it.
TEST_F(PipelineTrain, RanksTakeWhatInfoSays) {
  for (const Cut &cut : {Cut{"2,3", "1f1b", 2, 1, "FAKE_DROPS=1"}, Cut{"1,1,1,2", "interleaved", 2},
                         Cut{"1,1,3", "zb1p", 3, 1, "FAKE_RECOMPUTE=1"}, Cut{"2,0,3", "gpipe", 3}}) {
    SCOPED_TRACE(testing::Message() << cut);
    Outcome o = shell(cut.environment() + FAKE_PROGRAM_DIR + "/checked_pipeline info --json");
    ASSERT_EQ(o.status, 0) << o.err;
    int64_t said = 0;
    const json info = json::parse(o.out);
    for (const json &rank : info["pipeline"]["ranks"])
      said += rank["device_bytes"].get<int64_t>();
    std::filesystem::remove(folder + "/allocated");
    o = shell("TESSERA_CHECKED_ALLOCATIONS=allocated " + steps(cut, 1, "cut", "checked") +
              (cut.more == "FAKE_DROPS=1" ? " --dropout=0.5" : ""));
    ASSERT_EQ(o.status, 0) << o.err;
    std::istringstream lines(read("allocated"));
    int64_t taken = 0, bytes = 0;
    for (std::string what; lines >> bytes && std::getline(lines, what);)
      taken += what == " sums over stages" ? 0 : bytes;
    EXPECT_EQ(taken, said) << read("allocated");
    std::filesystem::remove_all(folder + "/cut");
    std::filesystem::remove(folder + "/cut.log");
  }
}

// With a backward in two: what is held before and after its first half, and what the second one reads.
TEST_F(PipelineTrain, InfoShowsWhatIsKeptForWeights) {
  const Cut cut{"2,3", "zb1p", 2};
  const std::string program = cut.environment() + FAKE_PROGRAM_DIR + "/fake_pipeline ";
  Outcome o = shell(program + "info --json");
  ASSERT_EQ(o.status, 0) << o.err;
  json pipeline = json::parse(o.out)["pipeline"];
  int64_t beside = 0;
  for (int number : {0, 1}) {
    const json &stage = pipeline["stages"][number];
    const json &whole = stage["slots_by_kind"]["whole"],
               &from = stage["slots_by_kind"]["from_input_gradient"];
    const int64_t kept = whole["bytes"], made = from["bytes"];
    EXPECT_GT(kept, 0);
    EXPECT_GT(made, 0);
    EXPECT_EQ(stage["slots_by_kind"]["until_input_gradient"]["bytes"], 0);
    EXPECT_EQ(stage["input_gradient"]["bytes_before"], kept);
    EXPECT_EQ(stage["input_gradient"]["bytes_within"], kept + made);
    EXPECT_EQ(stage["input_gradient"]["bytes_after"], kept + made);
    ASSERT_EQ(stage["weight_gradient_reads"].size(), 2u);
    EXPECT_EQ(stage["weight_gradient_reads"][0]["value"], "x");
    EXPECT_EQ(stage["weight_gradient_reads"][0]["made_by"], "forward");
    EXPECT_EQ(stage["weight_gradient_reads"][1]["value"], "gradients of x");
    EXPECT_EQ(stage["weight_gradient_reads"][1]["made_by"], "input_gradient");
    beside = (whole["slots"].get<int64_t>() - 1) * kept + (from["slots"].get<int64_t>() - 1) * made;
    EXPECT_EQ(pipeline["ranks"][number]["more_slots_bytes"], beside);
  }
  o = shell(program + "info");
  EXPECT_NE(o.out.find("W of stage 1 reads x "), std::string::npos) << o.out;
}

// What stages do not have in common, and what pipelines cannot do yet.
TEST_F(PipelineTrain, OneLineSaysWhatIsWrong) {
  const Cut cut{"2,3", "1f1b", 2};
  auto refused = [&](const std::string &breaks, const std::string &words, const std::string &why) {
    Cut broken = cut;
    broken.more = breaks;
    expectError("env " + run(broken, "--init=random:7 --steps=2 " + words), why);
  };
  refused("FAKE_BREAK=name", "", "stage 1, entry train_forward, input y): stage 0 does not send it");
  refused("FAKE_BREAK=batch", "", "stage 0): its sizes of training are not those of the whole");
  refused("FAKE_BREAK=shared", "",
          "stage 1): it has table as another stage does, and does not give or take its gradient");
  refused("FAKE_BREAK=list", "", "pipeline, lists): ");
  refused("FAKE_BREAK=nobody", "", "stage 0, output z): no stage receives it");
  refused("FAKE_BREAK=halves", "", "stage 0): its backward is one entry, and the lists have it in two");
  refused("", "--trace=t.json", "this program does not name its calls");
  refused("", "--clip=0 --lr=1e30 --steps=9", "--lr is given twice");
  expectError("env " + cut.environment() + FAKE_PROGRAM_DIR +
                  "/fake_pipeline train --data=data.safetensors --epochs=9 --init=random:7 --clip=0 "
                  "--schedule=constant --lr=1e30 --steps=9",
              "step 2): the loss is ");
}

TEST_F(PipelineTrain, Bench) {
  const Cut cut{"1,1,1,2", "zbv", 2, 2};
  Outcome o = shell(cut.environment() + FAKE_PROGRAM_DIR + "/fake_pipeline bench --json --init=random:1");
  ASSERT_EQ(o.status, 0) << o.err;
  json bench = json::parse(o.out);
  EXPECT_GT(bench["step_s"].get<double>(), 0);
  EXPECT_EQ(bench["micro_batches"], 4);
  // Of two stages, one reduction each: over two ranks half of the bytes, twice.
  const int64_t others = 2 * 11 * 8 + 11 + 1;
  EXPECT_EQ(bench["sent_bytes"]["all_reduce"], 4 * (others + 8 + others + 2 * 8));
}

} // namespace
