// What the stages of a pipeline take of a rank: one sum for who allocates it, for `info`, and for the
// compiler, which chooses plans by it and has no manifests yet.
#ifndef TESSERA_RUNTIME_PIPELINE_RANKBYTES_H
#define TESSERA_RUNTIME_PIPELINE_RANKBYTES_H

#include "tessera/runtime/pipeline/BufferPlan.h"
#include "tessera/runtime/pipeline/SlotPlan.h"

namespace tessera::runtime {

// Bytes of messages that are read again behind the action that they came for, by entries of the same
// micro-batch: what was received, where backward takes it, and its gradient, where weight_gradient does.
struct KeptMessages {
  size_t value = 0, gradient = 0;
};

// Of a stage, on a rank that holds it.
struct StageBytes {
  int64_t weights = 0;                 // and what the optimizer has of them
  int64_t arena = 0;                   // with the first slot of each kind
  std::array<int64_t, kSlots> slots{}; // of each kind one
  KeptMessages kept;                   // of a micro-batch: as much as any kind of step keeps
  int64_t shared = 0;                  // gradients that it gives to another stage, which has the weights, too
};

// What a stage holds of the micro-batches that are under way, beside its arena: allocated as one.
struct SlotBytes {
  int64_t moreSlots = 0; // but for the first ones
  int64_t keptMessages = 0;
  int64_t total() const { return moreSlots + keptMessages; }
};
SlotBytes bytesOfSlots(const SlotPlan &plan, const StageBytes &stage);

// What goes between stages in a kind of step.
struct StepTraffic {
  const schedule::Schedule *lists; // with sends and receives
  ValueSizes sizes;
  int32_t sendBuffers; // of a rank
};
// Of the rank at a coordinate: as much as any of these steps takes, for no two run at once.
int64_t bytesOfValues(const std::vector<StepTraffic> &steps, int64_t at);

// What goes between stages that generate: of a stage with its rank.
struct GeneratingTraffic {
  int64_t groups = 1;
  int64_t received = 0, sent = 0; // the longest message of a call that comes, and that goes
  int64_t sendBuffers = 0;
  int64_t tokens = 0;      // of a call's tokens, which every rank gets
  int64_t tokensAhead = 0; // calls of a group whose tokens are on their way at once
  int64_t outputs = 0;     // of a group, kept from call to call as inputs of others

  int64_t values() const { return received + sendBuffers * sent; }
  int64_t ring() const { return groups * tokensAhead * tokens; }
};

// Of a rank, by what it is for.
struct RankBytes {
  int64_t weights = 0, arenas = 0;
  int64_t moreSlots = 0;    // of micro-batches, or groups of rows: beside those in the arenas
  int64_t keptMessages = 0; // of micro-batches
  int64_t values = 0;       // between stages
  int64_t shared = 0;       // gradients of weights that two stages have, the own ones and the others'
  int64_t tokens = 0, outputs = 0;

  int64_t total() const {
    return weights + arenas + moreSlots + keptMessages + values + shared + tokens + outputs;
  }
};

// Of the rank at coordinate `at`. `stages`: all of the pipeline, by number. The first of `steps` is that of
// training.
RankBytes bytesOfRank(const std::vector<StageBytes> &stages, const std::vector<StepTraffic> &steps,
                      int64_t at);
// Where stages generate a rank has one.
RankBytes bytesOfRank(const StageBytes &stage, const GeneratingTraffic &traffic);

} // namespace tessera::runtime
#endif
