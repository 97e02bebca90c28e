//===- Clusters.cpp - which ops share a loop over leading rows --------------===//

#include "Clusters.h"

#include "tessera/Interfaces/TileLowering.h"
#include "tessera/Support/TypeSizes.h"

#include "llvm/ADT/SetVector.h"

namespace tessera::kernels {

/// The one factor of dimension `dim`, or -1.
static int onlyFactor(const TensorFactors &tensor, int64_t dim) {
  return tensor.dims[dim].size() == 1 ? tensor.dims[dim][0] : -1;
}

/// Per dimension of a tensor: the row dimension of the kernel it is, or -1 (whole in every tile).
using RowDims = SmallVector<int, 4>;

/// How the rows of a kernel run through one op's operands and results.
struct OpRows {
  SmallVector<RowDims> operands, results;
};

int updatedOperand(Operation *op) {
  auto tile = dyn_cast<TileLoweringOpInterface>(op);
  return tile ? tile.getUpdatedOperand() : -1;
}

/// Most leading dimensions of the results that can be rows of `op` (an op with a sharding rule and at least
/// one result).
static int maxRows(Operation *op) {
  if (updatedOperand(op) >= 0)
    return 0;
  auto type = tensorOf(op->getResult(0));
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  int rows = 0;
  for (; rows < type.getRank(); ++rows) {
    if (!llvm::all_of(op->getResults(), [&](Value result) {
          return tensorOf(result).getRank() > rows &&
                 tensorOf(result).getDimSize(rows) == type.getDimSize(rows);
        }))
      break;
    if (type.getDimSize(rows) == 1)
      continue;
    int factor = onlyFactor(rule.results[0], rows);
    if (factor < 0 || rule.factors[factor].kind != FactorKind::PassThrough)
      break;
    if (!llvm::all_of(rule.results, [&](const TensorFactors &t) { return onlyFactor(t, rows) == factor; }))
      break;
    // Glued to another factor inside an operand's dimension, the rows of a tile would not be a slice.
    if (llvm::any_of(rule.operands, [&](const TensorFactors &t) {
          return llvm::any_of(
              t.dims, [&](const auto &dim) { return dim.size() > 1 && llvm::is_contained(dim, factor); });
        }))
      break;
  }
  return rows;
}

/// The places of the first `rows` (<= maxRows) leading dimensions. Dimensions of size 1 are nowhere.
static OpRows rowsOf(Operation *op, int rows) {
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  auto type = tensorOf(op->getResult(0));
  auto place = [&](Value value, const TensorFactors &tensor) {
    RowDims dims(tensor.dims.size(), -1);
    for (int64_t d = 0; d < int64_t(dims.size()); ++d)
      for (int row = 0; row < rows; ++row)
        if (type.getDimSize(row) > 1 && onlyFactor(tensor, d) >= 0 &&
            onlyFactor(tensor, d) == onlyFactor(rule.results[0], row) &&
            tensorOf(value).getDimSize(d) == type.getDimSize(row))
          dims[d] = row;
    return dims;
  };
  OpRows result;
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    result.operands.push_back(place(value, tensor));
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    result.results.push_back(place(value, tensor));
  return result;
}

static Cluster rowCluster(ArrayRef<Operation *> ops, int rows, const TilingChoices &tiling);

static int64_t rowCount(Operation *op, int rows) {
  int64_t n = 1;
  for (int row = 0; row < rows; ++row)
    n *= tensorOf(op->getResult(0)).getDimSize(row);
  return n;
}

/// Elements that one iteration of `op` touches with `rows` rows: what its cost says it reads and writes.
static int64_t touchedElements(Operation *op, int rows) {
  OpCost cost = cast<CostOpInterface>(op).getCost();
  int64_t width = elementBytes(op->getResult(0).getType());
  return std::max<int64_t>(1, int64_t((cost.bytesRead + cost.bytesWritten) / double(width)) /
                                  rowCount(op, rows));
}

namespace {

/// Rows that a set of ops can share: the fewest whose tiles are small enough, else the most.
struct RowChoice {
  int rows = 0;
  int64_t tile = 0;
};

class ClusterBuilder {
public:
  ClusterBuilder(Block &block, const TilingChoices &tiling) : block(block), tiling(tiling) {
    for (Operation &op : block.without_terminator())
      if (isa<TileLoweringOpInterface>(op) && isa<ShardingRuleOpInterface>(op) && isa<CostOpInterface>(op) &&
          op.getNumResults() > 0)
        most[&op] = maxRows(&op);
  }

  SmallVector<Cluster> run() {
    SmallVector<Operation *> order;
    for (Operation &op : block.without_terminator())
      if (most.count(&op))
        order.push_back(&op);
    for (Operation *op : order) {
      int number = int(sets.size());
      sets.push_back({op});
      setOf[op] = number;
      // Join the sets of the producers, nearest first.
      SmallVector<int> producers;
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (auto it = setOf.find(def); it != setOf.end())
            producers.push_back(it->second);
      llvm::sort(producers, std::greater<int>());
      for (int producer : producers)
        tryJoin(producer, setOf[op]);
    }
    SmallVector<Cluster> clusters;
    for (auto &set : sets)
      if (!set.empty())
        clusters.push_back(rowCluster(set, choose(set)->rows, tiling));
    scheduleClusters(block, clusters);
    return clusters;
  }

private:
  using Set = SmallVector<Operation *>;

  /// `rows` run through all ops of the set alike: a value made inside has its rows where its reader wants
  /// them.
  bool agree(ArrayRef<Operation *> set, int rows) {
    for (Operation *op : set) {
      if (rows > most[op])
        return false;
      auto shape = tensorOf(op->getResult(0)).getShape(),
           first = tensorOf(set.front()->getResult(0)).getShape();
      if (shape.take_front(rows) != first.take_front(rows))
        return false;
    }
    for (Operation *op : set) {
      OpRows reader = rowsOf(op, rows);
      for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), reader.operands)) {
        Operation *def = operand.getDefiningOp();
        if (!def || !llvm::is_contained(set, def))
          continue;
        OpRows writer = rowsOf(def, rows);
        if (writer.results[cast<OpResult>(operand).getResultNumber()] != dims)
          return false;
      }
    }
    return true;
  }

  std::optional<RowChoice> choose(ArrayRef<Operation *> set) {
    int limit = most[set.front()];
    for (Operation *op : set)
      limit = std::min(limit, most[op]);
    std::optional<RowChoice> best;
    for (int rows = 0; rows <= limit; ++rows) {
      if (!agree(set, rows))
        continue;
      int64_t tile = 1;
      for (Operation *op : set)
        tile = std::max(tile, touchedElements(op, rows));
      best = RowChoice{rows, tile};
      if (tile <= tiling.tileElements)
        break;
    }
    return best;
  }

  /// Fusing must neither lose parallelism nor make rows that fall out of the cache.
  bool worthwhile(ArrayRef<Operation *> set) {
    std::optional<RowChoice> together = choose(set);
    if (!together || llvm::any_of(set, [](Operation *op) { return updatedOperand(op) >= 0; }))
      return false;
    if (together->tile <= tiling.tileElements)
      return true;
    int64_t count = rowCount(set.front(), together->rows);
    return llvm::all_of(
        set, [&](Operation *op) { return rowCount(op, choose(ArrayRef<Operation *>(op))->rows) <= count; });
  }

  /// No path leaves the set and comes back.
  bool convex(const llvm::SmallPtrSetImpl<Operation *> &set) {
    SmallVector<Operation *> work;
    llvm::SmallPtrSet<Operation *, 32> seen;
    // Ops of another kernel run together: whoever needs one needs them all.
    auto reach = [&](Operation *def) {
      auto it = setOf.find(def);
      for (Operation *mate : it == setOf.end() ? Set{def} : sets[it->second])
        if (seen.insert(mate).second)
          work.push_back(mate);
    };
    for (Operation *op : set) {
      SmallVector<Operation *> direct;
      collectDependencies(block, op, direct);
      for (Operation *def : direct)
        if (!set.count(def))
          reach(def);
    }
    while (!work.empty()) {
      SmallVector<Operation *> direct;
      collectDependencies(block, work.pop_back_val(), direct);
      for (Operation *def : direct) {
        if (set.count(def))
          return false;
        reach(def);
      }
    }
    return true;
  }

  void tryJoin(int a, int b) {
    if (a == b || sets[a].empty())
      return;
    Set joined = sets[a];
    joined.append(sets[b]);
    llvm::sort(joined, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    llvm::SmallPtrSet<Operation *, 16> members(joined.begin(), joined.end());
    if (!worthwhile(joined) || !convex(members))
      return;
    for (Operation *op : sets[a])
      setOf[op] = b;
    sets[a].clear();
    sets[b] = joined;
  }

  Block &block;
  const TilingChoices &tiling;
  llvm::DenseMap<Operation *, int> most;
  SmallVector<Set> sets;
  llvm::DenseMap<Operation *, int> setOf;
};

} // namespace

SmallVector<Cluster> formRowClusters(Block &block, const TilingChoices &tiling) {
  return ClusterBuilder(block, tiling).run();
}

bool isWholeConstant(Operation *op) {
  return isa<TileLoweringOpInterface>(op) && op->getNumOperands() == 0 && maxRows(op) == 0;
}

static Parts partsOf(Value value, const RowDims &dims) {
  Parts parts;
  for (auto [size, row] : llvm::zip_equal(tensorOf(value).getShape(), dims))
    parts.push_back({size, row});
  return parts;
}

static OpTiles tilesOf(Operation *op, int rows) {
  OpRows places = rowsOf(op, rows);
  OpTiles tiles;
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), places.operands))
    tiles.operands.push_back(partsOf(operand, dims));
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), places.results))
    tiles.results.push_back(partsOf(result, dims));
  return tiles;
}

OpTiles wholeTiles(Operation *op) { return tilesOf(op, 0); }

/// How many elements of a dimension of `size` one iteration takes whose rows are single elements, of which
/// each touches `touched`: single ones would fill one lane of a vector and use one word of a cache line. The
/// largest part that keeps the iteration small, of a line or two at least; all of it where there is none.
static int64_t lanesOfRow(int64_t size, int64_t touched, const TilingChoices &tiling) {
  constexpr int64_t leastElements = 16, lineElements = 64;
  const int64_t most = std::max(lineElements, tiling.tileElements / touched);
  for (int64_t tile = std::min(size, most); tile >= leastElements; --tile)
    if (size % tile == 0)
      return tile;
  return size;
}

/// Whether elements that lie side by side along `axis` do so in every array that has it.
static bool runsAlongMemory(const ClusterBody &body, int axis) {
  auto last = [&](const Parts &parts) {
    bool has = llvm::any_of(parts, [&](const Part &part) { return part.axis == axis; });
    auto inner = llvm::find_if(llvm::reverse(parts), [](const Part &part) { return part.size > 1; });
    return !has || inner->axis == axis;
  };
  return llvm::all_of(body.tiles, [&](const OpTiles &tiles) {
    return llvm::all_of(tiles.operands, last) && llvm::all_of(tiles.results, last);
  });
}

/// The cluster of `ops` with a loop over `rows` rows: one at a time, or neighbours where rows are elements.
static Cluster rowCluster(ArrayRef<Operation *> ops, int rows, const TilingChoices &tiling) {
  ClusterBody body;
  body.ops.assign(ops.begin(), ops.end());
  for (int64_t size : tensorOf(ops.front()->getResult(0)).getShape().take_front(rows))
    body.axes.push_back({size, 1});
  int64_t touched = 1;
  bool elements = true;
  for (Operation *op : ops) {
    body.tiles.push_back(tilesOf(op, rows));
    body.tileElements += touchedElements(op, rows);
    touched = std::max(touched, touchedElements(op, rows));
    for (Value result : op->getResults())
      elements &= tensorOf(result).getNumElements() == rowCount(op, rows);
  }
  int last = int(body.axes.size()) - 1;
  while (last >= 0 && body.axes[last].size == 1)
    --last;
  if (elements && last >= 0 && runsAlongMemory(body, last)) {
    Axis &axis = body.axes[last];
    axis.tile = lanesOfRow(axis.size, touched, tiling);
    body.tileElements *= axis.tile;
  }
  Cluster cluster;
  cluster.bodies.push_back(std::move(body));
  return cluster;
}

int64_t ClusterBody::tileCount() const {
  int64_t n = 1;
  for (const Axis &axis : axes)
    n *= axis.count();
  return n;
}

int64_t Cluster::iterations() const {
  int64_t n = 0;
  for (const ClusterBody &body : bodies)
    n += body.iterations();
  return n;
}

SmallVector<Operation *> Cluster::ops() const {
  SmallVector<Operation *> all;
  for (const ClusterBody &body : bodies)
    llvm::append_range(all, body.ops);
  return all;
}

void collectDependencies(Block &block, Operation *op, SmallVectorImpl<Operation *> &result) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (Operation *here = block.findAncestorOpInBlock(*def); here && here != op)
          result.push_back(here);
  });
}

void scheduleClusters(Block &block, ArrayRef<Cluster> clusters) {
  llvm::DenseMap<Operation *, int> clusterOf;
  for (auto [i, cluster] : llvm::enumerate(clusters))
    for (Operation *op : cluster.ops())
      clusterOf[op] = int(i);
  llvm::SetVector<Operation *> done;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    if (done.contains(op))
      return;
    SmallVector<Operation *> unit{op};
    if (auto it = clusterOf.find(op); it != clusterOf.end())
      unit = clusters[it->second].ops();
    llvm::SmallPtrSet<Operation *, 8> inUnit(unit.begin(), unit.end());
    for (Operation *member : unit) {
      SmallVector<Operation *> waits;
      collectDependencies(block, member, waits);
      for (Operation *wait : waits)
        if (!inUnit.count(wait))
          visit(wait);
    }
    for (Operation *member : unit)
      done.insert(member);
  };
  for (Operation &op : block.without_terminator())
    visit(&op);
  for (Operation *op : done)
    op->moveBefore(block.getTerminator());
}

} // namespace tessera::kernels
