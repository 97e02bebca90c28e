// What ranks do in an evaluation, which no schedule says.
#ifndef TESSERA_RUNTIME_PIPELINE_EVALUATIONLISTS_H
#define TESSERA_RUNTIME_PIPELINE_EVALUATIONLISTS_H

#include "tessera/runtime/schedule/Schedule.h"

namespace tessera::runtime {

struct EvaluationLists {
  schedule::Schedule lists; // with their sends and receives
  int32_t sendBuffers = 1;
};

// The forwards of the step, in its order. `step`: lists of training, whose stages these are.
EvaluationLists evaluationLists(const schedule::Schedule &step);

} // namespace tessera::runtime
#endif
