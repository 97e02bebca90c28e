// What a rank takes of a pipeline's programs (RankBytes.h), read off their manifests.
#ifndef TESSERA_RUNTIME_PIPELINE_STAGEBYTES_H
#define TESSERA_RUNTIME_PIPELINE_STAGEBYTES_H

#include "tessera/runtime/device/Weights.h"
#include "tessera/runtime/pipeline/StagePrograms.h"

namespace tessera::runtime {

// Weights apart, which a driver lays out.
StageBytes bytesOfStage(const StagePrograms &stages, int32_t stage);
StageBytes bytesOfStage(const StagePrograms &stages, int32_t stage, const Driver &driver);
// Of the kinds of steps that there are, training first.
std::vector<StepTraffic> trafficOf(const StagePrograms &stages);
GeneratingTraffic generatingTraffic(const StagePrograms &stages, int32_t stage);
// Of the rank at a coordinate of the pipeline's axis.
RankBytes bytesOfRank(const StagePrograms &stages, int64_t at, const Driver &driver);

} // namespace tessera::runtime
#endif
