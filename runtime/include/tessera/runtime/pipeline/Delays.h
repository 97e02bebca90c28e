// Actions and messages that take given times: what a schedule would do on machines that are not at hand.
#ifndef TESSERA_RUNTIME_PIPELINE_DELAYS_H
#define TESSERA_RUNTIME_PIPELINE_DELAYS_H

#include "tessera/runtime/schedule/Simulate.h"

#include <optional>

namespace tessera::runtime {

// The file that TESSERA_PIPELINE_DELAYS names, in milliseconds: `F=4,5,6,7 I=4 W=4 pair=8 link=2`
// (CostText.h). Nothing where it names none. Throws Error for a file that cannot be read, or has another
// number of stages.
std::optional<schedule::Costs> pipelineDelays(int32_t stages);

} // namespace tessera::runtime
#endif
