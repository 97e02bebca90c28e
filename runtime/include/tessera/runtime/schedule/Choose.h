// Plans of a pipeline: of all named schedules, with any number of stages a rank and of micro-batches, each
// with the cut that is best for it. Search.h takes one of them.
#ifndef TESSERA_RUNTIME_SCHEDULE_CHOOSE_H
#define TESSERA_RUNTIME_SCHEDULE_CHOOSE_H

#include "tessera/runtime/schedule/Cut.h"
#include "tessera/runtime/schedule/Generate.h"
#include "tessera/runtime/schedule/Predict.h"

#include <map>
#include <string>

namespace tessera::schedule {

// What a model takes with micro-batches of one size.
struct PipelineModel {
  // Seconds of one micro-batch, of the parts and of what comes before and behind them.
  LayerCosts forward, backwardInput, backwardWeight;
  LayerCosts once; // seconds of a stage before and behind the list, once a step; no layers: none
  double link = 0; // seconds from a send to the value being there
  double wire = 0; // of them those in which no other message goes the same way
  // Seconds in which the gradients of weights that the first and the last stage have both (a tied table)
  // travel, where these lie on two ranks.
  double shared = 0;
  // Bytes: of weights and all that is kept for them; of what one micro-batch keeps from its forward on, of
  // that what I frees, and what I makes for W.
  LayerCosts weights, saved, freed, made;
  double rankBytes = 0;    // of a rank besides, whatever its stages are
  double messageBytes = 0; // of a value between two stages
};

// A schedule for p ranks with its cut, and what it costs.
struct Plan {
  std::optional<Name> name; // none: the lists that were given
  std::string schedule;     // what people call it: "interleaved:2", or the name of the lists
  int32_t stagesPerRank = 1, microBatches = 1;
  StageSizes sizes; // layers of each stage
  double seconds = 0;
  std::vector<double> bytes; // [ranks]
  double mostBytes() const;
  // "interleaved:2, 8 micro-batches, cut 3,2,2,1".
  std::string toString() const;
};

// Whether `a` is taken before `b`. Plans whose times are within a hundredth of each other are alike:
// predictions are worth no more. Of those the one with fewer stages goes first, which sends less, then the
// one that keeps less. A strict order of all plans that differ.
bool isBefore(const Plan &a, const Plan &b);

// What is looked at.
struct ChoiceLimits {
  int32_t ranks = 1;
  double bytes = 0;                  // of a rank at most; 0: no limit
  std::vector<int32_t> microBatches; // numbers that may be chosen
  std::optional<Name> name;          // that one alone
  int32_t stagesPerRank = 0;         // that many; 0: 1 to mostStagesPerRank
  int32_t mostStagesPerRank = 4;
  std::optional<StageSizes> sizes; // pinned; says how many stages there are
  const Schedule *given = nullptr; // these lists alone, which are valid, in place of named ones
  std::string givenName;           // what they are called
};

// The model with so many micro-batches, of stages whose backward is one entry or two: they are other
// programs.
using ModelOf = std::function<PipelineModel(int32_t microBatches, bool splitsBackward)>;

// What was found out about cuts: the same under every limit, and most of what a choice costs.
struct CutCost {
  std::optional<double> seconds;
  std::optional<double> bytes; // of the fullest rank, without PipelineModel::rankBytes
};
struct CutsOfSchedule {
  std::map<StageSizes, CutCost> costs;
  int32_t sendBuffers = 0; // of the last one
};
// By schedule and number of micro-batches. Of one model, whose rankBytes may change.
using KnownCuts = std::map<std::pair<std::string, int32_t>, CutsOfSchedule>;

// All that is looked at, in the order of isBefore; some may take more than the limit. Fails where no schedule
// has such sizes. `known`: from searches before, and for those to come.
Result<std::vector<Plan>> pipelinePlans(const ModelOf &model, const ChoiceLimits &limits,
                                        KnownCuts *known = nullptr);
// The only plan where schedule, sizes and the number of micro-batches are pinned, without its costs.
std::optional<Plan> pinnedPlan(const ChoiceLimits &limits);
// The computing actions of a plan with a name. Fails where the schedule does not have such sizes.
Result<Schedule> generate(const Plan &plan, int32_t ranks);

// Whether a list has I or W.
bool splitsBackward(const Schedule &schedule);

// Of a whole step.
double stepSeconds(const PipelineModel &model, const StageSizes &sizes, const Schedule &schedule);

// The stages of `sizes` as costs of a step, and of the simulator alone.
StepCosts stepCostsOf(const PipelineModel &model, const StageSizes &sizes, const Schedule &schedule);
Costs costsOf(const PipelineModel &model, const StageSizes &sizes);
// What each rank holds at most: weights, what micro-batches keep, and buffers of values. `sendBuffers`: a
// guess of how many there are, which saves time, and then their number.
std::vector<double> bytesOfRanks(const PipelineModel &model, const StageSizes &sizes,
                                 const Schedule &schedule, int32_t *sendBuffers = nullptr);

} // namespace tessera::schedule
#endif
