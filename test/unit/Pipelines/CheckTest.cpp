// --check finds a fault of the compiler and leaves no executable.
#include "tessera/Execution/Check.h"

#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

static const char *kProgram = R"(
func.func @forward(%tokens: tensor<1x8xi32> {graph.kind = #graph.kind<input>, graph.name = "tokens", graph.fill = #graph.fill<token_ids>, graph.dims = ["batch", "seq"]},
                   %positions: tensor<1x8xi32> {graph.kind = #graph.kind<input>, graph.name = "positions", graph.fill = #graph.fill<positions>, graph.dims = ["batch", "seq"]},
                   %table: tensor<12x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "table", graph.dims = ["vocab", "hidden"]},
                   %up: tensor<6x4xf32> {graph.kind = #graph.kind<parameter>, graph.name = "up", graph.dims = ["ffn", "hidden"]},
                   %down: tensor<4x6xf32> {graph.kind = #graph.kind<parameter>, graph.name = "down", graph.dims = ["hidden", "ffn"]})
    -> (tensor<1x8x12xf32> {graph.kind = #graph.kind<output>, graph.name = "logits"}) {
  %x = graph.embedding %table, %tokens : (tensor<12x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
  %h = graph.linear %x, %up contract = 1 : (tensor<1x8x4xf32>, tensor<6x4xf32>) -> tensor<1x8x6xf32>
  %a = graph.silu %h : tensor<1x8x6xf32>
  %y = graph.linear %a, %down contract = 1 : (tensor<1x8x6xf32>, tensor<4x6xf32>) -> tensor<1x8x4xf32>
  %logits = graph.linear %y, %table contract = 1 : (tensor<1x8x4xf32>, tensor<12x4xf32>) -> tensor<1x8x12xf32>
  return %logits : tensor<1x8x12xf32>
}
graph.parameter @table : tensor<12x4xf32> from [#graph.source<"table", file = [12, 4]>]
graph.parameter @up : tensor<6x4xf32> from [#graph.source<"up", file = [6, 4]>]
graph.parameter @down : tensor<4x6xf32> from [#graph.source<"down", file = [4, 6]>]
)";

namespace {
struct CheckTest : ::testing::Test {
  llvm::SmallString<128> folder;
  std::string out;
  CompileOptions options;

  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tessera-check", folder));
    options.model = (folder + "/program.mlir").str();
    options.output = out = (folder + "/out").str();
    options.mesh = "tp=2";
    options.shard = "ffn=tp,hidden=-,vocab=-";
    options.check = true;
    std::error_code error;
    llvm::raw_fd_ostream(options.model, error) << kProgram;
    ASSERT_FALSE(error);
  }
  void useBFloat16() {
    std::string program = kProgram;
    for (size_t at; (at = program.find("xf32>")) != std::string::npos;)
      program.replace(at, 5, "xbf16>");
    std::error_code error;
    llvm::raw_fd_ostream(options.model, error) << program;
    ASSERT_FALSE(error);
  }
  /// Compiles with a second silu behind the first one, in the executable alone: about half of the value is
  /// left, which a bound of 1 would allow.
  Status compileWithFirstBroken() {
    int programs = 0;
    auto breakFirst = [&](ModuleOp spmd) {
      SmallVector<graph::SiluOp> found;
      if (programs++ == 0)
        spmd.walk([&](graph::SiluOp op) { found.push_back(op); });
      for (graph::SiluOp op : found) {
        OpBuilder b(op->getContext());
        b.setInsertionPointAfter(op);
        auto again = graph::SiluOp::create(b, op.getLoc(), op.getType(), op.getResult());
        op.getResult().replaceAllUsesExcept(again, again);
      }
    };
    Status status = compile(options, findInstallation("build/bin/llm-compile"),
                            [&] { return std::make_unique<OneDeviceCheck>(breakFirst); });
    EXPECT_GT(programs, 1);
    return status;
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder); }
};
} // namespace

TEST_F(CheckTest, AProgramThatIsEqualBecomesAnExecutable) {
  Status status = compile(options, findInstallation("build/bin/llm-compile"),
                          [] { return std::make_unique<OneDeviceCheck>(); });
  EXPECT_TRUE(status) << status.failure().message();
  EXPECT_TRUE(llvm::sys::fs::exists(out));
}

TEST_F(CheckTest, AWrongSignIsFoundAndLeavesNoExecutable) {
  bool broken = false;
  auto breakSums = [&](ModuleOp spmd) {
    spmd.walk([&](dist::AllReduceOp op) {
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      auto neg = graph::NegOp::create(b, op.getLoc(), op.getType(), op.getResult());
      op.getResult().replaceAllUsesExcept(neg, neg);
      broken = true;
    });
  };
  Status status = compile(options, findInstallation("build/bin/llm-compile"),
                          [&] { return std::make_unique<OneDeviceCheck>(breakSums); });
  EXPECT_TRUE(broken);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().what, "not equal to one device");
  EXPECT_FALSE(llvm::sys::fs::exists(out));
}

// The cut program that is interpreted is compiled anew: what is wrong in the executable alone shows against
// one rank.
TEST_F(CheckTest, AFaultOfTheExecutableAloneIsFound) {
  Status status = compileWithFirstBroken();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().what, "not equal to one device");
  EXPECT_NE(status.failure().message().find("the executable of one rank"), std::string::npos);
  EXPECT_FALSE(llvm::sys::fs::exists(out));
}

// A column of minus infinity, which masks a token, hides no difference between finite numbers.
TEST_F(CheckTest, AFaultBesideInfiniteNumbersIsFound) {
  std::string program = kProgram;
  const std::string end = "  return %logits";
  program.replace(program.find(end), end.size(),
                  "  %m = graph.constant dense<[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, "
                  "0xFF800000]> : tensor<12xf32> : tensor<12xf32>\n  %masked = graph.add %logits, %m : "
                  "(tensor<1x8x12xf32>, tensor<12xf32>) -> tensor<1x8x12xf32>\n  return %masked");
  std::error_code error;
  llvm::raw_fd_ostream(options.model, error) << program;
  ASSERT_FALSE(error);
  Status status = compileWithFirstBroken();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().what, "not equal to one device");
}

// In 16 bits the ids of tokens follow from logits that may differ: what is said of them bounds no float.
TEST_F(CheckTest, AFaultOfTheExecutableAloneIsFoundIn16Bits) {
  useBFloat16();
  Status status = compileWithFirstBroken();
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("the executable of one rank"), std::string::npos);
}

// A token that is not the likeliest is found, though ids of tokens are not compared in 16 bits.
TEST_F(CheckTest, AWrongTokenIsFoundIn16Bits) {
  useBFloat16();
  auto breakTokens = [](ModuleOp spmd) {
    spmd.walk([&](graph::ArgMaxIndexOp op) {
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      auto twice = graph::AddOp::create(b, op.getLoc(), op.getType(), op.getResult(), op.getResult());
      op.getResult().replaceAllUsesExcept(twice, twice);
    });
  };
  Status status = compile(options, findInstallation("build/bin/llm-compile"),
                          [&] { return std::make_unique<OneDeviceCheck>(breakTokens); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().what, "not equal to one device");
  EXPECT_NE(status.failure().where.find("output next"), std::string::npos) << status.failure().where;
}

// Every token has a second one of the same logit, which the executable takes, alone or as whatever is
// compiled. In float32 an integer follows nothing but floats of which little but rounding is left.
TEST_F(CheckTest, ATokenOfTheSameLogitIsAsGoodAsRoundingMakesIt) {
  auto checkTwins = [&](bool isSensitive, bool is16Bits, bool isAlone = true) {
    std::string program = kProgram;
    auto replace = [&](const std::string &from, const std::string &to) {
      program.replace(program.find(from), from.size(), to);
    };
    replace("  return %logits : tensor<1x8x12xf32>",
            "  %twice = graph.concat %logits, %logits dim = 2 : (tensor<1x8x12xf32>, tensor<1x8x12xf32>) -> "
            "tensor<1x8x24xf32>\n  return %twice : tensor<1x8x24xf32>");
    replace("-> (tensor<1x8x12xf32> {", "-> (tensor<1x8x24xf32> {");
    if (isSensitive) // sines of large numbers
      replace("  %a = graph.silu %h : tensor<1x8x6xf32>",
              "  %big = graph.constant dense<1.0e7> : tensor<f32> : tensor<f32>\n  %b = graph.mul %h, %big : "
              "(tensor<1x8x6xf32>, tensor<f32>) -> tensor<1x8x6xf32>\n  %a = graph.sin %b : "
              "tensor<1x8x6xf32>");
    for (size_t at; is16Bits && (at = program.find("xf32>")) != std::string::npos;)
      program.replace(at, 5, "xbf16>");
    std::error_code error;
    llvm::raw_fd_ostream(options.model, error) << program;
    EXPECT_FALSE(error);
    int programs = 0;
    auto takeTwin = [&](ModuleOp spmd) {
      SmallVector<graph::ArgMaxIndexOp> found;
      if (programs++ == 0 || !isAlone)
        spmd.walk([&](graph::ArgMaxIndexOp op) { found.push_back(op); });
      for (graph::ArgMaxIndexOp op : found) {
        OpBuilder b(op->getContext());
        b.setInsertionPointAfter(op);
        auto type = cast<RankedTensorType>(op.getType());
        auto scalar = RankedTensorType::get({}, type.getElementType());
        auto twelve = graph::ConstantOp::create(
            b, op.getLoc(), scalar,
            DenseElementsAttr::get(scalar, b.getIntegerAttr(type.getElementType(), 12)));
        auto twin = graph::AddOp::create(b, op.getLoc(), type, op.getResult(), twelve);
        op.getResult().replaceAllUsesExcept(twin, twin);
      }
    };
    Status status = compile(options, findInstallation("build/bin/llm-compile"),
                            [&] { return std::make_unique<OneDeviceCheck>(takeTwin); });
    return status ? std::string() : status.failure().message();
  };
  EXPECT_NE(checkTwins(false, false).find("from the executable of one rank"), std::string::npos);
  EXPECT_NE(checkTwins(false, false, /*isAlone=*/false).find("from the interpreter"), std::string::npos);
  EXPECT_EQ(checkTwins(false, true), "");
  EXPECT_EQ(checkTwins(false, true, /*isAlone=*/false), "");
  EXPECT_EQ(checkTwins(true, false), "");
}

// What the runtime would refuse at start is refused here.
TEST_F(CheckTest, AManifestThatCannotRunBecomesNoExecutable) {
  auto forgetTokens = [](ModuleOp spmd) {
    for (auto func : spmd.getOps<func::FuncOp>())
      for (unsigned i = 0; i < func.getNumResults(); ++i)
        if (auto gives = func.getResultAttrOfType<graph::GivesAttr>(i, graph::kGivesAttr);
            gives && gives.getValue() == graph::Gives::NextTokens)
          func.removeResultAttr(i, StringAttr::get(spmd.getContext(), graph::kGivesAttr));
  };
  Status status = compile(options, findInstallation("build/bin/llm-compile"),
                          [&] { return std::make_unique<OneDeviceCheck>(forgetTokens); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.failure().what, "cannot compile");
  EXPECT_NE(status.failure().message().find("it gives no next tokens [batch, 1]"), std::string::npos)
      << status.failure().message();
  EXPECT_FALSE(llvm::sys::fs::exists(out));
}

// Results that are little but rounding, as the gradient of a bias of keys, do not loosen what others are held
// to: a gradient of zeros is found.
TEST_F(CheckTest, AFaultBesideResultsOfRoundingIsFoundIn16Bits) {
  options.model = "test/Inputs/models/tiny-gpt2";
  options.mesh = "dp=2";
  options.shard.clear();
  options.task = Task::Train;
  options.dtype = "bf16";
  options.batch = 2;
  options.maxSeqLen = 8;
  int programs = 0;
  bool broken = false;
  auto breakFirst = [&](ModuleOp spmd) {
    if (programs++ > 0)
      return;
    spmd.walk([&](dist::AllReduceOp op) {
      Value sum = op->getResult(0);
      if (broken || cast<RankedTensorType>(sum.getType()).getRank() < 2 ||
          op->getParentOfType<func::FuncOp>().getName() != "train_dropout")
        return;
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      auto none = graph::SubOp::create(b, op.getLoc(), sum.getType(), sum, sum);
      sum.replaceAllUsesExcept(none, none);
      broken = true;
    });
  };
  Status status = compile(options, findInstallation("build/bin/llm-compile"),
                          [&] { return std::make_unique<OneDeviceCheck>(breakFirst); });
  EXPECT_TRUE(broken);
  ASSERT_FALSE(status);
  EXPECT_NE(status.failure().message().find("the executable of one rank"), std::string::npos)
      << status.failure().message();
}
