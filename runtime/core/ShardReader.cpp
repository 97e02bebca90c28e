#include "tessera/runtime/core/ShardReader.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/core/SourceView.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tessera::runtime {

std::string tensorName(const ParamSpec &param, const ParamSource &source, int64_t layer) {
  return param.layers ? layerName(source.name, param.firstLayer + layer) : source.name;
}

// One tensor pattern of the file: elements [base, base + count) of the parameter's global layer.
struct ShardReader::Source : SourceView {
  int64_t base = 0;
  std::vector<const io::TensorInfo *> tensors; // by layer
  int64_t rowDims = -1; // the first dims of the view that make up global rows; -1: rows cut through a dim
  std::vector<int64_t> columnOffset; // file offset of each local column, relative to its row; if rowDims >= 0

  explicit Source(const ParamSource &spec) : SourceView(spec) {}

  // Local columns [begin, end) are contiguous in the file, the first at `offset` from the row. Without the
  // padding.
  struct Run {
    int64_t begin, end, offset;
  };
  std::vector<Run> runs;
  bool paddedColumns = false;

  void findRuns() {
    for (int64_t c = 0; c < int64_t(columnOffset.size());) {
      if (columnOffset[c] < 0) {
        paddedColumns = true;
        ++c;
        continue;
      }
      int64_t end = c + 1;
      while (end < int64_t(columnOffset.size()) && columnOffset[end] == columnOffset[c] + (end - c))
        ++end;
      runs.push_back({c, end, columnOffset[c]});
      c = end;
    }
  }
  bool holds(int64_t element) const { return element >= base && element < base + count; }
};

ShardReader::ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank) {
  for (size_t d = outDims; d < param.shape.size(); ++d)
    tail_ *= param.shape[d];
  globalRows_ = globalIndices(param, mesh, rank, 0, outDims);
  globalColumns_ = globalIndices(param, mesh, rank, outDims, param.shape.size());
  rows_ = int64_t(globalRows_.size());
  columns_ = int64_t(globalColumns_.size());
  io::BlockColumns columns(Shape(param.shape.begin() + outDims, param.shape.end()),
                           Shape(param.local.begin() + outDims, param.local.end()));
  for (int64_t c = 0; c < columns.chunks && columns_ > 0; ++c) {
    auto first = globalColumns_.begin() + c * columns.length, last = first + columns.length;
    chunks_.push_back({int32_t(std::max<int64_t>(*first, 0)), int32_t(std::find(first, last, -1) - first)});
  }
}

ShardReader::ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank,
                         uint64_t seed)
    : ShardReader(param, outDims, mesh, rank) {
  // FNV-1a of the name: every parameter has a stream of its own.
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : param.name)
    hash = (hash ^ c) * 0x100000001b3u;
  seed_ = randomBits(seed, hash, 0);
  firstLayer_ = param.layers ? param.firstLayer : 0;
  mean_ = float(param.mean);
  scale_ = randomScale(param.deviation);
}

ShardReader::ShardReader(const ParamSpec &param, int64_t outDims, const Mesh &mesh, int64_t rank,
                         const io::ModelFile &model)
    : ShardReader(param, outDims, mesh, rank) {
  model_ = &model;
  int64_t base = 0;
  for (const ParamSource &spec : param.sources) {
    auto source = std::make_unique<Source>(spec);
    source->base = base;
    base += source->count;
    for (int64_t layer = 0; layer < std::max<int64_t>(param.layers, 1); ++layer) {
      std::string name = tensorName(param, spec, layer);
      const io::TensorInfo *tensor = model.find(name);
      if (!tensor)
        throw Error("cannot load weights", model.path() + ", tensor " + name, "the model has no such tensor",
                    "use the model this program was compiled from");
      if (tensor->shape != spec.shape)
        throw Error("cannot load weights", model.path() + ", tensor " + name,
                    "its shape is " + toString(tensor->shape) + ", the program was compiled for " +
                        toString(spec.shape),
                    "use the model this program was compiled from");
      if (!io::isFloatLike(tensor->dtype))
        throw Error("cannot load weights", model.path() + ", tensor " + name,
                    std::string("type ") + io::dtypeName(tensor->dtype) + " holds no weights",
                    "use the model this program was compiled from");
      source->tensors.push_back(tensor);
    }
    source->rowDims = source->dimsOfRows(tail_);
    if (source->rowDims >= 0) {
      for (int64_t column : globalColumns_)
        source->columnOffset.push_back(column < 0 ? -1
                                                  : source->offset(column, source->rowDims, source->dims()));
      source->findRuns();
    }
    sources_.push_back(std::move(source));
  }
}

ShardReader::~ShardReader() = default;

void ShardReader::readRow(int64_t layer, int64_t globalRow, float *out) const {
  int64_t first = globalRow * tail_; // element of the parameter
  // Sources lie one after another. Where one holds the whole row, its runs are known.
  for (const auto &source : sources_)
    if (source->rowDims >= 0 && source->holds(first)) {
      int64_t base = source->start + source->offset((first - source->base) / tail_, 0, source->rowDims);
      std::fill_n(out, source->paddedColumns ? columns_ : 0, 0.0f);
      for (const Source::Run &run : source->runs)
        check(model_->readRange(*source->tensors[layer], base + run.offset, run.end - run.begin,
                                out + run.begin));
      return;
    }
  // Rows that cut through a dimension of the file, or through several sources.
  for (int64_t c = 0; c < columns_;) {
    if (globalColumns_[c] < 0) {
      out[c++] = 0;
      continue;
    }
    const Source *source = nullptr;
    for (const auto &s : sources_)
      if (s->holds(first + globalColumns_[c]))
        source = s.get();
    auto place = [&](int64_t column) {
      return source->start + source->offset(first + globalColumns_[column] - source->base, 0, source->dims());
    };
    int64_t begin = place(c), end = c + 1;
    while (end < columns_ && globalColumns_[end] >= 0 && source->holds(first + globalColumns_[end]) &&
           place(end) == begin + (end - c))
      ++end;
    check(model_->readRange(*source->tensors[layer], begin, end - c, out + c));
    c = end;
  }
}

bool ShardReader::readTransposed(int64_t layer, int64_t begin, int64_t count, float *out) const {
  // Weights stored input-major: file rows are our columns. Worth it where rows, not columns, are contiguous
  // in the file.
  if (sources_.size() != 1 || count < 2 || columns_ < 2)
    return false;
  const Source &source = *sources_[0];
  if (source.rowDims < 0)
    return false;
  for (const Source::Run &run : source.runs)
    if (run.end - run.begin > 1)
      return false;
  std::vector<int64_t> rowOffset(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = globalRows_[begin + i];
    rowOffset[i] = row < 0 ? -1 : source.start + source.offset(row, 0, source.rowDims);
  }
  std::vector<float> run(count);
  std::fill_n(out, count * columns_, 0.0f);
  for (int64_t c = 0; c < columns_; ++c) {
    if (source.columnOffset[c] < 0)
      continue;
    for (int64_t i = 0; i < count;) {
      if (rowOffset[i] < 0) {
        ++i;
        continue;
      }
      int64_t end = i + 1;
      while (end < count && rowOffset[end] == rowOffset[i] + (end - i))
        ++end;
      check(model_->readRange(*source.tensors[layer], rowOffset[i] + source.columnOffset[c], end - i,
                              run.data()));
      for (int64_t j = i; j < end; ++j)
        out[j * columns_ + c] = run[j - i];
      i = end;
    }
  }
  return true;
}

void ShardReader::read(int64_t layer, int64_t begin, int64_t count, float *out) const {
  if (model_ && readTransposed(layer, begin, count, out))
    return;
  for (int64_t i = 0; i < count; ++i, out += columns_) {
    int64_t row = globalRows_[begin + i];
    if (row < 0) {
      std::fill_n(out, columns_, 0.0f);
    } else if (model_) {
      readRow(layer, row, out);
    } else {
      for (int64_t c = 0; c < columns_; ++c) {
        if (globalColumns_[c] < 0) {
          out[c] = 0;
          continue;
        }
        uint64_t bits =
            randomBits(seed_, uint64_t(firstLayer_ + layer), uint64_t(row * tail_ + globalColumns_[c]));
        out[c] = randomWeight(bits, scale_, mean_);
      }
    }
  }
}

// False where the file's bytes are not those of the rows.
bool ShardReader::copyRows(io::DType type, int64_t layer, int64_t begin, int64_t count, char *out) const {
  if (!model_ || io::isQuantized(type))
    return false;
  for (const auto &source : sources_) {
    const io::TensorInfo &tensor = *source->tensors[layer];
    if (source->rowDims < 0 || tensor.dtype != type ||
        int64_t(tensor.bytes) < io::bytesOf(type, source->count))
      return false;
    if (int64_t(source->runs.size()) * 8 > columns_) // short runs: converting costs no more
      return false;
  }
  size_t element = size_t(io::blockBytes(type)), rowBytes = size_t(columns_) * element;
  for (int64_t i = 0; i < count; ++i, out += rowBytes) {
    int64_t row = globalRows_[begin + i], first = row * tail_;
    auto source = std::find_if(sources_.begin(), sources_.end(),
                               [&](const auto &s) { return row >= 0 && s->holds(first); });
    if (source == sources_.end() || (*source)->paddedColumns)
      memset(out, 0, rowBytes);
    if (source == sources_.end())
      continue;
    const Source &from = **source;
    int64_t base = from.start + from.offset((first - from.base) / tail_, 0, from.rowDims);
    for (const Source::Run &run : from.runs)
      memcpy(out + size_t(run.begin) * element,
             from.tensors[layer]->data + size_t(base + run.offset) * element,
             size_t(run.end - run.begin) * element);
  }
  return true;
}

void ShardReader::readAs(io::DType type, int64_t layer, int64_t begin, int64_t count, void *out) const {
  if (copyRows(type, layer, begin, count, static_cast<char *>(out)))
    return;
  if (type == io::DType::F32 && reinterpret_cast<uintptr_t>(out) % alignof(float) == 0)
    return read(layer, begin, count, static_cast<float *>(out));
  thread_local std::vector<float> wide;
  wide.resize(size_t(count * columns_));
  read(layer, begin, count, wide.data());
  io::traits(type).narrow(wide.data(), count * columns_, out);
}

void ShardReader::blockRows(io::DType type, int64_t layer, int64_t begin, int64_t count, const uint8_t **rows,
                            std::vector<uint8_t> &madeUp) const {
  const int64_t rowBytes = io::bytesOf(type, tail_);
  if (!model_) {
    madeUp.resize(size_t(count * rowBytes));
    std::vector<float> wide(static_cast<size_t>(tail_));
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = globalRows_[begin + i];
      rows[i] = row < 0 ? nullptr : madeUp.data() + i * rowBytes;
      for (int64_t c = 0; c < tail_ && row >= 0; ++c)
        wide[size_t(c)] = randomWeight(
            randomBits(seed_, uint64_t(firstLayer_ + layer), uint64_t(row * tail_ + c)), scale_, mean_);
      if (row >= 0)
        io::traits(type).narrow(wide.data(), tail_, madeUp.data() + i * rowBytes);
    }
    return;
  }
  for (const auto &source : sources_)
    if (const io::TensorInfo &tensor = *source->tensors[layer]; tensor.dtype != type)
      throw Error("cannot load weights", model_->path() + ", tensor " + tensor.name,
                  std::string("its type is ") + io::dtypeName(tensor.dtype) +
                      ", the program was compiled for " + io::dtypeName(type),
                  "compile that model");
  if (std::any_of(sources_.begin(), sources_.end(),
                  [&](const auto &source) { return source->tensors[layer]->blocks != nullptr; }))
    madeUp.resize(size_t(count * rowBytes));
  for (int64_t i = 0; i < count; ++i) {
    int64_t row = globalRows_[begin + i], first = row * tail_;
    auto source = std::find_if(sources_.begin(), sources_.end(),
                               [&](const auto &s) { return row >= 0 && s->holds(first); });
    rows[i] = nullptr;
    if (source == sources_.end())
      continue;
    const Source &from = **source;
    auto place = [&](int64_t row) { // of the row's first element, in the file
      return from.start + from.offset((row * tail_ - from.base) / tail_, 0, from.rowDims);
    };
    int64_t element = place(row);
    const io::TensorInfo &tensor = *from.tensors[layer];
    if (tensor.blocks) {
      // Rows one behind the other are put together in one go: a part may have words of several rows.
      int64_t together = 1;
      while (i + together < count && globalRows_[begin + i + together] == row + together &&
             from.holds((row + together) * tail_) && place(row + together) == element + together * tail_)
        ++together;
      uint8_t *whole = madeUp.data() + i * rowBytes;
      tensor.blocks->read(element / io::blockElements(type), together * tail_ / io::blockElements(type),
                          whole);
      for (int64_t j = 0; j < together; ++j)
        rows[i + j] = whole + j * rowBytes;
      i += together - 1;
      continue;
    }
    rows[i] = tensor.data + io::bytesOf(type, element);
  }
}

void ShardReader::release(int64_t layer) const {
  for (const auto &source : sources_)
    io::ModelFile::release(*source->tensors[layer]);
}

} // namespace tessera::runtime
