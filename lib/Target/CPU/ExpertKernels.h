// Kernels of ops by expert. Chosen rows are held one expert's after the other's; how many each has is data.
#ifndef TESSERA_LIB_TARGET_CPU_EXPERTKERNELS_H
#define TESSERA_LIB_TARGET_CPU_EXPERTKERNELS_H

#include "tessera/Dialect/Exec/IR/KernelFunction.h"

namespace tessera {

/// What is chosen, on one rank.
struct ExpertChoices {
  int64_t tokens = 1;   ///< T
  int64_t choices = 1;  ///< K: ids of a token
  int64_t experts = 1;  ///< E: of this rank
  int64_t known = 1;    ///< of all ranks: ids from here on choose nobody
  bool sharded = false; ///< the rank has experts from its shard's number times E on: a scalar of kernels

  /// R: most rows that are chosen.
  int64_t rows() const { return tokens * std::min(choices, experts); }
};

/// values, indices [rows, K] of input [rows, size]; an iteration is a row.
mlir::func::FuncOp buildTopKKernel(mlir::Location loc, int64_t rows, int64_t size, int64_t count,
                                   mlir::Type element);

/// ids [T, K] -> place [T, K], token [R], expert [R], start [E + 1], all i32: where the row of a choice is
/// (-1: nowhere); whose row it is, and which expert's (-1 behind the last row); where an expert's rows begin,
/// and the end of all. One iteration.
mlir::func::FuncOp buildGroupKernel(mlir::Location loc, const ExpertChoices &choices);

/// source [N, width], token [R], expert [R] -> [R, width]: row `token * perToken + expert * perExpert`, zeros
/// behind the last row. An iteration is a row.
mlir::func::FuncOp buildTakeRowsKernel(mlir::Location loc, int64_t rows, int64_t sourceRows, int64_t width,
                                       mlir::Type element, int64_t perToken, int64_t perExpert,
                                       int64_t lanes);

/// source [T, width], weights [T, K], place [T, K], token [R] -> [R, width]: each row of a token, times the
/// weight of the choice that it is there for, zeros behind the last row. An iteration is a row.
mlir::func::FuncOp buildWeighRowsKernel(mlir::Location loc, const ExpertChoices &choices, int64_t width,
                                        mlir::Type sourceType, mlir::Type weightType, mlir::Type resultType,
                                        int64_t lanes);

/// Products by expert with the transposed weight: rows [R, in], weight [E, in, out], start [E + 1] ->
/// [R, out], zeros behind the last row. Only weights of experts that have rows are read. An iteration is a
/// block of outputs of all experts, so that threads have equal shares however rows are spread.
struct ExpertProduct {
  int64_t rows, experts, in, out;
  mlir::Type rowType, weightType, resultType;

  static constexpr int64_t kBlock = 32; ///< outputs of an iteration
  int64_t iterations() const { return (out + kBlock - 1) / kBlock; }
};
mlir::func::FuncOp buildExpertProductKernel(mlir::Location loc, const ExpertProduct &product, int64_t lanes);

/// rows [R, width], place [T, K], weights [T, K] -> [T, width]: the weighed sum of each token's rows. An
/// iteration is a token.
mlir::func::FuncOp buildCombineKernel(mlir::Location loc, const ExpertChoices &choices, int64_t width,
                                      mlir::Type rowType, mlir::Type weightType, mlir::Type resultType,
                                      int64_t lanes);

/// Sums of outer products by expert: lhs [R, m], rhs [R, n], start [E + 1] -> [E, m, n], zeros for an expert
/// without rows. An iteration is a block of m of all experts.
struct ExpertOuter {
  int64_t rows, experts, m, n;
  mlir::Type lhsType, rhsType, resultType;

  static constexpr int64_t kBlock = 16; ///< rows of results of an iteration
  int64_t iterations() const { return (m + kBlock - 1) / kBlock; }
};
mlir::func::FuncOp buildExpertOuterKernel(mlir::Location loc, const ExpertOuter &outer, int64_t lanes);

/// source [T, width], rows [R, width], place [T, K] -> [T, K]: the product of a token with the row of each of
/// its choices, 0 where there is none. An iteration is a token.
mlir::func::FuncOp buildChosenDotKernel(mlir::Location loc, const ExpertChoices &choices, int64_t width,
                                        mlir::Type sourceType, mlir::Type rowType, mlir::Type resultType,
                                        int64_t lanes);

/// rows [R, width], place [T, K], ids [T, K] -> [T, E, width]: each row where its token and expert are, zeros
/// elsewhere. An iteration is a token.
mlir::func::FuncOp buildSpreadRowsKernel(mlir::Location loc, const ExpertChoices &choices, int64_t width,
                                         mlir::Type element, int64_t lanes);

/// An exchange of rows has two sides. On the side of tokens a rank has few tokens, its own, and rows for all
/// experts; on the side of experts it has many, those of all ranks of the group, and rows for its own
/// experts.
struct ExchangedRows {
  int64_t rows;                         ///< R: of the side of experts, at most
  int64_t experts, expertsOfRank;       ///< E: of all ranks; of one
  int64_t ranks;                        ///< G
  int64_t behind = 1, tokensOfRank = 1; ///< of many tokens t is of rank (t / behind / tokensOfRank) % G
  bool toExperts = true;                ///< rows go to the side of experts; or back
};

/// token [R] of the side of experts, start [E + 1] of that of tokens -> places [R], end [G], counts [2 G],
/// all i32. `counts`: how many rows go to each rank, then how many come from each. On the side of experts
/// rows lie by expert, and are sent or received rank by rank: `places` says where each row is in that order
/// (`toExperts`), or which row is at each place of it (back), -1 behind the last; `end`, where each rank's
/// rows end in it. Rows of one rank have the same order on both sides, by expert. One iteration.
mlir::func::FuncOp buildExchangeKernel(mlir::Location loc, const ExchangedRows &exchange);

} // namespace tessera
#endif
