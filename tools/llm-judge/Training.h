//===- Training.h - A training run against expected numbers -----*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_TRAINING_H
#define TESSERA_TOOLS_LLM_JUDGE_TRAINING_H

#include "mlir/IR/MLIRContext.h"

#include <string>

namespace tessera {

struct TrainingJudgement {
  std::string model; ///< directory with expected.json ("train"), train_tokens.safetensors and
                     ///< trained.safetensors
  std::string rung;  ///< step, sharded, spmd
  std::string mesh;  ///< as --mesh of llm-compile; rungs sharded and spmd
  std::string shard; ///< as --shard of llm-compile
  std::string dtype; ///< as --dtype of llm-compile; float64 is interpreted all the same
  int64_t microBatches = 1;
  int64_t steps = 0; ///< the first so many; 0: all, and the weights after them
  double tolerance = 1e-4;
  std::string recompute = "none"; ///< as --recompute of llm-compile
  int64_t lossChunks = 0;         ///< as --loss-chunks
  double dropout = 0; ///< above 0: what is right is said by rung step, one device, one micro-batch
};

/// Interprets @train in float64 on the rows of every step, from the model's weights on. Compares losses and
/// norms of gradients (relative) and, after the last step, weights with twice the tolerance of each tensor's
/// largest entry. With dropout these are not the expected file's, but those of the same steps, with the same
/// elements dropped, of the program that one device runs whole. Prints the largest errors; returns the exit
/// status.
int judgeTraining(mlir::MLIRContext &context, const TrainingJudgement &judgement);

} // namespace tessera
#endif
