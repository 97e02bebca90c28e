//===- ProgramData.h - A program of rung spmd as plain data -----*- C++ -*-===//
//
// What --report shows, without IR: values with their dimensions and axes, one graph per function, collectives
// with bytes and predicted times. Text is as the model has it: whoever prints it escapes it.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_PIPELINES_REPORT_PROGRAMDATA_H
#define TESSERA_LIB_PIPELINES_REPORT_PROGRAMDATA_H

#include "tessera/AutoParallel/Machine.h"
#include "tessera/Dialect/Dist/Transforms/PaddingCost.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tessera::report {

/// An axis or a piece of it.
struct AxisUse {
  int axis = 0;     ///< index into the mesh
  std::string text; ///< `tp`, or `tp:(2)4`
};

struct Dim {
  std::string name; ///< empty: unknown
  int64_t global = 0, local = 0;
  std::vector<AxisUse> axes; ///< major to minor
};

/// A tensor's type.
struct Value {
  std::string element; ///< `f32`
  std::vector<Dim> dims;
  std::string partialKind; ///< `sum`, `max`, or empty
  std::vector<AxisUse> partial;
  double bytes = 0; ///< on one rank
  /// The axes that split it, major dimension first, each once.
  std::vector<int> axes() const;
};

enum class TensorKind { Weight, Cache, Input, Activation };
const char *toString(TensorKind kind);

struct Tensor {
  TensorKind kind = TensorKind::Activation;
  std::string name;
  std::string function; ///< of an activation; others belong to all functions
  std::string madeBy;   ///< what made an activation, as explanations call it
  Value value;
  std::vector<std::string> reasons = {}; ///< with --explain, of large ones: why it lies so
};

struct Collective {
  std::string function, kind;
  std::string tensor; ///< whose it is: a weight, a block, a line of a program
  std::vector<AxisUse> axes;
  Value before, after;
  double received = 0;     ///< bytes that the busiest rank receives, each execution
  double seconds = 0;      ///< predicted, each execution
  int64_t executions = 1;  ///< each call of the function
  std::string why, ends;   ///< the ops that it stands between, and the dimension on which they disagree
  std::string flag, price; ///< with --explain: what would remove it, and what that changes
};

struct Graph;
struct Node {
  enum class Kind { Op, Collective, Input, Output, Region } kind = Kind::Op;
  std::string title, subject;
  /// Operands that have no node of their own: weights, caches, what a body takes from outside.
  std::vector<std::pair<std::string, Value>> operands;
  std::vector<Value> results; ///< the first is shown
  int collective = -1;        ///< index into Program::collectives
  int64_t repeats = 1;        ///< Region: runs of all bodies together
  std::vector<Graph> bodies;  ///< Region
};

struct Edge {
  int from = 0, to = 0;
  Value value;
};

struct Graph {
  std::vector<Node> nodes; ///< in program order
  std::vector<Edge> edges; ///< from an earlier to a later node
  int64_t runs = 1;        ///< executions each run of the region
};

struct Function {
  std::string name;
  Graph graph;
};

struct Program {
  std::string model, architecture, command;
  /// Of a page with several programs: which stages it is of, and what its addresses in the page begin with.
  std::string stages, prefix;
  bool hasCaches = true;    ///< what it keeps from call to call is called so; else states
  bool nominal = false;     ///< nobody described the machine: times rank plans, they forecast nothing
  std::string predictedFor; ///< the machine of all times
  Mesh mesh;
  std::vector<Function> functions;
  std::vector<Tensor> tensors; ///< every argument once, every activation of every function; largest first
  std::vector<Collective> collectives; ///< in program order
  dist::PaddingCost padding;
};

/// `module` is on rung spmd. Linear in the program.
Program describeProgram(mlir::ModuleOp module, const Machine &machine);

} // namespace tessera::report
#endif
