// A step that ranks run in stages: each micro-batch goes through all of them, forward and back, in the order
// of the lists of a schedule (docs/Pipelines.md).
#ifndef TESSERA_RUNTIME_APP_PIPELINESTEP_H
#define TESSERA_RUNTIME_APP_PIPELINESTEP_H

#include "PipelineRun.h"
#include "StepInputs.h"
#include "tessera/runtime/pipeline/Executor.h"
#include "tessera/runtime/pipeline/StageBytes.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

class PipelineStep final : public TrainStep, private StageWork {
public:
  // `programs`: of this rank, as `run` gave them.
  PipelineStep(const PipelineRun &run, RankPrograms &programs);
  ~PipelineStep() override { rank().finish(); } // what it holds may still be read

  const TrainSpec &spec() const override { return *stages_.whole().train; }
  const Mesh &mesh() const override { return stages_.whole().mesh; }
  Rank &program(size_t number) override { return *programs_[number]; }
  Rank *holder(size_t part) override;
  void drawPrediction(int64_t first, TraceEvents &events) const override;
  void observe(StepObserver *observer) override;
  using TrainStep::evaluate;
  Loss train(const StepRows &rows, int64_t update, const Hyperparameters &numbers) override {
    return run(roleOf(numbers), rows, update, numbers);
  }
  Loss evaluate(const StepRows &rows) override { return run(Role::Evaluate, rows, 0, {}); }

private:
  // A step of a stage by its role: what it takes and gives.
  struct StageRole {
    StageMessage taken[2], given[2]; // values, and their gradients
    KeptMessages kept;
  };
  struct Stage {
    int32_t number;
    Rank &rank;
    int64_t firstLayer;
    std::map<Role, StageRole> roles;
    SlotPlan slots;
    // Of as many micro-batches as there are at once: what they keep of messages; then, kind by kind of slots,
    // what their states take, of all but the first, which has that in the arena.
    Buffer memory;
    StageBytes bytes;

    char *keptValue(int64_t microBatch) const;
    char *keptGradient(int64_t microBatch) const;
    std::array<char *, kSlots> slotsOf(int64_t microBatch) const;
  };
  // What fills the inputs of a call beside what the step gives to all.
  struct CallInputs {
    int64_t microBatch = 0;
    const char *value = nullptr, *gradient = nullptr; // messages
    char *out = nullptr;                              // where the message that it gives goes
    std::array<char *, kSlots> slots{};
    const schedule::Action *action = nullptr; // whose part it is
  };
  // A weight of two stages, of which this rank has one or both.
  struct SharedWeight {
    size_t number;
    Buffer own[2], other[2]; // gradients, by the end that they are of, and that takes them
  };

  void describe(Stage &stage, Role role);
  void allocateSlots(Stage &stage);
  void allocateValues();
  Stage &stage(int32_t number);
  void compute(const schedule::Action &part, const void *in, void *out, Stream &stream) override;
  // What the observer is told of a call; the calls of all ranks are in an order in which a step could go.
  CalledPart calledPart(const Stage &stage, const EntrySpec &entry, const schedule::Action *action) const;
  // False: the stage has no such part.
  bool call(Stage &stage, StagePart part, const CallInputs &inputs);
  void fill(Stage &stage, const InputSpec &input, const CallInputs &inputs);
  const EntrySpec *entry(const Stage &stage, StagePart part) const;
  const SharedWeight &shared(int32_t stage, const std::string &name, int &end) const;

  Loss run(Role role, const StepRows &rows, int64_t update, const Hyperparameters &numbers);
  void exchangeShared();
  void addUp();
  PipelineExecutor &executor(Role role);
  float number(Stage &stage, const EntrySpec &entry, const BufferSpec &output);

  const PipelineRun &run_;
  const StagePrograms &stages_;
  RankPrograms &programs_;
  int64_t coordinate_;
  StepInputs inputs_;
  std::vector<Stage> own_;
  std::vector<SharedWeight> weights_;
  Buffer values_; // of the kind of step that takes most: no two run at once
  std::map<Role, std::unique_ptr<PipelineExecutor>> executors_;
  std::optional<schedule::Costs> delays_;
  StepObserver *observer_ = nullptr;
  std::map<std::string, int64_t> orders_; // of the actions of all ranks, while there is an observer
  Buffer ownSums_, allSums_;
  // Of the step at hand.
  Role role_ = Role::Train;
  std::map<std::string, float> sums_;
};

} // namespace tessera::runtime
#endif
