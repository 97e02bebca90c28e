#include "tessera/runtime/checkpoint/Layout.h"

#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tessera::checkpoint {

using runtime::ParamSource;
using runtime::ParamSpec;

namespace {
// A tensor of the file, and the boxes of it that parameters hold.
struct Assembly {
  FileTensor tensor;
  std::vector<const ParamSource *> parts;
};

Failure cannotSave(const std::string &tensor, const std::string &why) {
  return {"cannot save checkpoint", "tensor " + tensor, why, "this is a mistake of the program; report it"};
}

// Which elements of dims [first, last) of its reshape, seen as one dimension, the part's slice holds.
std::vector<bool> heldAlong(const ParamSource &part, size_t first, size_t last) {
  std::vector<bool> held = {true};
  for (size_t d = first; d < last; ++d) {
    std::vector<bool> next(held.size() * size_t(part.reshape[d]), false);
    for (size_t i = 0; i < held.size(); ++i)
      for (int64_t k = part.slice[d].first; held[i] && k < part.slice[d].second; ++k)
        next[i * size_t(part.reshape[d]) + size_t(k)] = true;
    held = std::move(next);
  }
  return held;
}

// Whether two slices of one tensor have no element in common. Each is a product of what it holds along
// stretches of dimensions that both reshapes cut the tensor into: they are apart if they are along one.
bool areApart(const ParamSource &a, const ParamSource &b) {
  size_t i = 0, j = 0;
  while (i < a.reshape.size() && j < b.reshape.size()) {
    const size_t firstA = i, firstB = j;
    int64_t sizeA = a.reshape[i++], sizeB = b.reshape[j++];
    while (sizeA != sizeB) {
      if (sizeA < sizeB && i < a.reshape.size())
        sizeA *= a.reshape[i++];
      else if (sizeB < sizeA && j < b.reshape.size())
        sizeB *= b.reshape[j++];
      else
        return false; // not of one tensor
    }
    std::vector<bool> heldA = heldAlong(a, firstA, i), heldB = heldAlong(b, firstB, j);
    bool meet = false;
    for (size_t e = 0; e < heldA.size(); ++e)
      meet |= heldA[e] && heldB[e];
    if (!meet)
      return true;
  }
  return false;
}

Status checkParts(const Assembly &assembly) {
  int64_t held = 0;
  for (size_t i = 0; i < assembly.parts.size(); ++i) {
    held += runtime::SourceView(*assembly.parts[i]).count;
    for (size_t j = 0; j < i; ++j)
      if (!areApart(*assembly.parts[i], *assembly.parts[j]))
        return cannotSave(assembly.tensor.name, "two parameters hold the same elements of it");
  }
  if (held != assembly.tensor.elements)
    return cannotSave(assembly.tensor.name, "the program holds " + std::to_string(held) + " of its " +
                                                std::to_string(assembly.tensor.elements) + " elements");
  return {};
}
} // namespace

int64_t FileLayout::find(const std::string &name) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return int64_t(i);
  return -1;
}

Result<FileLayout> layoutOf(const std::vector<ParamSpec> &params, const std::string &holds) {
  std::map<std::string, Assembly> assemblies;
  for (const ParamSpec &param : params)
    for (const ParamSource &source : param.sources)
      for (int64_t layer = 0; layer < std::max<int64_t>(param.layers, 1); ++layer) {
        std::string name = runtime::tensorName(param, source, layer);
        auto [at, isNew] = assemblies.try_emplace(name);
        FileTensor &tensor = at->second.tensor;
        if (isNew)
          tensor = {name, param.dtype, source.shape, runtime::elementCount(source.shape), 0};
        if (tensor.shape != source.shape)
          return cannotSave(name, "it has the shapes " + runtime::toString(tensor.shape) + " and " +
                                      runtime::toString(source.shape));
        if (tensor.dtype != param.dtype || io::isQuantized(param.dtype))
          return cannotSave(name, std::string("it cannot be of the type ") + io::dtypeName(param.dtype));
        at->second.parts.push_back(&source);
      }
  FileLayout layout;
  for (const auto &[name, assembly] : assemblies) {
    if (Status status = checkParts(assembly); !status)
      return status.takeFailure();
    layout.tensors.push_back(assembly.tensor);
  }
  std::sort(layout.tensors.begin(), layout.tensors.end(), [](const FileTensor &a, const FileTensor &b) {
    int64_t left = io::blockBytes(a.dtype), right = io::blockBytes(b.dtype);
    return left != right ? left > right : a.name < b.name;
  });
  std::vector<io::TensorToWrite> list;
  for (const FileTensor &tensor : layout.tensors)
    list.push_back({tensor.name, tensor.dtype, tensor.shape, nullptr});
  std::map<std::string, std::string> metadata = {{"format", "pt"}}; // transformers asks for it
  if (!holds.empty())
    metadata[io::holdsKey] = holds;
  layout.header = io::safetensorsHeader(list, metadata);
  layout.bytes = layout.header.size();
  for (FileTensor &tensor : layout.tensors) {
    tensor.offset = layout.bytes;
    layout.bytes += tensor.bytes();
  }
  return layout;
}

Replica replicaOf(const ParamSpec &param, const runtime::Mesh &mesh, int64_t rank) {
  Replica replica{0, 0};
  auto holdsTheSame = [&](int64_t other) {
    return runtime::holds(param, mesh, other) &&
           std::all_of(param.sharding.begin(), param.sharding.end(), [&](const runtime::AxisList &axes) {
             return mesh.index(other, axes) == mesh.index(rank, axes);
           });
  };
  for (int64_t other = 0; other < mesh.size(); ++other)
    if (holdsTheSame(other)) {
      replica.index += other < rank;
      ++replica.count;
    }
  return replica;
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

// How often the next offset is not the one behind.
static int64_t stretches(const std::vector<int64_t> &offsets) {
  int64_t count = 0;
  for (size_t i = 0; i < offsets.size(); ++i)
    count += offsets[i] >= 0 && (i == 0 || offsets[i - 1] < 0 || offsets[i] != offsets[i - 1] + 1);
  return count;
}
static int64_t present(const std::vector<int64_t> &offsets) {
  return int64_t(offsets.size()) - std::count(offsets.begin(), offsets.end(), -1);
}

SourcePieces::SourcePieces(const ParamSpec &param, size_t source, const runtime::Mesh &mesh, int64_t rank)
    : view_(param.sources[source]) {
  for (size_t s = 0; s < source; ++s)
    base_ += runtime::SourceView(param.sources[s]).count;
  // A matrix for each way to cut the dimensions in two; the one with the fewest runs stays.
  const size_t dims = param.shape.size();
  for (size_t outDims = std::min<size_t>(1, dims); outDims < std::max<size_t>(dims, 2); ++outDims)
    choose(param, mesh, rank, std::min(outDims, dims));
  if (runs_ < 0)
    globalElements_ = runtime::globalIndices(param, mesh, rank, 0, dims);
}

void SourcePieces::choose(const ParamSpec &param, const runtime::Mesh &mesh, int64_t rank, size_t outDims) {
  int64_t tail = 1;
  for (size_t d = outDims; d < param.shape.size(); ++d)
    tail *= param.shape[d];
  const int64_t split = tail > 0 && base_ % tail == 0 ? view_.dimsOfRows(tail) : -1;
  if (split < 0)
    return;
  std::vector<int64_t> rows = runtime::globalIndices(param, mesh, rank, 0, outDims),
                       columns = runtime::globalIndices(param, mesh, rank, outDims, param.shape.size());
  for (int64_t &row : rows) {
    int64_t element = row < 0 ? -1 : row * tail - base_;
    row = element < 0 || element >= view_.count ? -1 : view_.offset(element / tail, 0, split);
  }
  for (int64_t &column : columns)
    column = column < 0 ? -1 : view_.offset(column, split, view_.dims());
  int64_t inRows = present(rows) * stretches(columns), inColumns = present(columns) * stretches(rows);
  if (runs_ >= 0 && std::min(inRows, inColumns) >= runs_)
    return;
  runs_ = std::min(inRows, inColumns);
  byColumns_ = inColumns < inRows;
  rows_ = std::move(rows);
  columns_ = std::move(columns);
}

int64_t SourcePieces::runs() const {
  int64_t count = runs_;
  if (count < 0) {
    count = 0;
    visit([&](int64_t, int64_t, int64_t, int64_t) { return ++count, true; });
  }
  return count;
}

bool SourcePieces::visit(const Run &run) const {
  if (runs_ < 0)
    return visitElements(run);
  const int64_t width = int64_t(columns_.size());
  const std::vector<int64_t> &outer = byColumns_ ? columns_ : rows_, &inner = byColumns_ ? rows_ : columns_;
  for (size_t o = 0; o < outer.size(); ++o)
    for (size_t i = 0; outer[o] >= 0 && i < inner.size();) {
      if (inner[i] < 0) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < inner.size() && inner[end] == inner[i] + int64_t(end - i))
        ++end;
      int64_t local = byColumns_ ? int64_t(i) * width + int64_t(o) : int64_t(o) * width + int64_t(i);
      if (!run(view_.start + outer[o] + inner[i], local, byColumns_ ? width : 1, int64_t(end - i)))
        return false;
      i = end;
    }
  return true;
}

// Where the parameter's dimensions and the file's cut through each other.
bool SourcePieces::visitElements(const Run &run) const {
  int64_t begin = -1, local = 0, count = 0; // the open run
  for (size_t at = 0; at < globalElements_.size(); ++at) {
    int64_t element = globalElements_[at] < 0 ? -1 : globalElements_[at] - base_;
    if (element < 0 || element >= view_.count)
      continue;
    int64_t place = view_.start + view_.offset(element, 0, view_.dims());
    if (count > 0 && place == begin + count && int64_t(at) == local + count) {
      ++count;
      continue;
    }
    if (count > 0 && !run(begin, local, 1, count))
      return false;
    begin = place, local = int64_t(at), count = 1;
  }
  return count == 0 || run(begin, local, 1, count);
}

template <typename Bits> static uint64_t sumOf(int64_t first, const char *data, int64_t count) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + size_t(i) * sizeof(Bits), sizeof(Bits));
    // Of one place a bijection of the bits.
    uint64_t mixed = (uint64_t(bits) + uint64_t(first + i) * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 32) * 0x94D049BB133111EBu;
    sum += mixed ^ mixed >> 29;
  }
  return sum;
}

uint64_t placeSum(int64_t firstElement, const void *data, int64_t count, int64_t elementBytes) {
  const char *from = static_cast<const char *>(data);
  switch (elementBytes) {
  case 1:
    return sumOf<uint8_t>(firstElement, from, count);
  case 2:
    return sumOf<uint16_t>(firstElement, from, count);
  case 4:
    return sumOf<uint32_t>(firstElement, from, count);
  default:
    return sumOf<uint64_t>(firstElement, from, count);
  }
}

} // namespace tessera::checkpoint
