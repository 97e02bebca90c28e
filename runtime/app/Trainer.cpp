#include "Trainer.h"

namespace tessera::runtime {

Trainer::Trainer(Rank &rank)
    : rank_(rank), spec_(trainOf(rank.manifest())),
      inputs_(rank.shared(), rank.manifest().mesh, spec_.microBatches) {}

void Trainer::observe(StepObserver *observer) {
  observer_ = observer;
  rank_.observe(observer);
}

double Trainer::output(const EntrySpec &entry, Gives gives) {
  float value = 0;
  rank_.read(&value, rank_.arena() + entry.output(gives)->offset, sizeof value);
  return double(value);
}

TrainStep::Loss Trainer::run(int64_t number, const StepRows &rows, int64_t update,
                             const Hyperparameters &numbers) {
  const EntrySpec &entry = rank_.manifest().entries[size_t(number)];
  inputs_.begin(rows, update, numbers);
  inputs_.read(rows, entry);
  for (const InputSpec &input : entry.inputs)
    inputs_.write(rank_, input);
  Loss loss;
  loss.targets = inputs_.targets();
  if (observer_)
    observer_->entered(rank_, entry, {});
  rank_.call(number);
  if (observer_)
    observer_->left();
  loss.loss = output(entry, Gives::Loss);
  if (entry.output(Gives::GradNorm))
    loss.gradNorm = output(entry, Gives::GradNorm);
  return loss;
}

TrainStep::Loss Trainer::train(const StepRows &rows, int64_t update, const Hyperparameters &numbers) {
  return run(entryOf(numbers), rows, update, numbers);
}

TrainStep::Loss Trainer::evaluate(const StepRows &rows) { return run(spec_.evaluate, rows, 0, {}); }

} // namespace tessera::runtime
