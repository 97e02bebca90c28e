#include "tessera/runtime/schedule/Cut.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string>

namespace tessera::schedule {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
// Sums of the same numbers differ in their last bits with the place where they begin: no cut is better by
// that.
constexpr double kRounding = 1e-12;

// Costs of runs of layers, at the ends of the pipeline with what stands there.
class RunCosts {
public:
  RunCosts(const LayerCosts &costs, int32_t stages) : costs_(costs), stages_(stages), sums_(1, 0.0) {
    for (double layer : costs.layers)
      sums_.push_back(sums_.back() + layer);
  }
  double of(int32_t stage, int64_t begin, int64_t end) const {
    return sums_[size_t(end)] - sums_[size_t(begin)] + (stage == 0 ? costs_.before : 0) +
           (stage + 1 == stages_ ? costs_.after : 0) + (end > begin ? costs_.stage : 0);
  }
  int64_t layers() const { return int64_t(costs_.layers.size()); }
  int32_t stages() const { return stages_; }

private:
  const LayerCosts &costs_;
  int32_t stages_;
  std::vector<double> sums_;
};

// best[end] of the stages up to one: the least value of what `combine` makes of the stages before and of the
// next one's cost, over all places where that can begin. `from` keeps them, a row a stage. Of equal values
// the last stages get fewer layers: their beginning is as late as it can be.
template <typename Combine>
double bestCut(const RunCosts &runs, const StageFits &fits, Combine combine,
               std::vector<std::vector<int64_t>> *from) {
  int64_t layers = runs.layers();
  std::vector<double> best(size_t(layers) + 1, kNever);
  best[0] = 0;
  for (int32_t stage = 0; stage < runs.stages(); ++stage) {
    std::vector<double> next(size_t(layers) + 1, kNever);
    std::vector<int64_t> begins(size_t(layers) + 1, -1);
    for (int64_t end = 0; end <= layers; ++end)
      for (int64_t begin = end; begin >= 0; --begin) {
        if (best[size_t(begin)] == kNever || (fits && !fits(stage, begin, end)))
          continue;
        double value = combine(best[size_t(begin)], runs.of(stage, begin, end));
        if (value < next[size_t(end)] * (1 - kRounding)) {
          next[size_t(end)] = value;
          begins[size_t(end)] = begin;
        }
      }
    best = std::move(next);
    if (from)
      from->push_back(std::move(begins));
  }
  return best[size_t(layers)];
}
} // namespace

LayerCosts plus(LayerCosts costs, const LayerCosts &more, double times) {
  costs.before += times * more.before;
  costs.after += times * more.after;
  costs.stage += times * more.stage;
  for (size_t layer = 0; layer < costs.layers.size(); ++layer)
    costs.layers[layer] += times * more.layers[layer];
  return costs;
}

std::vector<double> stageCosts(const LayerCosts &costs, const StageSizes &sizes) {
  RunCosts runs(costs, int32_t(sizes.size()));
  std::vector<double> result;
  int64_t begin = 0;
  for (size_t stage = 0; stage < sizes.size(); begin += sizes[stage++])
    result.push_back(runs.of(int32_t(stage), begin, begin + sizes[stage]));
  return result;
}

Result<StageSizes> cutLayers(const LayerCosts &costs, int32_t stages, const StageFits &fits) {
  if (stages < 1)
    return Failure{"cannot cut layers into stages", "", std::to_string(stages) + " stages",
                   "give one at least"};
  RunCosts runs(costs, stages);
  double bottleneck =
      bestCut(runs, fits, [](double before, double stage) { return std::max(before, stage); }, nullptr);
  if (bottleneck == kNever)
    return Failure{"cannot cut layers into stages", "",
                   "no cut of " + std::to_string(runs.layers()) + " layers into " + std::to_string(stages) +
                       " stages fits",
                   "give more stages, or more memory a rank"};
  double limit = bottleneck * (1 + kRounding);
  std::vector<std::vector<int64_t>> from;
  bestCut(
      runs, fits,
      [&](double before, double stage) { return stage > limit ? kNever : before + stage * stage; }, &from);
  StageSizes sizes(size_t(stages), 0);
  int64_t end = runs.layers();
  for (int32_t stage = stages - 1; stage >= 0; --stage) {
    int64_t begin = from[size_t(stage)][size_t(end)];
    sizes[size_t(stage)] = end - begin;
    end = begin;
  }
  return sizes;
}

namespace {
// Moves layers between stages.
class Climber {
public:
  Climber(const std::function<double(const StageSizes &)> &makespan, const StageFits &fits, int64_t tries)
      : makespan_(makespan), fits_(fits), tries_(tries) {}

  struct Cut {
    StageSizes sizes;
    double time;
  };
  Cut measure(StageSizes sizes) {
    --tries_;
    double time = makespan_(sizes);
    return {std::move(sizes), time};
  }
  bool exhausted() const { return tries_ <= 0; }

  // Calls `visit` with each cut that is one move of at most `most` layers away, until there are no tries
  // left.
  template <typename Visit> void forEachMove(const StageSizes &from, int64_t most, Visit visit) {
    for (size_t giver = 0; giver < from.size(); ++giver)
      for (size_t taker = 0; taker < from.size(); ++taker)
        for (int64_t moved = 1; moved <= std::min(from[giver], most) && giver != taker && !exhausted();
             ++moved) {
          StageSizes to = from;
          to[giver] -= moved;
          to[taker] += moved;
          if (allFit(to))
            visit(std::move(to));
        }
  }
  // As far as single moves help.
  Cut climb(Cut best) {
    for (bool improved = true; improved;) {
      improved = false;
      StageSizes from = best.sizes;
      forEachMove(from, 2, [&](StageSizes to) {
        if (Cut cut = measure(std::move(to)); isShorter(cut, best)) {
          best = std::move(cut);
          improved = true;
        }
      });
    }
    return best;
  }
  // Sums in another order differ in their last bits: that is no reason to go on.
  static bool isShorter(const Cut &cut, const Cut &than) { return cut.time < than.time * (1 - 1e-9); }

private:
  bool allFit(const StageSizes &sizes) const {
    int64_t begin = 0;
    for (size_t stage = 0; stage < sizes.size(); begin += sizes[stage++])
      if (fits_ && !fits_(int32_t(stage), begin, begin + sizes[stage]))
        return false;
    return true;
  }

  const std::function<double(const StageSizes &)> &makespan_;
  const StageFits &fits_;
  int64_t tries_;
};
} // namespace

StageSizes improveCut(StageSizes sizes, const std::function<double(const StageSizes &)> &makespan,
                      const StageFits &fits, int64_t tries) {
  Climber climber(makespan, fits, tries);
  Climber::Cut best = climber.climb(climber.measure(std::move(sizes)));
  for (bool improved = true; improved;) {
    improved = false;
    StageSizes from = best.sizes;
    climber.forEachMove(from, 1, [&](StageSizes to) {
      if (Climber::Cut cut = climber.climb(climber.measure(std::move(to))); Climber::isShorter(cut, best)) {
        best = std::move(cut);
        improved = true;
      }
    });
  }
  return best.sizes;
}

Result<StageSizes> parseStageSizes(std::string_view text, int64_t layers) {
  StageSizes sizes;
  std::string what = "cannot cut layers into stages", where = "--stages=" + std::string(text);
  for (std::string_view rest = text;;) {
    size_t comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    int64_t size = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc() || end != word.data() + word.size() || size < 0)
      return Failure{what, where, "\"" + std::string(word) + "\" is no number of layers",
                     "give numbers with commas between, such as 10,9,9,2"};
    sizes.push_back(size);
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  int64_t sum = 0;
  for (int64_t size : sizes)
    if (__builtin_add_overflow(sum, size, &sum))
      sum = std::numeric_limits<int64_t>::max();
  if (sum != layers)
    return Failure{what, where,
                   "the stages have " + std::to_string(sum) + " layers, the model " + std::to_string(layers),
                   "give sizes that add up to " + std::to_string(layers)};
  return sizes;
}

} // namespace tessera::schedule
