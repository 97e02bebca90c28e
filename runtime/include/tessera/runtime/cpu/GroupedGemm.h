// Products by group: rows of x that lie one group's after the other's, each group with a matrix of its own.
// How many rows a group has is data: of experts, those of the tokens that chose them.
#ifndef TESSERA_RUNTIME_CPU_GROUPEDGEMM_H
#define TESSERA_RUNTIME_CPU_GROUPEDGEMM_H

#include "tessera/runtime/cpu/Gemm.h"

#include <cstdint>
#include <memory>

namespace tessera::runtime {

// W is [groups * n, k], the matrix of group g its rows [g * n, (g + 1) * n). Only matrices of groups that
// have rows are read: few rows as fast as memory gives the weights, many as tiles that stay in registers.
// Sums of floats depend on nothing but the row and its matrix; those of blocks on how many rows the group
// has, as in Gemm. Of one rank.
class GroupedGemm {
public:
  // packed: W comes in PackedLayout(groups * n, k, types.w); else plain row-major. `m`: most rows of all
  // groups together.
  GroupedGemm(int64_t groups, int64_t m, int64_t n, int64_t k, GemmTypes types, bool packed,
              ThreadPool &pool);
  // W is held in blocks, which are expanded exactly, to float32.
  GroupedGemm(int64_t groups, int64_t m, const BlockWeight &weight, GemmTypes types, ThreadPool &pool);
  ~GroupedGemm();
  GroupedGemm(GroupedGemm &&) noexcept;

  // x [m, k], y [m, n], starts [groups + 1], ascending from 0 to m at most: rows [starts[g], starts[g + 1])
  // of y are those of x times the matrix of g, transposed; rows from starts[groups] on are 0, whatever x has
  // there. Throws Error where `starts` says anything else.
  void run(const void *x, const void *w, const int32_t *starts, void *y);
  // "blocks", "packed", "plain": what W is read from.
  const char *implementation() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tessera::runtime
#endif
