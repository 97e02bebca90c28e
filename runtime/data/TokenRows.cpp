#include "tessera/runtime/data/TokenRows.h"

#include <cstring>
#include <vector>

namespace tessera::data {

static constexpr const char *cannotRead = "cannot read data";
static constexpr size_t checkedWhole = size_t(256) << 20;

static bool endsWith(const std::string &text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Failure TokenRows::failure(std::string why, std::string hint) const {
  return {cannotRead, path_, std::move(why), std::move(hint)};
}

Result<std::unique_ptr<TokenRows>> TokenRows::open(const std::string &path, int64_t sequence,
                                                   int64_t vocabulary, const std::string &name) {
  std::unique_ptr<TokenRows> rows(new TokenRows);
  rows->path_ = name.empty() ? path : name;
  rows->sequence_ = sequence;
  rows->vocabulary_ = vocabulary;
  // A file that is no model is said to be unreadable as data.
  auto asData = [&](Failure failure) {
    failure.what = cannotRead;
    failure.hint = "give a .safetensors file with `tokens`, a .bin file of ids, or a text";
    return failure;
  };
  Result<std::shared_ptr<io::MappedFile>> file = io::MappedFile::open(path);
  if (!file)
    return asData(file.takeFailure());
  size_t bytes = (*file)->size();
  if (endsWith(path, ".safetensors")) {
    Result<std::unique_ptr<io::ModelFile>> table = io::ModelFile::open(path);
    if (!table)
      return asData(table.takeFailure());
    if (Status status = rows->openTable(**table); !status)
      return status.takeFailure();
    rows->table_ = table.take();
  } else {
    if (Status status = rows->openStream(**file); !status)
      return status.takeFailure();
    rows->stream_ = file.take();
  }
  if (bytes <= checkedWhole)
    if (Status status = rows->checkAll(); !status)
      return status.takeFailure();
  return rows;
}

static std::string shapeOf(const io::TensorInfo &tensor) {
  std::string text;
  for (int64_t size : tensor.shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

Status TokenRows::openTable(const io::ModelFile &file) {
  const io::TensorInfo *tokens = file.find("tokens");
  std::string width = std::to_string(sequence_ + 1);
  if (!tokens)
    return failure("it has no tensor `tokens`", "name int32 [rows, " + width + "] so");
  if (tokens->dtype != io::DType::I32)
    return failure(std::string("`tokens` is of type ") + io::dtypeName(tokens->dtype), "make it I32");
  if (tokens->shape.size() != 2)
    return failure("`tokens` has the shape " + shapeOf(*tokens), "make it [rows, " + width + "]");
  if (tokens->shape[0] == 0)
    return failure("it has no row", "give at least one row of " + width + " ids");
  if (tokens->shape[1] != sequence_ + 1)
    return failure("its rows have " + std::to_string(tokens->shape[1]) + " ids, the program takes " + width +
                       ", one more than its sequence length",
                   tokens->shape[1] > 1 ? "compile with --max-seq-len=" + std::to_string(tokens->shape[1] - 1)
                                        : "give rows of " + width);
  isTable_ = true;
  rows_ = tokens->shape[0];
  stride_ = sequence_ + 1;
  ids_ = tokens->data;
  return {};
}

Status TokenRows::openStream(const io::MappedFile &file) {
  static constexpr size_t headerBytes = 256 * 4;
  uint32_t header[3] = {0, 0, 0};
  if (file.size() >= sizeof header)
    std::memcpy(header, file.data(), sizeof header);
  size_t begin = 0;
  idBytes_ = 2;
  bool narrow = header[0] == 20240520, wide = header[0] == 20240801;
  if (narrow || wide) {
    if (header[1] != (narrow ? 1 : 7))
      return failure("its header has version " + std::to_string(header[1]),
                     narrow ? "version 1 is known" : "version 7 is known");
    begin = headerBytes;
    idBytes_ = narrow ? 2 : 4;
    if (file.size() < begin || (file.size() - begin) != uint64_t(header[2]) * uint64_t(idBytes_))
      return failure("its header says " + std::to_string(header[2]) + " ids of " + std::to_string(idBytes_) +
                         " bytes, the file has " + std::to_string(file.size()) + " bytes",
                     "is the file whole? write it again");
  }
  if ((file.size() - begin) % size_t(idBytes_) != 0)
    return failure("its " + std::to_string(file.size()) + " bytes are no whole number of 16-bit ids",
                   "is the file whole? write it again");
  int64_t count = int64_t((file.size() - begin) / size_t(idBytes_));
  rows_ = count > 0 ? (count - 1) / sequence_ : 0;
  if (rows_ == 0)
    return failure(count == 0 ? "it is empty"
                              : "it has " + std::to_string(count) + " ids, a row takes " +
                                    std::to_string(sequence_ + 1),
                   "give more text, or compile with a smaller --max-seq-len");
  stride_ = sequence_;
  ids_ = file.data() + begin;
  return {};
}

int64_t TokenRows::id(int64_t row, int64_t column) const {
  const uint8_t *at = ids_ + (row * stride_ + column) * idBytes_;
  if (idBytes_ == 2) {
    uint16_t value;
    std::memcpy(&value, at, 2);
    return value;
  }
  uint32_t value;
  std::memcpy(&value, at, 4);
  return isTable_ ? int64_t(int32_t(value)) : int64_t(value);
}

Status TokenRows::checkUnchanged() const {
  Status status = stream_ ? stream_->checkUnchanged() : table_ ? table_->checkUnchanged() : Status();
  if (status)
    return {};
  Failure changed = status.takeFailure();
  changed.what = cannotRead;
  return changed;
}

Status TokenRows::readRow(int64_t row, int32_t *out) const {
  bool ended = false;
  for (int64_t column = 0; column <= sequence_; ++column) {
    int64_t value = id(row, column);
    bool ends = isTable_ && value == -1;
    if ((!ends && (value < 0 || value >= vocabulary_)) || (ended && !ends)) {
      Failure bad = failure(ended ? "id " + std::to_string(value) + " follows -1, which ends a row"
                                  : "id " + std::to_string(value) + " is outside the vocabulary of " +
                                        std::to_string(vocabulary_),
                            ended ? "put -1 at the end of short rows only"
                                  : "tokenize the text with the model's tokenizer");
      bad.where += ", row " + std::to_string(row) + ", column " + std::to_string(column);
      return bad;
    }
    ended = ends;
    out[column] = int32_t(value);
  }
  return {};
}

Status TokenRows::read(int64_t row, int32_t *out) const {
  if (Status status = checkUnchanged(); !status)
    return status;
  if (Status status = readRow(row, out); !status)
    return status;
  io::dropPages(ids_ + row * stride_ * idBytes_, size_t((sequence_ + 1) * idBytes_));
  return {};
}

Status TokenRows::checkAll() const {
  std::vector<int32_t> ids(size_t(sequence_) + 1);
  for (int64_t row = 0; row < rows_; ++row)
    if (Status status = readRow(row, ids.data()); !status)
      return status;
  io::dropPages(ids_, size_t(((rows_ - 1) * stride_ + sequence_ + 1) * idBytes_));
  return {};
}

int64_t TokenRows::length(int64_t row) const {
  if (!isTable_ || id(row, sequence_) != -1)
    return sequence_ + 1;
  int64_t least = 0, most = sequence_;
  while (least < most) {
    int64_t middle = (least + most) / 2;
    if (id(row, middle) == -1)
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

int64_t TokenRows::targets(int64_t row) const {
  int64_t ids = length(row);
  return ids > 1 ? ids - 1 : 0;
}

} // namespace tessera::data
