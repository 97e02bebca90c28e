// Values with a row for each token and expert, as they are held: chosen rows alone, one expert's after the
// other's.
#ifndef TESSERA_LIB_TARGET_CPU_EXPERTROWS_H
#define TESSERA_LIB_TARGET_CPU_EXPERTROWS_H

#include "ExpertKernels.h"

#include "tessera/Target/LibraryForm.h"

#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// The rows that `ids` [n..., k] choose of values [n..., e, d].
///
/// An op that reads chosen rows alone needs of its operand only these, so does what is computed from that
/// element by element, and so on up to the op that made the rows: `chosen` goes that way and makes every
/// value anew with one row for each that was chosen. What goes elsewhere has all rows (`spread`).
class ExpertRows {
public:
  /// `like`: a value of the rows' type [n..., e, d]. Ops are made in front of `at`.
  ExpertRows(mlir::Operation *at, mlir::Value ids, mlir::Value like, KernelLowering &lowering, int64_t lanes);

  /// The chosen rows of `value`: a plain [R, d].
  mlir::Value chosen(mlir::Value value);
  /// `rows` [R, d] as a value of `type` [n..., e, d], with zeros between them.
  mlir::Value spread(mlir::Value rows, mlir::RankedTensorType type);
  /// The sum of each token's rows [R, d], times `weights`, as a value like `result`.
  mlir::Value combined(mlir::Value rows, mlir::Value weights, mlir::Value result);

  /// The sum of outer products of both ones' rows [R, m] and [R, n] for each expert, as a value like
  /// `result`.
  mlir::Value outer(mlir::Value lhs, mlir::Value rhs, mlir::Value result);
  /// Each token of `source` times its own ones of the rows [R, d], as a value like `result`.
  mlir::Value products(mlir::Value source, mlir::Value rows, mlir::Value result);

  /// Whether that reader, or one of what it computes row by row, reads rows that nobody chose.
  static bool readsWhole(mlir::OpOperand &use, mlir::Value ids);

private:
  mlir::Value weighed(mlir::Operation *op);
  mlir::Value product(mlir::Operation *op);
  mlir::Value elementwise(mlir::Operation *op);
  /// The rows that come here by `op`, a dist.exchange_rows, in this object's order.
  mlir::Value exchanged(mlir::Operation *op);
  /// What is received for `rows`, which lie rank by rank, as many for each as `counts` say.
  mlir::Value sentRows(mlir::Operation *op, mlir::Value rows, mlir::Value counts);
  /// Rows [R, w] of `source`, a row of which is number token * perToken + expert * perExpert.
  mlir::Value taken(mlir::Value source, int64_t sourceRows, int64_t perToken, int64_t perExpert);
  /// What `operand`, which broadcasts to [n..., e, d], has for the chosen rows.
  mlir::Value broadcastOperand(mlir::Value operand);
  void group();
  /// The result of an op in front of `at`: of an equal one, if it is there.
  mlir::Value sharedOp(const mlir::OperationState &state);
  /// The results of a launch; of an equal one, if it is there.
  mlir::ValueRange launch(mlir::func::FuncOp kernel, mlir::ValueRange inputs, mlir::TypeRange outputs,
                          mlir::ValueRange scalars, int64_t count, int64_t elements);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Operation *at;
  mlir::Value ids;
  KernelLowering &lowering;
  int64_t lanes;
  llvm::SmallVector<int64_t> shape; ///< n..., e
  ExpertChoices choices;
  mlir::Value shard;                       ///< null: every rank has all experts
  mlir::Value place, token, expert, start; ///< buildGroupKernel's
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace tessera
#endif
