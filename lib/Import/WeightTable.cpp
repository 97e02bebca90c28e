//===- WeightTable.cpp - Sources of weights and their check ---------------===//
#include "tessera/Import/WeightTable.h"
#include "tessera/Support/Shapes.h"
#include "tessera/runtime/core/LayerNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace tessera::importer {

static llvm::SmallVector<int64_t> sizes(llvm::ArrayRef<Dim> dims) {
  return llvm::map_to_vector(dims, [](const Dim &d) { return d.size; });
}

const WeightName *WeightTable::find(llvm::StringRef parameter) const {
  auto it = llvm::find_if(names, [&](const WeightName &n) { return n.parameter == parameter; });
  return it == names.end() ? nullptr : &*it;
}

WeightTable tableFor(WeightTable table, const io::ModelFile &file) {
  for (const WeightName &other : table.alternatives) {
    auto [before, after] = other.tensor.split("{}");
    if (!file.find((before + "0" + after).str())) // of the first layer
      continue;
    for (WeightName &name : table.names)
      if (name.parameter == other.parameter)
        name = other;
  }
  return table;
}

int64_t Weight::elements() const {
  int64_t n = 1;
  for (const Dim &dim : dims)
    if (llvm::MulOverflow(n, dim.size, n) || n > (int64_t(1) << 50))
      return -1;
  return n;
}

/// Outputs (rows) of a weight; a vector is all outputs.
static int64_t numOutputs(const Weight &weight) {
  return product(sizes(llvm::ArrayRef(weight.dims).drop_back(weight.inDims)));
}

/// Outputs of the shared tensor before `weight`'s, and in all.
static std::pair<int64_t, int64_t> placeInTensor(const Weight &weight, const WeightName &name,
                                                 llvm::ArrayRef<Weight> all, const WeightTable &table) {
  int64_t before = 0, total = 0;
  for (const WeightName &other : table.names) {
    // Layers of other runs have tensors of their own.
    auto it = llvm::find_if(all, [&](const Weight &w) {
      return w.inTables() == other.parameter && w.firstLayer == weight.firstLayer;
    });
    if (other.tensor != name.tensor || it == all.end())
      continue;
    if (it->name == weight.name)
      before = total;
    total += numOutputs(*it);
  }
  return {before, total};
}

/// Cuts `weight`, rows [before, before + rows) of `total`, out of a tensor that is [heads, pieces of all
/// weights of a head, in...]; `out` begins with the heads.
static void cutHeadByHead(WeightSource &source, llvm::ArrayRef<int64_t> out, llvm::ArrayRef<int64_t> in,
                          int64_t before, int64_t rows, int64_t total) {
  int64_t heads = out.front(), size = out.back(); // heads of keys, and of how many rows each of its pieces is
  source.reshape = {heads, total / heads / size, size};
  source.slice = {0, heads, before / heads / size, (before + rows) / heads / size, 0, size};
  for (int64_t n : in) {
    source.reshape.push_back(n);
    source.slice.append({0, n});
  }
}

/// Cuts `weight` [expert, out, in] (or [expert, out]) out of a tensor in which its outputs stand at `place`
/// among those of `count` weights, one of each side by side.
static void cutAlternating(WeightSource &source, llvm::ArrayRef<int64_t> out, llvm::ArrayRef<int64_t> in,
                           int64_t place, int64_t count, bool inputMajor) {
  int64_t experts = out.front(), outputs = product(out.drop_front());
  source.file = {experts, outputs * count};
  source.reshape = {experts, outputs, count};
  if (count > 1)
    source.slice = {0, experts, 0, outputs, place, place + 1};
  if (in.empty())
    return;
  int64_t inputs = product(in);
  source.file.insert(source.file.begin() + (inputMajor ? 1 : 2), inputs);
  source.reshape.insert(source.reshape.begin() + (inputMajor ? 1 : 3), inputs);
  if (count > 1)
    source.slice.insert(source.slice.begin() + (inputMajor ? 2 : 6), {0, inputs});
  if (inputMajor)
    source.permute = {0, 2, 3, 1};
}

static constexpr llvm::StringLiteral kExpert = "{expert}";

/// `name` with `text` in place of `place`.
static std::string withText(llvm::StringRef name, llvm::StringRef place, const std::string &text) {
  auto [before, after] = name.split(place);
  return (before + text + after).str();
}

llvm::SmallVector<std::string> tensorNames(const WeightSource &source, std::optional<int64_t> slice) {
  std::string pattern = slice ? runtime::layerName(source.tensor, *slice) : source.tensor;
  llvm::SmallVector<std::string> names;
  for (int64_t expert = 0; expert < source.experts; ++expert)
    names.push_back(withText(pattern, kExpert, std::to_string(expert)));
  if (names.empty())
    names.push_back(pattern);
  return names;
}

WeightSource weightSource(const Weight &weight, llvm::ArrayRef<Weight> all, const WeightTable &table,
                          bool stripPrefix) {
  const WeightName *name = table.find(weight.inTables());
  assert(name && "a family's table names all its weights");
  WeightSource source;
  llvm::StringRef tensor = name->tensor;
  bool stripped = stripPrefix && tensor.consume_front(table.optionalPrefix);
  source.tensor = (stripped ? table.otherPrefix + tensor : tensor).str();
  if (weight.layers)
    source.tensor = withText(source.tensor, "{}", runtime::layerPlace(weight.layerStep, weight.firstLayer));

  llvm::SmallVector<int64_t> in = sizes(llvm::ArrayRef(weight.dims).take_back(weight.inDims));
  llvm::SmallVector<int64_t> out = sizes(llvm::ArrayRef(weight.dims).drop_back(weight.inDims));
  auto [before, total] = placeInTensor(weight, *name, all, table);
  int64_t rows = product(out);

  if (tensor.contains(kExpert)) {
    source.experts = out.front();
    source.file.assign({rows / out.front(), product(in)});
    source.reshape = {1};
    source.reshape.append(out.begin() + 1, out.end());
    source.reshape.append(in.begin(), in.end());
    return source;
  }
  if (name->order == StorageOrder::ExpertMajor) {
    int64_t experts = out.front();
    source.file = {experts, total / experts, product(in)};
    if (total != rows)
      source.slice = {0, experts, before / experts, (before + rows) / experts, 0, product(in)};
    return source;
  }
  if (name->order == StorageOrder::ExpertAlternating || name->order == StorageOrder::ExpertInputMajor) {
    cutAlternating(source, out, in, before / rows, total / rows,
                   name->order == StorageOrder::ExpertInputMajor);
    return source;
  }
  if (name->order == StorageOrder::HeadByHead) {
    source.file = {total};
    if (!in.empty())
      source.file.push_back(product(in));
    cutHeadByHead(source, out, in, before, rows, total);
    return source;
  }

  // The outputs as the file has them: [out...], or [all pieces, rest of out...] where the tensor is shared.
  llvm::SmallVector<int64_t> fileOut = out;
  bool shared = total != rows;
  int64_t unit = 1; // outputs that are cut together: the longest run of inner dimensions that fits
  if (shared) {
    size_t keep = out.size();
    while (keep > 1 && before % (unit * out[keep - 1]) == 0 && total % (unit * out[keep - 1]) == 0 &&
           rows % (unit * out[keep - 1]) == 0)
      unit *= out[--keep];
    fileOut.assign(out.begin() + ptrdiff_t(keep), out.end());
    fileOut.insert(fileOut.begin(), total / unit);
  }
  // Pairs side by side: [.., d/2, 2] -> [.., 2, d/2].
  llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(fileOut.size())));
  if (name->order == StorageOrder::AdjacentPairs) {
    fileOut.back() /= 2;
    fileOut.push_back(2);
    order.back() = int64_t(order.size());
    order.push_back(int64_t(order.size()) - 1);
  }

  bool inputMajor = name->order == StorageOrder::InputMajor;
  int64_t inRank = weight.inDims, outRank = int64_t(fileOut.size());
  if (inRank == 0)
    source.file = {total};
  else if (inputMajor)
    source.file = {product(in), total};
  else
    source.file = {total, product(in)};

  llvm::SmallVector<int64_t> reshape;
  auto append = [&](llvm::ArrayRef<int64_t> dims) { reshape.append(dims.begin(), dims.end()); };
  inputMajor ? (append(in), append(fileOut)) : (append(fileOut), append(in));
  int64_t firstOut = inputMajor ? inRank : 0, firstIn = inputMajor ? 0 : outRank;
  if (shared)
    for (auto [d, n] : llvm::enumerate(reshape)) {
      bool cut = int64_t(d) == firstOut;
      source.slice.append({cut ? before / unit : 0, cut ? (before + rows) / unit : n});
    }
  for (int64_t d : order)
    source.permute.push_back(firstOut + d);
  for (int64_t d = 0; d < inRank; ++d)
    source.permute.push_back(firstIn + d);

  if (reshape != source.file)
    source.reshape = reshape;
  if (llvm::equal(source.permute, llvm::seq<int64_t>(0, int64_t(source.permute.size()))))
    source.permute.clear();
  return source;
}

//===----------------------------------------------------------------------===//
// Comparison with a file
//===----------------------------------------------------------------------===//

static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  return "[" + llvm::join(llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }), ", ") + "]";
}

/// `name` is there, with the shape of `source` and elements that may be weights.
static Status checkTensor(const io::ModelFile &file, const std::string &name, const WeightSource &source,
                          llvm::StringRef settings) {
  const io::TensorInfo *tensor = file.find(name);
  if (!tensor)
    return Failure{"cannot use weights", file.path() + ", tensor " + name,
                   "it is missing, but " + settings.str() + " calls for it",
                   "download the model again, or correct the settings"};
  if (llvm::ArrayRef<int64_t>(tensor->shape) != llvm::ArrayRef<int64_t>(source.file))
    return Failure{"cannot use weights", file.path() + ", tensor " + name,
                   "its shape is " + shapeText(tensor->shape) + ", but " + settings.str() + " gives " +
                       shapeText(source.file),
                   "take settings and weights of the same model"};
  if (!io::isFloatLike(tensor->dtype))
    return Failure{"cannot use weights", file.path() + ", tensor " + name,
                   std::string("its type ") + io::dtypeName(tensor->dtype) + " holds no weights",
                   "use floating point weights"};
  return {};
}

Status checkTensors(const io::ModelFile &file, llvm::ArrayRef<Weight> weights,
                    llvm::ArrayRef<WeightSource> sources, const WeightTable &table, bool tiedHead,
                    llvm::StringRef settings) {
  llvm::StringSet<> used;
  for (auto [weight, source] : llvm::zip_equal(weights, sources)) {
    for (int64_t slice = 0; slice < std::max<int64_t>(1, weight.layers); ++slice)
      for (const std::string &name :
           tensorNames(source, weight.layers ? std::optional(slice) : std::nullopt)) {
        if (Status s = checkTensor(file, name, source, settings); !s)
          return s;
        used.insert(name);
      }
  }
  for (const io::TensorInfo &tensor : file.tensors()) {
    llvm::StringRef name = tensor.name;
    bool ignored =
        llvm::any_of(table.ignored, [&](llvm::StringRef end) { return name.ends_with(end); }) ||
        llvm::any_of(table.notText, [&](llvm::StringRef begin) { return name.starts_with(begin); });
    // A tied head is often stored a second time, as a copy of the embedding.
    const WeightName *head = table.find("unembedding");
    ignored |= tiedHead && head && name == head->tensor;
    if (!ignored && !used.contains(name))
      return Failure{"cannot use weights", file.path() + ", tensor " + tensor.name,
                     "the model described by " + settings.str() + " has no place for it",
                     "take settings and weights of the same model"};
  }
  return {};
}

} // namespace tessera::importer
