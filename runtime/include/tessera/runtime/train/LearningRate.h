// The learning rate of every step.
#ifndef TESSERA_RUNTIME_TRAIN_LEARNINGRATE_H
#define TESSERA_RUNTIME_TRAIN_LEARNINGRATE_H

#include "tessera/runtime/Result.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::train {

enum class Schedule {
  Cosine,   // half a cosine from the peak to the least: transformers' cosine_with_min_lr, torch's
            // CosineAnnealingLR(T_max = steps - warmup, eta_min = least)
  Linear,   // a line: transformers' linear with `least` in place of 0, torch's LinearLR
  Constant, // the peak: transformers' constant_with_warmup
  Wsd       // warmup, stable, decay: the peak until the last `decaySteps`, over these half a cosine to the
            // least: transformers' get_wsd_schedule with its default decay
};
// "cosine", "linear", "constant", "wsd"; none for other text.
std::optional<Schedule> scheduleFromName(std::string_view name);

// A function of the number of updates done, not of the step: a step that is skipped (an overflow in float16)
// moves it no further.
struct LearningRate {
  Schedule schedule = Schedule::Cosine;
  double peak = 1e-3;                // --lr
  double least = 0;                  // --min-lr: where it ends; `constant` does not know it
  int64_t steps = 1;                 // --steps, in all: a run that is resumed goes on as if never stopped
  int64_t warmup = 0;                // --warmup
  std::optional<int64_t> decaySteps; // --decay-steps, of wsd only; none: a tenth of `steps`, rounded up

  // Fails on numbers that are none, on least > peak, on negative steps, on a warmup and a decay that together
  // are longer than the run, and on decaySteps for another schedule than wsd. `at` may be called after.
  Status check() const;

  // Of update `update`, from 0, in double precision. The first `warmup` rise along a line and reach the peak
  // with the last of them: peak (update + 1) / warmup, torch's LinearLR(1 / warmup, 1, warmup - 1).
  // (transformers begins with 0: its first step changes nothing.) What falls starts at the peak with update
  // `warmup` and would reach the least with update `steps`, one beyond the last; from there on it stays.
  double at(int64_t update) const;
};

} // namespace tessera::train
#endif
