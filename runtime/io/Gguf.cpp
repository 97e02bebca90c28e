// GGUF, versions 2 and 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md): magic, counts, typed
// key/values, tensor table, padding to `general.alignment`, tensors. Little-endian only.
#include "Readers.h"

#include <cstring>
#include <unordered_set>

namespace tessera::io {

bool looksLikeGguf(std::string_view bytes) { return bytes.substr(0, 4) == "GGUF"; }

namespace {

enum class WireType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

// A byte of the file can take eight and more here, so its size alone bounds nothing. Models have arrays of
// one or two million elements, and some thousand tensors.
constexpr uint64_t kMostElements = 1 << 24, kMostEntries = 1 << 20;

class Reader {
public:
  Reader(const MappedFile &file, std::vector<TensorInfo> &tensors, Metadata &metadata)
      : file_(file), tensors_(tensors), metadata_(metadata) {}

  Status read() {
    uint32_t version;
    uint64_t tensorCount, valueCount;
    if (!skip(4) || !take(version) || !take(tensorCount) || !take(valueCount))
      return truncated("the header");
    if (version == 0x02000000 || version == 0x03000000)
      return failure("", "it is a big-endian GGUF file", "use a little-endian one");
    if (version != 2 && version != 3)
      return failure("", "GGUF version " + std::to_string(version) + " is not supported",
                     "use a file of version 2 or 3");
    for (uint64_t i = 0; i < valueCount; ++i)
      if (Status status = i < kMostEntries ? readKeyValue() : tooMany("the metadata"); !status)
        return status;
    if (Status status = readAlignment(); !status)
      return status;
    for (uint64_t i = 0; i < tensorCount; ++i)
      if (Status status = i < kMostEntries ? readTensorEntry() : tooMany("the table of tensors"); !status)
        return status;
    return placeTensors();
  }

private:
  size_t left() const { return file_.size() - at_; }
  bool skip(size_t bytes) {
    if (bytes > left())
      return false;
    at_ += bytes;
    return true;
  }
  template <typename T> bool take(T &value) {
    if (sizeof(T) > left())
      return false;
    std::memcpy(&value, file_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  bool takeString(std::string_view &value) {
    uint64_t length;
    if (!take(length) || length > left())
      return false;
    value = file_.text().substr(at_, length);
    at_ += length;
    return true;
  }

  Failure failure(const std::string &part, const std::string &why,
                  const std::string &hint = isItWhole) const {
    return Failure{cannotReadModel, file_.where() + (part.empty() ? "" : ", " + part), why, hint};
  }
  Failure truncated(const std::string &part) const { return failure(part, "the file ends inside it"); }
  Failure tooMany(const std::string &part) const {
    return failure(part, "it has more than " + std::to_string(kMostEntries) + " entries");
  }

  Status readKeyValue();
  bool takeScalar(WireType type, GgufValue &value);
  Status readArray(const std::string &key, GgufValue &value);
  Status readAlignment();
  Status readTensorEntry();
  Status placeTensors();

  const MappedFile &file_;
  std::vector<TensorInfo> &tensors_;
  Metadata &metadata_;
  size_t at_ = 0;
  uint64_t alignment_ = 32, arrayElements_ = 0;
  std::vector<uint64_t> offsets_; // of tensors_, relative to the data section
  std::unordered_set<std::string_view> names_;
};

bool Reader::takeScalar(WireType type, GgufValue &value) {
  using Kind = GgufValue::Kind;
  auto number = [&](auto sample, Kind kind) {
    if (!take(sample))
      return false;
    value.kind = kind;
    value.intValue = kind == Kind::Float ? 0 : int64_t(sample);
    value.floatValue = double(sample);
    return true;
  };
  switch (type) {
  case WireType::U8:
    return number(uint8_t(), Kind::Uint);
  case WireType::I8:
    return number(int8_t(), Kind::Int);
  case WireType::U16:
    return number(uint16_t(), Kind::Uint);
  case WireType::I16:
    return number(int16_t(), Kind::Int);
  case WireType::U32:
    return number(uint32_t(), Kind::Uint);
  case WireType::I32:
    return number(int32_t(), Kind::Int);
  case WireType::U64:
    return number(uint64_t(), Kind::Uint);
  case WireType::I64:
    return number(int64_t(), Kind::Int);
  case WireType::Bool:
    return number(uint8_t(), Kind::Bool) && (value.intValue & ~int64_t(1)) == 0;
  case WireType::F32:
  case WireType::F64: {
    float single = 0;
    double twice = 0;
    if (type == WireType::F32 ? !take(single) : !take(twice))
      return false;
    value.kind = Kind::Float;
    value.floatValue = type == WireType::F32 ? double(single) : twice;
    return true;
  }
  case WireType::String:
    value.kind = Kind::String;
    return takeString(value.string);
  case WireType::Array:
    break;
  }
  return false;
}

Status Reader::readKeyValue() {
  std::string_view keyView;
  uint32_t type;
  if (!takeString(keyView) || !take(type))
    return truncated("the metadata");
  std::string key(keyView.substr(0, 1024));
  if (type > uint32_t(WireType::F64))
    return failure("metadata " + key, "unknown value type " + std::to_string(type));
  GgufValue value;
  if (WireType(type) == WireType::Array) {
    if (Status status = readArray(key, value); !status)
      return status;
  } else if (!takeScalar(WireType(type), value)) {
    return failure("metadata " + key, "its value is damaged or the file ends inside it");
  }
  if (keyView.size() > 1024 || !metadata_.emplace(key, std::move(value)).second)
    return failure("metadata " + key, "the key is there twice or too long");
  return {};
}

Status Reader::readArray(const std::string &key, GgufValue &value) {
  uint32_t type;
  uint64_t count;
  if (!take(type) || !take(count))
    return truncated("metadata " + key);
  static const uint8_t leastBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8}; // of one element, by WireType
  if (type > uint32_t(WireType::F64) || WireType(type) == WireType::Array)
    return failure("metadata " + key,
                   "an array of elements of type " + std::to_string(type) + " is not supported");
  if (count > left() / leastBytes[type])
    return failure("metadata " + key,
                   "it claims " + std::to_string(count) + " elements, more than the file can hold");
  if (count > kMostElements - arrayElements_)
    return failure("metadata " + key, "its " + std::to_string(count) +
                                          " elements bring the arrays to more than " +
                                          std::to_string(kMostElements));
  arrayElements_ += count;
  value.kind = GgufValue::Kind::Array;
  GgufValue element;
  for (uint64_t i = 0; i < count; ++i) {
    if (!takeScalar(WireType(type), element))
      return failure("metadata " + key,
                     "element " + std::to_string(i) + " is damaged or the file ends inside it");
    switch (element.kind) {
    case GgufValue::Kind::String:
      value.strings.push_back(element.string);
      break;
    case GgufValue::Kind::Float:
      value.floats.push_back(element.floatValue);
      break;
    default:
      value.ints.push_back(element.intValue);
    }
  }
  value.elementKind = WireType(type) == WireType::String ? GgufValue::Kind::String : element.kind;
  return {};
}

Status Reader::readAlignment() {
  if (auto split = metadata_.find("split.count"); split != metadata_.end() && split->second.intValue > 1)
    return failure("metadata split.count", "a model split over several GGUF files is not supported",
                   "merge it with llama.cpp's `llama-gguf-split --merge`");
  auto found = metadata_.find("general.alignment");
  if (found == metadata_.end())
    return {};
  uint64_t alignment = found->second.uintValue();
  if (found->second.kind != GgufValue::Kind::Uint || alignment == 0 || (alignment & (alignment - 1)) != 0 ||
      alignment > (1u << 20))
    return failure("metadata general.alignment", "it is no power of two up to 1048576");
  alignment_ = alignment;
  return {};
}

// ggml's numbers of types. Those without a DType are an error; the names are for the message.
struct GgmlType {
  const char *name;
  std::optional<DType> dtype;
};
GgmlType ggmlType(uint32_t number) {
  static const GgmlType types[] = {
      {"F32", DType::F32},   {"F16", DType::F16},   {"Q4_0", DType::Q4_0}, {"Q4_1", DType::Q4_1},
      {"Q4_2", {}},          {"Q4_3", {}},          {"Q5_0", DType::Q5_0}, {"Q5_1", DType::Q5_1},
      {"Q8_0", DType::Q8_0}, {"Q8_1", {}},          {"Q2_K", {}},          {"Q3_K", {}},
      {"Q4_K", DType::Q4_K}, {"Q5_K", DType::Q5_K}, {"Q6_K", DType::Q6_K}, {"Q8_K", {}},
      {"IQ2_XXS", {}},       {"IQ2_XS", {}},        {"IQ3_XXS", {}},       {"IQ1_S", {}},
      {"IQ4_NL", {}},        {"IQ3_S", {}},         {"IQ2_S", {}},         {"IQ4_XS", {}},
      {"I8", DType::I8},     {"I16", DType::I16},   {"I32", DType::I32},   {"I64", DType::I64},
      {"F64", DType::F64},   {"IQ1_M", {}},         {"BF16", DType::BF16}, {"Q4_0_4_4", {}},
      {"Q4_0_4_8", {}},      {"Q4_0_8_8", {}},      {"TQ1_0", {}},         {"TQ2_0", {}},
      {"IQ4_NL_4_4", {}},    {"IQ4_NL_4_8", {}},    {"IQ4_NL_8_8", {}},    {"MXFP4", DType::MXFP4}};
  return number < sizeof(types) / sizeof(*types) ? types[number] : GgmlType{nullptr, {}};
}

Status Reader::readTensorEntry() {
  std::string_view name;
  uint32_t rank, type;
  if (!takeString(name) || !take(rank))
    return truncated("the table of tensors");
  std::string part = "tensor " + std::string(name.substr(0, 1024));
  if (name.empty() || name.size() > 1024 || !names_.insert(name).second)
    return failure(part, "the name is empty, too long or there twice");
  if (rank > 4)
    return failure(part, "it claims " + std::to_string(rank) + " dimensions; GGUF has at most 4");
  TensorInfo tensor;
  tensor.name = std::string(name);
  for (uint32_t i = 0; i < rank; ++i) {
    uint64_t size;
    if (!take(size))
      return truncated(part);
    if (size > uint64_t(INT64_MAX))
      return failure(part, "a dimension of " + std::to_string(size) + " elements is impossible");
    tensor.shape.insert(tensor.shape.begin(), int64_t(size)); // GGUF lists the innermost dimension first
  }
  uint64_t offset;
  if (!take(type) || !take(offset))
    return truncated(part);
  GgmlType known = ggmlType(type);
  std::string typeName = known.name ? known.name : "number " + std::to_string(type);
  if (!known.dtype)
    return failure(part, "its type " + typeName + " is not supported",
                   "use a file of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K or MXFP4");
  tensor.dtype = *known.dtype;
  if (!computeSizes(tensor))
    return failure(part, "its shape " + shapeText(tensor.shape) + " is impossible for " + typeName);
  offsets_.push_back(offset);
  tensors_.push_back(std::move(tensor));
  return {};
}

Status Reader::placeTensors() {
  size_t dataBegin = (at_ + alignment_ - 1) / alignment_ * alignment_; // at_ <= file size: cannot overflow
  size_t first = tensors_.size() - offsets_.size();
  for (size_t i = 0; i < offsets_.size(); ++i) {
    TensorInfo &tensor = tensors_[first + i];
    std::string part = "tensor " + tensor.name;
    if (offsets_[i] % alignment_ != 0)
      return failure(part, "its offset " + std::to_string(offsets_[i]) +
                               " is not a multiple of the alignment " + std::to_string(alignment_));
    size_t available = file_.size() > dataBegin ? file_.size() - dataBegin : 0;
    if (offsets_[i] > available || tensor.bytes > available - offsets_[i])
      return failure(part, "truncated: its " + std::to_string(tensor.bytes) + " bytes at offset " +
                               std::to_string(offsets_[i]) + " reach beyond the end of the file");
    tensor.data = file_.data() + dataBegin + offsets_[i];
  }
  return checkNoOverlap(tensors_, first, file_.where());
}

} // namespace

Status readGguf(const MappedFile &file, std::vector<TensorInfo> &tensors, Metadata &metadata) {
  return Reader(file, tensors, metadata).read();
}

} // namespace tessera::io
