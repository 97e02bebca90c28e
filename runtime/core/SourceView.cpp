#include "tessera/runtime/core/SourceView.h"

namespace tessera::runtime {

SourceView::SourceView(const ParamSource &source) {
  std::vector<int64_t> fileStrides(source.reshape.size(), 1);
  for (int64_t i = int64_t(source.reshape.size()) - 2; i >= 0; --i)
    fileStrides[i] = fileStrides[i + 1] * source.reshape[i + 1];
  for (int64_t from : source.permute) {
    sizes.push_back(source.slice[from].second - source.slice[from].first);
    strides.push_back(fileStrides[from]);
    start += source.slice[from].first * fileStrides[from];
    count *= sizes.back();
  }
}

int64_t SourceView::offset(int64_t t, int64_t first, int64_t last) const {
  int64_t result = 0;
  for (int64_t i = last - 1; i >= first; --i) {
    result += t % sizes[i] * strides[i];
    t /= sizes[i];
  }
  return result;
}

int64_t SourceView::dimsOfRows(int64_t tail) const {
  int64_t inner = 1;
  for (int64_t d = dims(); d >= 0; --d) {
    if (inner == tail)
      return d;
    if (d > 0)
      inner *= sizes[d - 1];
  }
  return -1;
}

bool SourceView::hasWholeRows(int64_t tail) const {
  int64_t rows = dimsOfRows(tail), inner = 1;
  if (rows < 0 || tail <= 0 || start % tail != 0)
    return false;
  for (int64_t d = dims() - 1; d >= 0; --d) {
    if (d >= rows ? sizes[d] > 1 && strides[d] != inner : sizes[d] > 1 && strides[d] % tail != 0)
      return false;
    inner *= sizes[d];
  }
  return true;
}

std::vector<int64_t> globalIndices(const ParamSpec &param, const Mesh &mesh, int64_t rank, size_t first,
                                   size_t last) {
  std::vector<int64_t> indices = {0};
  for (size_t d = first; d < last; ++d) {
    ShardRange range = shardRange(param.shape[d], param.local[d], mesh.index(rank, param.sharding[d]));
    std::vector<int64_t> next;
    next.reserve(indices.size() * param.local[d]);
    for (int64_t index : indices)
      for (int64_t i = 0; i < param.local[d]; ++i)
        next.push_back(index < 0 || range.begin + i >= range.end ? -1
                                                                 : index * param.shape[d] + range.begin + i);
    indices = std::move(next);
  }
  return indices;
}

} // namespace tessera::runtime
