#include "DeviceBoxes.h"

namespace tessera::runtime {

int64_t elementsOf(const Box &box) {
  int64_t elements = 1;
  for (int64_t size : box.size)
    elements *= size;
  return elements;
}

namespace {
// A dimension of the box, in elements.
struct Dim {
  int64_t size, srcStride, dstStride;
};
} // namespace

void forEachCopy(const Shape &from, const Shape &fromBegin, const Shape &to, const Shape &toBegin,
                 const Shape &size, size_t elementBytes, const std::function<void(const BoxCopy &)> &use) {
  // From the last dimension on: one that follows another without a gap on both sides is part of it.
  std::vector<Dim> dims;
  int64_t srcStride = 1, dstStride = 1, src = 0, dst = 0;
  for (size_t d = size.size(); d-- > 0;) {
    if (size[d] == 0)
      return;
    src += fromBegin[d] * srcStride;
    dst += toBegin[d] * dstStride;
    if (size[d] > 1) {
      Dim *inner = dims.empty() ? nullptr : &dims.back();
      if (inner && srcStride == inner->size * inner->srcStride && dstStride == inner->size * inner->dstStride)
        inner->size *= size[d];
      else
        dims.push_back({size[d], srcStride, dstStride});
    }
    srcStride *= from[d];
    dstStride *= to[d];
  }
  // Rows are dense: a last dimension with gaps has rows of one element.
  if (dims.empty() || dims[0].srcStride != 1 || dims[0].dstStride != 1)
    dims.insert(dims.begin(), {1, 1, 1});
  while (dims.size() < 3) {
    Dim inner = dims.back();
    dims.push_back({1, inner.size * inner.srcStride, inner.size * inner.dstStride});
  }
  // Strides of row-major arrays divide those further out: slices are whole rows apart.
  size_t srcHeight = size_t(dims[2].srcStride / dims[1].srcStride),
         dstHeight = size_t(dims[2].dstStride / dims[1].dstStride);
  std::vector<int64_t> index(dims.size(), 0);
  for (;;) {
    int64_t srcAt = src, dstAt = dst;
    for (size_t d = 3; d < dims.size(); ++d) {
      srcAt += index[d] * dims[d].srcStride;
      dstAt += index[d] * dims[d].dstStride;
    }
    use({size_t(srcAt) * elementBytes, size_t(dims[1].srcStride) * elementBytes, srcHeight,
         size_t(dstAt) * elementBytes, size_t(dims[1].dstStride) * elementBytes, dstHeight,
         size_t(dims[0].size) * elementBytes, size_t(dims[1].size), size_t(dims[2].size)});
    size_t d = 3;
    while (d < dims.size() && ++index[d] == dims[d].size)
      index[d++] = 0;
    if (d >= dims.size())
      return;
  }
}

bool isContiguous(const Shape &piece, const Box &box, int64_t &offset) {
  int copies = 0;
  offset = 0;
  forEachCopy(piece, box.begin, box.size, Shape(box.size.size(), 0), box.size, 1, [&](const BoxCopy &copy) {
    copies += copy.rows * copy.slices > 1 ? 2 : 1;
    offset = int64_t(copy.srcOffset);
  });
  return copies == 1;
}

int64_t packedBytes(const Transfers &transfers, io::DType type) {
  int64_t bytes = 0, at = 0;
  auto add = [&](const std::vector<BoxTransfer> &list, const Shape &piece) {
    for (const BoxTransfer &transfer : list)
      if (!isContiguous(piece, transfer.box, at))
        bytes += io::bytesOf(type, elementsOf(transfer.box));
  };
  add(transfers.goes, transfers.src);
  add(transfers.comes, transfers.dst);
  return bytes;
}

} // namespace tessera::runtime
