#include "tessera/runtime/io/SafetensorsWriter.h"

#include "tessera/runtime/io/OutputFile.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tessera::io {

namespace {
const char *const cannotWrite = "cannot write tensors";

// Length word and header, padded with blanks so that data begins on a multiple of 64 bytes, and to at least
// `leastBytes`.
std::string makeHeader(const nlohmann::ordered_json &json, size_t leastBytes) {
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  size_t whole = std::max((8 + text.size() + 63) / 64 * 64, leastBytes);
  text.resize(whole - 8, ' ');
  uint64_t length = text.size();
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);
  return header + text;
}

void addEntry(nlohmann::ordered_json &json, const std::string &name, DType dtype,
              const std::vector<int64_t> &shape, uint64_t begin, uint64_t end) {
  nlohmann::ordered_json entry;
  entry["dtype"] = dtypeName(dtype);
  entry["shape"] = shape;
  entry["data_offsets"] = {begin, end};
  json[name] = std::move(entry);
}
} // namespace

static size_t bytesOfTensor(const TensorToWrite &tensor) {
  assert(!isQuantized(tensor.dtype) && "safetensors has no quantized types");
  size_t bytes = size_t(blockBytes(tensor.dtype));
  for (int64_t size : tensor.shape)
    bytes *= size_t(size);
  return bytes;
}

std::string safetensorsHeader(const std::vector<TensorToWrite> &tensors,
                              const std::map<std::string, std::string> &metadata) {
  auto json = nlohmann::ordered_json::object();
  if (!metadata.empty())
    json["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    uint64_t end = offset + bytesOfTensor(tensor);
    addEntry(json, tensor.name, tensor.dtype, tensor.shape, offset, end);
    offset = end;
  }
  return makeHeader(json, 0);
}

Status writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors) {
  std::string header = safetensorsHeader(tensors);
  OutputFile file(path, cannotWrite);
  if (Status status = file.open(); !status)
    return status;
  if (Status status = file.write(header.data(), header.size()); !status)
    return status;
  for (const TensorToWrite &tensor : tensors)
    if (Status status = file.write(tensor.data, bytesOfTensor(tensor)); !status)
      return status;
  return file.finish();
}

struct SafetensorsRowWriter::State {
  explicit State(const std::string &path) : file(path, cannotWrite) {}
  std::string header(size_t leastBytes) const {
    auto json = nlohmann::ordered_json::object();
    addEntry(json, name, DType::F32, {rows, columns}, 0, uint64_t(rows) * uint64_t(columns) * sizeof(float));
    return makeHeader(json, leastBytes);
  }
  OutputFile file;
  std::string name;
  int64_t columns = 0, rows = 0;
  size_t headerBytes = 0;
};

SafetensorsRowWriter::~SafetensorsRowWriter() = default;

Result<std::unique_ptr<SafetensorsRowWriter>>
SafetensorsRowWriter::create(const std::string &path, const std::string &tensorName, int64_t columns) {
  std::unique_ptr<SafetensorsRowWriter> writer(new SafetensorsRowWriter);
  writer->state_ = std::make_unique<State>(path);
  State &state = *writer->state_;
  state.name = tensorName;
  state.columns = columns;
  // Room for the longest header: the number of rows is known at the end only.
  state.rows = INT64_MAX / 4 / std::max<int64_t>(columns, 1);
  std::string header = state.header(0);
  state.headerBytes = header.size();
  state.rows = 0;
  if (Status status = state.file.open(); !status)
    return status.takeFailure();
  if (Status status = state.file.write(header.data(), header.size()); !status)
    return status.takeFailure();
  return writer;
}

Status SafetensorsRowWriter::append(const float *rows, int64_t count) {
  if (Status status = state_->file.write(rows, size_t(count) * size_t(state_->columns) * sizeof(float));
      !status)
    return status;
  state_->rows += count;
  return {};
}

Status SafetensorsRowWriter::finish() {
  std::string header = state_->header(state_->headerBytes);
  if (Status status = state_->file.rewind(); !status)
    return status;
  if (Status status = state_->file.write(header.data(), header.size()); !status)
    return status;
  return state_->file.finish();
}

} // namespace tessera::io
