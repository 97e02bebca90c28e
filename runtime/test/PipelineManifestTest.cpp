// What the runtime reads of the manifests of pipelines and their stages, and what it refuses.
#include "ManifestRefusals.h"

namespace tessera::runtime {
namespace {

// The last of two stages: it receives x and sends its gradient back.
const char *const stage =
    R"({"version": 2, "task": "train", "dtype": "f32", "target": "cpu", "model": "/m",
  "train": {"batch": 5, "seq": 4, "micro_batches": 2, "vocab": 7, "loss_scale": 8},
  "mesh": [["pp", 1], ["dp", 2]], "arena_bytes": 4096, "slot_bytes": {"whole": 128}, "matmuls": [], "groups": [], "collectives": [],
  "states": [{"name": "kept.x", "dtype": "f32", "shape": [32], "local": [32], "sharding": [[]], "offset": 0, "clear": "at_start"},
             {"name": "sum", "dtype": "f32", "shape": [7], "local": [7], "sharding": [[]], "offset": 128, "clear": "at_start"}],
  "params": [{"name": "w", "dtype": "f32", "shape": [7], "local": [7], "sharding": [[]], "variable": true,
              "sources": [{"name": "w", "shape": [7]}]}],
  "entries": [
    {"name": "f", "role": "train", "stage_part": "forward", "outputs": [],
     "inputs": [{"name": "t", "fill": "targets", "dtype": "i32", "shape": [3, 4], "local": [2, 4], "sharding": [[["dp", 1, 2]], []], "offset": 192},
                {"name": "x", "fill": "received", "dtype": "bf16", "shape": [3, 4, 2], "local": [2, 4, 2], "sharding": [[["dp", 1, 2]], [], []], "offset": 256},
                {"name": "i", "fill": "micro_batch", "dtype": "i32", "shape": [], "local": [], "sharding": [], "offset": 320},
                {"name": "l", "fill": "first_layer", "dtype": "i32", "shape": [], "local": [], "sharding": [], "offset": 324},
                {"name": "u", "fill": "token_weight", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 328}]},
    {"name": "b", "role": "train", "stage_part": "backward", "inputs": [],
     "outputs": [{"name": "grad.x", "gives": "sent_gradient", "dtype": "bf16", "shape": [3, 4, 2], "local": [2, 4, 2], "sharding": [[["dp", 1, 2]], [], []], "offset": 256}]},
    {"name": "a", "role": "train", "stage_part": "begin", "inputs": [], "outputs": []},
    {"name": "h", "role": "train", "stage_part": "share", "inputs": [],
     "outputs": [{"name": "shared.w", "gives": "shared_gradient", "dtype": "f32", "shape": [7], "local": [7], "sharding": [[]], "offset": 256}]},
    {"name": "s", "role": "train", "stage_part": "sum",
     "inputs": [{"name": "shared.w", "fill": "shared_gradient", "dtype": "f32", "shape": [7], "local": [7], "sharding": [[]], "offset": 256}],
     "outputs": [{"name": "sum.loss", "gives": "stage_sum", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 320}]},
    {"name": "e", "role": "train", "stage_part": "update", "params": {"reads": [0], "updates": [0]},
     "inputs": [{"name": "sum.loss", "fill": "stage_sum", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 320}],
     "outputs": [{"name": "l", "gives": "loss", "dtype": "f32", "shape": [], "local": [], "sharding": [], "offset": 384}]}]})";

// Of two ranks, the second of which has two stages.
const char *const whole =
    R"({"version": 2, "task": "train", "dtype": "f32", "target": "cpu", "model": "/m",
  "train": {"batch": 5, "seq": 4, "micro_batches": 2, "vocab": 7},
  "mesh": [["pp", 2], ["dp", 2]], "arena_bytes": 0, "matmuls": [], "groups": [], "collectives": [], "states": [], "params": [], "entries": [],
  "pipeline": {"axis": "pp", "schedule": "mine", "send_buffers": 3, "lists": ["0F0", "1F0 2F0"],
    "stages": [{"program": 0, "first_layer": 0, "layers": 4, "at": 0}, {"program": 1, "first_layer": 4, "layers": 0, "at": 1},
               {"program": 1, "first_layer": 4, "layers": 3, "at": 1}],
    "shared": [{"parameter": "embed", "stages": [0, 2]}]}})";

// The first of two stages that generate text, and their whole: five rows in groups of three.
const char *const generating =
    R"({"version": 2, "task": "generate", "dtype": "f32", "target": "cpu", "model": "/m",
  "generate": {"batch": 3, "chunk": 4, "max_seq_len": 8, "vocab": 7},
  "mesh": [["pp", 1]], "arena_bytes": 4096, "slot_bytes": {"whole": 128}, "matmuls": [], "groups": [], "collectives": [], "params": [],
  "states": [{"name": "k", "dtype": "f32", "shape": [1, 3, 8], "local": [1, 3, 8], "sharding": [[], [], []], "offset": 0, "clear": "before_prompts"}],
  "entries": [
    {"name": "prefill", "role": "prompt", "stage_part": "forward",
     "inputs": [{"name": "t", "fill": "token_ids", "dtype": "i32", "shape": [3, 4], "local": [3, 4], "sharding": [[], []], "offset": 192},
                {"name": "l", "fill": "first_layer", "dtype": "i32", "shape": [], "local": [], "sharding": [], "offset": 256}],
     "outputs": [{"name": "x", "gives": "sent", "dtype": "f32", "shape": [3, 4, 2], "local": [3, 4, 2], "sharding": [[], [], []], "offset": 320}]},
    {"name": "decode", "role": "next", "stage_part": "forward",
     "inputs": [{"name": "t", "fill": "token_ids", "dtype": "i32", "shape": [3, 1], "local": [3, 1], "sharding": [[], []], "offset": 192}],
     "outputs": [{"name": "x", "gives": "sent", "dtype": "f32", "shape": [3, 1, 2], "local": [3, 1, 2], "sharding": [[], [], []], "offset": 512}]}]})";
const char *const generatingWhole =
    R"({"version": 2, "task": "generate", "dtype": "f32", "target": "cpu", "model": "/m",
  "generate": {"batch": 5, "chunk": 4, "max_seq_len": 8, "vocab": 7},
  "mesh": [["pp", 2]], "arena_bytes": 0, "matmuls": [], "groups": [], "collectives": [], "states": [], "params": [], "entries": [],
  "pipeline": {"axis": "pp", "schedule": "in-turn", "send_buffers": 2, "lists": [],
    "stages": [{"program": 0, "first_layer": 0, "layers": 4, "at": 0}, {"program": 1, "first_layer": 4, "layers": 0, "at": 1}], "shared": [],
    "groups": 2}})";

TEST(PipelineManifest, ReadsTheStagesOfAPipeline) {
  Manifest m = Manifest::parse(whole);
  ASSERT_TRUE(m.pipeline);
  const PipelineSpec &p = *m.pipeline;
  EXPECT_EQ(p.axis, "pp");
  EXPECT_EQ(p.schedule, "mine");
  EXPECT_EQ(p.sendBuffers, 3);
  EXPECT_EQ(p.lists, (std::vector<std::string>{"0F0", "1F0 2F0"}));
  ASSERT_EQ(p.stages.size(), 3u);
  const PipelineSpec::Stage &last = p.stages[2];
  EXPECT_EQ(std::tuple(last.program, last.firstLayer, last.layers, last.at), std::tuple(1, 4, 3, 1));
  ASSERT_EQ(p.shared.size(), 1u);
  EXPECT_EQ(p.shared[0].parameter, "embed");
  EXPECT_EQ(p.shared[0].stages[1], 2);
  EXPECT_EQ(m.train->train, -1);
}

TEST(PipelineManifest, ReadsThePartsOfAStep) {
  Manifest m = Manifest::parse(stage);
  EXPECT_EQ(m.slotBytes[int(Slot::Whole)], 128);
  EXPECT_EQ(m.slotBegin(kSlots), 128);
  EXPECT_EQ(m.train->train, -1);
  EXPECT_EQ(m.partIndex(Role::Train, StagePart::Share), 3);
  EXPECT_EQ(m.partIndex(Role::Train, StagePart::WeightGradient), -1);
  EXPECT_EQ(m.partIndex(Role::Evaluate, StagePart::Forward), -1);
  EXPECT_EQ(m.entries[0].input(Fill::Received)->name, "x");
  EXPECT_EQ(m.entries[0].input(Fill::FirstLayer)->name, "l");
  EXPECT_EQ(m.entries[1].output(Gives::SentGradient)->name, "grad.x");
  EXPECT_EQ(m.entries[4].input(Fill::SharedGradient)->name, "shared.w");
  EXPECT_EQ(m.entries[5].input(Fill::StageSum)->name, "sum.loss");
}

TEST(PipelineManifest, RefusesPipelinesThatDoNotAddUp) {
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(whole, piece, by, why);
  };
  refused("\"axis\": \"pp\"", "\"axis\": \"qq\"", "axis qq does not fit the mesh pp=2,dp=2");
  refused("\"arena_bytes\": 0", "\"arena_bytes\": 64", "entries beside those of its stages");
  refused("\"lists\": [\"0F0\", ", "\"lists\": [", "has 1 lists for 2 ranks along pp");
  refused("\"send_buffers\": 3", "\"send_buffers\": 0", "no buffers");
  refused("\"send_buffers\": 3", "\"send_buffers\": 3, \"groups\": 1", "has 1 groups of rows");
  refused("\"program\": 0", "\"program\": -1", "a negative number");
  refused("\"layers\": 4, \"at\": 0", "\"layers\": 3, \"at\": 0",
          "stage 1): its layers are not those behind");
  refused("\"layers\": 4, \"at\": 0", "\"layers\": 4, \"at\": 2", "it lies at 2 of 2");
  refused("\"layers\": 4, \"at\": 0", "\"layers\": 4, \"at\": 1", "no stage lies at 0");
  refused("\"stages\": [0, 2]", "\"stages\": [0, 1, 2]", "only two can share a parameter");
  refused("\"stages\": [0, 2]", "\"stages\": [2, 0]", "embed is not of two stages");
  refused("\"stages\": [0, 2]", "\"stages\": [0, 3]", "embed is not of two stages");
  refused("\"schedule\": \"mine\"", "\"schedule\": \"mine\", \"color\": 1", "does not know");
  refused("\"train\": {\"batch\": 5, \"seq\": 4, \"micro_batches\": 2, \"vocab\": 7},", "",
          "the program does not train");
}

TEST(PipelineManifest, RefusesPartsThatNothingCarriesOut) {
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(stage, piece, by, why);
  };
  refused("\"whole\": 128", "\"whole\": 8192", "no part of the arena");
  refused("\"whole\": 128", "\"whole\": 64", "lies in the slot of a micro-batch and behind it");
  refused("\"whole\": 128", "\"whole\": 196", "no part of the arena");
  refused("\"whole\": 128", "\"whole\": 256", "lies in the slot");
  refused("\"whole\": 128", "\"whole\": 64, \"from_input_gradient\": 64",
          "lies in the slot of a micro-batch and behind it");
  refused("\"whole\": 128", "\"whole\": 128, \"forward\": 64", "does not know");
  refused("\"stage_part\": \"backward\"", "\"stage_part\": \"sideways\"", "\"sideways\" is not known");
  refused("\"stage_part\": \"begin\"", "\"stage_part\": \"update\"", "the same part of a step");
  refused("\"stage_part\": \"backward\"", "\"stage_part\": \"weight_gradient\"", "does not give");
  refused("\"role\": \"train\", \"stage_part\": \"begin\"", "\"role\": \"train\"", "others whole steps");
  refused("\"role\": \"train\", \"stage_part\": \"backward\"", "\"stage_part\": \"backward\"",
          "no role in training");
  refused("\"role\": \"train\", \"stage_part\": \"backward\"",
          "\"role\": \"evaluate\", \"stage_part\": \"backward\"", "evaluates, and is a part of training");
  refused("\"gives\": \"sent_gradient\"", "\"gives\": \"sent\"", "does not give");
  refused("\"shape\": [3, 4], \"local\": [2, 4]", "\"shape\": [2, 4], \"local\": [2, 4]",
          "is not i32 [rows, seq] of a micro-batch");
  refused("\"fill\": \"token_weight\"", "\"fill\": \"stage_sum\"", "does not take");
  refused("\"fill\": \"token_weight\"", "\"fill\": \"first_layer\"", "is no number of type i32");
  refused("\"fill\": \"token_weight\"", "\"fill\": \"dropout_key\"", "is no number of type i64");
  refused("\"fill\": \"token_weight\"", "\"fill\": \"seed\"", "nothing fills it");
  refused("\"fill\": \"received\"", "\"fill\": \"received_gradient\"", "does not take");
  refused("\"stage_part\": \"share\"", "\"stage_part\": \"sum\"", "does not give");
  refused("\"stage_part\": \"sum\"", "\"stage_part\": \"update\"", "does not give");
  refused("\"stage_part\": \"forward\"",
          "\"stage_part\": \"forward\", \"params\": {\"reads\": [], \"updates\": [0]}",
          "updates parameters, which its part does not");
  refused("\"stage_part\": \"forward\"", "\"stage_part\": \"forward\", \"counts\": [[1, 2]]", "takes counts");
  refused("\"train\": {\"batch\": 5, \"seq\": 4, \"micro_batches\": 2, \"vocab\": 7, \"loss_scale\": 8},", "",
          "the program does not");
  refused("\"name\": \"sum\"", "\"name\": \"sum\", \"fill\": \"received\"", "is no state");
}

TEST(PipelineManifest, ReadsStagesThatGenerate) {
  Manifest m = Manifest::parse(generating);
  EXPECT_EQ(m.generate->prompt, 0);
  EXPECT_EQ(m.generate->next, 1);
  EXPECT_EQ(m.entries[0].part, StagePart::Forward);
  m = Manifest::parse(generatingWhole);
  EXPECT_EQ(m.generate->batch, 5);
  EXPECT_EQ(m.generate->prompt, -1);
  EXPECT_EQ(m.pipeline->groups, 2);
}

TEST(PipelineManifest, RefusesStagesThatDoNotGenerate) {
  auto refused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(generating, piece, by, why);
  };
  refused("\"role\": \"next\"", "\"role\": \"prompt\"", "has the role of entry prefill");
  refused("\"role\": \"next\", \"stage_part\": \"forward\"",
          "\"role\": \"next\", \"stage_part\": \"backward\"", "no entry has the role prompt");
  refused("\"role\": \"prompt\", \"stage_part\": \"forward\"", "\"role\": \"prompt\"",
          "nothing fills input l");
  refused("\"gives\": \"sent\"", "\"gives\": null", "it takes no index");
  refused("\"fill\": \"first_layer\", \"dtype\": \"i32\"", "\"fill\": \"first_layer\", \"dtype\": \"f32\"",
          "is no number of type i32");
  refused("\"fill\": \"first_layer\"", "\"fill\": \"stage_sum\"", "nothing fills input l");
  refused("\"generate\": {\"batch\": 3, \"chunk\": 4, \"max_seq_len\": 8, \"vocab\": 7},", "",
          "the program does not generate text");
  auto wholeRefused = [](const std::string &piece, const std::string &by, const std::string &why) {
    expectRefusedIn(generatingWhole, piece, by, why);
  };
  wholeRefused("\"lists\": []", "\"lists\": [\"0F0\", \"1F0\"]", "has 2 lists");
  wholeRefused("[[\"pp\", 2]]", "[[\"pp\", 3]]", "has 2 stages on 3 ranks");
  wholeRefused("\"groups\": 2", "\"groups\": 0", "has 0 groups of rows for a batch of 5");
  wholeRefused("\"groups\": 2", "\"groups\": 6", "has 6 groups of rows for a batch of 5");
  wholeRefused("\"layers\": 0, \"at\": 1", "\"layers\": 0, \"at\": 0", "does not lie where its number says");
}

} // namespace
} // namespace tessera::runtime
