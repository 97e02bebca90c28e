//===- CacheBlocks.cpp - rows of caches as blocks, in kernels -------------===//

#include "tessera/Target/Forms/CacheBlocks.h"

#include "tessera/Target/Forms/FormKernel.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Dialect/Graph/IR/HeldAttr.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tessera {

using graph::kCacheBlock;
using graph::kCacheBlockBytes;

namespace {

using Values = SmallVector<Value>;

constexpr int64_t kScaleBytes = kCacheBlockBytes - kCacheBlock;

Value index(ImplicitLocOpBuilder &b, int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value add(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return b.createOrFold<arith::AddIOp>(x, index(b, y));
}
Value mul(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(x, index(b, y));
}
Value div(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return b.createOrFold<arith::DivUIOp>(x, index(b, y));
}
Value rem(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return b.createOrFold<arith::RemUIOp>(x, index(b, y));
}

/// The first byte of the block that `element` of a row lies in.
Value blockOf(ImplicitLocOpBuilder &b, Value element) {
  return mul(b, div(b, element, kCacheBlock), kCacheBlockBytes);
}

Values with(ValueRange at, Value last) {
  Values indices(at);
  indices.push_back(last);
  return indices;
}

template <typename T> Value splat(ImplicitLocOpBuilder &b, VectorType type, T value) {
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

Value buffer(ImplicitLocOpBuilder &b, Value array, bool readOnly) {
  auto type = cast<RankedTensorType>(array.getType());
  auto op =
      bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()), array);
  op.setReadOnly(readOnly);
  return op;
}

void loop(ImplicitLocOpBuilder &b, Value lower, Value upper, int64_t step,
          llvm::function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(b, lower, upper, index(b, step), ValueRange{});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

} // namespace

Value loadFromBlock(ImplicitLocOpBuilder &b, Value bytes, ValueRange at, Value element, int64_t lanes) {
  auto of = [&](Type type, int64_t count) { return VectorType::get({count}, type); };
  Type byte = b.getI8Type(), half = b.getF16Type();
  Value block = blockOf(b, element);
  Value stored = vector::LoadOp::create(b, of(byte, kScaleBytes), bytes, with(at, block));
  stored = vector::BitCastOp::create(b, of(half, 1), stored);
  Value scale = vector::ExtractOp::create(b, stored, 0);
  scale = arith::ExtFOp::create(b, b.getF32Type(), scale);
  Value first = b.createOrFold<arith::AddIOp>(add(b, block, kScaleBytes), rem(b, element, kCacheBlock));
  Value codes = vector::LoadOp::create(b, of(byte, lanes), bytes, with(at, first));
  codes = arith::ExtSIOp::create(b, of(b.getI32Type(), lanes), codes);
  Value numbers = arith::SIToFPOp::create(b, of(b.getF32Type(), lanes), codes);
  return arith::MulFOp::create(b, numbers, vector::BroadcastOp::create(b, numbers.getType(), scale));
}

void storeBlock(ImplicitLocOpBuilder &b, Value floats, ValueRange from, Value bytes, ValueRange to,
                Value element) {
  Type f32 = b.getF32Type(), f16 = b.getF16Type(), i32 = b.getI32Type(), i8 = b.getI8Type();
  auto wide = VectorType::get({kCacheBlock}, f32), words = VectorType::get({kCacheBlock}, i32);
  Value x = vector::LoadOp::create(b, wide, floats, with(from, element));
  // As integers the bits of magnitudes are ordered as magnitudes are, and NaN is the largest.
  Value magnitudes =
      arith::AndIOp::create(b, vector::BitCastOp::create(b, words, x), splat(b, words, int32_t(0x7fffffff)));
  Value largest = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, magnitudes);
  largest = arith::BitcastOp::create(b, f32, largest);
  Value range = arith::ConstantOp::create(b, b.getF32FloatAttr(127));
  Value half = arith::TruncFOp::create(b, f16, arith::DivFOp::create(b, largest, range));
  Value scale = vector::BroadcastOp::create(b, wide, arith::ExtFOp::create(b, f32, half));
  Value code = arith::DivFOp::create(b, x, scale);
  code = arith::MinNumFOp::create(b, code, splat(b, wide, 127.0f));
  code = arith::MaxNumFOp::create(b, code, splat(b, wide, -127.0f));
  // Adding 1.5 * 2^23 rounds to the nearest integer, which the low bits of the sum then hold.
  code = arith::AddFOp::create(b, code, splat(b, wide, 0x1.8p23f));
  code = vector::BitCastOp::create(b, words, code);
  // Quotients by a scale of 0 are infinite or NaN; their codes are 0.
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, scale, splat(b, wide, 0.0f));
  code = arith::SelectOp::create(b, isZero, splat(b, words, int32_t(0)), code);
  code = arith::TruncIOp::create(b, VectorType::get({kCacheBlock}, i8), code);
  Value block = blockOf(b, element);
  Value stored = vector::BroadcastOp::create(b, VectorType::get({1}, f16), half);
  stored = vector::BitCastOp::create(b, VectorType::get({kScaleBytes}, i8), stored);
  vector::StoreOp::create(b, stored, bytes, with(to, block));
  vector::StoreOp::create(b, code, bytes, with(to, add(b, block, kScaleBytes)));
}

exec::KernelShell blockUpdateKernel(Location loc, StringRef name, const BlockUpdate &update) {
  OpBuilder types(loc.getContext());
  Type f32 = types.getF32Type(), i32 = types.getI32Type(), i8 = types.getI8Type();
  exec::KernelShell shell(loc, name,
                          {RankedTensorType::get({update.batch, update.seq, update.heads, update.width}, f32),
                           RankedTensorType::get({update.batch, update.seq}, i32)},
                          {RankedTensorType::get({update.layers, update.batch, update.context, update.heads,
                                                  graph::cacheRowBytes(update.width)},
                                                 i8)},
                          update.isSharded ? 2 : 1);
  ImplicitLocOpBuilder b(loc, shell.builder);
  Value rows = buffer(b, shell.inputs[0], true), positions = buffer(b, shell.inputs[1], true),
        cache = buffer(b, shell.outputs[0], false);
  loop(b, shell.begin, shell.end, 1, [&](Value row) {
    Value batch = div(b, row, update.seq), i = rem(b, row, update.seq);
    Value position = arith::IndexCastOp::create(b, b.getIndexType(),
                                                memref::LoadOp::create(b, positions, ValueRange{batch, i}));
    Value isText = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, position, index(b, 0));
    Value place = update.ring ? rem(b, position, update.ring) : position;
    place = indexInShard(b, loc, place, update.isSharded ? shell.scalars[1] : Value(), update.context);
    // Unsigned: what lies in front of the piece is a large one.
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, place, index(b, update.context));
    inside = arith::AndIOp::create(b, inside, isText);
    auto write = scf::IfOp::create(b, inside);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(write.thenBlock());
    loop(b, index(b, 0), index(b, update.heads), 1, [&](Value head) {
      loop(b, index(b, 0), index(b, update.width), kCacheBlock, [&](Value element) {
        storeBlock(b, rows, {batch, i, head}, cache, {shell.scalars[0], batch, place, head}, element);
      });
    });
  });
  func::ReturnOp::create(b, shell.outputs);
  return shell;
}

exec::KernelShell expandBlocksKernel(Location loc, StringRef name, RankedTensorType floats) {
  SmallVector<int64_t> shape(floats.getShape());
  int64_t width = shape.back();
  shape.back() = graph::cacheRowBytes(width);
  auto blocks = RankedTensorType::get(shape, IntegerType::get(loc.getContext(), 8));
  exec::KernelShell shell(loc, name, {blocks}, {floats}, 0);
  ImplicitLocOpBuilder b(loc, shell.builder);
  Value from = buffer(b, shell.inputs[0], true), to = buffer(b, shell.outputs[0], false);
  loop(b, shell.begin, shell.end, 1, [&](Value row) {
    Values at(shape.size() - 1);
    for (size_t d = at.size(); d-- > 0;) {
      at[d] = d ? rem(b, row, shape[d]) : row;
      row = d ? div(b, row, shape[d]) : row;
    }
    loop(b, index(b, 0), index(b, width), kCacheBlock, [&](Value element) {
      Value numbers = loadFromBlock(b, from, at, element, kCacheBlock);
      vector::StoreOp::create(b, numbers, to, with(at, element));
    });
  });
  func::ReturnOp::create(b, shell.outputs);
  return shell;
}

namespace {

struct ExpandBlocksForm : LibraryForm {
  bool takes(Operation *op) const override { return op->hasAttr(graph::kHeldAttr); }
  LogicalResult lower(Operation *self, KernelLowering &lowering) const override {
    auto op = cast<graph::CastOp>(self);
    RankedTensorType floats = exec::plainType(op.getType());
    int64_t width = floats.getShape().back(), rows = floats.getNumElements() / std::max<int64_t>(width, 1);
    exec::KernelShell shell = expandBlocksKernel(op.getLoc(), "expand_blocks", floats);
    OpBuilder builder(op);
    replaceByLaunch(op, lowering, shell, op.getInput(), exec::fresh(builder, op.getResult()), {}, rows,
                    width);
    return success();
  }
};

} // namespace

void addExpandBlocksForm(LibraryForms &forms) {
  forms.add<graph::CastOp>(std::make_unique<ExpandBlocksForm>());
}

} // namespace tessera
