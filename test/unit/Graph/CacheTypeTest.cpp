//===- CacheTypeTest.cpp - Caches in another type than what is computed ---===//
#include "Gradients.h"

#include "tessera/Dialect/Graph/Transforms/Passes.h"
#include "tessera/Reference/Interpreter.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <map>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

constexpr int64_t kPositions = 8, kWidth = 8;

constexpr const char *kModel = R"(
func.func @forward(%tokens: tensor<1x8xi32> {graph.fill = #graph.fill<token_ids>, graph.kind = #graph.kind<input>, graph.name = "tokens", graph.dims = ["batch", "seq"]},
                   %positions: tensor<1x8xi32> {graph.fill = #graph.fill<positions>, graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
                   %table: tensor<9x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %wq: tensor<2x2x1x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.q", graph.dims = ["layer", "kv_heads", "group", "head_dim", "hidden"]},
                   %wk: tensor<2x2x4x8xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.k", graph.dims = ["layer", "kv_heads", "head_dim", "hidden"]},
                   %wo: tensor<2x8x2x1x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "layers.o", graph.dims = ["layer", "hidden", "kv_heads", "group", "head_dim"]})
    -> (tensor<1x8x9xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<9x8xf32>, tensor<1x8xi32>) -> tensor<1x8x8xf32>
  %r = graph.repeat 2 carry(%x : tensor<1x8x8xf32>)
      stack(%wq, %wk, %wo : tensor<2x2x1x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x8x2x1x4xf32>) -> (tensor<1x8x8xf32>) {
  ^bb0(%i: tensor<i32>, %h: tensor<1x8x8xf32>, %q_: tensor<2x1x4x8xf32>, %k_: tensor<2x4x8xf32>, %o_: tensor<8x2x1x4xf32>):
    %q = graph.linear %h, %q_ contract = 1 : (tensor<1x8x8xf32>, tensor<2x1x4x8xf32>) -> tensor<1x8x2x1x4xf32>
    %k = graph.linear %h, %k_ contract = 1 : (tensor<1x8x8xf32>, tensor<2x4x8xf32>) -> tensor<1x8x2x4xf32>
    %a = graph.attention %q, %k, %k, %positions scale = 0.5 : (tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x2x1x4xf32>
    %y = graph.linear %a, %o_ contract = 3 : (tensor<1x8x2x1x4xf32>, tensor<8x2x1x4xf32>) -> tensor<1x8x8xf32>
    %z = graph.add %h, %y : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    graph.yield %z : tensor<1x8x8xf32>
  }
  %logits = graph.linear %r, %table contract = 1 : (tensor<1x8x8xf32>, tensor<9x8xf32>) -> tensor<1x8x9xf32>
  return %logits : tensor<1x8x9xf32>
}
)";

StringRef nameOf(DictionaryAttr attrs) { return attrs.getAs<StringAttr>(graph::kNameAttr).getValue(); }

/// What a text of kPositions tokens leaves, which goes through @prefill in chunks of `chunk`.
struct Text {
  std::vector<double> hidden; ///< of every position
  std::map<std::string, ReferenceTensor> states;

  Text(int64_t chunk, const char *cache) {
    Program program(kModel);
    static const bool registered = (graph::registerBuildGenerateStep(), true);
    (void)registered;
    PassManager pm(&program.context);
    std::string pass = "graph-build-generate-step{chunk=" + std::to_string(chunk) + " cache=" + cache + "}";
    if (failed(parsePassPipeline(pass, pm)) || failed(pm.run(*program.module))) {
      ADD_FAILURE() << "there is no step in chunks of " << chunk;
      return;
    }
    auto prefill = program.module->lookupSymbol<func::FuncOp>("prefill");
    // Weights are the same whatever the chunk: each is drawn from a seed of its own.
    Tensors arguments;
    for (auto [i, type] : llvm::enumerate(prefill.getArgumentTypes())) {
      std::mt19937_64 random(i + 1);
      arguments.emplace_back(cast<RankedTensorType>(type));
      for (double &x : arguments.back().f)
        x = double(random() >> 11) * 0x1p-52 - 1;
    }
    for (int64_t first = 0; first < kPositions; first += chunk)
      run(prefill, arguments, first, chunk);
  }

  void run(func::FuncOp prefill, Tensors &arguments, int64_t first, int64_t chunk) {
    for (unsigned i = 0; i < arguments.size(); ++i) {
      StringRef name = nameOf(prefill.getArgAttrDict(i));
      std::vector<int64_t> &numbers = arguments[i].i;
      if (name == "tokens" || name == "positions")
        for (int64_t at = 0; at < chunk; ++at)
          numbers[size_t(at)] = name == "tokens" ? (5 * (first + at) + 2) % 9 : first + at;
      else if (name == "index")
        numbers[0] = chunk - 1;
      else if (graph::argumentKind(prefill, i) == graph::Kind::State)
        arguments[i] = states.try_emplace(name.str(), cast<RankedTensorType>(prefill.getArgumentTypes()[i]))
                           .first->second;
    }
    InterpreterOptions options;
    options.programRounding = true;
    auto results = interpretGlobally(prefill, arguments, options);
    ASSERT_TRUE(succeeded(results));
    for (auto [i, result] : llvm::enumerate(*results)) {
      StringRef name = nameOf(prefill.getResultAttrDict(unsigned(i)));
      if (name == "hidden")
        hidden.insert(hidden.end(), result.f.begin(), result.f.end());
      else if (states.count(name.str()))
        states[name.str()] = result;
    }
  }
};

} // namespace

// Attention over a chunk reads keys as the cache has them: a key is never seen unrounded, by whom ever.
TEST(CacheType, TheCutOfAPromptChangesNoBit) {
  for (const char *cache : {"bf16", "f16", "f32"}) {
    Text whole(kPositions, cache);
    ASSERT_EQ(whole.hidden.size(), size_t(kPositions * kWidth));
    for (int64_t chunk : {1, 2, 4}) {
      Text cut(chunk, cache);
      EXPECT_EQ(cut.hidden, whole.hidden) << cache << ", chunks of " << chunk;
      for (const char *state : {"layers.k_cache", "layers.v_cache"})
        EXPECT_EQ(cut.states[state].f, whole.states[state].f) << cache << ", chunks of " << chunk;
    }
  }
}

TEST(CacheType, CachesHoldWhatTheirTypeHas) {
  Text narrow(kPositions, "bf16"), wide(kPositions, "f32"), own(kPositions, "");
  ReferenceTensor &cache = narrow.states["layers.k_cache"], &exact = wide.states["layers.k_cache"];
  ASSERT_TRUE(cache.elementType.isBF16());
  ASSERT_TRUE(exact.elementType.isF32());
  EXPECT_EQ(own.hidden, wide.hidden);
  EXPECT_NE(narrow.hidden, wide.hidden);
  ReferenceTensor rounded = cache;
  rounded.roundToType();
  EXPECT_EQ(rounded.f, cache.f);
  // The first layer's keys follow from the tokens alone: rounded once, to nearest.
  ReferenceTensor first = exact;
  first.elementType = cache.elementType;
  first.roundToType();
  size_t layer = cache.f.size() / 2;
  EXPECT_EQ(std::vector<double>(first.f.begin(), first.f.begin() + ptrdiff_t(layer)),
            std::vector<double>(cache.f.begin(), cache.f.begin() + ptrdiff_t(layer)));
}
