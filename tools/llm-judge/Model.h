//===- Model.h - A checkpoint against expected logits ----------*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLMJUDGE_MODEL_H
#define TESSERA_TOOLS_LLMJUDGE_MODEL_H

#include "mlir/IR/MLIRContext.h"

#include <string>

namespace tessera {

struct ModelJudgement {
  std::string model;    ///< directory or file that importModel reads
  std::string expected; ///< .safetensors with `tokens` i32 [batch, seq] and `logits` f32 [batch, seq, vocab]
  std::string rung;     ///< graph, step, sharded, spmd; kernels, exec, binary: compiled and run
  std::string mesh;     ///< as --mesh of llm-compile; rungs sharded and spmd
  std::string shard;    ///< as --shard of llm-compile
  std::string target;   ///< of rungs kernels, exec and binary: what to compile for
  std::string targetOptions; ///< of rungs kernels, exec and binary: "cpu=x86-64-v3"
  int64_t chunk = 5;         ///< positions of one chunk of the prompt
  int64_t shortChunk = 0;    ///< of one of its end, where at most so many are left; 0: the target's choice
  double tolerance = 1e-5;
};

/// Interprets the model on its rung in float64 and compares every position's logits. On rung graph @forward
/// runs once; on later rungs two thirds of the positions go through the entry for prompts (in chunks, the
/// last one with inert positions) and the one for logits, the rest through the one for the next token, with
/// the caches carried along; the token that each step chooses must be the largest of its logits. Below spmd
/// the same calls are made of the compiled program, through the text of the rung, by all ranks. Prints the
/// largest error over the largest logit; returns the exit status.
int judgeModel(mlir::MLIRContext &context, const ModelJudgement &judgement);

} // namespace tessera
#endif
