// Blocks from the parts that safetensors has of them (io/Quantization.h).
#include "Readers.h"
#include "tessera/runtime/io/Quantization.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace tessera::io {
namespace {

using Method = Quantization::Method;

const char *const takeOther = "use a model that is quantized otherwise, or not at all";

uint32_t wordAt(const TensorInfo &tensor, int64_t i) {
  uint32_t word;
  std::memcpy(&word, tensor.data + 4 * i, 4);
  return word;
}

// 8-bit floats, and their scales as float32.
class Fp8Blocks : public BlockSource {
public:
  static constexpr int64_t kColumns = 128;
  Fp8Blocks(TensorInfo codes, TensorInfo scale, int64_t blockRows, int64_t blockColumns)
      : codes_(std::move(codes)), scale_(std::move(scale)), blockRows_(blockRows),
        blockColumns_(blockColumns) {}

  void read(int64_t first, int64_t count, uint8_t *out) const override {
    const int64_t columns = codes_.shape[1], perRow = columns / kColumns,
                  scales = (columns + blockColumns_ - 1) / blockColumns_;
    for (int64_t b = first; b < first + count; ++b, out += blockBytes(DType::FP8)) {
      int64_t row = b / perRow, column = b % perRow * kColumns;
      int64_t place = row / blockRows_ * scales + column / blockColumns_;
      float scale;
      dequantize(scale_.dtype, scale_.data + place * blockBytes(scale_.dtype), 1, &scale);
      std::memcpy(out, &scale, 4);
      std::memcpy(out + 4, codes_.data + row * columns + column, size_t(kColumns));
    }
  }
  void release() const override {
    ModelFile::release(codes_);
    ModelFile::release(scale_);
  }

private:
  TensorInfo codes_, scale_;
  int64_t blockRows_, blockColumns_; // that share a scale
};

// Four bits of each weight, eight to a word.
class Int4Blocks : public BlockSource {
public:
  Int4Blocks(const Quantization &quantization, DType type, int64_t in, int64_t out, TensorInfo codes,
             TensorInfo zeros, TensorInfo scales)
      : awq_(quantization.method == Method::Awq), add_(quantization.zerosLessOne ? 1 : 0), type_(type),
        in_(in), out_(out), group_(quantization.group == -1 ? in : quantization.group),
        codes_(std::move(codes)), zeros_(std::move(zeros)), scales_(std::move(scales)) {}

  void read(int64_t first, int64_t count, uint8_t *out) const override {
    const int64_t columns = blockElements(type_), perRow = in_ / columns;
    for (int64_t b = first; b < first + count; ++b, out += blockBytes(type_)) {
      int64_t row = b / perRow, column = b % perRow * columns, group = column / group_;
      std::memcpy(out, scales_.data + 2 * (group * out_ + row), 2);
      out[2] = uint8_t(byOutputs(zeros_, group, row) + add_);
      for (int64_t s = 0; s < columns; s += 32) {
        uint8_t codes[32];
        readCodes(row, column + s, codes);
        for (int i = 0; i < 16; ++i)
          out[3 + s / 2 + i] = uint8_t(codes[i] | codes[i + 16] << 4);
      }
    }
  }
  void release() const override {
    for (const TensorInfo *part : {&codes_, &zeros_, &scales_})
      ModelFile::release(*part);
  }

private:
  // Of a table [.., out / 8] of words that hold 8 outputs each.
  uint32_t byOutputs(const TensorInfo &table, int64_t i, int64_t row) const {
    static constexpr int places[8] = {0, 4, 1, 5, 2, 6, 3, 7}; // of awq, in a word
    int64_t place = awq_ ? places[row % 8] : row % 8;
    return wordAt(table, i * (out_ / 8) + row / 8) >> (4 * place) & 15;
  }
  // Of 32 inputs.
  void readCodes(int64_t row, int64_t column, uint8_t *codes) const {
    if (awq_) {
      for (int64_t i = 0; i < 32; ++i)
        codes[i] = uint8_t(byOutputs(codes_, column + i, row));
      return;
    }
    for (int64_t w = 0; w < 4; ++w) {
      uint32_t word = wordAt(codes_, (column / 8 + w) * out_ + row);
      for (int64_t i = 0; i < 8; ++i)
        codes[8 * w + i] = uint8_t(word >> (4 * i) & 15);
    }
  }
  bool awq_;
  uint32_t add_;
  DType type_;
  int64_t in_, out_, group_;
  TensorInfo codes_, zeros_, scales_;
};

// One weight after the other: finds its parts, checks them, and remembers what they are replaced by.
class Assembly {
public:
  Assembly(const Quantization &quantization, std::vector<TensorInfo> &tensors, const std::string &where)
      : quantization_(quantization), tensors_(tensors), where_(where) {
    for (const TensorInfo &tensor : tensors)
      byName_.emplace(tensor.name, &tensor);
  }

  Status run() {
    const std::string_view last = quantization_.method == Method::Fp8 ? ".weight" : ".qweight";
    for (const TensorInfo &tensor : tensors_) {
      std::string_view name = tensor.name;
      if (name.size() <= last.size() || name.substr(name.size() - last.size()) != last)
        continue;
      std::string stem(name.substr(0, name.size() - last.size()));
      Status status = quantization_.method == Method::Fp8 ? addFp8(stem, tensor) : addInt4(stem, tensor);
      if (!status)
        return status;
    }
    if (added_.empty())
      return Failure{cannotReadModel, where_,
                     std::string("config.json says that its weights are quantized (") + methodName() +
                         "), and no weight is",
                     "is quantization_config that of these weights?"};
    replace();
    return {};
  }

private:
  const char *methodName() const {
    return quantization_.method == Method::Fp8    ? "fp8"
           : quantization_.method == Method::Gptq ? "gptq"
                                                  : "awq";
  }
  Failure fail(const std::string &name, const std::string &why, const char *hint = isItWhole) const {
    return Failure{cannotReadModel, where_ + ", tensor " + name, why, hint};
  }
  const TensorInfo *find(const std::string &name) const {
    auto found = byName_.find(name);
    return found == byName_.end() ? nullptr : found->second;
  }
  // The tensor `name` of type and shape; null after setting `status`.
  const TensorInfo *part(const std::string &name, DType type, const std::vector<int64_t> &shape,
                         Status &status) const {
    const TensorInfo *found = find(name);
    if (!found)
      status = fail(name, "it is missing, and the weight that it belongs to is quantized");
    else if (found->dtype != type || found->shape != shape)
      status = fail(name, std::string("it is ") + dtypeName(found->dtype) + " " + shapeText(found->shape) +
                              ", its weight needs " + dtypeName(type) + " " + shapeText(shape));
    else
      return found;
    return nullptr;
  }
  Status add(const std::string &stem, DType type, std::vector<int64_t> shape,
             std::shared_ptr<const BlockSource> blocks, std::initializer_list<const char *> parts) {
    TensorInfo tensor;
    tensor.name = stem + ".weight";
    tensor.dtype = type;
    tensor.shape = std::move(shape);
    tensor.blocks = std::move(blocks);
    if (!computeSizes(tensor))
      return fail(tensor.name,
                  "its rows of " + std::to_string(tensor.shape.back()) + " are no whole blocks of " +
                      std::to_string(blockElements(type)),
                  takeOther);
    for (const char *part : parts)
      replaced_.insert(stem + part);
    added_.push_back(std::move(tensor));
    return {};
  }

  Status addFp8(const std::string &stem, const TensorInfo &codes) {
    if (codes.dtype != DType::F8_E4M3)
      return {};
    const TensorInfo *scale = find(stem + ".weight_scale_inv");
    const char *which = scale ? ".weight_scale_inv" : ".weight_scale";
    if (!scale)
      scale = find(stem + ".weight_scale");
    if (!scale)
      return fail(codes.name, "it is F8_E4M3 and has no " + stem + ".weight_scale");
    if (codes.shape.size() != 2)
      return fail(codes.name,
                  "its shape is " + shapeText(codes.shape) + ", quantized weights have two dimensions");
    if (scale->dtype != DType::F32 && scale->dtype != DType::BF16 && scale->dtype != DType::F16)
      return fail(scale->name, std::string("type ") + dtypeName(scale->dtype) + " is not that of a scale");
    const int64_t rows = codes.shape[0], columns = codes.shape[1];
    int64_t blockRows = std::max<int64_t>(rows, 1), blockColumns = std::max<int64_t>(columns, 1);
    if (quantization_.blockRows && scale->shape.size() == 2) {
      blockRows = quantization_.blockRows;
      blockColumns = quantization_.blockColumns;
      std::vector<int64_t> shape = {(rows + blockRows - 1) / blockRows,
                                    (columns + blockColumns - 1) / blockColumns};
      if (scale->shape != shape)
        return fail(scale->name,
                    "its shape is " + shapeText(scale->shape) + ", its weight needs " + shapeText(shape));
      if (blockColumns % Fp8Blocks::kColumns != 0)
        return fail(scale->name,
                    "it has a scale for each " + std::to_string(blockColumns) +
                        " inputs, which is no multiple of " + std::to_string(Fp8Blocks::kColumns),
                    takeOther);
    } else if (scale->elements == rows && !scale->shape.empty() && scale->shape[0] == rows) {
      blockRows = 1;
    } else if (scale->elements != 1) {
      return fail(scale->name, "its shape is " + shapeText(scale->shape) + ", its weight's " +
                                   shapeText(codes.shape) + ": neither one scale nor one a row");
    }
    return add(stem, DType::FP8, codes.shape,
               std::make_shared<Fp8Blocks>(codes, *scale, blockRows, blockColumns),
               {".weight", which, ".input_scale"});
  }

  Status addInt4(const std::string &stem, const TensorInfo &codes) {
    const bool awq = quantization_.method == Method::Awq;
    if (codes.dtype != DType::I32 || codes.shape.size() != 2 || codes.shape[0] > INT32_MAX ||
        codes.shape[1] > INT32_MAX)
      return fail(codes.name, std::string("it is ") + dtypeName(codes.dtype) + " " + shapeText(codes.shape) +
                                  ", must be I32 with two dimensions");
    const int64_t in = codes.shape[0] * (awq ? 1 : 8), out = codes.shape[1] * (awq ? 8 : 1);
    const int64_t group = quantization_.group == -1 ? std::max<int64_t>(in, 1) : quantization_.group;
    if (in % group != 0 || out % 8 != 0)
      return fail(codes.name,
                  "its weight is " + shapeText({out, in}) + ": not whole groups of " + std::to_string(group) +
                      " inputs and of 8 outputs",
                  takeOther);
    DType type = group % 128 == 0 ? DType::INT4_128 : group % 64 == 0 ? DType::INT4_64 : DType::INT4_32;
    Status status;
    const TensorInfo *zeros = part(stem + ".qzeros", DType::I32, {in / group, out / 8}, status);
    const TensorInfo *scales =
        status ? part(stem + ".scales", DType::F16, {in / group, out}, status) : nullptr;
    if (!status)
      return status;
    if (const TensorInfo *order = find(stem + ".g_idx"); order && !awq) {
      if (!part(order->name, DType::I32, {in}, status))
        return status;
      for (int64_t i = 0; i < in; ++i)
        if (wordAt(*order, i) != uint32_t(i / group))
          return fail(order->name,
                      "input " + std::to_string(i) +
                          " is not in its group: inputs in an order of their own are not read",
                      takeOther);
    }
    return add(stem, type, {out, in},
               std::make_shared<Int4Blocks>(quantization_, type, in, out, codes, *zeros, *scales),
               {".qweight", ".qzeros", ".scales", ".g_idx"});
  }

  void replace() {
    tensors_.erase(
        std::remove_if(tensors_.begin(), tensors_.end(),
                       [&](const TensorInfo &tensor) { return replaced_.count(tensor.name) != 0; }),
        tensors_.end());
    std::move(added_.begin(), added_.end(), std::back_inserter(tensors_));
  }

  const Quantization &quantization_;
  std::vector<TensorInfo> &tensors_;
  std::vector<TensorInfo> added_;
  std::string where_;
  std::unordered_map<std::string_view, const TensorInfo *> byName_;
  std::unordered_set<std::string> replaced_;
};

} // namespace

Status assembleQuantized(const Quantization &quantization, std::vector<TensorInfo> &tensors,
                         const std::string &where) {
  if (quantization.method == Method::None || tensors.empty())
    return {};
  return Assembly(quantization, tensors, where).run();
}

} // namespace tessera::io
