//===- PropagationText.h - Propagation cases as text ------------*- C++ -*-===//
//
// One case, line by line (docs/Sharding.md has the form); for tests and build/bin/sharding-facts.
//
//   mesh a2 b2
//   strategy basic                    (basic, aggressive, full; default full)
//   tensor A 8x8 [a/b]                (no sharding: open everywhere)
//   op NAME A B -> t : ([i, j], [i, j]) -> ([i, j])     (no rule: elementwise)
//   barrier forward A -> t            (forward, backward, none, both)
//   edge init yield -> carried
//   manual {b} outside -> inside
//   group A B
//   expect A [a/b?]
//   place ...                         (tessera/AutoParallel/PlacementText.h)
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_ANALYSIS_SHARDING_PROPAGATIONTEXT_H
#define TESSERA_ANALYSIS_SHARDING_PROPAGATIONTEXT_H

#include "tessera/Analysis/Sharding/Propagation.h"

namespace tessera {

struct PropagationCase {
  std::string name;
  PropagationGraph graph;
  PropagationStrategy strategy = PropagationStrategy::Full;
  std::vector<std::string> tensorNames;
  std::vector<bool> annotated;      ///< of each tensor: its line says a sharding
  std::vector<std::string> opNames; ///< of each op of the graph: NAME, `barrier`, `edge` or `manual`
  struct Line {
    int number;
    std::string text;
  };
  std::vector<Line> placement; ///< what stands after `place`
  struct Expectation {
    int line, tensor;
    Sharding sharding;
  };
  std::vector<Expectation> expectations;

  /// Runs it and compares: one line for every expectation that does not hold. `report` gets one line for each
  /// tensor, and the warnings.
  std::vector<std::string> run(std::string *report = nullptr);
};

/// All cases of a file: each starts with `case NAME`; what stands before the first is a case without a name.
/// On wrong text none, and `error` says line and reason.
std::optional<std::vector<PropagationCase>> parsePropagationCases(llvm::StringRef text, std::string &error);

} // namespace tessera
#endif
