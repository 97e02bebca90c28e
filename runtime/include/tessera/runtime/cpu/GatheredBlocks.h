// A weight in blocks that ranks hold in pieces, gathered as it is held: the pieces lie one behind the other,
// each laid out for itself. Before a product reads them they are put together to what one rank would hold.
// Bytes are copied; nothing is expanded.
#ifndef TESSERA_RUNTIME_CPU_GATHEREDBLOCKS_H
#define TESSERA_RUNTIME_CPU_GATHEREDBLOCKS_H

#include "tessera/runtime/cpu/BlockWeight.h"

namespace tessera::runtime {

class GatheredBlocks {
public:
  // A layer of `global` elements, of which a rank holds `local`; the first `outDims` dimensions are rows.
  // `pieces`: how many there are along each dimension; more than one along one of them at most. What pieces
  // have beyond the whole is padding, and left out.
  GatheredBlocks(const std::vector<int64_t> &global, const std::vector<int64_t> &local, int64_t outDims,
                 const std::vector<int64_t> &pieces);
  const BlockWeight &whole() const { return whole_; }
  int64_t pieces() const { return pieces_; }
  // `gathered`: the pieces, `stride` bytes from one to the next. `to`: memory for the whole, aligned to 64
  // bytes. Throws Error where no weights were loaded. Cost: reads and writes what is held, once.
  void putTogether(const void *gathered, int64_t stride, void *to, ThreadPool &pool) const;

private:
  struct Columns;
  void putRows(io::DType type, const uint8_t *gathered, int64_t stride, uint8_t *to, ThreadPool &pool) const;
  std::vector<Columns> placeColumns(io::DType type, const uint8_t *gathered, int64_t stride,
                                    uint8_t *to) const;
  void putColumns(io::DType type, const uint8_t *gathered, int64_t stride, uint8_t *to,
                  ThreadPool &pool) const;

  std::vector<int64_t> local_, wholeShape_; // of a layer
  size_t outDims_, dim_;                    // dim_: along which the pieces lie
  int64_t pieces_;
  BlockWeight piece_, whole_;
};

} // namespace tessera::runtime
#endif
