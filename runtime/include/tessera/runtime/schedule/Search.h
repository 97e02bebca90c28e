// Which plan: the first of all (isBefore) among those that fit into memory. What costs say of a plan's memory
// is not exact, so what fits is measured, and what costs said too little of, or too much, is made good from
// then on.
#ifndef TESSERA_RUNTIME_SCHEDULE_SEARCH_H
#define TESSERA_RUNTIME_SCHEDULE_SEARCH_H

#include "tessera/runtime/schedule/Choose.h"

namespace tessera::schedule {

// A plan of one of the programs that a model may become: with other values kept for backward, say.
struct Candidate {
  size_t variant = 0;
  Plan plan;
  double bytes = 0; // of the rank that takes most: measured, or what costs say where nothing is
};

struct Choice {
  Candidate best;
  // The next of another schedule, number of stages a rank or of micro-batches, or variant.
  std::optional<Candidate> runnerUp;
  bool fits = true; // else `best` is the one that takes least, of those that were found
};

// Bytes of the rank that takes most. Asked once for a plan of a variant.
using Measure = std::function<Result<double>(size_t variant, const Plan &plan)>;

// One model a variant; one of them at least. Without a limit nothing is measured. Fails where no schedule has
// such sizes, and where measuring fails. Few plans are measured: each is a compilation.
Result<Choice> choosePlan(const std::vector<ModelOf> &variants, const ChoiceLimits &limits,
                          const Measure &measure);

} // namespace tessera::schedule
#endif
