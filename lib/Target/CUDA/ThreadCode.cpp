//===- ThreadCode.cpp - code of one thread of a block -----------------------===//

#include "ThreadCode.h"

#include "tessera/Target/CUDA/Warp.h"

#include "tessera/Target/CUDA/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tessera {

using namespace mlir;

namespace {
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr int64_t kAllLanes = -1;
} // namespace

Value ThreadCode::constantLike(Value x, int64_t value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(x.getType(), value));
}
Value ThreadCode::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}
Value ThreadCode::i64(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
Value ThreadCode::f32(double value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value))); }
Value ThreadCode::wide(Value x) { return b.createOrFold<arith::ExtSIOp>(b.getI64Type(), x); }
Value ThreadCode::fromIndex(Value x) { return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), x); }

Value ThreadCode::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }
Value ThreadCode::tanh(Value x) { return math::TanhOp::create(b, x); }
Value ThreadCode::log2(Value x) { return math::Log2Op::create(b, x); }
Value ThreadCode::exp2(Value x) { return call("llvm.nvvm.ex2.approx.ftz.f32", b.getF32Type(), x); }

Value ThreadCode::element(Value vector, int64_t i) {
  return LLVM::ExtractElementOp::create(b, vector, i32(i));
}

Value ThreadCode::pack(Values elements) {
  Value vector = LLVM::PoisonOp::create(b, vectorOf(elements[0].getType(), int64_t(elements.size())));
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(b, vector, element, i32(int64_t(i)));
  return vector;
}

Value ThreadCode::zero(Type type) { return arith::ConstantOp::create(b, b.getZeroAttr(type)); }

static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

Value ThreadCode::widenf(Value x) {
  if (getElementTypeOrSelf(x.getType()).isF32())
    return x;
  return LLVM::FPExtOp::create(b, withElement(x.getType(), b.getF32Type()), x);
}

Value ThreadCode::narrowf(Value x, Type element) {
  if (element.isF32())
    return x;
  return LLVM::FPTruncOp::create(b, withElement(x.getType(), element), x);
}

Value ThreadCode::bitcast(Value x, Type type) {
  return x.getType() == type ? x : LLVM::BitcastOp::create(b, type, x).getResult();
}

Type ThreadCode::pointerType(unsigned space) { return LLVM::LLVMPointerType::get(b.getContext(), space); }

Value ThreadCode::address(Value memref) {
  Value number = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  number = arith::IndexCastOp::create(b, b.getI64Type(), number);
  return LLVM::IntToPtrOp::create(b, pointerType(), number);
}

Value ThreadCode::sharedMemory(int64_t bytes) {
  Value memory = memref::AllocOp::create(b, MemRefType::get({bytes}, b.getI8Type()));
  return LLVM::AddrSpaceCastOp::create(b, pointerType(kSharedSpace), address(memory));
}

Value ThreadCode::imageMemory(int64_t count) {
  auto memory = memref::AllocOp::create(b, MemRefType::get({count}, b.getI32Type()));
  memory->setAttr(kImageMemoryAttr, b.getUnitAttr());
  return address(memory);
}

Value ThreadCode::at(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{bytes});
}

Value ThreadCode::load(Type type, Value pointer, int64_t align) {
  return LLVM::LoadOp::create(b, type, pointer, unsigned(align));
}

void ThreadCode::store(Value value, Value pointer, int64_t align) {
  LLVM::StoreOp::create(b, value, pointer, unsigned(align));
}

void ThreadCode::copyAsync(Value shared, Value global, int64_t bytes, Value valid) {
  Value from = LLVM::AddrSpaceCastOp::create(b, pointerType(kGlobalSpace), global);
  Value size = select(valid, i32(bytes), i32(0));
  StringRef name = bytes == 16  ? "llvm.nvvm.cp.async.cg.shared.global.16.s"
                   : bytes == 8 ? "llvm.nvvm.cp.async.ca.shared.global.8.s"
                                : "llvm.nvvm.cp.async.ca.shared.global.4.s";
  call(name, {}, {shared, from, size});
}

void ThreadCode::commitCopies() { call("llvm.nvvm.cp.async.commit.group", {}, {}); }
void ThreadCode::awaitCopies(int64_t mayBeLeft) { call("llvm.nvvm.cp.async.wait.group", {}, i32(mayBeLeft)); }

Value ThreadCode::countArrival(Value pointer, Value last) {
  // The order of an atomicrmw of LLVM is lost on the way to PTX (LLVM 22): fences say it.
  auto fence = [&] { LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "device"); };
  fence();
  Value before = LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::uinc_wrap, pointer, last,
                                           LLVM::AtomicOrdering::monotonic, "device");
  fence();
  return before;
}

Value ThreadCode::threadNumber() { return call("llvm.nvvm.read.ptx.sreg.tid.x", b.getI32Type(), {}); }
void ThreadCode::barrier() { call("llvm.nvvm.barrier.cta.sync.aligned.all", {}, i32(0)); }
Value ThreadCode::barrierAny(Value condition) {
  return call("llvm.nvvm.barrier.cta.red.or.aligned.all", b.getI1Type(), {i32(0), condition});
}
void ThreadCode::warpBarrier() { call("llvm.nvvm.bar.warp.sync", {}, i32(kAllLanes)); }

Value ThreadCode::shuffle(Value x, int64_t lanes) {
  StringRef name = x.getType().isF32() ? "llvm.nvvm.shfl.sync.bfly.f32" : "llvm.nvvm.shfl.sync.bfly.i32";
  return call(name, x.getType(), {i32(kAllLanes), x, i32(lanes), i32(kWarp - 1)});
}

Value ThreadCode::warpMax(Value x) {
  return call("llvm.nvvm.redux.sync.max", b.getI32Type(), {x, i32(kAllLanes)});
}
Value ThreadCode::warpMin(Value x) {
  return call("llvm.nvvm.redux.sync.min", b.getI32Type(), {x, i32(kAllLanes)});
}

Values ThreadCode::loadMatrices(Value row, bool transposed) {
  Type word = b.getI32Type();
  auto four = LLVM::LLVMStructType::getLiteral(b.getContext(), {word, word, word, word});
  Value loaded = call(transposed ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
                                 : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3",
                      four, row);
  Values words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  return words;
}

Values ThreadCode::multiply(Type element, ArrayRef<Value> a, ArrayRef<Value> bs, ArrayRef<Value> acc) {
  bool bf16 = element.isBF16();
  Type word = bf16 ? Type(b.getI32Type()) : Type(vectorOf(element, 2)), real = b.getF32Type();
  Values args;
  for (Value x : a)
    args.push_back(bitcast(x, word));
  for (Value x : bs)
    args.push_back(bitcast(x, word));
  args.append(acc.begin(), acc.end());
  auto four = LLVM::LLVMStructType::getLiteral(b.getContext(), {real, real, real, real});
  Value sums = call(bf16 ? "llvm.nvvm.mma.m16n8k16.row.col.bf16" : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
                    four, args);
  Values result;
  for (int64_t i = 0; i < 4; ++i)
    result.push_back(LLVM::ExtractValueOp::create(b, sums, i));
  return result;
}

Value ThreadCode::call(StringRef name, Type result, ValueRange args) {
  StringAttr attr = b.getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, attr, args);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(b, result, attr, args).getResult(0);
}

Values ThreadCode::loop(Value lower, Value upper, int64_t step, ValueRange carried,
                        llvm::function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(b, lower, upper, constantLike(lower, step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b, results);
  return Values(op.getResults());
}

void ThreadCode::loop(Value lower, Value upper, int64_t step, llvm::function_ref<void(Value)> body) {
  loop(lower, upper, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void ThreadCode::when(Value condition, llvm::function_ref<void()> body) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

Values ThreadCode::either(Value condition, llvm::function_ref<Values()> then,
                          llvm::function_ref<Values()> otherwise) {
  auto build = [&](llvm::function_ref<Values()> body) {
    return [&, body](OpBuilder &inner, Location loc) {
      OpBuilder::InsertionGuard guard(b);
      b.restoreInsertionPoint(inner.saveInsertionPoint());
      Values values = body();
      scf::YieldOp::create(b, values);
      inner.restoreInsertionPoint(b.saveInsertionPoint());
    };
  };
  auto op = scf::IfOp::create(b, condition, build(then), build(otherwise));
  return Values(op.getResults());
}

} // namespace tessera
