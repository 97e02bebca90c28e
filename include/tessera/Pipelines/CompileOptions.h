//===- CompileOptions.h - The command line of llm-compile -------*- C++ -*-===//
#ifndef TESSERA_PIPELINES_COMPILEOPTIONS_H
#define TESSERA_PIPELINES_COMPILEOPTIONS_H

#include "tessera/Target/Target.h"
#include "tessera/runtime/Result.h"
#include "tessera/runtime/cli/CommandTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// The ladder (docs/Architecture.md), in order.
enum class Rung { Graph, Step, Sharded, Spmd, Kernels, Exec, Binary };
/// `graph`, `step`, ...
llvm::StringRef rungName(Rung rung);

/// What the executable is for.
enum class Task { Generate, Train };

struct CompileOptions {
  std::string model;           ///< directory, .gguf or .mlir
  std::string output;          ///< empty: standard output, for rungs before binary
  std::string mesh, shard;     ///< as given; the grammar is checked where meshes are known
  std::string machine;         ///< file; empty: the default machine
  std::string target = "cpu";  ///< a name in the list of targets
  TargetOptions targetOptions; ///< as given: {"cpu", "native"}
  std::string version; ///< of a program of which there are several, what it is called (no flag sets it)
  Task task = Task::Generate;
  int64_t batch = 0;     ///< 0: not given
  int64_t maxSeqLen = 0; ///< 0: not given
  int64_t chunk = 0; ///< positions of one prefill; 0: chosen by the pass (no flag sets it; the judge does)
  int64_t shortChunk = 0;          ///< of one of a short prompt; 0: the target's choice (as above)
  bool cutsRuns = false;           ///< few layers of each run (LayerRuns.h; no flag sets it; --check does)
  int64_t microBatches = 1;        ///< of a step of training; 0: chosen for a pipeline. Of stages that
                                   ///< generate: groups of rows
  std::string optimizer = "adamw"; ///< adamw or sgd
  std::string gradDtype;           ///< f32 or bf16 (empty: not given): gradients of training
  double lossScale = 0;            ///< the first of training in f16; 0: not given
  std::string recompute = "none";  ///< of backward: none, full or names of values, separated by commas
  int64_t lossChunks =
      0; ///< parts of the positions that training makes logits and loss in; 0: chosen by the pass
  bool overlap = true;           ///< what ranks exchange runs beside what they compute
  bool isRecomputeGiven = false; ///< somebody asked for it: it stays so
  int64_t memory = 0;            ///< bytes of a rank at most; 0: not given
  int64_t savedBytes = -1; ///< of what loops save for backward, at most; negative: as `recompute` says (no
                           ///< flag sets it; --memory does)
  int64_t liveBytes = -1;  ///< that a rank may have at once of what a block makes; negative: as many as it
                           ///< likes (no flag sets it; --memory does)
  std::string pipeline, stages; ///< as given: --pipeline, --stages
  // What the two come to for a model and its mesh (no flags; empty: there is no pipeline).
  std::vector<int64_t> stageSizes, stageCoordinates; ///< of each stage: its layers, where it lies
  std::string stageMesh; ///< what programs of stages see of `mesh`: the pipeline's axis has size 1
  std::string scheduleName;
  std::vector<std::string> actionLists; ///< of each coordinate, with sends and receives (docs/Schedules.md)
  int64_t sendBuffers = 0;              ///< of a rank; 0: what the times of its programs come to
  int64_t groupRows = 0;                ///< where stages generate: rows of the largest group
  bool splitsBackward = false;          ///< gradients of weights are a part of their own
  std::string planText;                 ///< what was chosen, and what else, for people
  bool embedWeights = false, explain = false;
  std::string text;   ///< to be printed in place of anything else: help, version, a completion
  bool check = false; ///< compare with one device before the executable appears
  Rung compileTo = Rung::Binary;
  std::string report;    ///< HTML file; empty: none
  std::string dtype;     ///< bf16, f16 or f32 (empty: not given): of weights, activations and caches
  std::string cache;     ///< bf16, f16, f32 or q8_0 (empty: not given): of keys and values between steps
  std::string dumpRungs; ///< directory; empty: none
};

/// Reads the arguments after the program's name. Flags are `--name=value`; every mistake, and every flag
/// whose feature does not exist, is one Failure that names it.
Result<CompileOptions> parseCompileOptions(llvm::ArrayRef<const char *> arguments);

/// The command line as text: what --help, man pages and completions are made of. It comes from the table that
/// parses.
cli::ProgramText compileProgramText();

} // namespace tessera
#endif
