// What a handful of compiled stages says of all cuts, beside the stages of these cuts themselves.
#include "tessera/Planner/PipelineProbe.h"

#include "tessera/Pipelines/Frontend.h"
#include "tessera/Pipelines/Register.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mlir;
using namespace tessera;

/// Layers of two kinds in turn, one of which takes three times as much as the other.
static const char *kPeriod = R"(
graph.parameter @table : tensor<64x32xf32> from [#graph.source<"table", file = [64, 32]>]
graph.parameter @w : tensor<9x32x32xf32> stacked from [#graph.source<"layers.{}.w", file = [32, 32]>]
graph.parameter @head : tensor<64x32xf32> from [#graph.source<"head", file = [64, 32]>]
func.func @forward(%tokens: tensor<8x32xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<token_ids>},
    %positions: tensor<8x32xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"], graph.fill = #graph.fill<positions>},
    %table: tensor<64x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
    %w: tensor<9x32x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "w", graph.dims = ["layer", "out", "hidden"]},
    %head: tensor<64x32xf32> {graph.kind = #graph.kind<parameter>, graph.name = "head", graph.dims = ["vocab", "hidden"]})
    -> (tensor<8x32x64xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<64x32xf32>, tensor<8x32xi32>) -> tensor<8x32x32xf32>
  %y = graph.repeat 9 carry(%x : tensor<8x32x32xf32>) stack(%w : tensor<9x32x32xf32>) -> (tensor<8x32x32xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x32x32xf32>, %wi: tensor<32x32xf32>):
    %p = graph.linear %h, %wi contract = 1 : (tensor<8x32x32xf32>, tensor<32x32xf32>) -> tensor<8x32x32xf32>
    %e = graph.add %h, %p : (tensor<8x32x32xf32>, tensor<8x32x32xf32>) -> tensor<8x32x32xf32>
    graph.yield %e : tensor<8x32x32xf32>
  }, {
  ^bb0(%i: tensor<i32>, %h: tensor<8x32x32xf32>, %wi: tensor<32x32xf32>):
    %p = graph.linear %h, %wi contract = 1 : (tensor<8x32x32xf32>, tensor<32x32xf32>) -> tensor<8x32x32xf32>
    %t = graph.tanh %p : tensor<8x32x32xf32>
    %q = graph.linear %t, %wi contract = 1 : (tensor<8x32x32xf32>, tensor<32x32xf32>) -> tensor<8x32x32xf32>
    %u = graph.tanh %q : tensor<8x32x32xf32>
    %r = graph.linear %u, %wi contract = 1 : (tensor<8x32x32xf32>, tensor<32x32xf32>) -> tensor<8x32x32xf32>
    %e = graph.add %h, %r : (tensor<8x32x32xf32>, tensor<8x32x32xf32>) -> tensor<8x32x32xf32>
    graph.yield %e : tensor<8x32x32xf32>
  }
  %logits = graph.linear %y, %head contract = 1 : (tensor<8x32x32xf32>, tensor<64x32xf32>) -> tensor<8x32x64xf32>
  return %logits : tensor<8x32x64xf32>
}
)";

namespace {
struct Case {
  const char *model, *mesh;
  bool splits = false;
  const char *recompute = "none", *dtype = "", *task = "train";
};

CompileOptions optionsOf(const Case &one) {
  CompileOptions options;
  options.model = std::string(TESSERA_TEST_MODELS) + "/" + one.model;
  options.mesh = options.stageMesh = one.mesh;
  options.task = StringRef(one.task) == "train" ? Task::Train : Task::Generate;
  options.batch = 8;
  options.maxSeqLen = 32;
  options.microBatches = 4;
  options.splitsBackward = one.splits;
  options.recompute = one.recompute;
  options.dtype = one.dtype;
  return options;
}

/// `predicted` within `part` of what is there, or of a hundredth of `all`: an end that does next to nothing.
void expectNear(double predicted, double actual, double all, double part, const std::string &what) {
  EXPECT_LE(std::abs(predicted - actual), part * std::max(actual, all / 100)) << what << ": " << actual;
}
} // namespace

TEST(PipelineProbe, CostsAreThoseOfTheProgramsOfACut) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tessera-probe", folder));
  const std::string program = (folder + "/period.mlir").str();
  std::error_code error;
  llvm::raw_fd_ostream(program, error) << kPeriod;
  ASSERT_FALSE(error);
  for (const Case &one :
       {Case{"tiny-llama", "pp=1,tp=2", true, "full"}, Case{"tiny-gpt2", "pp=1,dp=2"},
        Case{"smollm2-135m-config", "pp=1,tp=3", true, "none", "bf16"}, Case{"period.mlir", "pp=1"},
        Case{"smollm2-135m-config", "pp=1", false, "none", "", "generate"}}) {
    CompileOptions options = optionsOf(one);
    if (StringRef(one.model).ends_with(".mlir"))
      options.model = program;
    auto graph = loadModel(context, options);
    ASSERT_TRUE(graph) << graph.failure().message();
    std::optional<LayerLoop> loop = findLayerLoop(**graph);
    ASSERT_TRUE(loop);
    const Rung last = loop->layers < 10 ? Rung::Exec : Rung::Spmd; // bytes of small models are enough
    StageProbe probe(**graph, options.model);
    auto costs = StageCosts::probe(probe, *loop, options, last);
    ASSERT_TRUE(costs) << costs.failure().message();
    const int64_t layers = loop->layers, third = layers / 3;
    for (const schedule::StageSizes &sizes :
         {schedule::StageSizes{layers - 1, 1}, {third, layers - third}, {0, layers}}) {
      options.stageSizes.assign(sizes.begin(), sizes.end());
      options.stageCoordinates = {0, 1};
      auto stages = probe.measure(options, last);
      ASSERT_TRUE(stages) << stages.failure().message();
      auto compare = [&](Figure figure, double part, const char *name) {
        std::vector<double> predicted = schedule::stageCosts(costs->of(figure), sizes);
        double all = (*stages)[0].of(figure) + (*stages)[1].of(figure);
        for (size_t stage = 0; stage < sizes.size(); ++stage)
          expectNear(predicted[stage], (*stages)[stage].of(figure), all, part,
                     std::string(one.model) + " on " + one.mesh + ", stage " + std::to_string(stage) +
                         " of " + std::to_string(sizes[0]) + "," + std::to_string(sizes[1]) + ", " + name);
      };
      compare(Figure::Forward, 0.05, "forward");
      compare(Figure::WeightGradient, 0.05, "weight gradient");
      // A stage with a part of a period has other bodies: what stands around them differs as well.
      if (loop->period > 1)
        continue;
      compare(Figure::InputGradient, 0.05, "input gradient");
      compare(Figure::Once, 0.05, "once a step");
      compare(Figure::Chunk, 0.05, "chunk");
      compare(Figure::Token, 0.05, "token");
      compare(Figure::Weights, 0.05, "weights");
      compare(Figure::Slot, 0.05, "slot");
      compare(Figure::SlotOfInput, 0.05, "slot to the end of input_gradient");
      compare(Figure::SlotOfWeight, 0.05, "slot of weight_gradient");
    }
  }
  llvm::sys::fs::remove_directories(folder);
}
