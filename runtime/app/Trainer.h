// A step that is one entry of one program. What it is and what fills its inputs says the manifest ("train").
#ifndef TESSERA_RUNTIME_APP_TRAINER_H
#define TESSERA_RUNTIME_APP_TRAINER_H

#include "StepInputs.h"

namespace tessera::runtime {

class Trainer final : public TrainStep {
public:
  explicit Trainer(Rank &rank); // throws Error if the program does not train

  const TrainSpec &spec() const override { return spec_; }
  const Mesh &mesh() const override { return rank_.manifest().mesh; }
  Rank &program(size_t) override { return rank_; }
  Rank *holder(size_t) override { return &rank_; }
  void observe(StepObserver *observer) override;
  using TrainStep::evaluate;
  Loss train(const StepRows &rows, int64_t update, const Hyperparameters &numbers) override;
  Loss evaluate(const StepRows &rows) override;

private:
  // The number of the entry that trains with these numbers.
  int64_t entryOf(const Hyperparameters &numbers) const {
    return numbers.dropout > 0 ? spec_.trainDropout : spec_.train;
  }
  Loss run(int64_t entry, const StepRows &rows, int64_t update, const Hyperparameters &numbers);
  double output(const EntrySpec &entry, Gives gives);

  Rank &rank_;
  const TrainSpec &spec_;
  StepInputs inputs_;
  StepObserver *observer_ = nullptr;
};

} // namespace tessera::runtime
#endif
