// The step of a pipeline as it is predicted, drawn as a trace.
#ifndef TESSERA_RUNTIME_APP_PREDICTEDTRACE_H
#define TESSERA_RUNTIME_APP_PREDICTEDTRACE_H

#include "TraceEvents.h"
#include "tessera/runtime/pipeline/Prediction.h"

namespace tessera::runtime {

// A process for each coordinate of the pipeline's axis, from number `first` on; the lists begin at 0.
void putPrediction(const StagePrograms &stages, const Prediction &prediction, int64_t first,
                   TraceEvents &events);

// `info --trace=FILE`. Throws Error for a program whose step is no pipeline's, and where the file cannot be
// written.
void writePrediction(const StagePrograms *stages, const std::string &file);

} // namespace tessera::runtime
#endif
