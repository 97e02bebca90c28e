// --grads: what a step's gradients are, in a file.
#ifndef TESSERA_RUNTIME_APP_GRADIENTS_H
#define TESSERA_RUNTIME_APP_GRADIENTS_H

#include "Train.h"

namespace tessera::runtime {

// The file of states that gradients are read from, of those in job.files. Throws Error if the optimizer keeps
// no such state.
const SavedFile &gradientsFile(const TrainJob &job, const TrainSpec &spec);

// Writes the gradients of the rows of step 1, before clipping, under the names of the weights' tensors to
// job.options.grads. Runs a step as an update that leaves the gradients in the optimizer's first
// moments and changes no weight, reads them there, and makes the states zero again: the run goes on as if
// nothing had been. Gradients that are not finite are not written: the step itself says what is wrong. All
// ranks call it, before the first step. Throws Error if the file cannot be written.
void writeGradients(TrainStep &step, const TrainJob &job, double lossScale);

} // namespace tessera::runtime
#endif
