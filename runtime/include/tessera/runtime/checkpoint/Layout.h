// The tensors of a checkpoint's file, and what of them a rank writes: the importer's map from file to
// parameter, inverted.
#ifndef TESSERA_RUNTIME_CHECKPOINT_LAYOUT_H
#define TESSERA_RUNTIME_CHECKPOINT_LAYOUT_H

#include "tessera/runtime/core/Manifest.h"
#include "tessera/runtime/core/SourceView.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera::checkpoint {

struct FileTensor {
  std::string name;
  io::DType dtype = io::DType::F32;
  runtime::Shape shape;
  int64_t elements = 0;
  uint64_t offset = 0; // of its first byte in the file

  uint64_t bytes() const { return uint64_t(io::bytesOf(dtype, elements)); }
};

// A safetensors file: a function of the parameters alone, not of their shardings.
struct FileLayout {
  std::vector<FileTensor> tensors; // as they lie in the file: wide types first, then by name
  std::string header;              // all before the first tensor
  uint64_t bytes = 0;              // of the file

  int64_t find(const std::string &name) const; // -1: there is none
};

// The file whose tensors these parameters come from, in the parameters' own types. Fails, naming the tensor,
// where parameters hold less than all of one, hold an element twice, or say different things of its shape or
// type: it could not be put together again. `holds`: as StateFile::holds; the header says it.
Result<FileLayout> layoutOf(const std::vector<runtime::ParamSpec> &params, const std::string &holds = "");

// Of the ranks that hold the same piece of `param`: how many they are, and which of them `rank` is, which
// holds one.
struct Replica {
  int64_t index = 0, count = 1;
};
Replica replicaOf(const runtime::ParamSpec &param, const runtime::Mesh &mesh, int64_t rank);

// Where a rank's local piece of one layer lies in the tensor of one source. Equal for all layers.
class SourcePieces {
public:
  // `count` elements of the file from `element` on are local elements local, local + stride, ...; false ends
  // it.
  using Run = std::function<bool(int64_t element, int64_t local, int64_t stride, int64_t count)>;

  SourcePieces(const runtime::ParamSpec &param, size_t source, const runtime::Mesh &mesh, int64_t rank);
  // Every element of the file's tensor that the rank holds, once; padding is left out. The runs are as long
  // as the shapes allow, whether the file has the rows or the columns of the piece together.
  bool visit(const Run &run) const;
  // How many runs that are.
  int64_t runs() const;

private:
  void choose(const runtime::ParamSpec &param, const runtime::Mesh &mesh, int64_t rank, size_t outDims);
  bool visitElements(const Run &run) const;

  runtime::SourceView view_;
  int64_t base_ = 0; // element of the parameter's layer that is the view's first
  // The piece as a matrix; offsets of its rows and columns in the file add up. -1: padding, or of another
  // source.
  std::vector<int64_t> rows_, columns_;
  bool byColumns_ = false;
  int64_t runs_ = -1;                   // -1: no such matrix
  std::vector<int64_t> globalElements_; // then: of each local element
};

// A checksum of elements that ranks add up, each of its own pieces: the sum, modulo 2^64, of a function of
// place and bits that no change of one element leaves equal.
uint64_t placeSum(int64_t firstElement, const void *data, int64_t count, int64_t elementBytes);

} // namespace tessera::checkpoint
#endif
