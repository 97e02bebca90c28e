// safetensors: u64 length of a JSON header, the header, the tensors' bytes without gaps. The same checks as
// the reference implementation (huggingface/safetensors, tensor.rs): header at most 100 MB, tensors tile the
// rest of the file exactly.
#include "Readers.h"
#include "tessera/runtime/io/Json.h"
#include "tessera/runtime/io/SafetensorsWriter.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace tessera::io {

static constexpr uint64_t maxHeader = 100'000'000;
static constexpr size_t maxRank = 16;

bool looksLikeSafetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{')
    return false;
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  return length <= bytes.size(); // not exactly fitting: a truncated file is still recognised as what it was
}

namespace {
// {"__metadata__": {name: text}, TENSOR: {"dtype": .., "shape": [..], "data_offsets": [begin, end]}, ...}
// Reads it event by event: memory stays proportional to the table, however the header is nested or repeated.
struct HeaderHandler : JsonHandler {
  enum class Nesting { Outside, Top, Metadata, Tensor, Shape, Offsets };
  Nesting nesting = Nesting::Outside;
  std::string field; // the open tensor's current field
  TensorInfo tensor;
  std::vector<uint64_t> offsets;
  bool hasType = false, hasShape = false, hasOffsets = false;
  std::unordered_set<std::string> names;

  const uint8_t *payload;
  uint64_t payloadBytes;
  std::vector<TensorInfo> &tensors;
  std::string &holds;

  HeaderHandler(const MappedFile &file, uint64_t headerBytes, std::vector<TensorInfo> &tensors,
                std::string &holds)
      : payload(file.data() + 8 + headerBytes), payloadBytes(file.size() - 8 - headerBytes), tensors(tensors),
        holds(holds) {
    what = cannotReadModel;
    where = file.where();
  }

  bool failTensor(const std::string &why) {
    where += ", tensor " + tensor.name;
    return fail(why, isItWhole);
  }
  bool misplaced() {
    if (nesting == Nesting::Outside || nesting == Nesting::Top)
      return fail("the header is not a table of tensors", isItWhole);
    if (nesting == Nesting::Metadata)
      return fail("__metadata__ in the header holds more than texts", isItWhole);
    return failTensor("its header entry is damaged at \"" + field + "\"");
  }

  bool start_object(size_t) override {
    if (nesting == Nesting::Outside) {
      nesting = Nesting::Top;
      return true;
    }
    if (nesting != Nesting::Top)
      return misplaced();
    nesting = field == "__metadata__" ? Nesting::Metadata : Nesting::Tensor;
    return true;
  }
  bool key(string_t &name) override {
    if (nesting == Nesting::Top) {
      if (!names.insert(name).second)
        return fail("the tensor \"" + name + "\" is in the header twice", isItWhole);
      tensor = TensorInfo();
      tensor.name = name;
      hasType = hasShape = hasOffsets = false;
      offsets.clear();
    } else if (nesting == Nesting::Tensor) {
      bool &seen = name == "dtype" ? hasType : name == "shape" ? hasShape : hasOffsets;
      if ((name != "dtype" && name != "shape" && name != "data_offsets") || seen)
        return failTensor("its header entry has an unknown or repeated field \"" + name + "\"");
      seen = true;
    }
    field = name;
    return true;
  }
  bool end_object() override {
    if (nesting == Nesting::Tensor) {
      nesting = Nesting::Top;
      return addTensor();
    }
    nesting = nesting == Nesting::Metadata ? Nesting::Top : Nesting::Outside;
    return true;
  }
  bool start_array(size_t) override {
    if (nesting != Nesting::Tensor || field == "dtype")
      return misplaced();
    nesting = field == "shape" ? Nesting::Shape : Nesting::Offsets;
    return true;
  }
  bool end_array() override {
    nesting = Nesting::Tensor;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (nesting == Nesting::Offsets && offsets.size() < 2) {
      offsets.push_back(value);
      return true;
    }
    if (nesting != Nesting::Shape || value > uint64_t(INT64_MAX) || tensor.shape.size() >= maxRank)
      return misplaced();
    tensor.shape.push_back(int64_t(value));
    return true;
  }
  bool string(string_t &value) override {
    if (nesting == Nesting::Metadata) {
      if (field == holdsKey)
        holds = value;
      return true;
    }
    if (nesting != Nesting::Tensor || field != "dtype")
      return misplaced();
    std::optional<DType> type = dtypeFromFileName(value);
    if (!type)
      return where += ", tensor " + tensor.name,
             fail("its type " + value + " is not supported", "convert it to F32, F16 or BF16");
    tensor.dtype = *type;
    return true;
  }
  bool null() override { return misplaced(); }
  bool boolean(bool) override { return misplaced(); }
  bool number_integer(number_integer_t) override { return misplaced(); }
  bool number_float(number_float_t, const string_t &) override { return misplaced(); }
  bool binary(binary_t &) override { return misplaced(); }

  bool addTensor() {
    if (!hasType || !hasShape || offsets.size() != 2)
      return failTensor("its header entry lacks dtype, shape or data_offsets");
    if (!computeSizes(tensor))
      return failTensor("its shape " + shapeText(tensor.shape) + " is impossibly large");
    if (offsets[0] > offsets[1] || offsets[1] > payloadBytes)
      return failTensor("its bytes [" + std::to_string(offsets[0]) + ", " + std::to_string(offsets[1]) +
                        ") are outside the file's " + std::to_string(payloadBytes) + " bytes of data");
    if (offsets[1] - offsets[0] != tensor.bytes)
      return failTensor("shape " + shapeText(tensor.shape) + " of " + dtypeName(tensor.dtype) + " needs " +
                        std::to_string(tensor.bytes) + " bytes, the header gives it " +
                        std::to_string(offsets[1] - offsets[0]));
    tensor.data = payload + offsets[0];
    tensors.push_back(std::move(tensor));
    return true;
  }
};
} // namespace

Status refuseLfsPointer(const MappedFile &file) {
  if (file.text().substr(0, 23) == "version https://git-lfs")
    return Failure{cannotReadModel, file.where(), "a Git LFS pointer, not the file itself",
                   "fetch it with `git lfs pull`"};
  return {};
}

Status readSafetensors(const MappedFile &file, std::vector<TensorInfo> &tensors, std::string &holds) {
  if (Status status = refuseLfsPointer(file); !status)
    return status;
  uint64_t length = 0;
  if (file.size() < 8)
    return Failure{cannotReadModel, file.where(),
                   "too short for a safetensors file (" + std::to_string(file.size()) + " bytes)", isItWhole};
  std::memcpy(&length, file.data(), 8);
  if (length > maxHeader)
    return Failure{cannotReadModel, file.where(),
                   "not a safetensors file: its header would be " + std::to_string(length) + " bytes long",
                   isItWhole};
  if (length > file.size() - 8)
    return Failure{cannotReadModel, file.where(),
                   "truncated: the header is " + std::to_string(length) + " bytes, the file " +
                       std::to_string(file.size()),
                   isItWhole};
  size_t first = tensors.size();
  HeaderHandler handler(file, length, tensors, holds);
  if (!readJson(file.text().substr(8, length), handler))
    return *handler.failure;

  if (Status status = checkNoOverlap(tensors, first, file.where()); !status)
    return status;
  uint64_t covered = 0;
  for (size_t i = first; i < tensors.size(); ++i)
    covered += tensors[i].bytes;
  if (covered != handler.payloadBytes)
    return Failure{cannotReadModel, file.where(),
                   "the tensors cover " + std::to_string(covered) + " of the " +
                       std::to_string(handler.payloadBytes) + " bytes of data",
                   isItWhole};
  return {};
}

bool computeSizes(TensorInfo &tensor) {
  uint64_t elements = 1, bytes;
  for (int64_t size : tensor.shape)
    if (size < 0 || __builtin_mul_overflow(elements, uint64_t(size), &elements))
      return false;
  // A zero dimension hides the overflow of the others: they must fit by themselves.
  if (elements == 0) {
    uint64_t others = 1;
    for (int64_t size : tensor.shape)
      if (size != 0 && __builtin_mul_overflow(others, uint64_t(size), &others))
        return false;
  }
  uint64_t perBlock = uint64_t(blockElements(tensor.dtype));
  uint64_t row = tensor.shape.empty() ? 1 : uint64_t(tensor.shape.back());
  if (row % perBlock != 0 ||
      __builtin_mul_overflow(elements / perBlock, uint64_t(blockBytes(tensor.dtype)), &bytes) ||
      elements > uint64_t(INT64_MAX) / 8 || bytes > uint64_t(INT64_MAX))
    return false;
  tensor.elements = int64_t(elements);
  tensor.bytes = bytes;
  return true;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Status checkNoOverlap(const std::vector<TensorInfo> &tensors, size_t firstTensor, const std::string &where) {
  std::vector<const TensorInfo *> order;
  for (size_t i = firstTensor; i < tensors.size(); ++i)
    if (tensors[i].bytes > 0)
      order.push_back(&tensors[i]);
  std::sort(order.begin(), order.end(),
            [](const TensorInfo *a, const TensorInfo *b) { return a->data < b->data; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->data + order[i - 1]->bytes > order[i]->data)
      return Failure{cannotReadModel, where,
                     "the bytes of tensors " + order[i - 1]->name + " and " + order[i]->name + " overlap",
                     isItWhole};
  return {};
}

} // namespace tessera::io
