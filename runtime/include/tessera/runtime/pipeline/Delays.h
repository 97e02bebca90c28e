// Actions and messages that take given times: what a schedule would do on machines that are not at hand.
#ifndef TESSERA_RUNTIME_PIPELINE_DELAYS_H
#define TESSERA_RUNTIME_PIPELINE_DELAYS_H

#include "tessera/runtime/device/Device.h"
#include "tessera/runtime/schedule/Simulate.h"

#include <optional>

namespace tessera::runtime {

// The file that TESSERA_PIPELINE_DELAYS names, in milliseconds: `F=4,5,6,7 I=4 W=4 pair=8 link=2`
// (CostText.h). Nothing where it names none. Throws Error for a file that cannot be read, or has another
// number of stages.
std::optional<schedule::Costs> pipelineDelays(int32_t stages);

// Nanoseconds of one clock for all processes of the machine.
int64_t delayClock();
void sleepUntil(int64_t time);
inline int64_t inNanoseconds(double milliseconds) { return int64_t(milliseconds * 1e6); }
// What a message of so many bytes takes with the time behind it at which it was sent.
constexpr size_t stampedBytes(size_t bytes) { return (bytes + 7) / 8 * 8 + sizeof(int64_t); }
// Writes the time behind a message whose stampedBytes are at `buffer`; waits until that is `link`
// milliseconds ago.
void stampMessage(char *buffer, size_t stamped, Stream &stream);
void waitForLink(const char *buffer, size_t stamped, double link, Stream &stream);

} // namespace tessera::runtime
#endif
