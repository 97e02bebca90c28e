//===- Explanation.h - Why a sharded program is what it is ------*- C++ -*-===//
//
// Plain data: every collective with the two ops that it stands between, what it costs and what would
// remove it, a flag or a sharding less in the program; every large tensor with the reason of its sharding;
// what a rank holds. `--explain` prints it, JSON carries it, the report draws it.
//
// What a flag would change is never estimated: the sharding pipeline runs again with it on a copy of the
// program, and both rungs spmd are counted. Bytes are counted as `info --json` does (docs/Manifest.md): with
// rings a rank receives as much as it sends.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_PIPELINES_EXPLANATION_H
#define TESSERA_PIPELINES_EXPLANATION_H

#include "tessera/Dialect/Dist/Transforms/PaddingCost.h"
#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/runtime/Result.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// What one rank does and holds in one run of a function. Loops count as often as they run.
struct StepTotals {
  std::string function;
  int64_t collectives = 0;     ///< executions
  int64_t collectiveBytes = 0; ///< sent by a rank
  double flops = 0;
  double seconds = 0; ///< predicted: collectives and work one after another
  int64_t weightBytes = 0, stateBytes = 0;
  int64_t activationBytes = 0; ///< most that is alive at once besides arguments, if nothing is fused
};

/// A sharding that the program says itself.
struct SaidSharding {
  std::string what;     ///< `argument w`, `the pin of residual`
  std::string where;    ///< file and line; may be empty
  std::string sharding; ///< notation of docs/Sharding.md
};

/// A change of --shard, or of what the program says itself, and the whole program with it.
struct Suggestion {
  std::string items;                 ///< what is new or changes: `ffn=-`; may be empty
  std::string without;               ///< given items that go: `ffn=tp`; may be empty
  std::string shard;                 ///< value of --shard to give in place of the present one
  std::vector<SaidSharding> leftOut; ///< to be taken out of the program; empty: it stays
  std::string becomes;               ///< the collective that stands in its place then; empty: none
  std::vector<StepTotals> after;     ///< same functions as Explanation::steps
};

/// One side of a collective.
struct Endpoint {
  std::string op;    ///< `linear (down)`, `argument up`, `the caller`
  std::string where; ///< file and line, or what the op was made for; may be empty
  /// The same for the op, and all parts of one that was written out; null: several, or none. Only for
  /// comparison.
  const void *identity = nullptr;
};

struct CollectiveExplanation {
  std::string function;
  std::string kind;              ///< `all_reduce`, ...
  std::vector<std::string> axes; ///< `tp`, `tp:(1)2`; empty: a permutation of all ranks
  Endpoint producer, consumer;
  std::string dimension; ///< the one they disagree on, by name
  std::string from, to;  ///< shardings before and after, notation of docs/Sharding.md
  std::string why;       ///< what placement said
  int64_t bytes = 0; ///< sent, and received, by a rank in one execution; of grouped sends by the busiest, in
                     ///< either direction
  int64_t mostBytes =
      0; ///< of rows by counts, whose `bytes` are those of even routing: what no choice exceeds
  int64_t messages = 0; ///< of grouped sends: that a rank receives, its own piece counted; else 0
  int64_t executions = 1;
  double seconds = 0; ///< of one execution
  std::optional<Suggestion> remove;
  /// Where no change removes it: the manual regions, programs of pieces over their axes, for which it is
  /// there, and what the program and items of --shard say besides that would have to go with them.
  std::vector<SaidSharding> decidedBy;
  std::string decidedByItems;
  bool searchEnded = false; ///< no flag was found among those that were tried, and not all were
};

struct TensorExplanation {
  std::string function, name;      ///< of an activation: the op that makes it
  std::optional<graph::Kind> kind; ///< of an argument; none: an activation
  std::vector<std::string> dims;
  std::vector<int64_t> shape; ///< global
  std::string sharding;
  int64_t bytes = 0;                ///< of one rank
  std::vector<std::string> reasons; ///< one per sharded dimension, one per mesh axis that does not shard it;
                                    ///< how often a weight is gathered
};

struct Explanation {
  std::string mesh, shard;  ///< as given
  bool nominal = false;     ///< nobody described the machine: seconds rank plans, they forecast nothing
                            ///< (AutoParallel/Machine.h)
  std::string predictedFor; ///< the machine: describeMachine
  std::vector<StepTotals> steps;
  std::vector<CollectiveExplanation> collectives;
  dist::PaddingCost padding;
  std::vector<TensorExplanation> tensors; ///< parameters, states, then the largest activations; largest first
};

struct ExplainOptions {
  std::string mesh, shard, machine; ///< as the options of the sharding pipeline
  bool suggest = true;     ///< look for flags that remove collectives: some runs of the pipeline for each
  size_t activations = 8;  ///< at most so many, of each function
  int64_t savedBytes = -1; ///< this and the next two as in CompileOptions
  int64_t liveBytes = -1;
  bool isRecomputeGiven = false;
};

/// Explains what the sharding pipeline makes of `step` (rung step), which stays as it is: `spmd` if that was
/// made already (rung spmd, with the same options). Runs the pipeline in a context of its own: reports no
/// diagnostics and no remarks. Fails where the pipeline fails.
Result<Explanation> explainSharding(mlir::ModuleOp step, const ExplainOptions &options,
                                    mlir::ModuleOp spmd = {});

/// A paragraph for every collective, every padded dimension, every tensor and every function.
void print(const Explanation &explanation, llvm::raw_ostream &os);
/// What the program of a suggestion has more or less of than the explained one, per rank: `collective bytes
/// -12288, ..., time +39.15 us`.
std::string priceText(const Explanation &explanation, const Suggestion &suggestion);
/// `between: linear (down) [mlp.mlir:32:8] and add`; `within: softmax` where both ends are parts of one op
/// that was written out.
std::string endsText(const CollectiveExplanation &collective);
/// What to do: `--shard=ffn=- (new: ffn=-)`, `--shard=heads=tp (without: ffn=tp)`, `leaving out [x/-] of
/// argument a [f.mlir:3:5]`.
std::string changeText(const Suggestion &suggestion);
llvm::json::Value toJson(const Explanation &explanation);

/// `tessera-explain`: prints what the sharding pipeline would do with the module, which it leaves alone.
void registerExplainPass();

} // namespace tessera
#endif
