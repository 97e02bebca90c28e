// The log of a training run: one JSON object a line and step.
#ifndef TESSERA_RUNTIME_TRAIN_TRAININGLOG_H
#define TESSERA_RUNTIME_TRAIN_TRAININGLOG_H

#include "tessera/runtime/Result.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::train {

// {"step": 1, "loss": 6.6, "grad_norm": 3.1, "lr": 0.00075, "tokens_per_s": 1e5}, and "mfu", "memory_bytes",
// "eval_loss" and "loss_scale" where there is one. What is not finite is null. Numbers are as many digits as
// are read back to the same double.
struct LogLine {
  int64_t step = 0; // from 1
  double loss = NAN, gradNorm = NAN, learningRate = NAN, tokensPerSecond = NAN;
  double evalLoss = NAN, lossScale = NAN, mfu = NAN, memoryBytes = NAN; // NAN: none
};
std::string logText(const LogLine &line); // with its end of line

// Appends lines to a file, each by one write: a process that is killed leaves whole lines.
class TrainingLog {
public:
  // A run that goes on after step `after`: lines of later steps, and half a line at the end, are cut off.
  // after = 0: a new run, all are. What is no regular file (a pipe, /dev/stderr) is only written to. Fails,
  // and leaves it as it is, on a file that holds something else than a log.
  static Result<TrainingLog> open(const std::string &path, int64_t after);
  // Whether open() would go well; leaves everything as it is.
  static Status check(const std::string &path);
  ~TrainingLog();
  TrainingLog(TrainingLog &&other) noexcept;
  TrainingLog &operator=(TrainingLog &&) = delete;

  Status write(const LogLine &line);

private:
  TrainingLog(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_ = -1;
};

// The lines of a log from anywhere: objects with "step", and any of the other fields; what else they hold is
// passed over. Where a step comes again, as when a run goes on from an earlier one, the later lines count:
// steps rise. Half a line at the end is left out. Fails, naming the line, on what is no such object, and on a
// file without one.
Result<std::vector<LogLine>> readLog(const std::string &path);

} // namespace tessera::train
#endif
