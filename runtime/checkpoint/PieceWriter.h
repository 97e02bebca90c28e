//===- PieceWriter.h - Runs of elements to places of a file -----*- C++ -*-===//
#ifndef TESSERA_RUNTIME_CHECKPOINT_PIECEWRITER_H
#define TESSERA_RUNTIME_CHECKPOINT_PIECEWRITER_H

#include "tessera/runtime/checkpoint/FileSystem.h"
#include "tessera/runtime/checkpoint/Layout.h"

namespace tessera::checkpoint {

/// Collects runs of one tensor that follow one another into writes of up to 4 MiB, and sums up what it wrote.
class PieceWriter {
public:
  PieceWriter(OutputHandle &file, const FileTensor &tensor)
      : file_(file), tensor_(tensor), element_(size_t(io::blockBytes(tensor.dtype))) {}

  /// `count` elements go to the tensor's places from `element` on; they lie at from, from + stride, ...
  /// (elements). False: error().
  bool add(int64_t element, const char *from, int64_t stride, int64_t count);
  bool flush();
  int error() const { return error_; } ///< as of errno
  uint64_t sum() const { return sum_; }

private:
  static constexpr size_t capacity = size_t(4) << 20;
  OutputHandle &file_;
  const FileTensor &tensor_;
  size_t element_;
  std::vector<char> buffer_;
  int64_t begin_ = 0; ///< element of the tensor that the buffer's first is
  uint64_t sum_ = 0;
  int error_ = 0;
};

} // namespace tessera::checkpoint
#endif
