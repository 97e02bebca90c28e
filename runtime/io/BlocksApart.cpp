// A byte of these blocks has two neighbours: element 2 i is its low nibble, 2 i + 1 its high one. In GGUF's
// they are 16 elements apart, so neither is a view of the other.
#include "BlocksApart.h"
#include "Readers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tessera::io {

namespace {
class ApartBlocks : public BlockSource {
public:
  ApartBlocks(TensorInfo nibbles, const uint8_t *exponents)
      : nibbles_(std::move(nibbles)), exponents_(exponents) {}

  void read(int64_t first, int64_t count, uint8_t *out) const override {
    for (int64_t b = first; b < first + count; ++b, out += blockBytes(DType::MXFP4)) {
      const uint8_t *from = nibbles_.data + 16 * b;
      out[0] = exponents_[b];
      for (int i = 0; i < 16; ++i) {
        int low = from[i / 2] >> i % 2 * 4 & 15, high = from[8 + i / 2] >> i % 2 * 4 & 15;
        out[1 + i] = uint8_t(low | high << 4);
      }
    }
  }
  void release() const override { ModelFile::release(nibbles_); }

private:
  TensorInfo nibbles_;
  const uint8_t *exponents_;
};
} // namespace

static constexpr std::string_view blocksEnd = "_blocks", scalesEnd = "_scales";
static constexpr int64_t blockSize = 32, nibbleBytes = 16;

Status joinBlocksAndScales(std::vector<TensorInfo> &tensors, const std::string &where) {
  auto stem = [](const TensorInfo &tensor, std::string_view end) -> std::string_view {
    std::string_view name = tensor.name;
    bool has =
        tensor.dtype == DType::U8 && name.size() > end.size() && name.substr(name.size() - end.size()) == end;
    return has ? name.substr(0, name.size() - end.size()) : std::string_view();
  };
  std::unordered_map<std::string_view, const TensorInfo *> scales; // by what stands before the end
  for (const TensorInfo &tensor : tensors)
    if (std::string_view name = stem(tensor, scalesEnd); !name.empty())
      scales.emplace(name, &tensor);
  if (scales.empty())
    return {};
  std::unordered_set<std::string> taken; // scales that are part of another tensor now
  for (TensorInfo &tensor : tensors) {
    auto found = scales.find(stem(tensor, blocksEnd));
    if (stem(tensor, blocksEnd).empty() || found == scales.end())
      continue;
    const TensorInfo &partner = *found->second;
    std::vector<int64_t> shape = tensor.shape, rows = shape;
    if (!rows.empty())
      rows.pop_back();
    if (shape.size() < 2 || shape.back() != nibbleBytes || rows != partner.shape)
      return Failure{cannotReadModel, where + ", tensor " + tensor.name,
                     "its shape " + shapeText(shape) + " is not that of " + partner.name + ", " +
                         shapeText(partner.shape) + ", with " + std::to_string(nibbleBytes) + " behind",
                     isItWhole};
    // Beside a size of zero no bytes bound the others.
    if (__builtin_mul_overflow(rows.back(), blockSize, &rows.back()))
      return Failure{cannotReadModel, where + ", tensor " + tensor.name,
                     "its shape " + shapeText(shape) + " is impossibly large", isItWhole};
    tensor.blocks = std::make_shared<ApartBlocks>(tensor, partner.data);
    tensor.data = nullptr;
    tensor.dtype = DType::MXFP4;
    tensor.shape = std::move(rows);
    if (!computeSizes(tensor))
      return Failure{cannotReadModel, where + ", tensor " + tensor.name,
                     "its shape " + shapeText(tensor.shape) + " is impossibly large", isItWhole};
    taken.insert(partner.name);
  }
  std::vector<TensorInfo> kept;
  for (TensorInfo &tensor : tensors)
    if (!taken.count(tensor.name))
      kept.push_back(std::move(tensor));
  tensors = std::move(kept);
  return {};
}

} // namespace tessera::io
