// How long a step takes, and a prompt and a token where stages generate: by what their stages take. One
// function for who chooses a plan, for what the compiler says and for `info`.
#ifndef TESSERA_RUNTIME_SCHEDULE_PREDICT_H
#define TESSERA_RUNTIME_SCHEDULE_PREDICT_H

#include "tessera/runtime/schedule/Simulate.h"

#include <map>
#include <string>

namespace tessera::schedule {

// Seconds. Vectors have a number a stage, or none.
struct StepCosts {
  Costs costs;              // of the lists
  std::vector<double> once; // what a stage does before its list and behind it
  // In which the gradients of weights that the stage shares with one on another rank travel, both ways at
  // once.
  std::vector<double> shared;
};
// From numbers by their names in the manifest: "forward", "input_gradient", "weight_gradient", "link",
// "once", "shared". What is not there takes no time.
StepCosts stepCosts(const std::map<std::string, std::vector<double>> &times);

struct StepPrediction {
  Simulation simulation;            // of the lists
  std::vector<double> once, shared; // [ranks]
  // Gradients of shared weights travel behind the lists. Then the norm is added up, for which all ranks wait,
  // and each stage updates its weights.
  double sharedSeconds() const;
  double seconds() const;
  // The part of all ranks' time in which they do not compute, 0 to 1.
  double idle() const;
};
StepPrediction predictStep(const Schedule &schedule, const StepCosts &costs, const Transport &transport = {});

// Of stages that generate, seconds for each: what it takes for a chunk of a prompt and for a token of each
// row of a group; what its message to the next stage takes with a chunk (none of the last), and with a token
// (of the last: the tokens' way to all).
struct GenerationCosts {
  std::vector<double> chunk, token, link, tokenLink;
};
// From numbers by their names in the manifest: "chunk", "token", "link", "token_link".
GenerationCosts generationCosts(const std::map<std::string, std::vector<double>> &times);

// Chunks of the groups follow each other through the stages, and a group takes its next token when the last
// one is through and all know it.
struct GenerationPrediction {
  double prompt = 0; // of one chunk, all groups
  double token = 0;  // of each row, all groups
};
GenerationPrediction predictGeneration(const GenerationCosts &costs, int64_t groups);

} // namespace tessera::schedule
#endif
