// Which layers a stage gets: cuts of a model's layers by what they cost.
#ifndef TESSERA_RUNTIME_SCHEDULE_CUT_H
#define TESSERA_RUNTIME_SCHEDULE_CUT_H

#include "tessera/runtime/Result.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tessera::schedule {

// What a model's parts take, in any one unit: time, or what else is to be evened out.
struct LayerCosts {
  double before = 0;          // what the first stage does before its layers: the embedding
  std::vector<double> layers; // one number a layer
  double after = 0;           // what the last stage does behind its layers: head and loss
  double stage = 0;           // what each stage that has layers does besides: what layers share
};

// `costs` and so much of `more`, part by part; both of as many layers.
LayerCosts plus(LayerCosts costs, const LayerCosts &more, double times = 1);

// Layers of each stage, in order; a stage may have none.
using StageSizes = std::vector<int64_t>;

// What each stage of a cut takes. The sizes add up to the number of layers.
std::vector<double> stageCosts(const LayerCosts &costs, const StageSizes &sizes);

// Whether stage `stage` can hold the layers [begin, end): what it needs of memory, say.
using StageFits = std::function<bool(int32_t stage, int64_t begin, int64_t end)>;

// The cut whose costliest stage costs least; of several the one whose costs are closest to each other (least
// sum of squares), of those the one with more layers in front. Exact. A stage that does not fit is not made;
// fails where no cut fits. Takes time for stages x layers squared.
Result<StageSizes> cutLayers(const LayerCosts &costs, int32_t stages, const StageFits &fits = {});

// From `sizes` to a cut with less of what `makespan` says: layers move from one stage to another as long as
// that helps, also after a move that does not. `tries`: most cuts that are tried. Not always the best cut;
// tests hold it to 1 % of that.
StageSizes improveCut(StageSizes sizes, const std::function<double(const StageSizes &)> &makespan,
                      const StageFits &fits = {}, int64_t tries = 20000);

// What --stages=10,9,9,2 says; fails where the sizes do not add up to `layers`, or say no number.
Result<StageSizes> parseStageSizes(std::string_view text, int64_t layers);

} // namespace tessera::schedule
#endif
