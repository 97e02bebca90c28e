// The pairs of ranks of a pipeline along which messages go.
#ifndef TESSERA_RUNTIME_PIPELINE_PIPELINECHANNELS_H
#define TESSERA_RUNTIME_PIPELINE_PIPELINECHANNELS_H

#include "tessera/runtime/comm/Communicator.h"
#include "tessera/runtime/pipeline/StagePrograms.h"

namespace tessera::runtime {

// Of all ranks, ascending: between neighbouring stages, between stages that share a weight, and from the last
// stage to those who take tokens.
std::vector<Channel> channelsOf(const StagePrograms &stages);

// Who gives the tokens `next` of a step to `rank`, in the order of their pieces: ranks of the last stage.
// Rows may be divided over axes; what all ranks along the others have is the same.
std::vector<int64_t> tokenSources(const StagePrograms &stages, int64_t rank, const OutputSpec &next);
// Who takes the piece of `rank`, one of the last stage, but for itself.
std::vector<int64_t> tokenTakers(const StagePrograms &stages, int64_t rank, const OutputSpec &next);

} // namespace tessera::runtime
#endif
