// Boxes of pieces as copies of rows between device memory: what a copy engine can do by itself.
#ifndef TESSERA_RUNTIME_COMM_NCCL_DEVICEBOXES_H
#define TESSERA_RUNTIME_COMM_NCCL_DEVICEBOXES_H

#include "tessera/runtime/comm/Transfers.h"

#include <functional>

namespace tessera::runtime {

// `rows` rows of `bytes` each; offsets and distances between rows in bytes.
struct RowCopy {
  size_t srcOffset, srcPitch, dstOffset, dstPitch, bytes, rows;
};

// A box of `size` between row-major arrays of shapes `from` and `to`, as copyBox has it, in as few copies as
// two dimensions at a time allow. None for a box without elements.
void forEachRowCopy(const Shape &from, const Shape &fromBegin, const Shape &to, const Shape &toBegin,
                    const Shape &size, size_t elementBytes, const std::function<void(const RowCopy &)> &use);

// Whether the box lies in one stretch of a piece of this shape; `offset`: where it begins, in elements.
bool isContiguous(const Shape &piece, const Box &box, int64_t &offset);

int64_t elementsOf(const Box &box);

} // namespace tessera::runtime
#endif
