// What a person sees of a training run.
#ifndef TESSERA_RUNTIME_APP_TRAINPROGRESS_H
#define TESSERA_RUNTIME_APP_TRAINPROGRESS_H

#include "tessera/runtime/train/TrainingLog.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace tessera::runtime {

// On standard error: a line that each step draws anew on a terminal; in a file a line for the first step, the
// last one, each twentieth of the run, and whenever ten seconds have passed.
class TrainProgress {
public:
  TrainProgress(int64_t done, int64_t steps);
  ~TrainProgress(); // wipes the line
  void step(const train::LogLine &line);
  void note(const std::string &text); // a line that stays

private:
  using Clock = std::chrono::steady_clock;
  void wipe();
  int64_t first_, steps_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, shown_;
};

// step 3 of 20: loss 5.1234, norm 1.234, 10240 tokens/s, MFU 41.0 %, 180 MB, 0:12 left
std::string progressText(const train::LogLine &line, int64_t steps, double secondsLeft);

} // namespace tessera::runtime
#endif
