#include "tessera/runtime/schedule/Search.h"

#include <algorithm>
#include <map>

namespace tessera::schedule {
namespace {

class Searcher {
public:
  Searcher(const std::vector<ModelOf> &variants, const ChoiceLimits &limits, const Measure &measure)
      : variants_(variants), limits_(limits), measure_(measure), known_(variants.size()) {}

  // Whatever it takes.
  Result<Choice> fastest();
  Result<Choice> within(double bytes);
  // What takes least, by ever smaller limits; the fastest of what was found that takes no more than `bytes`.
  Result<Choice> least(double bytes);

private:
  // By variant.
  using Plans = std::vector<std::vector<Plan>>;

  // `more`: what costs say too little, of every rank.
  Result<std::vector<Plan>> plansOf(size_t variant, double bytes, double more);
  // None where costs, or measures, say that nothing fits.
  Result<std::optional<Choice>> search(double bytes);
  std::optional<Candidate> runnerUp(const Candidate &best, const Plans &plans, double bytes) const;
  Status measure(Candidate &candidate);
  static std::string keyOf(const Candidate &candidate) {
    return std::to_string(candidate.variant) + " " + candidate.plan.toString();
  }

  const std::vector<ModelOf> &variants_;
  const ChoiceLimits &limits_;
  const Measure &measure_;
  std::map<std::string, double> measured_;
  std::vector<KnownCuts> known_; // by variant
};

} // namespace

Result<std::vector<Plan>> Searcher::plansOf(size_t variant, double bytes, double more) {
  ChoiceLimits limits = limits_;
  limits.bytes = bytes;
  return pipelinePlans(
      [&](int32_t microBatches, bool splits) {
        PipelineModel model = variants_[variant](microBatches, splits);
        model.rankBytes += more;
        return model;
      },
      limits, &known_[variant]);
}

Status Searcher::measure(Candidate &candidate) {
  const std::string key = keyOf(candidate);
  auto known = measured_.find(key);
  if (known == measured_.end()) {
    Result<double> bytes = measure_(candidate.variant, candidate.plan);
    if (!bytes)
      return bytes.takeFailure();
    known = measured_.emplace(key, *bytes).first;
  }
  candidate.bytes = known->second;
  return {};
}

std::optional<Candidate> Searcher::runnerUp(const Candidate &best, const Plans &plans, double bytes) const {
  std::optional<Candidate> next;
  for (size_t variant = 0; variant < plans.size(); ++variant)
    for (const Plan &plan : plans[variant])
      if ((bytes == 0 || plan.mostBytes() <= bytes) && !isBefore(plan, best.plan) &&
          (variant != best.variant || plan.schedule != best.plan.schedule ||
           plan.microBatches != best.plan.microBatches) &&
          (!next || isBefore(plan, next->plan)))
        next = Candidate{variant, plan, plan.mostBytes()};
  return next;
}

Result<Choice> Searcher::fastest() {
  Plans plans;
  std::optional<Candidate> best;
  for (size_t variant = 0; variant < variants_.size(); ++variant) {
    Result<std::vector<Plan>> found = plansOf(variant, 0, 0);
    if (!found)
      return found.takeFailure();
    plans.push_back(found.take());
    const Plan &first = plans.back().front();
    if (!best || isBefore(first, best->plan))
      best = Candidate{variant, first, first.mostBytes()};
  }
  return Choice{*best, runnerUp(*best, plans, 0), true};
}

Result<std::optional<Choice>> Searcher::search(double bytes) {
  std::vector<double> more(variants_.size(), 0);
  Plans plans(variants_.size());
  std::vector<bool> isStale(variants_.size(), true);
  std::optional<Candidate> best;
  std::map<std::string, double> known; // of this search: no other one changes what it finds
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    std::optional<Candidate> next;
    for (size_t variant = 0; variant < variants_.size(); ++variant) {
      if (isStale[variant]) {
        Result<std::vector<Plan>> found = plansOf(variant, bytes, more[variant]);
        if (!found)
          return found.takeFailure();
        plans[variant] = found.take();
        isStale[variant] = false;
      }
      for (const Plan &plan : plans[variant]) {
        Candidate candidate{variant, plan, plan.mostBytes()};
        if (auto measured = known.find(keyOf(candidate)); measured != known.end())
          candidate.bytes = measured->second;
        if (candidate.bytes <= bytes) {
          if (!next || isBefore(plan, next->plan))
            next = candidate;
          break;
        }
      }
    }
    if (!next || (best && !isBefore(next->plan, best->plan)))
      break;
    const double said = next->plan.mostBytes() - more[next->variant];
    if (Status status = measure(*next); !status)
      return status.takeFailure();
    known[keyOf(*next)] = next->bytes;
    more[next->variant] = next->bytes - said;
    isStale[next->variant] = true;
    if (next->bytes <= bytes)
      best = next;
  }
  if (!best)
    return std::optional<Choice>();
  return std::optional<Choice>(Choice{*best, runnerUp(*best, plans, bytes), true});
}

Result<Choice> Searcher::within(double bytes) {
  Result<std::optional<Choice>> found = search(bytes);
  if (!found)
    return found.takeFailure();
  return *found ? Result<Choice>(std::move(**found)) : least(bytes);
}

Result<Choice> Searcher::least(double bytes) {
  std::optional<Candidate> least;
  for (size_t variant = 0; variant < variants_.size(); ++variant) {
    Result<std::vector<Plan>> plans = plansOf(variant, 1, 0);
    if (!plans)
      return plans.takeFailure();
    Candidate candidate{
        variant,
        *std::min_element(plans->begin(), plans->end(),
                          [](const Plan &a, const Plan &b) { return a.mostBytes() < b.mostBytes(); }),
        0};
    if (Status status = measure(candidate); !status)
      return status.takeFailure();
    if (!least || candidate.bytes < least->bytes)
      least = std::move(candidate);
  }
  // Each takes less than the one before, so the first that fits is the fastest of them.
  std::optional<Candidate> fitting;
  constexpr int kMost = 100; // few are needed; measures are compiled programs
  for (int i = 0;; ++i) {
    if (least->bytes <= bytes && !fitting)
      fitting = least;
    if (i + 1 == kMost || least->bytes <= 1)
      break;
    Result<std::optional<Choice>> next = search(least->bytes - 1);
    if (!next)
      return next.takeFailure();
    if (!*next)
      break;
    least = std::move((*next)->best);
  }
  return Choice{fitting ? *fitting : *least, std::nullopt, fitting.has_value()};
}

Result<Choice> choosePlan(const std::vector<ModelOf> &variants, const ChoiceLimits &limits,
                          const Measure &measure) {
  Searcher searcher(variants, limits, measure);
  return limits.bytes > 0 ? searcher.within(limits.bytes) : searcher.fastest();
}

} // namespace tessera::schedule
