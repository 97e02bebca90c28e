// Where values that stages exchange lie in a rank's memory: known before anything runs.
#ifndef TESSERA_RUNTIME_PIPELINE_BUFFERPLAN_H
#define TESSERA_RUNTIME_PIPELINE_BUFFERPLAN_H

#include "tessera/runtime/core/HeldBytes.h"
#include "tessera/runtime/schedule/Schedule.h"

#include <cstddef>
#include <vector>

namespace tessera::runtime {

// Values that a stage gives to a neighbour travel as one message: they lie one after another, each from a
// multiple of 64 bytes on. Offset of the next one, of `bytes`, in a message that has `message` bytes so far.
constexpr size_t placeInMessage(size_t &message, size_t bytes) {
  const size_t offset = message;
  message += size_t(wholeLines(int64_t(bytes)));
  return offset;
}

// Bytes of what two neighbouring stages exchange, by the lower of them.
struct ValueSizes {
  std::vector<size_t> forward, backward; // [stages - 1]
};

// Where a rank's list keeps values between its actions.
struct BufferPlan {
  // Of each action of the list (a pair: of its forward, then its backward), -1: none. `in`: read by it, or
  // received; `out`: where what it gives stays for another stage of this rank, or until it is sent.
  struct Use {
    int64_t in[2] = {-1, -1}, out[2] = {-1, -1};
  };
  std::vector<Use> uses;          // [actions], offsets
  std::vector<int64_t> sendSlots; // offsets of the buffers that sends take in turn
  size_t sendBytes = 0;           // of each of them
  size_t bytes = 0;               // of all
};

// `schedule` is valid with its sends and receives (Validate.h). A value has a buffer from the action that
// makes it, or the receive that is posted for it, to the one that reads it. `sendBuffers`: at least 1 for who
// sends.
BufferPlan planBuffers(const schedule::Schedule &schedule, int32_t rank, const ValueSizes &sizes,
                       int32_t sendBuffers);

} // namespace tessera::runtime
#endif
