// What the compiler predicts of a pipeline's step: when each rank does what.
#ifndef TESSERA_RUNTIME_PIPELINE_PREDICTION_H
#define TESSERA_RUNTIME_PIPELINE_PREDICTION_H

#include "tessera/runtime/pipeline/StagePrograms.h"
#include "tessera/runtime/schedule/Predict.h"

#include <optional>

namespace tessera::runtime {

struct Prediction {
  schedule::StepCosts costs;
  schedule::StepPrediction step;
};

// None where the program says no times, or generates.
std::optional<Prediction> predictStep(const StagePrograms &stages);

} // namespace tessera::runtime
#endif
