//===- AttentionKernel.cpp - attention as a kernel function of threads ------===//

#include "tessera/Target/CUDA/AttentionKernel.h"

#include "AttentionBlock.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {

using namespace mlir;

namespace {
/// Bytes of shared memory that a block may have on every architecture.
constexpr int64_t kSharedBytes = 99 * 1024;
/// Warps of a block.
constexpr int64_t kWarps = 4;
/// Blocks that fill a large GPU: two for each of 132 multiprocessors.
constexpr int64_t kWantedBlocks = 264;
/// The widest head whose sums a thread can hold in registers.
constexpr int64_t kWidestHead = 256;

Type elementOf(const AttentionShape &shape, OpBuilder &b) {
  return shape.elementType ? shape.elementType : Type(b.getF32Type());
}
} // namespace

/// Rows, warps and keys of a block that has room for it.
static bool fitBlock(const AttentionShape &shape, AttentionTiling &tiling) {
  int64_t rows = shape.seq * shape.group;
  tiling.warpRows = tiling.matrix || rows > 8 ? 16 : 8;
  int64_t wanted =
      std::min<int64_t>(kWarps, int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(rows, tiling.warpRows))));
  int64_t least = tiling.matrix ? 16 : 8;
  for (tiling.rowWarps = wanted; tiling.rowWarps; tiling.rowWarps /= 2) {
    tiling.keyWarps = kWarps / tiling.rowWarps;
    for (tiling.keys = tiling.matrix ? 64 : 32; tiling.keys >= least * tiling.keyWarps; tiling.keys /= 2)
      if (AttentionMemory(shape, tiling).total <= kSharedBytes)
        return true;
  }
  return false;
}

std::optional<AttentionTiling> tileAttention(const AttentionShape &shape) {
  if (shape.headDim > kWidestHead || shape.valueDim > kWidestHead)
    return std::nullopt;
  AttentionTiling tiling;
  Type element = shape.elementType, key = shape.keyType ? shape.keyType : element;
  tiling.matrix = element && element == key && (element.isBF16() || element.isF16());
  if (!fitBlock(shape, tiling))
    return std::nullopt;
  int64_t rows = shape.seq * shape.group;
  tiling.rowTiles = int64_t(llvm::divideCeil(rows, tiling.tileRows()));
  int64_t tiles = shape.batch * shape.kvHeads * tiling.rowTiles;
  // Keys that one tile of rows may see.
  int64_t keys = shape.context;
  if (shape.window)
    keys = std::min(keys, *shape.window + tiling.tileRows() / shape.group + 1 + tiling.keys);
  int64_t keyTiles = int64_t(llvm::divideCeil(keys, tiling.keys));
  if (2 * tiles <= kWantedBlocks)
    tiling.splits = std::clamp<int64_t>(keyTiles / 2, 1, kWantedBlocks / tiles);
  tiling.blocks = tiles * tiling.splits;
  return tiling;
}

func::FuncOp buildCUDAAttentionKernel(OpBuilder &builder, Location loc, StringRef name,
                                      const AttentionShape &shape, const AttentionTiling &tiling) {
  OpBuilder::InsertionGuard guard(builder);
  ImplicitLocOpBuilder b(loc, builder);
  Type element = elementOf(shape, b), keyElement = shape.keyType ? shape.keyType : element;
  auto tensor = [&](ArrayRef<int64_t> dims, Type type) -> Type { return RankedTensorType::get(dims, type); };
  SmallVector<int64_t> keyDims;
  if (shape.layers)
    keyDims.push_back(*shape.layers);
  keyDims.append({shape.batch, shape.context, shape.kvHeads});
  SmallVector<int64_t> valueDims(keyDims);
  keyDims.push_back(shape.headDim);
  valueDims.push_back(shape.valueDim);
  SmallVector<Type> outputs = {
      tensor({shape.batch, shape.seq, shape.kvHeads, shape.group, shape.valueDim}, element)};
  if (shape.logSumExp)
    outputs.push_back(tensor({shape.batch, shape.seq, shape.kvHeads, shape.group}, b.getF32Type()));
  if (tiling.splits > 1)
    outputs.push_back(tensor({attentionScratch(shape, tiling)}, b.getF32Type()));
  SmallVector<Type> inputs = {
      tensor({shape.batch, shape.seq, shape.kvHeads, shape.group, shape.headDim}, element),
      tensor(keyDims, keyElement), tensor(valueDims, keyElement),
      tensor({shape.batch, shape.seq}, b.getI32Type())};
  inputs.append(outputs);
  unsigned firstScalar = inputs.size();
  inputs.append(shape.layers ? 4 : 3, b.getIndexType());
  auto func = func::FuncOp::create(b, name, b.getFunctionType(inputs, outputs));
  func.setPrivate();
  func->setAttr(kKernelAttr, b.getUnitAttr());
  func->setAttr(kThreadsAttr, b.getI64IntegerAttr(tiling.threads()));
  func->setAttr(kNativeBF16Attr, b.getUnitAttr());

  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  auto buffer = [&](unsigned number) -> Value {
    auto type = cast<RankedTensorType>(entry->getArgument(number).getType());
    auto op = bufferization::ToBufferOp::create(b, MemRefType::get(type.getShape(), type.getElementType()),
                                                entry->getArgument(number));
    op.setReadOnly(number < 4);
    return op;
  };
  AttentionArguments arguments{buffer(0),
                               buffer(1),
                               buffer(2),
                               buffer(3),
                               buffer(4),
                               shape.logSumExp ? buffer(5) : Value(),
                               tiling.splits > 1 ? buffer(firstScalar - 1) : Value(),
                               shape.layers ? Value(entry->getArgument(firstScalar)) : Value(),
                               entry->getArgument(inputs.size() - 3)};
  Value one = arith::ConstantIndexOp::create(b, 1);
  auto blocks = scf::ForOp::create(b, entry->getArgument(inputs.size() - 2),
                                   entry->getArgument(inputs.size() - 1), one, ValueRange{});
  func::ReturnOp::create(b, ValueRange(entry->getArguments()).slice(4, outputs.size()));
  b.setInsertionPointToStart(blocks.getBody());
  AttentionBlock(b, shape, tiling, arguments).emit(blocks.getInductionVar());
  return func;
}

} // namespace tessera
