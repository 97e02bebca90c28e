//===- RandomWeights.cpp - kernels that make up weights ---------------------===//

#include "ThreadCode.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/CUDA/Passes.h"
#include "tessera/runtime/abi.h"
#include "tessera/runtime/core/CountedRandom.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_CUDAADDRANDOMWEIGHTS
#include "tessera/Target/CUDA/Passes.h.inc"

using namespace mlir;

namespace {

/// The numbers of runtime/core (CountedRandom.h, ShardReader.h), whose names these are.
class RandomCode : public ThreadCode {
public:
  using ThreadCode::ThreadCode;

  Value hex(uint64_t value) { return i64(int64_t(value)); }
  Value shiftRight(Value x, int64_t bits) { return arith::ShRUIOp::create(b, x, constantLike(x, bits)); }
  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value mix(Value z) {
    for (runtime::MixRound round : runtime::kMixRounds)
      z = mul(exclusiveOr(z, shiftRight(z, round.shift)), hex(round.factor));
    return exclusiveOr(z, shiftRight(z, runtime::kLastMixShift));
  }
  /// What the bits of all elements of a layer begin with.
  Value stream(Value seed, Value layer) {
    Value step = hex(runtime::kCountStep);
    return mix(exclusiveOr(mix(add(seed, step)), add(layer, step)));
  }
  /// randomWeight() of the element with this index.
  Value weight(Value stream, Value index, Value scale, Value mean) {
    Value bits = mix(add(stream, mul(index, hex(runtime::kCountStep))));
    // Two of the four 16-bit numbers at a time.
    Value mask = hex(0x0000ffff0000ffff), pairs = add(both(bits, mask), both(shiftRight(bits, 16), mask));
    Value sum = add(low(pairs), low(shiftRight(pairs, 32)));
    Value whole = arith::SIToFPOp::create(b, b.getF32Type(), sub(sum, i32(131070)));
    return addf(mulf(whole, scale), mean);
  }
  Value low(Value x) { return arith::TruncIOp::create(b, b.getI32Type(), x); }
  Value fromNumber(Value x) { return b.createOrFold<arith::IndexCastOp>(b.getI64Type(), x); }
};

/// Block i makes row `i % rows` of layer `i / rows`; abi.h says what its arguments are.
void addKernel(ModuleOp module, Type element) {
  ImplicitLocOpBuilder b(module.getLoc(), OpBuilder::atBlockEnd(module.getBody()));
  RandomCode code(b);
  // Buffers have a static shape in LLVM; how large they are only the launch knows.
  constexpr int64_t any = int64_t(1) << 40;
  Type numbers = MemRefType::get({any}, b.getI64Type());
  SmallVector<Type> arguments = {MemRefType::get({any}, element), numbers, numbers};
  arguments.append(/*rows, columns, tail, stride, seed, scale, mean*/ 7, b.getIndexType());
  arguments.append(/*the range*/ 2, b.getIndexType());
  std::string name;
  llvm::raw_string_ostream(name) << TESSERA_RANDOM_KERNEL << element;
  auto func = func::FuncOp::create(b, name, b.getFunctionType(arguments, {}));
  func.setPrivate();
  func->setAttr(kKernelAttr, b.getUnitAttr());
  func->setAttr(kThreadsAttr, b.getI64IntegerAttr(TESSERA_RANDOM_THREADS));
  func->setAttr(kSharedBytesAttr, b.getI64IntegerAttr(0));
  func->setAttr(kNativeBF16Attr, b.getUnitAttr());
  func.setArgAttr(0, kOutputAttr, b.getUnitAttr());

  Block *entry = func.addEntryBlock();
  b.setInsertionPointToStart(entry);
  Value out = entry->getArgument(0), globalRows = entry->getArgument(1),
        globalColumns = entry->getArgument(2);
  Value rows = entry->getArgument(3), columns = entry->getArgument(4);
  Value tail = code.fromNumber(entry->getArgument(5)), stride = entry->getArgument(6),
        seed = code.fromNumber(entry->getArgument(7));
  auto float32 = [&](Value bits) -> Value {
    return arith::BitcastOp::create(b, b.getF32Type(), code.low(code.fromNumber(bits)));
  };
  Value scale = float32(entry->getArgument(8)), mean = float32(entry->getArgument(9));
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x),
        thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value layer = code.div(block, rows), row = arith::RemUIOp::create(b, block, rows);
  Value globalRow = memref::LoadOp::create(b, globalRows, row);
  Value stream = code.stream(seed, code.fromNumber(layer)), first = code.mul(globalRow, tail);
  Value place = code.add(code.mul(layer, stride), code.mul(row, columns));
  auto loop = scf::ForOp::create(b, thread, columns,
                                 arith::ConstantIndexOp::create(b, TESSERA_RANDOM_THREADS), ValueRange{});
  func::ReturnOp::create(b);
  b.setInsertionPointToStart(loop.getBody());
  Value column = loop.getInductionVar();
  Value globalColumn = memref::LoadOp::create(b, globalColumns, column);
  Value inside =
      code.both(code.lessOrEqual(code.i64(0), globalRow), code.lessOrEqual(code.i64(0), globalColumn));
  Value number =
      code.select(inside, code.weight(stream, code.add(first, globalColumn), scale, mean), code.f32(0));
  if (!element.isF32())
    number = arith::TruncFOp::create(b, element, number);
  memref::StoreOp::create(b, number, out, ValueRange{code.add(place, column)});
}

struct CUDAAddRandomWeights : impl::CUDAAddRandomWeightsBase<CUDAAddRandomWeights> {
  void runOnOperation() override {
    llvm::SetVector<Type> types;
    for (auto parameter : getOperation().getOps<graph::ParameterOp>())
      if (Type type = cast<RankedTensorType>(parameter.getType()).getElementType(); isa<FloatType>(type))
        types.insert(type);
    for (Type type : types)
      addKernel(getOperation(), type);
  }
};

} // namespace
} // namespace tessera
