// What is given to NCCL: blocks, boxes of pieces.
#include "NcclCommunicator.h"
#include "tessera/runtime/core/Error.h"

namespace tessera::runtime {

using namespace cuda;
using namespace nccl;

static CUdeviceptr pointer(const void *address) { return reinterpret_cast<CUdeviceptr>(address); }

void NcclCommunicator::copy(char *dst, const char *src, size_t bytes) {
  if (bytes > 0 && dst != src)
    check(cuda_->cuMemcpyDtoDAsync(pointer(dst), pointer(src), bytes, stream_));
}

// How NCCL calls a type; bytes, where nothing is added up.
static ncclDataType_t typeOf(io::DType type, size_t &count) {
  switch (type) {
  case io::DType::F32:
    return ncclFloat32;
  case io::DType::F16:
    return ncclFloat16;
  case io::DType::BF16:
    return ncclBfloat16;
  case io::DType::I32:
    return ncclInt32;
  case io::DType::I64:
    return ncclInt64;
  default:
    count *= size_t(io::blockBytes(type));
    return ncclInt8;
  }
}

static ncclRedOp_t operationOf(Reduction reduction) {
  return reduction == Reduction::Max ? ncclMax : ncclSum;
}

// A row of a block at a time, in a group. Where blocks are cut off NCCL has no call of its own for all of
// them: then it is a broadcast, or a reduction, of the part of each member that has one.
void NcclCommunicator::giveRows(const BlockCollective &c, const Group &group, const char *src, char *dst) {
  int64_t members = int64_t(group.ranks.members.size());
  BlockRows blocks = blockRows(c.kind, members, c.elements, c.rows, c.cut);
  size_t width = size_t(io::blockBytes(c.type));
  bool gathers = c.kind == CollectiveKind::AllGather;
  ncclRedOp_t operation = operationOf(c.reduction);
  if (!gathers && blocks.part(group.ranks.self) < blocks.block)
    check(cuda_->cuMemsetD8Async(pointer(dst), 0, size_t(blocks.rows * blocks.block) * width, stream_));
  check(nccl_->ncclGroupStart());
  for (int64_t row = 0; row < blocks.rows; ++row) {
    const char *from = src + size_t(row * (gathers ? blocks.block : blocks.whole)) * width;
    char *to = dst + size_t(row * (gathers ? blocks.whole : blocks.block)) * width;
    if (!blocks.isCut(members)) {
      size_t count = size_t(blocks.block);
      ncclDataType_t type = typeOf(c.type, count);
      check(gathers ? nccl_->ncclAllGather(from, to, count, type, group.comm, stream_)
                    : nccl_->ncclReduceScatter(from, to, count, type, operation, group.comm, stream_));
      continue;
    }
    for (int64_t member = 0; member < members && blocks.part(member) > 0; ++member) {
      size_t count = size_t(blocks.part(member)), at = size_t(member * blocks.block) * width;
      ncclDataType_t type = typeOf(c.type, count);
      check(gathers
                ? nccl_->ncclBroadcast(from, to + at, count, type, int(member), group.comm, stream_)
                : nccl_->ncclReduce(from + at, to, count, type, operation, int(member), group.comm, stream_));
    }
  }
  check(nccl_->ncclGroupEnd());
}

void NcclCommunicator::giveBlocks(const BlockCollective &c, const Group &group, const char *src, char *dst) {
  size_t members = group.ranks.members.size(), count = size_t(c.elements);
  ncclDataType_t type = typeOf(c.type, count);
  switch (c.kind) {
  case CollectiveKind::AllReduce:
    return check(nccl_->ncclAllReduce(src, dst, count, type, operationOf(c.reduction), group.comm, stream_));
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return giveRows(c, group, src, dst);
  default:
    break;
  }
  // all_to_all: messages that go on together. This rank's own block needs none.
  size_t bytes = size_t(io::bytesOf(c.type, c.elements)) / members;
  check(nccl_->ncclGroupStart());
  for (size_t peer = 0; peer < members; ++peer) {
    if (int64_t(peer) == group.ranks.self)
      continue;
    check(nccl_->ncclSend(src + peer * bytes, count / members, type, int(peer), group.comm, stream_));
    check(nccl_->ncclRecv(dst + peer * bytes, count / members, type, int(peer), group.comm, stream_));
  }
  check(nccl_->ncclGroupEnd());
  size_t own = size_t(group.ranks.self) * bytes;
  copy(dst + own, src + own, bytes);
}

void NcclCommunicator::copyBox(const char *src, char *dst, const BoxCopy &box) {
  if (box.rows * box.slices == 1)
    return copy(dst + box.dstOffset, src + box.srcOffset, box.bytes);
  CUDA_MEMCPY3D call = {};
  call.srcMemoryType = call.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  call.srcDevice = pointer(src + box.srcOffset);
  call.srcPitch = box.srcPitch;
  call.srcHeight = box.srcHeight;
  call.dstDevice = pointer(dst + box.dstOffset);
  call.dstPitch = box.dstPitch;
  call.dstHeight = box.dstHeight;
  call.WidthInBytes = box.bytes;
  call.Height = box.rows;
  call.Depth = box.slices;
  check(cuda_->cuMemcpy3DAsync(&call, stream_));
}

// Boxes in one stretch go from and to where they are; others are packed first and unpacked
// afterwards, by a call each, in staging memory that the stream's collectives use one after another.
void NcclCommunicator::giveTransfers(const Transfers &transfers, size_t elementBytes, const char *src,
                                     char *dst) {
  struct Part {
    int64_t peer;
    char *data;
    size_t bytes;
    const Box *box; // whose elements `data` holds, packed; null: it is where they belong
  };
  char *staging = reinterpret_cast<char *>(staging_);
  auto partOf = [&](const BoxTransfer &transfer, const Shape &piece, char *base) {
    Part part{transfer.peer, nullptr, size_t(elementsOf(transfer.box)) * elementBytes, nullptr};
    int64_t at = 0;
    if (isContiguous(piece, transfer.box, at)) {
      part.data = base + size_t(at) * elementBytes;
      return part;
    }
    part.data = staging;
    part.box = &transfer.box;
    staging += part.bytes;
    return part;
  };
  std::vector<Part> goes, comes;
  for (const BoxTransfer &transfer : transfers.goes)
    goes.push_back(partOf(transfer, transfers.src, const_cast<char *>(src)));
  for (const BoxTransfer &transfer : transfers.comes)
    comes.push_back(partOf(transfer, transfers.dst, dst));

  if (transfers.padded)
    check(cuda_->cuMemsetD8Async(pointer(dst), 0, size_t(elementsOf(Box{{}, transfers.dst})) * elementBytes,
                                 stream_));
  auto move = [&](const char *from, const Shape &fromShape, const Shape &fromBegin, char *to,
                  const Shape &toShape, const Shape &toBegin, const Shape &size) {
    forEachCopy(fromShape, fromBegin, toShape, toBegin, size, elementBytes,
                [&](const BoxCopy &copy) { copyBox(from, to, copy); });
  };
  for (const Part &part : goes)
    if (part.box)
      move(src, transfers.src, part.box->begin, part.data, part.box->size, Shape(part.box->size.size(), 0),
           part.box->size);
  if (!goes.empty() || !comes.empty()) {
    check(nccl_->ncclGroupStart());
    for (const Part &part : goes)
      check(nccl_->ncclSend(part.data, part.bytes, ncclInt8, int(part.peer), world_, stream_));
    for (const Part &part : comes)
      check(nccl_->ncclRecv(part.data, part.bytes, ncclInt8, int(part.peer), world_, stream_));
    check(nccl_->ncclGroupEnd());
  }
  for (const Part &part : comes)
    if (part.box)
      move(part.data, part.box->size, Shape(part.box->size.size(), 0), dst, transfers.dst, part.box->begin,
           part.box->size);
  if (transfers.kept)
    move(src, transfers.src, transfers.kept->begin, dst, transfers.dst, transfers.keptAt,
         transfers.kept->size);
}

} // namespace tessera::runtime
