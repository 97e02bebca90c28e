//===- LowerCollectives.cpp - dist collectives to exec.collective -----------===//
//
// exec.collective works on blocks, one for each rank of a group. Where the dimension that is gathered or
// scattered is not the outermost, blocks have rows; of many or short ones, and of what is exchanged, a
// transposition brings blocks together, or puts them in their places: it fuses with what makes or uses the
// value.
//
// A dimension of size n over k shards holds ceil(n / k) rows a shard. Where that does not divide, pieces are
// longer together than the whole, and the collective leaves out what is. Where it cannot (as above), gathered
// dimensions are cut, and dimensions that are going to be split are filled up with zeros, by a small kernel
// (no code runs where the cut is at the end of memory).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "tessera/Support/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {
namespace {

struct CollectiveLowering {
  Lowering &lowering;
  CollectiveOpInterface op;
  OpBuilder builder;
  const Mesh &mesh;

  CollectiveLowering(Lowering &lowering, CollectiveOpInterface op)
      : lowering(lowering), op(op), builder(op), mesh(*lowering.mesh) {}

  Value input() { return op->getOperand(0); }
  RankedTensorType resultType() { return cast<RankedTensorType>(op->getResult(0).getType()); }
  int64_t groupSize(ArrayAttr axes) { return axesSize(dist::fromAxesAttr(axes, mesh)); }

  Value fresh(RankedTensorType type) {
    return tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType(),
                                   type.getEncoding());
  }
  static RankedTensorType resized(RankedTensorType type, int64_t dim, int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// result[.., i, ..] = value[.., i + shard * size, ..] along `dim` (zero past its end), `size` long.
  /// `shard` may be null: 0.
  Value resize(Value value, int64_t dim, int64_t size, Value shard) {
    RankedTensorType from = tensorOf(value), to = resized(from, dim, size);
    if (!shard && from.getDimSize(dim) == size)
      return value;
    Location loc = op->getLoc();
    // A prefix of memory needs no copy.
    if (!shard && size < from.getDimSize(dim) &&
        llvm::all_of(from.getShape().take_front(dim), [](int64_t n) { return n == 1; }))
      return exec::ReshapeOp::create(builder, loc, to, value);

    int64_t rank = from.getRank(), length = from.getDimSize(dim);
    KernelShell shell(loc, "resize_" + shapeText(to.getShape()), {from}, {to}, shard ? 1 : 0);
    auto index = [&](OpBuilder &b, int64_t n) -> Value { return arith::ConstantIndexOp::create(b, loc, n); };
    int64_t count = 1, tile = 1;
    for (int64_t d = 0; d < rank; ++d)
      (d <= dim ? count : tile) *= to.getDimSize(d);
    shell.loop(count, [&](OpBuilder &b, Value row, ValueRange outs) -> SmallVector<Value> {
      SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), sizes, ones(rank, b.getIndexAttr(1));
      SmallVector<int64_t> tileShape;
      for (int64_t d = dim; d >= 0; --d) {
        if (to.getDimSize(d) == 1)
          continue;
        offsets[d] = arith::RemUIOp::create(b, loc, row, index(b, to.getDimSize(d))).getResult();
        row = arith::DivUIOp::create(b, loc, row, index(b, to.getDimSize(d)));
      }
      for (int64_t d = 0; d < rank; ++d) {
        sizes.push_back(b.getIndexAttr(d <= dim ? 1 : to.getDimSize(d)));
        if (d > dim)
          tileShape.push_back(to.getDimSize(d));
      }
      auto tileType = RankedTensorType::get(tileShape, to.getElementType());
      Value position = getValueOrCreateConstantIndexOp(b, loc, offsets[dim]);
      if (shard)
        position = arith::AddIOp::create(b, loc, position,
                                         arith::MulIOp::create(b, loc, shell.scalars[0], index(b, size)));
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, position, index(b, length));
      Value target = tensor::ExtractSliceOp::create(b, loc, tileType, outs[0], offsets, sizes, ones);
      auto choice = scf::IfOp::create(
          b, loc, inside,
          [&](OpBuilder &b, Location loc) {
            SmallVector<OpFoldResult> at(offsets);
            at[dim] = position;
            Value source = tensor::ExtractSliceOp::create(b, loc, tileType, shell.inputs[0], at, sizes, ones);
            Value copied = linalg::CopyOp::create(b, loc, source, target).getResult(0);
            scf::YieldOp::create(b, loc, copied);
          },
          [&](OpBuilder &b, Location loc) {
            Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(to.getElementType()));
            Value filled = linalg::FillOp::create(b, loc, zero, target).getResult(0);
            scf::YieldOp::create(b, loc, filled);
          });
      return {tensor::InsertSliceOp::create(b, loc, choice.getResult(0), outs[0], offsets, sizes, ones)};
    });
    FlatSymbolRefAttr symbol = lowering.kernels.add(shell.func);
    SmallVector<Value> scalars;
    if (shard)
      scalars.push_back(shard);
    return exec::LaunchOp::create(builder, loc, TypeRange(to), symbol, value, fresh(to), scalars,
                                  builder.getI64IntegerAttr(count),
                                  builder.getI64IntegerAttr(lowering.grain(tile, count)))
        .getResults()[0];
  }

  Value collective(CollectiveKind kind, Reduction reduce, ArrayAttr axes, Value value, RankedTensorType to,
                   dist::ShardingAttr before = {}, dist::ShardingAttr after = {}, ArrayAttr mirrored = {}) {
    return exec::CollectiveOp::create(builder, op->getLoc(), TypeRange(to), kind, reduce, axes, value,
                                      fresh(to), before, after, mirrored,
                                      op->getAttrOfType<StringAttr>("why"))
        .getResults()[0];
  }

  Reduction reduceKind() {
    bool max = dist::getShardingAttr(input().getType()).getPartialKind() == dist::PartialKindEnum::max;
    return max ? Reduction::Max : Reduction::Sum;
  }

  /// Splitting `shards` of a dimension into `parts` each: the length of it before the split so that all
  /// pieces are equal. An error where the pieces of both divisions do not nest (docs/Lowering.md).
  FailureOr<int64_t> nested(int64_t dim, int64_t whole, int64_t piece, int64_t parts,
                            RankedTensorType wholeType) {
    bool alone = !lowering.shardAxes(wholeType, dim);
    if (!alone && piece * parts != whole)
      return op->emitOpError() << "moves " << parts << " pieces of " << piece << " along dimension " << dim
                               << ", which is sharded over other axes in shards of " << whole
                               << ": they do not nest";
    return piece * parts;
  }

  /// How the blocks of an all_gather or reduce_scatter along `dim` lie in the longer side, of which
  /// `length` rows hold something. None where a transposition is better: between places of short rows, or
  /// where the collective would be made of too many moves (libraries that gather blocks of one row, and
  /// whole ones, do all others one by one).
  struct Rows {
    int64_t rows, cut;
  };
  static std::optional<Rows> rowsOf(RankedTensorType piece, int64_t dim, int64_t parts, int64_t whole) {
    constexpr int64_t shortest = 64, mostMoves = 1024; // bytes, a cache line
    int64_t rows = 1, inner = 1;
    for (int64_t d = 0; d < piece.getRank(); ++d)
      (d < dim ? rows : inner) *= d == dim ? 1 : piece.getDimSize(d);
    int64_t size = piece.getDimSize(dim), cut = rows * inner * (size * parts - whole);
    int64_t bytes = size * inner * ((piece.getElementTypeBitWidth() + 7) / 8);
    if ((rows > 1 && bytes < shortest) || rows * (cut > 0 ? parts : 1) > mostMoves)
      return std::nullopt;
    return Rows{rows, cut};
  }

  /// An all_gather or reduce_scatter of blocks that lie so.
  Value inRows(CollectiveKind kind, Reduction reduce, ArrayAttr axes, Value value, RankedTensorType to,
               Rows rows) {
    Value result = collective(kind, reduce, axes, value, to);
    auto made = result.getDefiningOp<exec::CollectiveOp>();
    if (rows.rows > 1)
      made.setRows(rows.rows);
    if (rows.cut > 0)
      made.setCut(rows.cut);
    return result;
  }

  /// Pieces along `dim` are contiguous.
  static bool outermost(RankedTensorType type, int64_t dim) {
    return llvm::all_of(type.getShape().take_front(dim), [](int64_t n) { return n == 1; });
  }

  FailureOr<Value> gather(int64_t dim, ArrayAttr axes) {
    int64_t parts = groupSize(axes);
    int64_t piece = tensorOf(input()).getDimSize(dim), whole = resultType().getDimSize(dim);
    FailureOr<int64_t> length = nested(dim, whole, piece, parts, resultType());
    if (failed(length))
      return failure();
    if (std::optional<Rows> rows = rowsOf(tensorOf(input()), dim, parts, whole))
      return inRows(CollectiveKind::AllGather, Reduction::None, axes, input(),
                    resized(tensorOf(input()), dim, whole), *rows);
    RankedTensorType together = resized(tensorOf(input()), dim, *length);
    if (outermost(together, dim))
      return resize(collective(CollectiveKind::AllGather, Reduction::None, axes, input(), together), dim,
                    whole, nullptr);
    // [parts, .., piece, ..] -> [.., parts, piece, ..]
    SmallVector<int64_t> blocks(tensorOf(input()).getShape()), order;
    blocks.insert(blocks.begin(), parts);
    for (int64_t d = 1; d <= dim; ++d)
      order.push_back(d);
    order.push_back(0);
    for (int64_t d = dim + 1; d < int64_t(blocks.size()); ++d)
      order.push_back(d);
    Value gathered = collective(CollectiveKind::AllGather, Reduction::None, axes, input(),
                                RankedTensorType::get(blocks, together.getElementType()));
    return resize(reshaped(transposed(gathered, order), together.getShape()), dim, whole, nullptr);
  }

  FailureOr<Value> slice(int64_t dim, ArrayAttr axes) {
    int64_t piece = resultType().getDimSize(dim);
    if (failed(nested(dim, tensorOf(input()).getDimSize(dim), piece, groupSize(axes), tensorOf(input()))))
      return failure();
    return resize(input(), dim, piece, lowering.shardIndex(op, axes));
  }

  /// A copy on the ranks that contribute; on the others the shard lies past the end, which is zeros.
  Value contribute(ArrayAttr axes) {
    if (dist::getShardingAttr(resultType()).getPartialKind() == dist::PartialKindEnum::max)
      return reshaped(input(), tensorOf(input()).getShape());
    SmallVector<int64_t> shape(tensorOf(input()).getShape()), rows = shape;
    if (rows.empty())
      rows.push_back(1);
    int64_t dim = std::max<int64_t>(0, int64_t(rows.size()) - 2);
    Value kept = resize(reshaped(input(), rows), dim, rows[dim], lowering.shardIndex(op, axes));
    return reshaped(kept, shape);
  }

  FailureOr<Value> reduceScatter(int64_t dim, ArrayAttr axes) {
    int64_t piece = resultType().getDimSize(dim), parts = groupSize(axes),
            whole = tensorOf(input()).getDimSize(dim);
    FailureOr<int64_t> length = nested(dim, whole, piece, parts, tensorOf(input()));
    if (failed(length))
      return failure();
    RankedTensorType block = resized(tensorOf(input()), dim, piece);
    if (std::optional<Rows> rows = rowsOf(block, dim, parts, whole))
      return inRows(CollectiveKind::ReduceScatter, reduceKind(), axes, input(), block, *rows);
    Value padded = resize(input(), dim, *length, nullptr);
    RankedTensorType kept = resized(tensorOf(padded), dim, piece);
    if (!outermost(kept, dim)) {
      // [.., parts, piece, ..] -> [parts, .., piece, ..]
      SmallVector<int64_t> blocks(kept.getShape()), order = {dim};
      blocks.insert(blocks.begin() + dim, parts);
      for (int64_t d = 0; d < int64_t(blocks.size()); ++d)
        if (d != dim)
          order.push_back(d);
      padded = transposed(reshaped(padded, blocks), order);
    }
    return collective(CollectiveKind::ReduceScatter, reduceKind(), axes, padded, kept);
  }

  FailureOr<Value> allToAll(dist::AllToAllOp op) {
    RankedTensorType in = tensorOf(op.getInput()), out = resultType();
    AxisList axes = dist::fromAxesAttr(op.getAxes(), mesh);
    // By dimension: axes that come, and that leave, as they stand there.
    SmallVector<SmallVector<size_t>> come(in.getRank()), leave(in.getRank());
    for (size_t i = 0; i < axes.size(); ++i) {
      come[op.getTo()[i]].push_back(i);
      leave[op.getFrom()[i]].push_back(i);
    }
    Sharding before = dist::getShardingAttr(input().getType()).toSharding(mesh);
    auto parts = [&](ArrayRef<size_t> list) {
      int64_t count = 1;
      for (size_t i : list)
        count *= axes[i].size;
      return count;
    };
    SmallVector<int64_t> sources;
    Value padded = input();
    for (int64_t d = 0; d < in.getRank(); ++d) {
      auto place = [&](size_t i) {
        auto *holder =
            llvm::find_if(before.dims[d].axes, [&](const AxisRef &axis) { return axis.overlaps(axes[i]); });
        return std::make_pair(holder - before.dims[d].axes.begin(), axes[i].pre);
      };
      llvm::sort(leave[d], [&](size_t a, size_t b) { return place(a) < place(b); });
      if (!leave[d].empty())
        sources.push_back(d);
      if (come[d].empty())
        continue;
      FailureOr<int64_t> split = nested(d, in.getDimSize(d), out.getDimSize(d), parts(come[d]), in);
      if (failed(split))
        return failure();
      padded = resize(padded, d, *split, nullptr);
    }
    for (int64_t d : sources)
      if (failed(nested(d, out.getDimSize(d), in.getDimSize(d), parts(leave[d]), out)))
        return failure();
    Value result = exchangeBlocks(padded, axes, come, leave);
    for (int64_t d : sources)
      result = resize(result, d, out.getDimSize(d), nullptr);
    return result;
  }

  Value reshaped(Value value, ArrayRef<int64_t> shape) {
    RankedTensorType from = tensorOf(value), to = RankedTensorType::get(shape, from.getElementType());
    return from == to ? value : exec::ReshapeOp::create(builder, op->getLoc(), to, value).getResult();
  }

  /// `value` with its dimensions reordered; nothing to do where only dimensions of size 1 change places.
  Value transposed(Value value, ArrayRef<int64_t> order) {
    RankedTensorType from = tensorOf(value);
    SmallVector<int64_t> shape, large;
    for (int64_t d : order) {
      shape.push_back(from.getDimSize(d));
      if (from.getDimSize(d) > 1)
        large.push_back(d);
    }
    if (llvm::is_sorted(large))
      return reshaped(value, shape);
    auto to = RankedTensorType::get(shape, from.getElementType());
    return graph::TransposeOp::create(builder, op->getLoc(), to, value, builder.getDenseI64ArrayAttr(order));
  }

  /// What goes to one rank is brought together first, in group order, and put in its places after; several
  /// pairs of dimensions at once.
  Value exchangeBlocks(Value value, const AxisList &axes, ArrayRef<SmallVector<size_t>> come,
                       ArrayRef<SmallVector<size_t>> leave) {
    RankedTensorType type = tensorOf(value);
    int64_t group = axesSize(axes), rank = type.getRank();
    // [pieces by axis that comes.., rest] a dimension; then all pieces first.
    SmallVector<int64_t> split, order(axes.size()), rests, restShape;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t rest = type.getDimSize(d);
      for (size_t i : come[d]) {
        order[i] = int64_t(split.size());
        split.push_back(axes[i].size);
        rest /= axes[i].size;
      }
      rests.push_back(int64_t(split.size()));
      split.push_back(rest);
      restShape.push_back(rest);
    }
    order.append(rests);
    value = transposed(reshaped(value, split), order);
    SmallVector<int64_t> blocks = {group}, digits;
    blocks.append(restShape);
    AxisList groupAxes = axes;
    mergeAdjacent(groupAxes);
    value = collective(CollectiveKind::AllToAll, Reduction::None,
                       dist::axesAttr(op->getContext(), groupAxes, mesh), reshaped(value, blocks),
                       RankedTensorType::get(blocks, type.getElementType()));
    for (const AxisRef &axis : axes)
      digits.push_back(axis.size);
    digits.append(restShape);
    SmallVector<int64_t> back, shape;
    for (int64_t d = 0; d < rank; ++d) {
      int64_t length = restShape[d];
      for (size_t i : leave[d]) {
        back.push_back(int64_t(i));
        length *= axes[i].size;
      }
      back.push_back(int64_t(axes.size()) + d);
      shape.push_back(length);
    }
    return reshaped(transposed(reshaped(value, digits), back), shape);
  }

  /// The runtime finds out who exchanges with whom, from both layouts or the mirrored axes.
  Value permute(dist::CollectivePermuteOp op) {
    if (op.getMirrored())
      return collective(CollectiveKind::CollectivePermute, Reduction::None, *op.getMirrored(), input(),
                        resultType(), {}, {}, *op.getMirrored());
    dist::ShardingAttr before = dist::getShardingAttr(input().getType()),
                       after = dist::getShardingAttr(resultType());
    AxisList axes;
    for (const dist::ShardingAttr &sharding : {before, after}) {
      AxisList own;
      for (const DimSharding &dim : sharding.toSharding(mesh).dims)
        llvm::append_range(own, dim.axes);
      llvm::append_range(axes, axesWithout(own, axes));
    }
    llvm::sort(axes);
    mergeAdjacent(axes);
    return collective(CollectiveKind::CollectivePermute, Reduction::None,
                      dist::axesAttr(op.getContext(), axes, mesh), input(), resultType(), before, after);
  }

  /// Each rank has its piece of the part at the beginning of its own.
  static bool isCut(dist::GroupedSendOp op) {
    return !op.communicates() && op.getAt() &&
           llvm::all_of(*op.getAt(), [](int64_t at) { return at == 0; }) &&
           dist::getShardingAttr(op.getInput().getType()).getDims() ==
               dist::getShardingAttr(op.getType()).getDims();
  }

  Value send(dist::GroupedSendOp op, ArrayAttr axes) {
    if (isCut(op)) {
      Value own = input();
      for (int64_t d = 0; d < resultType().getRank(); ++d)
        own = resize(own, d, resultType().getDimSize(d), nullptr);
      // Others still see what is cut as it was.
      return own != input() ? own
                            : exec::ReshapeOp::create(builder, op->getLoc(), tensorOf(own), own).getResult();
    }
    Value sent = collective(CollectiveKind::GroupedSend, Reduction::None, axes, input(), resultType(),
                            dist::getShardingAttr(input().getType()), dist::getShardingAttr(resultType()));
    if (DenseI64ArrayAttr at = op.getAtAttr())
      sent.getDefiningOp<exec::CollectiveOp>().setAtAttr(at);
    return sent;
  }

  FailureOr<Value> run() {
    ArrayAttr axes = dist::axesAttr(op->getContext(), op.getGroupAxes(mesh), mesh);
    switch (op.getStepKind()) {
    case StepKind::AllReduce:
      return collective(CollectiveKind::AllReduce, reduceKind(), axes, input(), resultType());
    case StepKind::AllGather:
      return gather(op.getLeftDim(), axes);
    case StepKind::Contribute:
      return contribute(axes);
    // Which part is sent, which dimensions axes come to, and what is mirrored, only the ops know.
    case StepKind::GroupedSend:
      return send(cast<dist::GroupedSendOp>(op.getOperation()), axes);
    case StepKind::AllSlice:
      return slice(cast<dist::AllSliceOp>(op.getOperation()).getDim(), axes);
    case StepKind::ReduceScatter:
      return reduceScatter(cast<dist::ReduceScatterOp>(op.getOperation()).getDim(), axes);
    case StepKind::CollectivePermute:
      return permute(cast<dist::CollectivePermuteOp>(op.getOperation()));
    case StepKind::AllToAll:
      if (auto exchange = dyn_cast<dist::AllToAllOp>(op.getOperation()))
        return allToAll(exchange);
      break;
    }
    return op->emitOpError("has no form on this target; choose another --target");
  }
};

} // namespace

LogicalResult lowerCollectives(Lowering &lowering) {
  SmallVector<CollectiveOpInterface> ops;
  Operation *other = nullptr;
  lowering.module.walk([&](Operation *op) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      ops.push_back(collective);
    else if (isa<dist::DistDialect>(op->getDialect()) && !isa<dist::MeshOp>(op))
      other = op;
  });
  if (other)
    return other->emitOpError("does not stand on rung spmd");
  for (CollectiveOpInterface op : ops) {
    if (!lowering.mesh)
      return op->emitOpError("communicates, but the module has no dist.mesh");
    CollectiveLowering collective(lowering, op);
    FailureOr<Value> result = collective.run();
    if (failed(result))
      return failure();
    Value value = *result;
    // Uses see the sharding of the result: offsets and rules read it.
    if (value.getType() != op->getResult(0).getType())
      value.setType(op->getResult(0).getType());
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
  return success();
}

} // namespace tessera::kernels
