// Blocks from the parts that safetensors has of them (io/Quantization.h).
#include "Readers.h"
#include "tessera/runtime/io/Quantization.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tessera::io {
namespace {

using Method = Quantization::Method;

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

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
    const int64_t perRow = in_ / blockElements(type_), eightRows = 8 * perRow;
    for (int64_t b = first, end = first + count; b < end;) {
      // A word of awq is of eight rows. Where all of them are asked for it is read once, not eight times.
      const bool together = awq_ && b % eightRows == 0 && end - b >= eightRows;
      together ? readEightRows(b / perRow, out) : readBlock(b / perRow, b % perRow, out);
      const int64_t blocks = together ? eightRows : 1;
      b += blocks, out += blocks * blockBytes(type_);
    }
  }
  void release() const override {
    for (const TensorInfo *part : {&codes_, &zeros_, &scales_})
      ModelFile::release(*part);
  }

private:
  static constexpr int kPlaces[8] = {0, 4, 1, 5, 2, 6, 3, 7}; // of eight outputs, in a word of awq

  void readBlock(int64_t row, int64_t block, uint8_t *out) const {
    const int64_t columns = blockElements(type_), column = block * columns;
    readHead(row, column / group_, out);
    for (int64_t s = 0; s < columns; s += 32) {
      uint8_t codes[32];
      readCodes(row, column + s, codes);
      for (int i = 0; i < 16; ++i)
        out[3 + s / 2 + i] = uint8_t(codes[i] | codes[i + 16] << 4);
    }
  }
  // Rows [row, row + 8) of awq, from the first word of their inputs to the last.
  void readEightRows(int64_t row, uint8_t *out) const {
    const int64_t columns = blockElements(type_), bytes = blockBytes(type_), rowBytes = in_ / columns * bytes;
    for (int64_t column = 0; column < in_; column += columns, out += bytes) {
      for (int64_t r = 0; r < 8; ++r)
        readHead(row + r, column / group_, out + r * rowBytes);
      for (int64_t at = 0; at < columns / 2; ++at) { // a byte of codes: input i, and that 16 behind it
        const int64_t i = column + at / 16 * 32 + at % 16;
        const uint32_t low = wordAt(codes_, i * (out_ / 8) + row / 8),
                       high = wordAt(codes_, (i + 16) * (out_ / 8) + row / 8);
        for (int r = 0; r < 8; ++r)
          out[r * rowBytes + 3 + at] =
              uint8_t((low >> 4 * kPlaces[r] & 15) | (high >> 4 * kPlaces[r] & 15) << 4);
      }
    }
  }
  // What stands before the codes of a block: the scale and the zero of its group.
  void readHead(int64_t row, int64_t group, uint8_t *out) const {
    std::memcpy(out, scales_.data + 2 * (group * out_ + row), 2);
    out[2] = uint8_t(byOutputs(zeros_, group, row) + add_);
  }
  // Of a table [.., out / 8] of words that hold 8 outputs each.
  uint32_t byOutputs(const TensorInfo &table, int64_t i, int64_t row) const {
    int64_t place = awq_ ? kPlaces[row % 8] : row % 8;
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
    if (quantization_.method == Method::Mxfp4) // joined without config.json's word (BlocksApart.h)
      return checkPairs({{"_blocks", "_scales"}, {"_scales", "_blocks"}});
    const bool fp8 = quantization_.method == Method::Fp8;
    const std::string_view last = fp8 ? ".weight" : ".qweight";
    for (const TensorInfo &tensor : tensors_) {
      if (!endsWith(tensor.name, last))
        continue;
      std::string stem = tensor.name.substr(0, tensor.name.size() - last.size());
      Status status = fp8 ? addFp8(stem, tensor) : addInt4(stem, tensor);
      if (!status)
        return status;
    }
    Status status = fp8 ? checkPairs({{".weight_scale_inv", ".weight"}, {".weight_scale", ".weight"}})
                        : checkPairs({{".qzeros", ".qweight"}, {".scales", ".qweight"}});
    if (!status)
      return status;
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
  // Of each pair of ends: beside a tensor whose name has the first stands one that has the second. In mxfp4
  // both are bytes; others may have such names.
  Status checkPairs(std::initializer_list<std::pair<const char *, const char *>> ends) const {
    const bool bytes = quantization_.method == Method::Mxfp4;
    for (const TensorInfo &tensor : tensors_)
      for (auto [has, needs] : ends) {
        if (!endsWith(tensor.name, has) || (bytes && tensor.dtype != DType::U8))
          continue;
        std::string name = tensor.name.substr(0, tensor.name.size() - std::strlen(has)) + needs;
        const TensorInfo *other = find(name);
        if (!other)
          return fail(name, "it is missing, and " + tensor.name + ", which belongs to it, is there");
        if (bytes && other->dtype != DType::U8)
          return fail(name,
                      std::string("it is ") + dtypeName(other->dtype) + ", must be U8 as " + tensor.name);
      }
    return {};
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
    if (find(tensor.name) && !replaced_.count(tensor.name))
      return fail(tensor.name, "it is there in parts, too, which config.json says are its weights",
                  "remove the older file");
    added_.push_back(std::move(tensor));
    return {};
  }

  Status addFp8(const std::string &stem, const TensorInfo &codes) {
    const TensorInfo *scale = find(stem + ".weight_scale_inv");
    const char *which = scale ? ".weight_scale_inv" : ".weight_scale";
    if (!scale)
      scale = find(stem + ".weight_scale");
    if (codes.dtype != DType::F8_E4M3)
      return scale ? Status(fail(codes.name, std::string("it is ") + dtypeName(codes.dtype) + " and has " +
                                                 scale->name + ", must be F8_E4M3"))
                   : Status();
    if (!scale)
      return fail(codes.name, "it is F8_E4M3 and has no " + stem + ".weight_scale");
    if (codes.shape.size() != 2)
      return fail(codes.name,
                  "its shape is " + shapeText(codes.shape) + ", quantized weights have two dimensions");
    if (scale->dtype != DType::F32 && scale->dtype != DType::BF16 && scale->dtype != DType::F16)
      return fail(scale->name, std::string("type ") + dtypeName(scale->dtype) + " is not that of a scale");
    const int64_t rows = codes.shape[0], columns = codes.shape[1];
    if (rows > INT32_MAX || columns > INT32_MAX) // beside a size of zero no bytes bound the other
      return fail(codes.name, "its shape " + shapeText(codes.shape) + " is impossibly large");
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
    if (Status status = checkAgainstScales(stem, codes, awq); !status)
      return status;
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

  // Where scales and zeros agree with each other and not with the codes, these are at fault: parts that are
  // compared with what the codes say would be named in their place.
  Status checkAgainstScales(const std::string &stem, const TensorInfo &codes, bool awq) const {
    const TensorInfo *zeros = find(stem + ".qzeros"), *scales = find(stem + ".scales");
    if (!zeros || !scales || zeros->shape.size() != 2 || scales->shape.size() != 2 ||
        zeros->shape[0] != scales->shape[0] || scales->shape[0] > INT32_MAX || scales->shape[1] % 8 != 0 ||
        zeros->shape[1] != scales->shape[1] / 8)
      return {};
    const int64_t out = scales->shape[1], groups = scales->shape[0];
    // Whole groups or not is another question.
    const bool sameOutputs = codes.shape[1] == (awq ? out / 8 : out);
    if (sameOutputs && quantization_.group != -1 && codes.shape[0] * (awq ? 1 : 8) % quantization_.group != 0)
      return {};
    // One group has as many inputs as the codes are enough for.
    const int64_t words = out == 0 ? 0 : codes.elements / std::max<int64_t>(awq ? out / 8 : out, 1),
                  in = quantization_.group == -1 ? words * (awq ? 1 : 8) : groups * quantization_.group;
    const std::vector<int64_t> shape =
        awq ? std::vector<int64_t>{in, out / 8} : std::vector<int64_t>{in / 8, out};
    if (codes.shape == shape)
      return {};
    return fail(codes.name,
                "its shape is " + shapeText(codes.shape) + ", and " + scales->name + " " +
                    shapeText(scales->shape) + " needs " + shapeText(shape),
                "convert the model again, or use one that is quantized otherwise");
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
