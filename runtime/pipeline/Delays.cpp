#include "tessera/runtime/pipeline/Delays.h"

#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/schedule/CostText.h"

#include <cerrno>
#include <cstdlib>
#include <ctime>
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

int64_t delayClock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t(1000000000) + now.tv_nsec;
}

void sleepUntil(int64_t time) {
  timespec until{time_t(time / 1000000000), long(time % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void stampMessage(char *buffer, size_t stamped, Stream &stream) {
  const int64_t now = delayClock();
  stream.upload(buffer + stamped - sizeof now, &now, sizeof now);
  stream.synchronize();
}

void waitForLink(const char *buffer, size_t stamped, double link, Stream &stream) {
  int64_t sent = 0;
  stream.download(&sent, buffer + stamped - sizeof sent, sizeof sent);
  stream.synchronize();
  sleepUntil(sent + inNanoseconds(link));
}

} // namespace tessera::runtime
