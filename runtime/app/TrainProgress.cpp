#include "TrainProgress.h"
#include "Terminal.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace tessera::runtime {

TrainProgress::TrainProgress(int64_t done, int64_t steps)
    : first_(done), steps_(steps), terminal_(movesCursor(STDERR_FILENO)), start_(Clock::now()),
      shown_(start_) {}

TrainProgress::~TrainProgress() { wipe(); }

void TrainProgress::wipe() {
  if (drawn_)
    (void)!::write(STDERR_FILENO, "\r\033[K", 4);
  drawn_ = false;
}

void TrainProgress::note(const std::string &text) {
  wipe();
  logLine(text);
}

static std::string clockText(double seconds) {
  auto whole = int64_t(seconds + 0.5);
  char text[48];
  if (whole >= 3600)
    snprintf(text, sizeof text, "%lld:%02d:%02d", (long long)(whole / 3600), int(whole / 60 % 60),
             int(whole % 60));
  else
    snprintf(text, sizeof text, "%d:%02d", int(whole / 60), int(whole % 60));
  return text;
}

// printf shows the sign of what is no number.
static double withoutSignOfNan(double number) { return std::isnan(number) ? std::fabs(number) : number; }

std::string progressText(const train::LogLine &line, int64_t steps, double secondsLeft) {
  char text[160];
  snprintf(text, sizeof text, "step %lld of %lld: loss %.4f, norm %.4g, %.0f tokens/s", (long long)line.step,
           (long long)steps, withoutSignOfNan(line.loss), withoutSignOfNan(line.gradNorm),
           line.tokensPerSecond);
  std::string all = text;
  if (!std::isnan(line.mfu)) {
    snprintf(text, sizeof text, ", MFU %.1f %%", 100 * line.mfu);
    all += text;
  }
  if (!std::isnan(line.memoryBytes)) {
    bool large = line.memoryBytes >= 1e9;
    snprintf(text, sizeof text, large ? ", %.2f GB" : ", %.0f MB", line.memoryBytes / (large ? 1e9 : 1e6));
    all += text;
  }
  if (!std::isnan(line.evalLoss)) {
    snprintf(text, sizeof text, ", evaluation %.4f", line.evalLoss);
    all += text;
  }
  if (!std::isnan(line.lossScale) && !std::isfinite(line.gradNorm))
    all += ", skipped: an overflow";
  return line.step < steps ? all + ", " + clockText(secondsLeft) + " left" : all;
}

void TrainProgress::step(const train::LogLine &line) {
  auto now = Clock::now();
  auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  double left = seconds(now - start_) / double(line.step - first_) * double(steps_ - line.step);
  const int64_t share = std::max<int64_t>(1, (steps_ + 19) / 20);
  bool mark = line.step == first_ + 1 || line.step == steps_ || line.step % share == 0;
  if (terminal_) {
    if (drawn_ && line.step != steps_ && seconds(now - shown_) < 0.1) // faster than anyone reads
      return;
    std::string text = "\r" + progressText(line, steps_, left) + "\033[K";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    drawn_ = true;
    shown_ = now;
  } else if (mark || seconds(now - shown_) >= 10) {
    logLine(progressText(line, steps_, left));
    shown_ = now;
  }
}

} // namespace tessera::runtime
