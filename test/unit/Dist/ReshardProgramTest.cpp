// What the planner plans is what the partitioned program does: random reshards as programs of one
// dist.reshard, partitioned and interpreted.
#include "../DrawSharding.h"

#include "tessera/Analysis/Sharding/Notation.h"
#include "tessera/AutoParallel/Placement.h"
#include "tessera/Dialect/Dist/IR/Dist.h"
#include "tessera/Dialect/Dist/Transforms/Passes.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Pipelines/Phases.h"
#include "tessera/Reference/Judge.h"
#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;
using namespace tessera;

namespace {
/// Latency next to nothing: bytes decide, as in the table of reshard facts.
constexpr const char *kBytesOnly = R"({"link": {"latency": 1e-15, "bandwidth": 1e9}})";

int64_t sizeOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Elements that the busiest rank receives, read off the operation alone.
double received(Operation *op, const Mesh &mesh) {
  auto group = [&](ArrayAttr axes) { return double(axesSize(dist::fromAxesAttr(axes, mesh))); };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](dist::AllGatherOp o) { return double(sizeOf(o.getInput())) * (group(o.getAxes()) - 1); })
      .Case([&](dist::ReduceScatterOp o) { return double(sizeOf(o.getResult())) * (group(o.getAxes()) - 1); })
      .Case([&](dist::AllReduceOp o) {
        return 2 * double(sizeOf(o.getInput())) * (group(o.getAxes()) - 1) / group(o.getAxes());
      })
      .Case([&](dist::AllToAllOp o) {
        auto in = cast<RankedTensorType>(o.getInput().getType()), out = cast<RankedTensorType>(o.getType());
        double piece = double(in.getNumElements());
        for (int64_t d : llvm::SmallSetVector<int64_t, 4>(o.getTo().begin(), o.getTo().end()))
          piece = piece / double(in.getDimSize(d)) * double(out.getDimSize(d));
        return piece * (group(o.getAxes()) - 1);
      })
      .Case([&](dist::CollectivePermuteOp o) {
        auto sharding = [&](Value v) { return dist::getShardingAttr(v.getType()).toSharding(mesh); };
        auto sources = permuteSources(mesh, sharding(o.getInput()), sharding(o.getResult()));
        bool moves = false;
        for (auto [device, source] : llvm::enumerate(sources))
          moves |= int64_t(device) != source;
        return moves ? double(sizeOf(o.getInput())) : 0.0;
      })
      .Case([&](dist::GroupedSendOp o) { return double(o.getBytesSent(mesh)) / 4; })
      .Default([](Operation *) { return 0.0; });
}

struct ReshardProgram : ::testing::Test {
  MLIRContext context;
  ReshardProgram() { context.loadDialect<func::FuncDialect, graph::GraphDialect, dist::DistDialect>(); }

  OwningOpRef<ModuleOp> program(const Mesh &mesh, ArrayRef<int64_t> shape, const Sharding &from,
                                const Sharding &to) {
    OpBuilder b(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
    (*module)->setAttr("dist.machine", b.getStringAttr(kBytesOnly));
    b.setInsertionPointToEnd(module->getBody());
    dist::MeshOp::create(b, b.getUnknownLoc(), "mesh", dist::MeshAttr::get(&context, mesh));
    auto type = [&](const Sharding &sharding) {
      return RankedTensorType::get(shape, b.getF32Type(),
                                   dist::ShardingAttr::get(&context, "mesh", sharding, mesh));
    };
    auto func = func::FuncOp::create(b, b.getUnknownLoc(), "f", b.getFunctionType(type(from), type(to)));
    b.setInsertionPointToEnd(func.addEntryBlock());
    Value moved = dist::ReshardOp::create(b, b.getUnknownLoc(), type(to), func.getArgument(0), StringAttr());
    func::ReturnOp::create(b, b.getUnknownLoc(), moved);
    return module;
  }

  struct Outcome {
    std::string error;
    double bytes = 0, planned = 0;
    int views = 0, joint = 0, sends = 0;
    int64_t largest = 0; ///< elements that a rank holds of any value on the way
  };

  Outcome run(const Mesh &mesh, ArrayRef<int64_t> shape, const Sharding &from, const Sharding &to) {
    Outcome outcome;
    auto module = program(mesh, shape, from, to);
    std::string error;
    auto plan = planForMachine(*parseMachine(kBytesOnly, error), mesh, shape, 4, from, to);
    if (!plan)
      return {"no plan"};
    for (const ReshardStep &step : plan->steps)
      outcome.planned += std::max(step.received, step.sent);
    PassManager pm(&context);
    buildPhase(pm, Rung::Spmd, {});
    if (failed(pm.run(*module)))
      return {"does not partition"};
    auto func = module->lookupSymbol<func::FuncOp>("f");
    func.walk([&](Operation *op) {
      outcome.bytes += received(op, mesh);
      outcome.views += isa<graph::ReshapeOp>(op);
      outcome.sends += isa<dist::GroupedSendOp>(op);
      for (Value result : op->getResults())
        outcome.largest = std::max(outcome.largest, sizeOf(result));
      if (auto exchange = dyn_cast<dist::AllToAllOp>(op))
        outcome.joint += !llvm::all_equal(exchange.getFrom()) || !llvm::all_equal(exchange.getTo());
    });
    auto inputs = randomInputs(func, 7);
    auto outputs = interpretGlobally(func, inputs);
    if (failed(outputs))
      outcome.error = "does not run";
    else if (relativeError(inputs[0], (*outputs)[0]) != 0)
      outcome.error = "other numbers";
    return outcome;
  }
};
} // namespace

// 1,000 reshards: numbers kept, bytes of the collectives as planned, no rank ever holds more than before or
// after; half of them with sizes that mostly do not divide.
TEST_F(ReshardProgram, RandomReshardsRunAsPlanned) {
  std::mt19937 random(1);
  int views = 0, joint = 0, sends = 0;
  for (int i = 0; i < 1000; ++i) {
    Mesh mesh;
    int64_t devices = 1;
    for (const char *name : {"x", "y", "z"}) {
      const int64_t sizes[] = {1, 2, 2, 3, 4};
      int64_t size = sizes[random() % 5];
      if (devices * size <= 16) {
        mesh.axes.push_back({name, size});
        devices *= size;
      }
    }
    bool even = i % 2;
    SmallVector<int64_t> shape;
    for (int d = 0, rank = 1 + int(random() % 3); d < rank; ++d)
      shape.push_back(even ? 12 : 1 + int64_t(random() % 11));
    Sharding from = drawSharding(random, mesh, int(shape.size())),
             to = drawSharding(random, mesh, int(shape.size()));
    Outcome outcome = run(mesh, shape, from, to);
    std::string what = shapeText(shape) + " " + toString(from, mesh) + " -> " + toString(to, mesh);
    ASSERT_EQ(outcome.error, "") << what;
    ASSERT_NEAR(outcome.bytes, outcome.planned, 1e-6) << what;
    int64_t ends = 0;
    for (const Sharding *end : {&from, &to}) {
      int64_t size = 1;
      for (int64_t n : end->localShape(shape))
        size *= n;
      ends = std::max(ends, size);
    }
    ASSERT_LE(outcome.largest, ends) << what;
    views += outcome.views > 0;
    sends += outcome.sends > 0;
    joint += outcome.joint > 0;
  }
  // The kinds of plan that no single-pair collective on the tensor's own dimensions can do were among them.
  EXPECT_GT(views, 5);
  EXPECT_GT(joint, 5);
  EXPECT_GT(sends, 20);
}

// An axis cut as 2 x 3 and as 3 x 2: no collective on digits goes from one to the other; half of a third is
// lacking.
TEST_F(ReshardProgram, DigitsThatDoNotNestAreSent) {
  Mesh m = tessera::mesh("x6");
  Outcome outcome = run(m, {36, 2}, sharding("[x:(1)2/-]", m), sharding("[x:(1)3/-]", m));
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.sends, 1);
  EXPECT_EQ(outcome.bytes, 12);
}

// R8: two axes in one exchange. 0.109 of the tensor, 0.156 one after the other.
TEST_F(ReshardProgram, R8_OneEightWayExchange) {
  Mesh m = tessera::mesh("x4 y2");
  Outcome outcome = run(m, {16, 8, 8}, sharding("[y/-/x]", m), sharding("[-/x,y/-]", m));
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.joint, 1);
  EXPECT_EQ(outcome.bytes, 112);
}

// The parts of an axis leave in one order and come in the other: they stay two axes in the exchange.
TEST_F(ReshardProgram, PartsOfAnAxisChangeTheirOrderOnTheWay) {
  Mesh m = tessera::mesh("x6");
  Outcome outcome = run(m, {12, 12}, sharding("[x:(2)3,x:(1)2/-]", m), sharding("[-/x]", m));
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.bytes, outcome.planned);
}
