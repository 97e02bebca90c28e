#include "tessera/runtime/train/LearningRate.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace tessera::train {

static constexpr std::pair<std::string_view, Schedule> names[] = {{"cosine", Schedule::Cosine},
                                                                  {"linear", Schedule::Linear},
                                                                  {"constant", Schedule::Constant},
                                                                  {"wsd", Schedule::Wsd}};

std::optional<Schedule> scheduleFromName(std::string_view name) {
  for (const auto &[known, schedule] : names)
    if (name == known)
      return schedule;
  return std::nullopt;
}

static int64_t decayOf(const LearningRate &rate) {
  return rate.decaySteps ? *rate.decaySteps : rate.steps / 10 + (rate.steps % 10 != 0);
}

static std::string flagged(const char *flag, double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%s=%g", flag, value);
  return text;
}

Status LearningRate::check() const {
  auto bad = [](std::string where, std::string why, std::string hint) {
    return Failure{"cannot use this learning rate", std::move(where), std::move(why), std::move(hint)};
  };
  if (!std::isfinite(peak) || peak < 0)
    return bad(flagged("--lr", peak), "it is no rate", "use 0 or a positive number, for example 3e-4");
  if (!std::isfinite(least) || least < 0)
    return bad(flagged("--min-lr", least), "it is no rate", "use 0 or a positive number");
  if (least > peak)
    return bad(flagged("--min-lr", least), "it is above " + flagged("--lr", peak), "use a smaller one");
  if (least > 0 && schedule == Schedule::Constant)
    return bad(flagged("--min-lr", least), "a constant rate does not fall",
               "leave it out, or use another --schedule");
  if (steps < 1)
    return bad("--steps=" + std::to_string(steps), "there is no step", "use 1 or more");
  if (warmup < 0)
    return bad("--warmup=" + std::to_string(warmup), "it is negative", "use 0 or more");
  if (decaySteps && schedule != Schedule::Wsd)
    return bad("--decay-steps=" + std::to_string(*decaySteps), "only wsd has a decay of its own",
               "add --schedule=wsd, or leave this out");
  if (decaySteps && *decaySteps < 0)
    return bad("--decay-steps=" + std::to_string(*decaySteps), "it is negative", "use 0 or more");
  if (schedule == Schedule::Wsd && (warmup > steps || decayOf(*this) > steps - warmup))
    return bad("--decay-steps=" + std::to_string(decayOf(*this)),
               "with --warmup=" + std::to_string(warmup) +
                   " it is longer than --steps=" + std::to_string(steps),
               "use fewer");
  return {};
}

double LearningRate::at(int64_t update) const {
  if (update < warmup)
    return peak * (double(update) + 1) / double(warmup);
  int64_t begin = schedule == Schedule::Wsd ? steps - decayOf(*this) : warmup;
  if (schedule == Schedule::Constant || update < begin)
    return peak;
  if (update >= steps)
    return least;
  double progress = double(update - begin) / double(steps - begin);
  if (schedule == Schedule::Linear)
    return least + (peak - least) * (1 - progress);
  return least + (peak - least) / 2 * (1 + std::cos(M_PI * progress));
}

} // namespace tessera::train
