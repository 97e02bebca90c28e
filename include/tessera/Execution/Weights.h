//===- Weights.h - Values of parameters to and from model files -*- C++ -*-===//
//
// The judge's own reading of `graph.parameter`: file tensor -> reshape -> slice -> permute, several sources
// one after another, layer by layer.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_EXECUTION_WEIGHTS_H
#define TESSERA_EXECUTION_WEIGHTS_H

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Reference/Tensor.h"
#include "tessera/runtime/Result.h"
#include "tessera/runtime/io/ModelFile.h"

#include <map>

namespace tessera {

/// Values by `graph.name`.
using NamedValues = std::map<std::string, ReferenceTensor>;

/// The value of `parameter` in `file`, in its program's type.
Result<ReferenceTensor> readParameter(const io::ModelFile &file, graph::ParameterOp parameter);

/// Writes every parameter of the module (but what optimizers keep, which begins as zeros) so that
/// readParameter gives `values` again; what no parameter takes of a file tensor is NaN. Values must be
/// representable in the parameter's type, which is the file's.
Status writeParameters(mlir::ModuleOp module, const NamedValues &values, const std::string &path);

} // namespace tessera
#endif
