//===- ExecuteTypesTest.cpp - Programs that mix element types, as machine code ----------===//
//
// Compiled, run by all ranks, and compared with the interpreter: 16-bit results by what random rounding does
// to the program, float32's by 1e-5 (lib/Execution/Compare). A program that takes 16-bit numbers for float32
// gives garbage, or writes past its buffers.
//
//===----------------------------------------------------------------------===//
#include "ExecuteHarness.h"

#include "tessera/Execution/Compare.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// A mesh and how dimensions lie on it, as llm-compile takes them; empty: one device.
struct Ranks {
  const char *mesh, *shard;
};
} // namespace

/// `text` with every `$` made a type, for each type and mesh.
static void expectEqual(const std::string &text, std::vector<Ranks> meshes = {{"", ""}}) {
  for (const char *type : {"bf16", "f16", "f32"}) {
    std::string program;
    for (char c : text)
      program += c == '$' ? type : std::string(1, c);
    for (Ranks ranks : meshes) {
      std::unique_ptr<MLIRContext> context = createContext();
      OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, context.get());
      ASSERT_TRUE(module) << type;
      ExecutionJudgement judgement;
      judgement.threads = 2;
      judgement.execution.compile.mesh = ranks.mesh;
      judgement.execution.compile.shard = ranks.shard;
      auto differences = judgeExecution(*module, judgement);
      ASSERT_TRUE(differences) << type << " " << ranks.mesh << ": " << differences.failure().message();
      EXPECT_FALSE(differences->empty());
      for (const Difference &difference : *differences)
        EXPECT_FALSE(difference.tooLarge()) << type << " " << ranks.mesh << ", " << difference.where << ": "
                                            << difference.relative << ", allowed " << difference.allowed;
    }
  }
}

TEST(ExecuteTypes, ProductsOfNarrowOperandsGiveFloat32) {
  for (std::string rows : {"1", "5", "160"})
    expectEqual(R"(func.func @f(%x: tensor<)" + rows + R"(x83xf32>, %w: tensor<40x83xf32>) -> tensor<)" +
                rows + R"(x40xf32> {
      %0 = graph.cast %x : (tensor<)" +
                rows + R"(x83xf32>) -> tensor<)" + rows + R"(x83x$>
      %1 = graph.cast %w : (tensor<40x83xf32>) -> tensor<40x83x$>
      %2 = graph.linear %0, %1 contract = 1 : (tensor<)" +
                rows + R"(x83x$>, tensor<40x83x$>) -> tensor<)" + rows + R"(x40xf32>
      return %2 : tensor<)" +
                rows + R"(x40xf32>
    })");
}

TEST(ExecuteTypes, ProductsMixTypes) {
  expectEqual(
      R"(func.func @f(%x: tensor<9x50xf32>, %w: tensor<33x50xf32>) -> (tensor<9x33x$>, tensor<9x33xf32>) {
    %0 = graph.cast %x : (tensor<9x50xf32>) -> tensor<9x50x$>
    %1 = graph.cast %w : (tensor<33x50xf32>) -> tensor<33x50x$>
    %2 = graph.linear %0, %w contract = 1 : (tensor<9x50x$>, tensor<33x50xf32>) -> tensor<9x33x$>
    %3 = graph.linear %x, %1 contract = 1 : (tensor<9x50xf32>, tensor<33x50x$>) -> tensor<9x33xf32>
    return %2, %3 : tensor<9x33x$>, tensor<9x33xf32>
  })");
}

// Weights in 16 bits, packed, under activations in float32 and in the weights' type.
TEST(ExecuteTypes, NarrowParametersTakeWideActivations) {
  expectEqual(
      R"(func.func @f(%x: tensor<2x9x48xf32>, %up: tensor<96x48x$> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
      %down: tensor<48x96x$> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
      %norm: tensor<48x$> {graph.kind = #graph.kind<parameter>, graph.name = "norm"}) -> (tensor<2x9x48xf32>, tensor<2x9x48x$>) {
    %0 = graph.rms_norm %x, %norm eps = 1.0e-5 : (tensor<2x9x48xf32>, tensor<48x$>) -> tensor<2x9x48xf32>
    %1 = graph.linear %0, %up contract = 1 : (tensor<2x9x48xf32>, tensor<96x48x$>) -> tensor<2x9x96xf32>
    %2 = graph.silu %1 : tensor<2x9x96xf32>
    %3 = graph.linear %2, %down contract = 1 : (tensor<2x9x96xf32>, tensor<48x96x$>) -> tensor<2x9x48xf32>
    %4 = graph.add %x, %3 : (tensor<2x9x48xf32>, tensor<2x9x48xf32>) -> tensor<2x9x48xf32>
    %5 = graph.cast %2 : (tensor<2x9x96xf32>) -> tensor<2x9x96x$>
    %6 = graph.linear %5, %down contract = 1 : (tensor<2x9x96x$>, tensor<48x96x$>) -> tensor<2x9x48x$>
    return %4, %6 : tensor<2x9x48xf32>, tensor<2x9x48x$>
  })",
      {{"", ""}, {"tp=3", "ffn=tp"}});
}

TEST(ExecuteTypes, RowOpsKeepTheirStatisticsInFloat32) {
  expectEqual(
      R"(func.func @f(%x: tensor<2x70x333x$>, %w: tensor<333x$>, %b: tensor<333x$>) -> (tensor<2x70x333x$>, tensor<2x70x333x$>, tensor<2x70x333x$>, tensor<2x70x$>) {
    %0 = graph.rms_norm %x, %w eps = 1.0e-5 : (tensor<2x70x333x$>, tensor<333x$>) -> tensor<2x70x333x$>
    %1 = graph.layer_norm %x, %w, %b eps = 1.0e-5 : (tensor<2x70x333x$>, tensor<333x$>, tensor<333x$>) -> tensor<2x70x333x$>
    %2 = graph.softmax %x : tensor<2x70x333x$>
    %3 = graph.reduce max %x dims = [2] : (tensor<2x70x333x$>) -> tensor<2x70x$>
    return %0, %1, %2, %3 : tensor<2x70x333x$>, tensor<2x70x333x$>, tensor<2x70x333x$>, tensor<2x70x$>
  })");
}

TEST(ExecuteTypes, ShapesAndLookupsMoveNarrowElements) {
  expectEqual(
      R"(func.func @f(%x: tensor<6x7x10x$>, %y: tensor<6x4x10x$>, %ids: tensor<2x6xi32>) -> (tensor<10x6x11x$>, tensor<6x3x4x$>, tensor<2x6x10x$>) {
    %0 = graph.concat %x, %y dim = 1 : (tensor<6x7x10x$>, tensor<6x4x10x$>) -> tensor<6x11x10x$>
    %1 = graph.transpose %0 [2, 0, 1] : (tensor<6x11x10x$>) -> tensor<10x6x11x$>
    %2 = graph.slice %x at [0, 4, 5] : (tensor<6x7x10x$>) -> tensor<6x3x4x$>
    %t = graph.reshape %x : (tensor<6x7x10x$>) -> tensor<42x10x$>
    %3 = graph.embedding %t, %ids : (tensor<42x10x$>, tensor<2x6xi32>) -> tensor<2x6x10x$>
    return %1, %2, %3 : tensor<10x6x11x$>, tensor<6x3x4x$>, tensor<2x6x10x$>
  })");
}

TEST(ExecuteTypes, ScatteredSumsAndEinsums) {
  expectEqual(
      R"(func.func @f(%d: tensor<3x7x20x$>, %ids: tensor<3x7xi32>, %x: tensor<3x7x20x$>, %y: tensor<3x7x12xf32>) -> (tensor<11x20xf32>, tensor<3x20x12x$>, tensor<7x20xf32>) {
    %0 = graph.scatter_add %d, %ids : (tensor<3x7x20x$>, tensor<3x7xi32>) -> tensor<11x20xf32>
    %1 = graph.einsum "bsi,bso->bio" %x, %y : (tensor<3x7x20x$>, tensor<3x7x12xf32>) -> tensor<3x20x12x$>
    %2 = graph.einsum "bsi,bsi->si" %x, %d : (tensor<3x7x20x$>, tensor<3x7x20x$>) -> tensor<7x20xf32>
    return %0, %1, %2 : tensor<11x20xf32>, tensor<3x20x12x$>, tensor<7x20xf32>
  })");
}

/// Attention of `query` type on caches of type `$`, which keep what two calls put there; `rows` positions a
/// call.
static std::string attention(const std::string &query, int rows) {
  std::string text = R"(func.func @f(
      %x: tensor<2xRx4x3x16xQ> {graph.kind = #graph.kind<input>, graph.name = "q", graph.dims = ["batch", "seq", "kv_heads", "group", "head_dim"]},
      %k: tensor<2xRx4x16xQ> {graph.kind = #graph.kind<input>, graph.name = "k"}, %v: tensor<2xRx4x16xQ> {graph.kind = #graph.kind<input>, graph.name = "v"},
      %positions: tensor<2xRxi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.dims = ["batch", "seq"]},
      %keys: tensor<2x2x24x4x16x$> {graph.kind = #graph.kind<state>, graph.name = "keys", graph.dims = ["layer", "batch", "context", "kv_heads", "head_dim"]},
      %values: tensor<2x2x24x4x16x$> {graph.kind = #graph.kind<state>, graph.name = "values"})
      -> (tensor<2xRx4x3x16xQ> {graph.kind = #graph.kind<output>, graph.name = "out"}, tensor<2x2x24x4x16x$> {graph.kind = #graph.kind<state>, graph.name = "keys"},
          tensor<2x2x24x4x16x$> {graph.kind = #graph.kind<state>, graph.name = "values"}) {
    %layer = graph.constant dense<1> : tensor<i32> : tensor<i32>
    %0 = graph.rope half %x, %positions frequencies = [1.0, 0.25, 0.125] : (tensor<2xRx4x3x16xQ>, tensor<2xRxi32>) -> tensor<2xRx4x3x16xQ>
    %nk = graph.cast %k : (tensor<2xRx4x16xQ>) -> tensor<2xRx4x16x$>
    %nv = graph.cast %v : (tensor<2xRx4x16xQ>) -> tensor<2xRx4x16x$>
    %1 = graph.cache_update %keys[%layer], %nk, %positions : (tensor<2x2x24x4x16x$>, tensor<2xRx4x16x$>, tensor<i32>, tensor<2xRxi32>) -> tensor<2x2x24x4x16x$>
    %2 = graph.cache_update %values[%layer], %nv, %positions : (tensor<2x2x24x4x16x$>, tensor<2xRx4x16x$>, tensor<i32>, tensor<2xRxi32>) -> tensor<2x2x24x4x16x$>
    %3 = graph.layer_slice %1[%layer] : (tensor<2x2x24x4x16x$>, tensor<i32>) -> tensor<2x24x4x16x$>
    %4 = graph.layer_slice %2[%layer] : (tensor<2x2x24x4x16x$>, tensor<i32>) -> tensor<2x24x4x16x$>
    %5 = graph.attention %0, %3, %4, %positions scale = 0.25 : (tensor<2xRx4x3x16xQ>, tensor<2x24x4x16x$>, tensor<2x24x4x16x$>, tensor<2xRxi32>) -> tensor<2xRx4x3x16xQ>
    return %5, %1, %2 : tensor<2xRx4x3x16xQ>, tensor<2x2x24x4x16x$>, tensor<2x2x24x4x16x$>
  })",
              result;
  for (char c : text)
    result += c == 'Q' ? query : c == 'R' ? std::to_string(rows) : std::string(1, c);
  return result;
}

TEST(ExecuteTypes, AttentionAndItsCaches) {
  for (int rows : {1, 12}) // keys, or rows, in the lanes
    expectEqual(attention("$", rows), {{"", ""}, {"tp=2", "kv_heads=tp"}, {"cp=2", "context=cp"}});
}

TEST(ExecuteTypes, NarrowCachesUnderFloat32) {
  for (int rows : {1, 12})
    expectEqual(attention("f32", rows), {{"", ""}, {"tp=3", "kv_heads=tp"}});
}

// Sums and maxima over ranks, gathers, scatters and exchanges carry 16-bit blocks, uneven ones too.
TEST(ExecuteTypes, CollectivesCarryNarrowElements) {
  expectEqual(
      R"(func.func @f(%x: tensor<6x9x50x$> {graph.dims = ["batch", "seq", "hidden"]}, %up: tensor<70x50x$> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
      %down: tensor<50x70x$> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]},
      %table: tensor<31x50x$> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]}, %ids: tensor<6x9xi32>)
      -> (tensor<6x9x50x$>, tensor<6x50x$>, tensor<6x9x$>, tensor<31x50xf32>, tensor<9x6x70x$>) {
    %e = graph.embedding %table, %ids : (tensor<31x50x$>, tensor<6x9xi32>) -> tensor<6x9x50x$>
    %s = graph.add %x, %e : (tensor<6x9x50x$>, tensor<6x9x50x$>) -> tensor<6x9x50x$>
    %1 = graph.linear %s, %up contract = 1 : (tensor<6x9x50x$>, tensor<70x50x$>) -> tensor<6x9x70x$>
    %2 = graph.silu %1 : tensor<6x9x70x$>
    %3 = graph.linear %2, %down contract = 1 : (tensor<6x9x70x$>, tensor<50x70x$>) -> tensor<6x9x50x$>
    %4 = graph.add %s, %3 : (tensor<6x9x50x$>, tensor<6x9x50x$>) -> tensor<6x9x50x$>
    %5 = graph.reduce sum %4 dims = [1] : (tensor<6x9x50x$>) -> tensor<6x50x$>
    %6 = graph.reduce max %2 dims = [2] : (tensor<6x9x70x$>) -> tensor<6x9x$>
    %7 = graph.scatter_add %4, %ids : (tensor<6x9x50x$>, tensor<6x9xi32>) -> tensor<31x50xf32>
    %8 = graph.transpose %2 [1, 0, 2] : (tensor<6x9x70x$>) -> tensor<9x6x70x$>
    return %4, %5, %6, %7, %8 : tensor<6x9x50x$>, tensor<6x50x$>, tensor<6x9x$>, tensor<31x50xf32>, tensor<9x6x70x$>
  })",
      {{"", ""},
       {"tp=3", "ffn=tp,vocab=tp"},
       {"tp=2", "hidden=tp"},
       {"sp=2,tp=2", "seq=sp,ffn=tp"},
       {"fsdp=2", "batch=fsdp,up:ffn=fsdp,down:hidden=fsdp"}});
}
