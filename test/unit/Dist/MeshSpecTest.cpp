//===- MeshSpecTest.cpp - What --mesh and --shard say ---------------------===//
#include "tessera/Dialect/Dist/Transforms/MeshSpec.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::dist;

static Mesh spec(llvm::StringRef text) {
  std::string error;
  auto mesh = parseMeshSpec(text, error);
  EXPECT_TRUE(mesh) << error;
  return mesh.value_or(Mesh());
}

TEST(MeshSpec, NamesAxesInOrder) {
  Mesh mesh = spec(" dp=2, tp=4 ");
  ASSERT_EQ(mesh.axes.size(), 2u);
  EXPECT_EQ(mesh.axes[0], (MeshAxis{"dp", 2}));
  EXPECT_EQ(mesh.axes[1], (MeshAxis{"tp", 4}));
}

TEST(MeshSpec, NothingIsOneRank) { EXPECT_EQ(spec("").numDevices(), 1); }

TEST(MeshSpec, TakesAsManyRanksAsThereMayBe) { EXPECT_EQ(spec("a=1024,b=1024").numDevices(), kMaxRanks); }

TEST(MeshSpec, ErrorsAreOneLine) {
  for (llvm::StringRef text :
       {"tp", "tp=", "=2", "tp=x", "tp=0", "tp=-1", "tp=2,tp=2", "tp=2,", ",", "tp=1048577", "a=1024,b=1025",
        "tp=2 dp=2", "t p=2", "tp=1e3", "tp=18446744073709551616"}) {
    std::string error;
    EXPECT_FALSE(parseMeshSpec(text, error)) << text.str();
    EXPECT_FALSE(error.empty()) << text.str();
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(ShardSpec, ReadsValuesAndSubAxes) {
  std::string error;
  Mesh mesh = spec("dp=2,tp=4");
  auto items = parseShardSpec("batch=dp,residual:seq=tp:(1)2+dp", mesh, error);
  ASSERT_TRUE(items) << error;
  ASSERT_EQ(items->size(), 2u);
  EXPECT_EQ((*items)[0].value, "");
  EXPECT_EQ((*items)[0].dim, "batch");
  EXPECT_EQ((*items)[1].value, "residual");
  EXPECT_EQ((*items)[1].axes, (AxisList{{1, 1, 2}, {0, 1, 2}}));
}

TEST(ShardSpec, JoinsWhatContinues) {
  std::string error;
  auto items = parseShardSpec("batch=tp:(1)2+tp:(2)2", spec("tp=4"), error);
  ASSERT_TRUE(items) << error;
  EXPECT_EQ(items->front().axes, (AxisList{{0, 1, 4}}));
}

TEST(ShardSpec, ErrorsAreOneLine) {
  Mesh mesh = spec("dp=2,tp=4");
  for (llvm::StringRef text :
       {"batch", "batch=", "=dp", ":batch=dp", "x:=dp", "batch=dp,batch=tp", "batch=dp+dp", "batch=xp",
        "batch=tp:", "batch=tp:(1)", "batch=tp:1", "batch=tp:(1)3", "batch=tp:(3)2", "batch=tp:(0)2",
        "batch=tp:(1)2+tp", "batch=dp+", "batch=tp:(1)99999999999999999999", "a b=dp"}) {
    std::string error;
    EXPECT_FALSE(parseShardSpec(text, mesh, error)) << text.str();
    EXPECT_FALSE(error.empty()) << text.str();
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(StandardAxes, UnknownNamesNeedAnItem) {
  std::string error;
  Mesh mesh = spec("rows=2,tp=2");
  EXPECT_NE(checkAxesUsed(mesh, {}), "");
  auto items = parseShardSpec("batch=rows", mesh, error);
  ASSERT_TRUE(items);
  EXPECT_EQ(checkAxesUsed(mesh, *items), "");
}
