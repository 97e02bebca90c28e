//===- StagesInParts.h - Parts of stages in the order of a schedule -*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_STAGESINPARTS_H
#define TESSERA_TOOLS_LLM_JUDGE_STAGESINPARTS_H

#include "StagePorts.h"

#include "tessera/Reference/Interpreter.h"
#include "tessera/runtime/schedule/Schedule.h"

#include <functional>
#include <set>

namespace tessera {

/// What `--pipeline=NAME[:V]|FILE` says for so many stages: lists that can run.
Result<schedule::Schedule> listsFor(const std::string &pipeline, int32_t stages, int32_t microBatches);

/// One step of all stages, part by part. States lie as they do when the executable runs: those with a
/// `graph.slot` once for each micro-batch and as long as the slot says, the others once. Where a part reads a
/// state that nothing has made, or that is gone, it fails.
class StagesInParts {
public:
  /// What no stage makes: rows of a micro-batch, numbers, parameters. Without a micro-batch: in a part that
  /// runs once a step.
  using Given = std::function<ReferenceTensor(const Stage &stage, mlir::func::FuncOp part, unsigned argument,
                                              std::optional<int64_t> microBatch)>;

  StagesInParts(std::vector<Stage> &stages, const schedule::Schedule &lists, Given given);

  /// A part that runs once, of all stages that have it. What it gives is in their `outputs`.
  Status callAll(graph::StagePart part);
  /// The lists; a rank goes on as soon as what its next action needs is there.
  Status train();
  /// The forwards of all micro-batches in their order.
  Status evaluate();
  /// Whether every micro-batch has given up what it held.
  Status expectNothingHeld() const;

private:
  using Values = std::map<std::string, RankValues>;
  static constexpr size_t kSlots = size_t(graph::getMaxEnumValForSlot()) + 1;
  /// What a stage has of a micro-batch that is under way.
  struct MicroBatch {
    std::array<Values, kSlots> states;
    NamedValues received, receivedGradients;
  };
  struct Memory {
    int64_t ranks = 1; ///< of the stage's mesh
    Values states;
    std::map<int64_t, MicroBatch> microBatches;
  };

  Memory &memoryOf(const Stage &stage) { return memories[size_t(&stage - stages.data())]; }
  /// Nothing where the stage has no such part.
  Status call(Stage &stage, graph::StagePart part, std::optional<int64_t> microBatch);
  Result<RankValues> argumentOf(Stage &stage, mlir::func::FuncOp part, unsigned argument,
                                std::optional<int64_t> microBatch);
  /// Where a state lies whose attribute `graph.slot` is `slot`.
  Result<Values *> placeOf(Stage &stage, graph::SlotAttr slot, const std::string &name,
                           std::optional<int64_t> microBatch);
  Status take(Stage &stage, mlir::func::FuncOp part, unsigned result, RankValues value,
              std::optional<int64_t> microBatch);
  bool isReady(const schedule::Action &action) const;
  Status compute(const schedule::Action &part);

  std::vector<Stage> &stages;
  const schedule::Schedule &lists;
  Given given;
  std::vector<Memory> memories;
  std::set<std::pair<int32_t, int32_t>> forwards, backwards; ///< stages and micro-batches that are through
};

} // namespace tessera
#endif
