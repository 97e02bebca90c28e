#include "tessera/runtime/cpu/Gemm.h"
#include "Dnnl.h"
#include "DnnlMatmul.h"
#include "GemmKernels.h"
#include "WeightFormat.h"
#include "tessera/runtime/core/Error.h"
#include "tessera/runtime/io/PackedShape.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

namespace tessera::runtime {

PackedLayout::PackedLayout(int64_t n, int64_t k, io::DType type) : n(n), k(k), type(type) {
  if (!io::traits(type).pack)
    throw Error("cannot pack a weight", io::dtypeName(type), "this type of elements has no packed form",
                "give its row of the table one, and kernels that read it");
  io::PackedShape shape(n, k, type);
  block = shape.block;
  paddedN = shape.paddedN;
  paddedK = shape.paddedK;
}

void PackedLayout::packRows(int64_t begin, int64_t rows, const float *from, void *packed) const {
  for (int64_t i = 0; i < rows; i += block)
    io::traits(type).pack(from + i * k, k, std::min(block, rows - i), k, block,
                          static_cast<char *>(packed) + blockOffset(begin + i));
}

void PackedLayout::unpackRow(int64_t i, const void *packed, void *row) const {
  io::traits(type).unpackRow(static_cast<const char *>(packed) + blockOffset(i), i % block, k, block, row);
}

// oneDNN takes over where every thread gets at least this many rows. Its threads share rows and read all
// weights each, ours share columns and read them once; measured on Zen 5, two threads draw level at 64 rows
// each, one alone at about 24.
static int64_t rowsForDnnl(int64_t threads) { return threads == 1 ? 24 : 64; }

// Where every thread would get fewer rows than this of many, threads share the columns of a plain W: packing
// all of it for so few costs each of them a seventh of its time, a quarter in float32 (128 rows of x, Zen 4).
constexpr int64_t kRowsWorthAllOfW = 256;
// Columns that a part begins at a multiple of: whole vectors and cache lines.
constexpr int64_t kColumnUnit = 64;

// float32 throughout, or bfloat16 operands where the CPU multiplies them: elsewhere oneDNN would widen them
// more slowly than we do.
static bool dnnlMultiplies(GemmTypes types) {
  using io::DType;
  if (types.w == DType::F32)
    return types.x == DType::F32 && types.y == DType::F32;
  bool results = types.y == DType::F32 || types.y == DType::BF16;
  return types.x == DType::BF16 && types.w == DType::BF16 && results && hasBfloat16Products();
}

WeightFormat formatOf(io::DType type) {
  switch (type) {
  case io::DType::F32:
    return WeightFormat::F32;
  case io::DType::BF16:
    return WeightFormat::BF16;
  case io::DType::F16:
    return WeightFormat::F16;
  default:
    throw Error("cannot compute a product", io::dtypeName(type), "no kernel reads weights of this type",
                "add one (runtime/cpu/GemmKernels.h)");
  }
}

void widenAll(ThreadPool &pool, io::DType type, const void *from, int64_t count, float *to) {
  int64_t parts = std::clamp<int64_t>(count / 32768, 1, pool.size());
  pool.parallel(int(parts), [&](int part) {
    Range range = splitRange(count, parts, part);
    io::traits(type).widen(static_cast<const char *>(from) + io::bytesOf(type, range.begin),
                           range.end - range.begin, to + range.begin);
  });
}

// Own kernels read and write float32: what is of another type is converted.
static bool isConverted(io::DType type) {
  if (!io::traits(type).widen || !io::traits(type).narrow || io::isQuantized(type))
    throw Error("cannot compute a product", io::dtypeName(type), "operands of this type are not floats",
                "convert them before");
  return type != io::DType::F32;
}

struct Gemm::State {
  int64_t m, n, k;
  GemmTypes types;
  bool packed;
  GemmOrientation transposed;
  ThreadPool &pool;
  PackedLayout layout;
  WeightFormat format;
  PackedWeight weight;
  std::vector<std::unique_ptr<DnnlMatmul>> parts; // one for each part of y; empty: own kernels
  // Own kernels read and write float32, and rows of x: x widened and turned, y before it is rounded. Empty
  // where it is so already; but where there is an addend y is kept apart from it.
  std::vector<float> x, y;
  GemmEpilogue epilogue;
  bool byColumns = false;                            // parts of y
  PackedPairColumns pairs = nullptr;                 // own kernel, which reads x as it is
  std::optional<BlockProduct> blocks = {};           // W is held so
  std::vector<std::vector<float>> sumsOfBlocks = {}; // of each thread

  void makeRows();
  bool makeParts();
  bool makeEachPart();
  Range partOfRows(int64_t part) const;
  Range partOfColumns(int64_t part) const;
  const float *rowsOfX(const void *given);
  void runParts(const void *x, const void *w, void *y, const void *addend);
  int64_t threadsFor(int64_t units, int64_t bytes) const;
  void runBlocks(const void *x, const void *w, void *y, const void *bias, const void *addend);

  // sums: columns [begin, end) of row i
  void finishRow(float *sums, int64_t i, int64_t begin, int64_t end, const void *bias,
                 const void *addend) const;
};

static float applied(ProductFunction function, float x) {
  switch (function) {
  case ProductFunction::None:
    return x;
  case ProductFunction::Relu:
    return std::fmax(x, 0.0f);
  case ProductFunction::GeluTanh:
    return 0.5f * x * (1.0f + std::tanh(0.797884561f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

void Gemm::State::finishRow(float *sums, int64_t i, int64_t begin, int64_t end, const void *bias,
                            const void *addend) const {
  constexpr int64_t step = 256;
  float widened[step];
  auto add = [&](const void *array, int64_t first) {
    int64_t bytes = io::blockBytes(types.y);
    for (int64_t at = begin; at < end; at += step) {
      int64_t count = std::min(step, end - at);
      io::traits(types.y).widen(static_cast<const char *>(array) + (first + at) * bytes, count, widened);
      for (int64_t j = 0; j < count; ++j)
        sums[at - begin + j] += widened[j];
    }
  };
  if (epilogue.addend)
    add(addend, i * n);
  if (epilogue.bias)
    add(bias, 0);
  if (epilogue.function != ProductFunction::None)
    for (int64_t j = 0; j < end - begin; ++j)
      sums[j] = applied(epilogue.function, sums[j]);
}

// oneDNN begins its sums with what y holds: that is an addend of float32. Of a 16-bit one it would know no
// more, but it rounds in between on CPUs that multiply no bfloat16.
static bool dnnlFinishes(const GemmEpilogue &epilogue, io::DType y) {
  return epilogue.empty() || (epilogue.addend && !epilogue.bias &&
                              epilogue.function == ProductFunction::None && y == io::DType::F32);
}

Range Gemm::State::partOfRows(int64_t part) const {
  return byColumns ? Range{0, m} : splitRange(m, pool.size(), part);
}

Range Gemm::State::partOfColumns(int64_t part) const {
  if (!byColumns)
    return {0, n};
  Range units = splitRange((n + kColumnUnit - 1) / kColumnUnit, pool.size(), part);
  return {std::min(units.begin * kColumnUnit, n), std::min(units.end * kColumnUnit, n)};
}

// What own kernels need of x and y; of blocks they keep y themselves.
void Gemm::State::makeRows() {
  if (packed && !blocks && types.x == io::DType::BF16 && types.w == io::DType::BF16 && !transposed.x &&
      k % 2 == 0)
    pairs = packedPairColumns();
  if ((isConverted(types.x) && !pairs && !(blocks && blocks->takesBfloat16())) || transposed.x)
    x.resize(size_t(m * k));
  if ((isConverted(types.y) || epilogue.addend) && !blocks)
    y.resize(size_t(m * n));
}

// Whether oneDNN computes it, and its code for each thread's share.
bool Gemm::State::makeParts() {
  int64_t count = pool.size();
  if (m / count < rowsForDnnl(count) || n == 0 || k == 0 || !dnnlMultiplies(types) ||
      !dnnlFinishes(epilogue, types.y))
    return false;
  byColumns = count > 1 && !packed && !epilogue.addend && m / count < kRowsWorthAllOfW && n > m &&
              n >= count * kColumnUnit;
  if (byColumns && makeEachPart())
    return true;
  byColumns = false;
  return makeEachPart();
}

bool Gemm::State::makeEachPart() {
  for (int64_t part = 0; part < pool.size(); ++part) {
    Range rows = partOfRows(part), columns = partOfColumns(part);
    DnnlShape shape;
    shape.m = rows.end - rows.begin;
    shape.n = columns.end - columns.begin;
    shape.k = k;
    shape.types = types;
    shape.transposed = transposed;
    shape.columnsOfX = transposed.x ? m : 0;
    shape.columns = n;
    shape.adds = epilogue.addend;
    auto product = std::make_unique<DnnlMatmul>(packed ? &layout : nullptr, shape);
    // oneDNN answers a layout that its fast code does not know with a reference loop, hundreds of times
    // slower, or with nothing.
    std::string_view code = product->implementation();
    if (code.empty() || code.substr(0, 3) == "ref") {
      parts.clear();
      return false;
    }
    parts.push_back(std::move(product));
  }
  return true;
}

Gemm::Gemm(int64_t m, int64_t n, int64_t k, GemmTypes types, bool packed, ThreadPool &pool,
           GemmEpilogue epilogue, GemmOrientation transposed)
    : state_(new State{m,
                       n,
                       k,
                       types,
                       packed,
                       transposed,
                       pool,
                       PackedLayout(n, k, types.w),
                       formatOf(types.w),
                       {},
                       {},
                       {},
                       {},
                       epilogue}) {
  State &s = *state_;
  if (packed && transposed.w)
    throw Error("cannot compute a product", "packed weights", "they are read in one orientation",
                "compile it again with this version of llm-compile");
  s.weight = {s.layout.n, s.layout.k, s.layout.block, s.layout.paddedN, s.layout.paddedK};
  if (!s.makeParts())
    s.makeRows();
}

Gemm::Gemm(int64_t m, const BlockWeight &weight, GemmTypes types, ThreadPool &pool, GemmEpilogue epilogue,
           bool xTransposed)
    : state_(new State{m,
                       weight.n,
                       weight.k,
                       types,
                       /*packed=*/true,
                       {xTransposed, false},
                       pool,
                       PackedLayout(weight.n, weight.k, io::DType::F32),
                       WeightFormat::F32,
                       {},
                       {},
                       {},
                       {},
                       epilogue}) {
  state_->blocks.emplace(weight, m, pool, xTransposed ? io::DType::F32 : types.x);
  state_->sumsOfBlocks.resize(size_t(pool.size()));
  state_->makeRows();
}

Gemm::~Gemm() = default;
Gemm::Gemm(Gemm &&) noexcept = default;

const char *Gemm::implementation() const {
  if (!state_->parts.empty())
    return state_->parts[0]->implementation();
  return state_->blocks ? "blocks" : state_->pairs ? "own:pairs" : "own";
}

void Gemm::State::runParts(const void *x, const void *w, void *y, const void *addend) {
  int64_t xBytes = io::blockBytes(types.x), wBytes = io::blockBytes(types.w),
          yBytes = io::blockBytes(types.y);
  pool.parallel(int(parts.size()), [&](int part) {
    Range rows = partOfRows(part), columns = partOfColumns(part);
    int64_t first = (rows.begin * n + columns.begin) * yBytes;
    if (epilogue.addend && addend != y) // split by rows
      memcpy(static_cast<char *>(y) + first, static_cast<const char *>(addend) + first,
             size_t((rows.end - rows.begin) * n * yBytes));
    parts[part]->run(static_cast<const char *>(x) + rows.begin * (transposed.x ? 1 : k) * xBytes,
                     static_cast<const char *>(w) + columns.begin * (transposed.w ? 1 : k) * wBytes,
                     static_cast<char *>(y) + first);
  });
}

// x as rows of float32.
const float *Gemm::State::rowsOfX(const void *given) {
  if (x.empty())
    return static_cast<const float *>(given);
  if (!transposed.x) {
    widenAll(pool, types.x, given, m * k, x.data());
    return x.data();
  }
  int64_t bytes = io::blockBytes(types.x);
  constexpr int64_t step = 64;
  float wide[step];
  for (int64_t begin = 0; begin < m; begin += step) {
    int64_t count = std::min(step, m - begin);
    for (int64_t i = 0; i < k; ++i) {
      io::traits(types.x).widen(static_cast<const char *>(given) + (i * m + begin) * bytes, count, wide);
      for (int64_t r = 0; r < count; ++r)
        x[size_t((begin + r) * k + i)] = wide[r];
    }
  }
  return x.data();
}

// A thread is worth about a microsecond: 64 KiB of weights.
int64_t Gemm::State::threadsFor(int64_t units, int64_t bytes) const {
  return std::max<int64_t>(std::min<int64_t>({int64_t(pool.size()), units, 1 + bytes / (64 << 10)}), 1);
}

// Every thread adds up some columns at a time in memory of its own, which few rows have for all of them, and
// writes them to y while they are near.
void Gemm::State::runBlocks(const void *x, const void *w, void *y, const void *bias, const void *addend) {
  blocks->begin(w, this->x.empty() ? x : rowsOfX(x), m);
  const int64_t units = blocks->units(), parts = threadsFor(units, blocks->bytes() * 2),
                yBytes = io::blockBytes(types.y);
  pool.parallel(int(parts), [&](int part) {
    Range mine = splitRange(units, parts, part);
    const int64_t step = m <= BlockProduct::kFewRows ? units : BlockProduct::kTileUnits;
    std::vector<float> &scratch = sumsOfBlocks[size_t(part)];
    for (int64_t unit = mine.begin; unit < mine.end; unit += step) {
      const int64_t last = std::min(unit + step, mine.end), stride = (last - unit) * io::kUnitRows,
                    begin = unit * io::kUnitRows, end = std::min(last * io::kUnitRows, n);
      // One row in whole units needs no other place than its own.
      const bool inPlace = m == 1 && types.y == io::DType::F32 && !epilogue.addend && end - begin == stride;
      scratch.resize(inPlace ? 0 : size_t(m * stride));
      float *sums = inPlace ? static_cast<float *>(y) + begin : scratch.data();
      blocks->tile(part, 0, m, unit, last, sums);
      for (int64_t i = 0; i < m; ++i) {
        float *row = sums + i * stride;
        if (!epilogue.empty())
          finishRow(row, i, begin, end, bias, addend);
        if (!inPlace)
          io::traits(types.y).narrow(row, end - begin, static_cast<char *>(y) + (i * n + begin) * yBytes);
      }
    }
  });
}

void Gemm::run(const void *x, const void *w, void *y, const void *bias, const void *addend) {
  State &s = *state_;
  int64_t yBytes = io::blockBytes(s.types.y);
  if (s.k == 0 && s.epilogue.empty()) {
    memset(y, 0, s.m * s.n * yBytes);
    return;
  }
  if (!s.parts.empty())
    return s.runParts(x, w, y, addend);
  if (s.blocks)
    return s.runBlocks(x, w, y, bias, addend);
  const float *wideX = s.pairs ? nullptr : s.rowsOfX(x);
  float *wideY = s.y.empty() ? static_cast<float *>(y) : s.y.data();
  const GemmKernelSet &kernels = gemmKernels()[s.format];
  int64_t perUnit = s.packed || s.transposed.w ? 16 : 1, units = (s.n + perUnit - 1) / perUnit,
          parts = s.threadsFor(units, s.n * s.k * io::blockBytes(s.types.w));
  s.pool.parallel(int(parts), [&](int part) {
    Range r = splitRange(units, parts, part);
    if (s.pairs)
      s.pairs(s.weight, w, s.m, static_cast<const uint16_t *>(x), wideY, r.begin, r.end);
    else if (s.packed)
      kernels.packedColumns(s.weight, w, s.m, wideX, wideY, r.begin, r.end);
    else if (s.transposed.w)
      kernels.transposedColumns(s.m, s.n, s.k, wideX, w, wideY, r.begin, r.end);
    else
      kernels.plainColumns(s.m, s.n, s.k, wideX, w, wideY, r.begin, r.end);
    int64_t begin = r.begin * perUnit, end = std::min(r.end * perUnit, s.n);
    if (!s.epilogue.empty())
      for (int64_t i = 0; i < s.m && begin < end; ++i)
        s.finishRow(wideY + i * s.n + begin, i, begin, end, bias, addend);
    if (s.y.empty())
      return;
    for (int64_t i = 0; i < s.m && begin < end; ++i)
      io::traits(s.types.y).narrow(wideY + i * s.n + begin, end - begin,
                                   static_cast<char *>(y) + (i * s.n + begin) * yBytes);
  });
}

} // namespace tessera::runtime
