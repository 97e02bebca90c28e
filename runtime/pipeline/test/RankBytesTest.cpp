#include "tessera/runtime/pipeline/RankBytes.h"
#include "tessera/runtime/pipeline/EvaluationLists.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Lower.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;

static schedule::Schedule made(schedule::Name name, int32_t ranks, int32_t microBatches, int32_t ofRank = 0) {
  return lower(schedule::generate(name, ranks, microBatches, ofRank).take(), schedule::Lowering::Eager);
}

// Forwards alone, in the order of the step, and they can run with the buffers that it says.
TEST(RankBytes, EvaluationIsTheForwardsInOrder) {
  const schedule::Schedule step = made(schedule::Name::Interleaved, 2, 4, 2);
  const EvaluationLists evaluation = evaluationLists(step);
  EXPECT_EQ(evaluation.lists.rankOfStage, step.rankOfStage);
  std::vector<std::string> forwards;
  for (const schedule::Action &action : evaluation.lists.ranks[1])
    if (schedule::computes(action.kind))
      forwards.push_back(std::to_string(action.stage) + "F" + std::to_string(action.microBatch));
  EXPECT_EQ(forwards, (std::vector<std::string>{"1F0", "1F1", "3F0", "3F1", "1F2", "1F3", "3F2", "3F3"}));
  schedule::Transport transport;
  transport.sendBuffers = evaluation.sendBuffers;
  EXPECT_TRUE(schedule::simulate(evaluation.lists, {}, transport).ended());
}

// No two kinds of steps run at once: a rank has the buffers of that which takes most, whichever it is.
TEST(RankBytes, StepsShareTheirBuffers) {
  const schedule::Schedule step = made(schedule::Name::OneForwardOneBackward, 4, 8);
  const EvaluationLists evaluation = evaluationLists(step);
  const ValueSizes small{{64, 64, 64}, {64, 64, 64}}, large{{6400, 6400, 6400}, {0, 0, 0}};
  for (int64_t at = 0; at < 4; ++at) {
    const auto ofStep = int64_t(planBuffers(step, int32_t(at), small, 2).bytes),
               ofEvaluation =
                   int64_t(planBuffers(evaluation.lists, int32_t(at), large, evaluation.sendBuffers).bytes);
    EXPECT_LT(ofStep, ofEvaluation);
    const StepTraffic training{&step, small, 2}, other{&evaluation.lists, large, evaluation.sendBuffers};
    EXPECT_EQ(bytesOfValues({training, training}, at), ofStep);
    EXPECT_EQ(bytesOfValues({training, other}, at), ofEvaluation);
    EXPECT_EQ(bytesOfValues({other, training}, at), ofEvaluation);
  }
}

// Rank 1 of two has the second stage, with two micro-batches under way at once: gpipe keeps both.
TEST(RankBytes, OfARankOfTraining) {
  const schedule::Schedule step = made(schedule::Name::GPipe, 2, 2);
  StageBytes first, second;
  first.weights = 1 << 20;
  second = {4096, 1024, {64, 128, 256}, {192, 320}, 512};
  const RankBytes rank = bytesOfRank({first, second}, {{&step, {{64}, {64}}, 1}}, 1);
  EXPECT_EQ(rank.weights, 4096);
  EXPECT_EQ(rank.arenas, 1024);
  // A micro-batch more of what is kept to the end of backward; backwards are whole, one after another.
  EXPECT_EQ(rank.moreSlots, 64 + 128);
  EXPECT_EQ(rank.keptMessages, 2 * 192 + 320);
  EXPECT_EQ(rank.shared, 2 * 512); // and the other stage's
  EXPECT_EQ(rank.values, int64_t(planBuffers(step, 1, {{64}, {64}}, 1).bytes));
  EXPECT_EQ(rank.total(),
            rank.weights + rank.arenas + rank.moreSlots + rank.keptMessages + rank.shared + rank.values);
}

TEST(RankBytes, OfARankThatGenerates) {
  StageBytes stage;
  stage.weights = 4096;
  stage.arena = 1024;
  stage.slots = {256, 0, 0};
  GeneratingTraffic traffic;
  traffic.groups = 3;
  traffic.received = 64;
  traffic.sent = 128;
  traffic.sendBuffers = 2;
  traffic.tokens = 8;
  traffic.tokensAhead = 5;
  traffic.outputs = 100;
  const RankBytes rank = bytesOfRank(stage, traffic);
  EXPECT_EQ(rank.moreSlots, 2 * 256); // the first group's lies in the arena
  EXPECT_EQ(rank.values, 64 + 2 * 128);
  EXPECT_EQ(rank.tokens, 3 * 5 * 8);
  EXPECT_EQ(rank.outputs, 300);
  EXPECT_EQ(rank.total(), 4096 + 1024 + 512 + 320 + 120 + 300);
}
