#include "tessera/runtime/pipeline/Delays.h"

#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/schedule/CostText.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tessera::runtime {

std::optional<schedule::Costs> pipelineDelays(int32_t stages) {
  const char *path = getenv("TESSERA_PIPELINE_DELAYS");
  if (!path || !*path)
    return std::nullopt;
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf()))
    throw Error("cannot read durations", std::string("TESSERA_PIPELINE_DELAYS=") + path,
                "the file cannot be read, or is empty",
                "name a file with F=4,5 I=4 W=4 link=2, in milliseconds");
  Result<schedule::Costs> costs = schedule::parseCosts(text.str(), path);
  if (!costs)
    throw Error(costs.failure());
  if (Status status = schedule::checkCosts(*costs, stages); !status)
    throw Error("cannot read durations", path, status.failure().why, "give " + status.failure().hint);
  return costs.take();
}

} // namespace tessera::runtime
