//===- TileDistributorLoops.cpp - what one thread does of a tile op ---------===//

#include "StartReductions.h"
#include "TileDistributor.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace tessera {

Value TileDistributor::remainder(Value value, int64_t divisor) {
  if (divisor == 1)
    return constantIndex(0);
  return b.createOrFold<arith::RemUIOp>(loc, value, constantIndex(divisor));
}

Value TileDistributor::quotient(Value value, int64_t divisor) {
  if (divisor == 1)
    return value;
  return b.createOrFold<arith::DivUIOp>(loc, value, constantIndex(divisor));
}

TileDistributor::Values TileDistributor::delinearize(Value number, ArrayRef<int64_t> sizes) {
  Values places(sizes.size());
  for (int64_t i = int64_t(sizes.size()) - 1; i > 0; --i) {
    places[i] = remainder(number, sizes[i]);
    number = quotient(number, sizes[i]);
  }
  if (!sizes.empty())
    places[0] = number;
  return places;
}

/// How many turns of a loop whose body is `block` should be written out: so many loads of a thread are under
/// way at once, which is what hides how long memory takes. Loops within, or much code, are left as they are.
static int64_t turnsAtOnce(Block &block, int64_t turns) {
  int64_t ops = 0;
  bool loops = false;
  block.walk([&](Operation *op) {
    ++ops;
    loops |= isa<scf::ForOp>(op);
  });
  int64_t most = loops || ops > 64 ? 1 : ops > 32 ? 4 : 8;
  for (int64_t count = std::min(most, turns); count > most / 2; --count)
    if (turns % count == 0)
      return count;
  return std::min(most, turns);
}

/// results = body(place, carried) for the places first, first + step, ... below `end`; `first` is below
/// `step`.
TileDistributor::Values TileDistributor::forPlaces(Value first, int64_t end, int64_t step, ValueRange carried,
                                                   llvm::function_ref<Values(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  if (end == step)
    return body(first, carried);
  // As many turns for every thread are a number that LLVM knows.
  bool even = end % step == 0;
  auto loop = even ? scf::ForOp::create(b, loc, constantIndex(0), constantIndex(end / step), constantIndex(1),
                                        carried)
                   : scf::ForOp::create(b, loc, first, constantIndex(end), constantIndex(step), carried);
  b.setInsertionPointToStart(loop.getBody());
  Value place = loop.getInductionVar();
  if (even) {
    Value turn = arith::MulIOp::create(b, loc, place, constantIndex(step));
    place = arith::AddIOp::create(b, loc, first, turn);
  }
  Values results = body(place, loop.getRegionIterArgs());
  if (!results.empty())
    scf::YieldOp::create(b, loc, results);
  if (int64_t count = even ? turnsAtOnce(*loop.getBody(), end / step) : 1; count > 1) {
    auto unroll = LLVM::LoopUnrollAttr::get(b.getContext(), /*disable=*/{},
                                            b.getI32IntegerAttr(int32_t(count)), {}, {}, {}, {}, {});
    loop->setAttr(LLVM::CondBrOp::getLoopAnnotationAttrName(OperationName("llvm.cond_br", b.getContext())),
                  LLVM::LoopAnnotationAttr::get(b.getContext(), {}, {}, {}, unroll, {}, {}, {}, {}, {}, {},
                                                {}, {}, {}, {}, {}));
  }
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// body(number) for the items first, first + step, ... of this thread.
void TileDistributor::forItems(Value first, int64_t step, llvm::function_ref<void(Value)> body) {
  auto each = [&](Value number, ValueRange) {
    body(number);
    return Values();
  };
  if (how.items >= step) {
    forPlaces(first, how.items, step, {}, each);
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  Value mine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, first, constantIndex(how.items));
  auto branch = scf::IfOp::create(b, loc, mine, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  body(first);
}

/// Sets the places of the outer dimensions and, where the vectorized one is among the item's, the chunk.
void TileDistributor::placeItem(Value number, Chunk *chunk) {
  Values places = delinearize(number, how.sizes);
  for (auto [dim, place] : llvm::zip_equal(how.dims, places)) {
    if (dim != d || !chunk) {
      ivs[dim] = place;
      continue;
    }
    Value start =
        how.width == 1 ? place : b.createOrFold<arith::MulIOp>(loc, place, constantIndex(how.width));
    *chunk = {start, how.width, how.width, 0};
  }
}

/// What an output holds before: in memory, or the constant that stands for it.
Value TileDistributor::held(OpOperand &out, const Chunk &chunk) {
  TypedAttr start = startOf(op, out.getOperandNumber() - unsigned(op.getNumDpsInputs()));
  return start ? toVector(arith::ConstantOp::create(b, loc, start), chunk) : load(out, chunk);
}

void TileDistributor::emitParallel() {
  SmallVector<int64_t> reductions = dimsOf(utils::IteratorType::reduction, d);
  forItems(id, threads, [&](Value number) {
    Chunk chunk{};
    placeItem(number, &chunk);
    // What loops over reductions make inside they store there.
    auto isCarried = [&](OpOperand &out) { return reductions.empty() || !isMadeInside(out); };
    Values outs;
    for (OpOperand &out : op.getDpsInitsMutable())
      if (isCarried(out))
        outs.push_back(op.payloadUsesValueFromOperand(&out) || !reductions.empty() ? held(out, chunk)
                                                                                   : Value());
    Values results = reductions.empty() ? runBody(chunk, outs) : reduceOver(reductions, chunk, outs);
    size_t next = 0;
    for (OpOperand &out : op.getDpsInitsMutable())
      if (isCarried(out))
        store(out, results[next++], chunk);
  });
}

/// The body on one element, whatever it holds.
TileDistributor::Values TileDistributor::runScalarBody(ValueRange outs) {
  IRMapping mapping;
  Chunk one{constantIndex(0), 1, 1, 0};
  for (OpOperand *input : op.getDpsInputOperands())
    if (BlockArgument arg = op.getMatchingBlockArgument(input); !arg.use_empty())
      mapping.map(arg, load(*input, one));
  for (auto [arg, value] : llvm::zip(op.getRegionOutputArgs(), outs))
    if (value)
      mapping.map(arg, value);
  for (Operation &inner : body->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      Value place = ivs[index.getDim()];
      mapping.map(index.getResult(), place ? place : constantIndex(0));
      continue;
    }
    Operation *copy = b.clone(inner, mapping);
    copy->walk([&](linalg::IndexOp index) { // in a region of it
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(index);
      Value place = ivs[index.getDim()];
      b.replaceOp(index, place ? place : constantIndex(0));
    });
  }
  return llvm::map_to_vector(body->getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

void TileDistributor::emitScalar() {
  SmallVector<int64_t> reductions = dimsOf(utils::IteratorType::reduction, -1);
  forItems(id, threads, [&](Value number) {
    placeItem(number, nullptr);
    Chunk one{constantIndex(0), 1, 1, 0};
    Values outs;
    for (OpOperand &out : op.getDpsInitsMutable())
      outs.push_back(held(out, one));
    Values results;
    emitLoops(reductions, outs, [&](ValueRange carried) { return runScalarBody(carried); }, &results);
    for (auto [out, result] : llvm::zip(op.getDpsInitsMutable(), results))
      store(out, result, one);
  });
}

/// What partial results begin with: vectors of `width` for outputs that are reduced.
TileDistributor::Values TileDistributor::neutrals(int64_t width) {
  Values values;
  for (Operation *combiner : combiners) {
    if (!combiner)
      continue;
    TypedAttr neutral = *arith::getNeutralElement(combiner);
    if (width > 1)
      neutral = DenseElementsAttr::get(VectorType::get({width}, neutral.getType()), Attribute(neutral));
    values.push_back(arith::ConstantOp::create(b, loc, neutral));
  }
  return values;
}

Value TileDistributor::combine(unsigned output, Value x, Value y) {
  return vector::makeArithReduction(b, loc, *linalg::getCombinerOpKind(combiners[output]), x, y);
}

Value TileDistributor::reduceLanes(unsigned output, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return value;
  // A tree, so that the order does not hang on how LLVM unrolls.
  Values lanes;
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane)
    lanes.push_back(vector::ExtractOp::create(b, loc, value, lane));
  for (size_t half = lanes.size() / 2; half; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      lanes[lane] = combine(output, lanes[lane], lanes[lane + half]);
  return lanes.front();
}

/// The value of the thread whose number differs by `distance`: in pieces of 32 bits.
Value TileDistributor::shuffle(Value value, int64_t distance) {
  Type type = value.getType(), i32 = b.getI32Type();
  auto exchange = [&](Value piece) -> Value {
    Value offset = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(distance)));
    Value width = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(kWarp)));
    return gpu::ShuffleOp::create(b, loc, piece, offset, width, gpu::ShuffleMode::XOR).getShuffleResult();
  };
  if (type.isF32() || type.isInteger(32))
    return exchange(value);
  if (type.isIndex()) {
    Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    return arith::IndexCastOp::create(b, loc, type, shuffle(wide, distance));
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  Type integer = b.getIntegerType(bits);
  Value plain = isa<FloatType>(type) ? Value(arith::BitcastOp::create(b, loc, integer, value)) : value;
  Value moved;
  if (bits < 32) {
    moved = exchange(arith::ExtUIOp::create(b, loc, i32, plain));
    moved = arith::TruncIOp::create(b, loc, integer, moved);
  } else { // 64
    Value half = arith::ConstantOp::create(b, loc, b.getIntegerAttr(integer, 32));
    Value low = exchange(arith::TruncIOp::create(b, loc, i32, plain));
    Value high = exchange(
        arith::TruncIOp::create(b, loc, i32, arith::ShRUIOp::create(b, loc, plain, half).getResult()));
    low = arith::ExtUIOp::create(b, loc, integer, low);
    high = arith::ShLIOp::create(b, loc, arith::ExtUIOp::create(b, loc, integer, high), half);
    moved = arith::OrIOp::create(b, loc, low, high);
  }
  return isa<FloatType>(type) ? Value(arith::BitcastOp::create(b, loc, type, moved)) : moved;
}

Value TileDistributor::scratch(ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().getBody().front());
  return memref::AllocOp::create(b, loc, MemRefType::get(shape, element));
}

/// Adds `total` to what the output held before.
void TileDistributor::finish(unsigned output, Value total, const Chunk &chunk) {
  OpOperand &out = op.getDpsInitsMutable()[output];
  store(out, combine(output, toVector(held(out, chunk), chunk), total), chunk);
}

void TileDistributor::where(Value condition, llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  if (condition) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  body();
}

Value TileDistributor::partColumn(Value place) {
  return how.width == 1 ? place : b.createOrFold<arith::MulIOp>(loc, place, constantIndex(how.width));
}

void TileDistributor::storePart(Value part, Value row, Value place, Value value) {
  Value column = partColumn(place);
  if (how.width == 1)
    memref::StoreOp::create(b, loc, value, part, ValueRange{row, column});
  else
    vector::StoreOp::create(b, loc, value, part, ValueRange{row, column});
}

Value TileDistributor::loadPart(Value part, Value row, Value place) {
  Value column = partColumn(place);
  if (how.width == 1)
    return memref::LoadOp::create(b, loc, part, ValueRange{row, column});
  auto type = VectorType::get({how.width}, cast<MemRefType>(part.getType()).getElementType());
  return vector::LoadOp::create(b, loc, type, part, ValueRange{row, column});
}

/// This thread's sums over every `how.slices`-th point of the reductions, from its slice on.
void TileDistributor::sumSlice(ArrayRef<Value> parts, Value slice, Value place) {
  SmallVector<int64_t> reductions = dimsOf(utils::IteratorType::reduction, -1), sizes;
  int64_t reduced = 1;
  for (int64_t dim : reductions) {
    sizes.push_back(ranges[dim]);
    reduced *= ranges[dim];
  }
  Chunk chunk{};
  placeItem(place, &chunk);
  Values totals = forPlaces(
      slice, reduced, how.slices, neutrals(how.width), [&](Value number, ValueRange carried) -> Values {
        for (auto [dim, at] : llvm::zip_equal(reductions, delinearize(number, sizes)))
          ivs[dim] = at;
        return llvm::map_to_vector(runBody(chunk, carried), [&](Value sum) { return toVector(sum, chunk); });
      });
  for (int64_t dim : reductions)
    ivs[dim] = Value();
  for (auto [part, sum] : llvm::zip_equal(parts, totals))
    storePart(part, slice, place, sum);
}

/// The sums of all slices, in their order.
void TileDistributor::joinSlices(ArrayRef<Value> parts, Value place) {
  Chunk chunk{};
  placeItem(place, &chunk);
  for (auto [i, part] : llvm::enumerate(parts)) {
    Value total;
    for (int64_t row = 0; row < how.slices; ++row) {
      Value value = loadPart(part, constantIndex(row), place);
      total = total ? combine(i, total, value) : value;
    }
    finish(i, total, chunk);
  }
}

void TileDistributor::emitSplit() {
  (void)reductionsCombine(); // finds the combiners
  Values parts;
  for (OpOperand &out : op.getDpsInitsMutable())
    parts.push_back(scratch({how.slices, how.places * how.width},
                            cast<MemRefType>(out.get().getType()).getElementType()));
  Value place = remainder(id, how.places), slice = quotient(id, how.places);
  auto below = [&](Value number, int64_t end) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, constantIndex(end));
  };
  Value active = how.items == how.places ? Value() : below(place, how.items);
  if (how.slices * how.places < threads) {
    Value inside = below(slice, how.slices);
    active = active ? Value(arith::AndIOp::create(b, loc, active, inside)) : inside;
  }
  if (again)
    gpu::BarrierOp::create(b, loc); // the last round's partial sums have been read
  where(active, [&] { sumSlice(parts, slice, place); });
  gpu::BarrierOp::create(b, loc);
  where(below(id, how.items), [&] { joinSlices(parts, place); });
}

} // namespace tessera
