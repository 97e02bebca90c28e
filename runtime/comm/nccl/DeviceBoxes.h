// Boxes of pieces as copies between device memory, three dimensions at a time: what the driver does in one
// call.
#ifndef TESSERA_RUNTIME_COMM_NCCL_DEVICEBOXES_H
#define TESSERA_RUNTIME_COMM_NCCL_DEVICEBOXES_H

#include "tessera/runtime/comm/Transfers.h"
#include "tessera/runtime/io/DType.h"

#include <functional>

namespace tessera::runtime {

// `slices` slices of `rows` rows of `bytes` each. Rows are a pitch of bytes apart, slices a height of rows.
struct BoxCopy {
  size_t srcOffset, srcPitch, srcHeight, dstOffset, dstPitch, dstHeight, bytes, rows, slices;
};

// A box of `size` between row-major arrays of shapes `from` and `to`, as copyBox has it, in as few copies as
// three dimensions at a time allow: one, unless four or more of them cut through both. None for a box without
// elements.
void forEachCopy(const Shape &from, const Shape &fromBegin, const Shape &to, const Shape &toBegin,
                 const Shape &size, size_t elementBytes, const std::function<void(const BoxCopy &)> &use);

// Whether the box lies in one stretch of a piece of this shape; `offset`: where it begins, in elements.
bool isContiguous(const Shape &piece, const Box &box, int64_t &offset);

int64_t elementsOf(const Box &box);

// Bytes of the boxes that lie in several stretches, and are packed before they are sent or unpacked
// afterwards.
int64_t packedBytes(const Transfers &transfers, io::DType type);

} // namespace tessera::runtime
#endif
