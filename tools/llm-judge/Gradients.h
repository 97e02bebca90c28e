//===- Gradients.h - A checkpoint against expected gradients ----*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_GRADIENTS_H
#define TESSERA_TOOLS_LLM_JUDGE_GRADIENTS_H

#include "mlir/IR/MLIRContext.h"

#include <string>

namespace tessera {

struct GradientJudgement {
  std::string model;    ///< directory or file that importModel reads
  std::string expected; ///< .safetensors with `tokens` i32 [batch, seq], `loss` f32 [1] and `grad.NAME` for
                        ///< each tensor NAME
  std::string rung;     ///< graph, sharded, spmd
  std::string mesh;     ///< as --mesh of llm-compile; rungs sharded and spmd
  std::string shard;    ///< as --shard of llm-compile
  double tolerance = 1e-5;
};

/// Interprets, in float64, @forward with the mean cross entropy of each position's prediction of the next
/// token, and its gradients of all parameters. Compares the loss, and each gradient by its largest element;
/// one that is less than a millionth of the largest of all counts as zero but for rounding. Prints the
/// largest errors; returns the exit status.
int judgeGradients(mlir::MLIRContext &context, const GradientJudgement &judgement);

} // namespace tessera
#endif
