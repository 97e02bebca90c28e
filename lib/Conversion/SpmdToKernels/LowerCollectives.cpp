//===- LowerCollectives.cpp - dist collectives to exec.collective -----------===//
//
// A dimension of size n over k shards holds ceil(n / k) rows a shard. Where that does not divide, pieces are longer together
// than the whole: gathered dimensions are cut, and dimensions that are going to be split are filled up with zeros,
// by a small kernel (no code runs where it divides, or where the cut is at the end of memory).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tessera::kernels {
namespace {

struct CollectiveLowering {
  Lowering &lowering;
  Operation *op;
  OpBuilder builder;
  const Mesh &mesh;

  CollectiveLowering(Lowering &lowering, Operation *op)
      : lowering(lowering), op(op), builder(op), mesh(*lowering.mesh) {}

  Value input() { return op->getOperand(0); }
  RankedTensorType resultType() { return cast<RankedTensorType>(op->getResult(0).getType()); }
  int64_t groupSize(ArrayAttr axes) { return axesSize(dist::fromAxesAttr(axes, mesh)); }

  Value fresh(RankedTensorType type) {
    return tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType(), type.getEncoding());
  }
  static RankedTensorType resized(RankedTensorType type, int64_t dim, int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// result[.., i, ..] = value[.., i + shard * size, ..] along `dim` (zero past its end), `size` long. `shard` may be null: 0.
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
    KernelShell shell(loc, "resize_" + llvm::join(llvm::map_range(to.getShape(), [](int64_t n) { return std::to_string(n); }), "x"),
                      {from}, {to}, shard ? 1 : 0);
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

  Value collective(exec::CollectiveKind kind, exec::ReduceOpKind reduce, ArrayAttr axes, Value value, RankedTensorType to,
                   int64_t dim = 0, int64_t dim2 = 0, DenseI64ArrayAttr pairs = {}) {
    return exec::CollectiveOp::create(builder, op->getLoc(), TypeRange(to), kind, reduce, axes, value, fresh(to), dim,
                                      dim2, pairs, op->getAttrOfType<StringAttr>("why"))
        .getResults()[0];
  }

  exec::ReduceOpKind reduceKind() {
    bool max = dist::getShardingAttr(input().getType()).getPartialKind() == dist::PartialKindEnum::max;
    return max ? exec::ReduceOpKind::max : exec::ReduceOpKind::sum;
  }

  /// Splitting `shards` of a dimension into `parts` each: the length of it before the split so that all pieces are equal. An error where the
  /// pieces of both divisions do not nest (docs/Lowering.md).
  FailureOr<int64_t> nested(int64_t dim, int64_t whole, int64_t piece, int64_t parts, RankedTensorType wholeType) {
    bool alone = !lowering.shardAxes(wholeType, dim);
    if (!alone && piece * parts != whole)
      return op->emitOpError() << "moves " << parts << " pieces of " << piece << " along dimension " << dim
                               << ", which is sharded over other axes in shards of " << whole << ": they do not nest";
    return piece * parts;
  }

  FailureOr<Value> gather(dist::AllGatherOp op) {
    int64_t dim = op.getDim(), parts = groupSize(op.getAxes());
    int64_t piece = tensorOf(op.getInput()).getDimSize(dim), whole = resultType().getDimSize(dim);
    FailureOr<int64_t> length = nested(dim, whole, piece, parts, resultType());
    if (failed(length))
      return failure();
    Value gathered = collective(exec::CollectiveKind::all_gather, exec::ReduceOpKind::none, op.getAxes(), input(),
                                resized(tensorOf(input()), dim, *length), dim);
    return resize(gathered, dim, whole, nullptr);
  }

  FailureOr<Value> slice(dist::AllSliceOp op) {
    int64_t dim = op.getDim(), piece = resultType().getDimSize(dim);
    if (failed(nested(dim, tensorOf(input()).getDimSize(dim), piece, groupSize(op.getAxes()), tensorOf(input()))))
      return failure();
    return resize(input(), dim, piece, lowering.shardIndex(op, op.getAxes()));
  }

  FailureOr<Value> reduceScatter(dist::ReduceScatterOp op) {
    int64_t dim = op.getDim(), piece = resultType().getDimSize(dim);
    FailureOr<int64_t> length =
        nested(dim, tensorOf(input()).getDimSize(dim), piece, groupSize(op.getAxes()), tensorOf(input()));
    if (failed(length))
      return failure();
    Value padded = resize(input(), dim, *length, nullptr);
    return collective(exec::CollectiveKind::reduce_scatter, reduceKind(), op.getAxes(), padded,
                      resized(tensorOf(padded), dim, piece), dim);
  }

  FailureOr<Value> allToAll(dist::AllToAllOp op) {
    int64_t from = op.getFrom(), to = op.getTo(), parts = groupSize(op.getAxes());
    RankedTensorType in = tensorOf(input()), out = resultType();
    FailureOr<int64_t> split = nested(to, in.getDimSize(to), out.getDimSize(to), parts, in);
    FailureOr<int64_t> joined = nested(from, out.getDimSize(from), in.getDimSize(from), parts, out);
    if (failed(split) || failed(joined))
      return failure();
    Value padded = resize(input(), to, *split, nullptr);
    RankedTensorType exchanged = resized(resized(tensorOf(padded), to, out.getDimSize(to)), from, *joined);
    Value result = collective(exec::CollectiveKind::all_to_all, exec::ReduceOpKind::none, op.getAxes(), padded,
                              exchanged, to, from);
    return resize(result, from, out.getDimSize(from), nullptr);
  }

  /// Which piece (shard numbers per dimension) a device holds.
  SmallVector<int64_t> pieceOf(const Sharding &sharding, int64_t device) {
    return llvm::map_to_vector(sharding.dims, [&](const DimSharding &dim) { return groupIndex(mesh, dim.axes, device); });
  }

  FailureOr<Value> permute(dist::CollectivePermuteOp op) {
    Sharding from = dist::getShardingAttr(input().getType()).toSharding(mesh);
    Sharding to = dist::getShardingAttr(resultType()).toSharding(mesh);
    // Holders and needers of every piece in device order; who has what it needs keeps it.
    std::map<SmallVector<int64_t>, SmallVector<int64_t>> holders, needers;
    SmallVector<int64_t> pairs;
    for (int64_t device = 0, n = mesh.numDevices(); device < n; ++device) {
      SmallVector<int64_t> has = pieceOf(from, device), needs = pieceOf(to, device);
      if (has == needs) {
        pairs.append({device, device});
        continue;
      }
      holders[has].push_back(device);
      needers[needs].push_back(device);
    }
    for (auto &[piece, devices] : needers) {
      ArrayRef<int64_t> sources = holders[piece];
      if (sources.size() != devices.size())
        return op.emitOpError() << "cannot be a permutation: " << devices.size() << " ranks need a piece that "
                                << sources.size() << " ranks can give";
      for (auto [source, target] : llvm::zip_equal(sources, devices))
        pairs.append({source, target});
    }
    AxisList all;
    for (int axis = 0; axis < int(mesh.axes.size()); ++axis)
      all.push_back(wholeAxis(mesh, axis));
    return collective(exec::CollectiveKind::collective_permute, exec::ReduceOpKind::none,
                      dist::axesAttr(op.getContext(), all, mesh), input(), resultType(), 0, 0,
                      builder.getDenseI64ArrayAttr(pairs));
  }

  FailureOr<Value> run() {
    if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
      return collective(exec::CollectiveKind::all_reduce, reduceKind(), reduce.getAxes(), input(), resultType());
    if (auto gatherOp = dyn_cast<dist::AllGatherOp>(op))
      return gather(gatherOp);
    if (auto sliceOp = dyn_cast<dist::AllSliceOp>(op))
      return slice(sliceOp);
    if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
      return reduceScatter(scatter);
    if (auto exchange = dyn_cast<dist::AllToAllOp>(op))
      return allToAll(exchange);
    if (auto permutation = dyn_cast<dist::CollectivePermuteOp>(op))
      return permute(permutation);
    return op->emitOpError("does not stand on rung spmd");
  }
};

} // namespace

LogicalResult lowerCollectives(Lowering &lowering) {
  SmallVector<Operation *> ops;
  lowering.module.walk([&](Operation *op) {
    if (isa<dist::DistDialect>(op->getDialect()) && !isa<dist::MeshOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
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
