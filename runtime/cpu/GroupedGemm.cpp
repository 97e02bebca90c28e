// Threads share what there is to do, not rows or columns alone: a piece of work is 16 rows of one group's
// matrix (a unit), and costs what reading them costs and as much again for each row of x. Rows of W are cut
// into units from the first group's on, so where n is no multiple of 16 two groups share one: each computes
// it, and keeps its own columns.
#include "tessera/runtime/cpu/GroupedGemm.h"
#include "WeightFormat.h"
#include "tessera/runtime/core/Error.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace tessera::runtime {

namespace {
constexpr int64_t kUnit = io::kUnitRows;
// Reading a unit of W, in what it costs to multiply one row of x with it.
constexpr int64_t kReadCost = 4;
// So few rows have small results. Of more a thread keeps those of so many units before it writes them.
constexpr int64_t kFewRows = BlockProduct::kFewRows, kTileUnits = BlockProduct::kTileUnits;

// One group that has rows. Units are numbers of W's.
struct Group {
  int64_t row, rows;         // of x and y
  int64_t column;            // first row of its matrix in W
  int64_t unit, units, cost; // cost: of one unit
  int64_t before;            // costs of the groups before it
};

// What a thread keeps: columns [0, stride) of its tile are those of whole units.
struct Tile {
  std::vector<float> sums;
  int64_t stride = 0, first = 0; // first: of the tile's columns that were computed
};
} // namespace

struct GroupedGemm::State {
  int64_t groups, m, n, k;
  GemmTypes types;
  ThreadPool &pool;
  WeightFormat format;
  std::optional<PackedLayout> packed = {};
  std::optional<BlockProduct> blocks = {};
  std::vector<float> wideX = {}; // x widened; empty where it is float32
  std::vector<Group> busy = {};
  std::vector<Tile> tiles = {}; // of each thread

  bool sharesUnits() const { return packed || blocks; } // a plain matrix has units of its own
  void makeRows();
  const void *rowsOfX(const void *x, int64_t rows);
  int64_t findBusy(const int32_t *starts);
  void multiply(int part, const Group &group, int64_t begin, int64_t end, const void *x, const void *w,
                void *y);
  void sumsOf(int part, const Group &group, int64_t begin, int64_t end, const void *x, const void *w);
};

GroupedGemm::GroupedGemm(int64_t groups, int64_t m, int64_t n, int64_t k, GemmTypes types, bool packed,
                         ThreadPool &pool)
    : state_(new State{groups, m, n, k, types, pool, formatOf(types.w)}) {
  if (packed)
    state_->packed.emplace(groups * n, k, types.w);
  state_->makeRows();
}

GroupedGemm::GroupedGemm(int64_t groups, int64_t m, const BlockWeight &weight, GemmTypes types,
                         ThreadPool &pool)
    : state_(new State{groups, m, weight.n / groups, weight.k, types, pool, WeightFormat::F32}) {
  state_->blocks.emplace(weight, m, pool, types.x);
  state_->makeRows();
}

GroupedGemm::~GroupedGemm() = default;
GroupedGemm::GroupedGemm(GroupedGemm &&) noexcept = default;

const char *GroupedGemm::implementation() const {
  return state_->blocks ? "blocks" : state_->packed ? "packed" : "plain";
}

void GroupedGemm::State::makeRows() {
  if (types.x != io::DType::F32 && !(blocks && blocks->takesBfloat16()))
    wideX.resize(size_t(m * k));
  tiles.resize(size_t(pool.size()));
}

// Fills `busy`; gives the cost of all.
int64_t GroupedGemm::State::findBusy(const int32_t *starts) {
  busy.clear();
  int64_t all = 0;
  bool ascends = starts[0] == 0;
  for (int64_t g = 0; g < groups && ascends; ++g) {
    int64_t rows = starts[g + 1] - starts[g], column = g * n;
    ascends = rows >= 0 && starts[g + 1] <= m;
    if (rows <= 0 || n == 0)
      continue;
    int64_t inUnit = sharesUnits() ? column % kUnit : 0;
    Group group{
        starts[g],        rows, column, sharesUnits() ? column / kUnit : 0, (inUnit + n + kUnit - 1) / kUnit,
        kReadCost + rows, all};
    all += group.units * group.cost;
    busy.push_back(group);
  }
  if (!ascends)
    throw Error("cannot compute a product by group", "its " + std::to_string(groups) + " groups",
                "they do not begin one behind the other within " + std::to_string(m) + " rows",
                "compile it again with this version of llm-compile");
  return all;
}

// x as rows of float32, or as they are for kernels that read them.
const void *GroupedGemm::State::rowsOfX(const void *x, int64_t rows) {
  if (wideX.empty())
    return x;
  widenAll(pool, types.x, x, rows * k, wideX.data());
  return wideX.data();
}

// Sums of a group's rows and its units [begin, end), into the thread's tile.
void GroupedGemm::State::sumsOf(int part, const Group &group, int64_t begin, int64_t end, const void *x,
                                const void *w) {
  Tile &tile = tiles[size_t(part)];
  tile.first = 0;
  if (blocks) {
    tile.stride = (end - begin) * kUnit;
    tile.sums.resize(size_t(group.rows * tile.stride));
    return blocks->tile(part, group.row, group.rows, begin, end, tile.sums.data());
  }
  const GemmKernelSet &kernels = gemmKernels()[format];
  const float *from = static_cast<const float *>(x) + group.row * k;
  if (packed) {
    // From the block of rows on in which the units begin.
    int64_t perBlock = packed->block / kUnit, block = begin / perBlock;
    tile.first = (begin - block * perBlock) * kUnit;
    tile.stride = (end - block * perBlock) * kUnit;
    tile.sums.resize(size_t(group.rows * tile.stride));
    PackedWeight stretch{tile.stride, k, packed->block, packed->paddedN, packed->paddedK};
    const char *data =
        static_cast<const char *>(w) + io::bytesOf(types.w, block * packed->block * packed->paddedK);
    kernels.packedColumns(stretch, data, group.rows, from, tile.sums.data(), tile.first / kUnit,
                          tile.stride / kUnit);
    return;
  }
  int64_t column = begin * kUnit, count = std::min(end * kUnit, n) - column;
  tile.stride = count;
  tile.sums.resize(size_t(group.rows * tile.stride));
  kernels.plainColumns(group.rows, count, k, from,
                       static_cast<const char *>(w) + io::bytesOf(types.w, (group.column + column) * k),
                       tile.sums.data(), 0, count);
}

// The same for any number of units, rounded into y: of each unit the columns that are the group's.
void GroupedGemm::State::multiply(int part, const Group &group, int64_t begin, int64_t end, const void *x,
                                  const void *w, void *y) {
  const Tile &tile = tiles[size_t(part)];
  int64_t yBytes = io::blockBytes(types.y), own = sharesUnits() ? group.column : 0;
  for (int64_t unit = begin; unit < end;) {
    // Tiles end where blocks of packed rows do. Few rows have one.
    int64_t next = group.rows <= kFewRows ? end : std::min((unit / kTileUnits + 1) * kTileUnits, end);
    sumsOf(part, group, unit, next, x, w);
    int64_t first = std::max(unit * kUnit - own, int64_t(0)), last = std::min(next * kUnit - own, n),
            skipped = tile.first + first - (unit * kUnit - own);
    for (int64_t r = 0; r < group.rows; ++r)
      io::traits(types.y).narrow(tile.sums.data() + r * tile.stride + skipped, last - first,
                                 static_cast<char *>(y) + ((group.row + r) * n + first) * yBytes);
    unit = next;
  }
}

void GroupedGemm::run(const void *x, const void *w, const int32_t *starts, void *y) {
  State &s = *state_;
  int64_t cost = s.findBusy(starts), rows = starts[s.groups];
  const void *given = s.rowsOfX(x, rows);
  if (s.blocks && !s.busy.empty())
    s.blocks->begin(w, given, rows);
  // A thread is worth about a microsecond: 64 KiB of weights that are read for one row.
  int64_t perThread = (64 << 10) * (kReadCost + 1) / (kUnit * 4 * std::max<int64_t>(s.k, 1)) + 1;
  int64_t parts = std::clamp<int64_t>(cost / perThread, 1, s.pool.size());
  int64_t rowBytes = s.n * io::blockBytes(s.types.y);
  s.pool.parallel(int(parts), [&](int part) {
    Range mine = splitRange(cost, parts, part);
    for (const Group &group : s.busy) {
      // Units whose first bit of work is this thread's.
      auto unitAt = [&](int64_t place) {
        int64_t inside = place - group.before;
        return std::clamp<int64_t>((inside + group.cost - 1) / group.cost, 0, group.units);
      };
      int64_t begin = unitAt(mine.begin), end = unitAt(mine.end);
      if (begin < end)
        s.multiply(part, group, group.unit + begin, group.unit + end, given, w, y);
    }
    // What no group has.
    Range left = splitRange(s.m - rows, parts, part);
    memset(static_cast<char *>(y) + (rows + left.begin) * rowBytes, 0,
           size_t((left.end - left.begin) * rowBytes));
  });
}

} // namespace tessera::runtime
