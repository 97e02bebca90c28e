//===- Draw.h - Random programs as the judge takes them --------*- C++ -*-===//
#ifndef TESSERA_TOOLS_LLM_JUDGE_DRAW_H
#define TESSERA_TOOLS_LLM_JUDGE_DRAW_H

#include "tessera/Pipelines/CompileOptions.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace tessera {

struct DrawOptions {
  std::string types;      ///< f32, bf16, f16 with commas: the seed's remainder says which one
  bool gradients = false; ///< functions take gradients of their results and give those of their arguments
  std::optional<Rung> machine; ///< the program will run: at most 8 ranks, no stack split over its layers
  bool experts = true;         ///< may be drawn: not every target has kernels of them
};

struct DrawnProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null: the generator made an invalid one
  int redrawn = 0;                          ///< programs of the seed before it, which rounding alone spoils
};

/// The program of a seed. One that will run is judged by a bound that float32 must be able to keep, and that
/// says something in 16 bits: where interpreter runs that round at random err more than a tenth of 1e-5 (16
/// bits: than 1/16), the next one of the seed is taken. Nothing is compiled to decide it. Gradients, in which
/// exponentials of exponentials come up, are drawn so for the interpreter, too.
DrawnProgram drawProgram(mlir::MLIRContext &context, uint64_t seed, const DrawOptions &options);

} // namespace tessera
#endif
