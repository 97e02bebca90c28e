// Where the elements of a parameter lie in the tensors of a file: the map from file to parameter of the
// manifest (reshape, slice, permute), as numbers. Reading weights and writing them both go by it.
#ifndef TESSERA_RUNTIME_CORE_SOURCEVIEW_H
#define TESSERA_RUNTIME_CORE_SOURCEVIEW_H

#include "tessera/runtime/core/Manifest.h"

#include <vector>

namespace tessera::runtime {

// One tensor of the file, reshaped, sliced and permuted. Its elements, row-major, are a stretch of a
// parameter's layer.
struct SourceView {
  explicit SourceView(const ParamSource &source);

  std::vector<int64_t> sizes, strides; // of the view's dimensions; strides in elements of the file
  int64_t start = 0;                   // the file's element that is the view's first
  int64_t count = 1;                   // elements of the view

  int64_t dims() const { return int64_t(sizes.size()); }
  // Elements of the file from the view's first to the one with linear index `t` over its dims [first, last).
  int64_t offset(int64_t t, int64_t first, int64_t last) const;
  // The view's first n dims make up rows of `tail` elements; -1 where rows cut through a dimension.
  int64_t dimsOfRows(int64_t tail) const;
  // Rows of `tail` elements lie together in the file, each at a multiple of `tail` elements.
  bool hasWholeRows(int64_t tail) const;
};

// Global linear index along dims [first, last) of every local index of a rank, -1 where it is padding.
std::vector<int64_t> globalIndices(const ParamSpec &param, const Mesh &mesh, int64_t rank, size_t first,
                                   size_t last);

} // namespace tessera::runtime
#endif
