// What the compiler predicts of a pipeline's step: when each rank does what.
#ifndef TESSERA_RUNTIME_PIPELINE_PREDICTION_H
#define TESSERA_RUNTIME_PIPELINE_PREDICTION_H

#include "tessera/runtime/pipeline/StagePrograms.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <optional>

namespace tessera::runtime {

struct Prediction {
  schedule::Costs costs;           // seconds
  schedule::Simulation simulation; // of the lists of a step
  double once = 0;                 // what the slowest rank does before the list and behind it
  double seconds() const { return simulation.makespan + once; }
};

// None where the program says no times, or generates.
std::optional<Prediction> predictStep(const StagePrograms &stages);

} // namespace tessera::runtime
#endif
