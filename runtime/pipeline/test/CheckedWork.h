// Stages whose values are numbers that say where they come from: what a stage gives follows from what it
// read, its number, the micro-batch and the direction, so a value that came from elsewhere, or late, shows.
#ifndef TESSERA_RUNTIME_PIPELINE_TEST_CHECKEDWORK_H
#define TESSERA_RUNTIME_PIPELINE_TEST_CHECKEDWORK_H

#include "tessera/runtime/pipeline/Executor.h"

#include <cstring>
#include <string>

namespace tessera::runtime {

class CheckedWork final : public StageWork {
public:
  CheckedWork(const schedule::Schedule &schedule, const ValueSizes &sizes)
      : schedule_(schedule), sizes_(sizes) {}

  // What stage `stage` gives: forward to the next one, or backward to the one before.
  static uint64_t value(const schedule::Schedule &schedule, bool forward, int32_t stage, int32_t microBatch) {
    uint64_t seed = forward ? 0x9E3779B97F4A7C15ull : 0xC2B2AE3D27D4EB4Full;
    int32_t first = forward ? 0 : schedule.numStages() - 1;
    for (int32_t s = first;; s += forward ? 1 : -1) {
      seed = (seed ^ uint64_t(s * 4099 + microBatch * 2 + forward)) * 0xD6E8FEB86659FD93ull;
      seed ^= seed >> 32;
      if (s == stage)
        return seed;
    }
  }

  void compute(const schedule::Action &part, const void *in, void *out, Stream &) override {
    ++computed;
    bool forward = part.kind == schedule::Kind::Forward;
    if (part.kind == schedule::Kind::BackwardWeight) {
      if (in || out)
        complain(part, "W is given a value");
      return;
    }
    int32_t before = part.stage + (forward ? -1 : 1), next = part.stage + (forward ? 1 : -1);
    if (schedule_.hasStage(before) != bool(in) || schedule_.hasStage(next) != bool(out))
      return complain(part, "a value is missing, or one too many");
    if (in && !filledWith(in, bytes(forward, before), value(schedule_, forward, before, part.microBatch)))
      complain(part, "what it reads is not what stage " + std::to_string(before) + " gave");
    if (out)
      fill(out, bytes(forward, part.stage), value(schedule_, forward, part.stage, part.microBatch));
  }

  int64_t computed = 0;
  std::string complaint; // the first one

private:
  size_t bytes(bool forward, int32_t maker) const {
    return forward ? sizes_.forward[size_t(maker)] : sizes_.backward[size_t(maker) - 1];
  }
  static void fill(void *at, size_t bytes, uint64_t value) {
    for (size_t i = 0; i + 8 <= bytes; i += 8, ++value)
      memcpy(static_cast<char *>(at) + i, &value, 8);
  }
  static bool filledWith(const void *at, size_t bytes, uint64_t value) {
    for (size_t i = 0; i + 8 <= bytes; i += 8, ++value)
      if (memcmp(static_cast<const char *>(at) + i, &value, 8))
        return false;
    return true;
  }
  void complain(const schedule::Action &part, const std::string &why) {
    if (complaint.empty())
      complaint = "stage " + std::to_string(part.stage) + ", micro-batch " + std::to_string(part.microBatch) +
                  ": " + why;
  }

  const schedule::Schedule &schedule_;
  const ValueSizes &sizes_;
};

} // namespace tessera::runtime
#endif
