//===- DrawForm.cpp - drawing tokens on a GPU -------------------------------===//
//
// draw -> a kernel in which a block draws a row.
//
//===----------------------------------------------------------------------===//

#include "DrawForm.h"

#include "ThreadCode.h"

#include "tessera/Dialect/Graph/IR/Graph.h"
#include "tessera/Target/CUDA/DrawKernel.h"
#include "tessera/Target/CUDA/Passes.h"
#include "tessera/Target/CUDA/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tessera {
namespace {

constexpr int64_t kMostThreads = 512;

/// The threads of a block. Numbers are added up within warps, and then by every thread over the warps.
class BlockThreads : public DrawThreads {
public:
  explicit BlockThreads(int64_t vocab)
      : threads(std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(vocab))), kWarp, kMostThreads)) {}

  int64_t count() const override { return threads; }

  Value number(ImplicitLocOpBuilder &b) override {
    thread = arith::IndexCastUIOp::create(b, b.getIndexType(), ThreadCode(b).threadNumber());
    sums = memref::AllocOp::create(b, MemRefType::get(threads / kWarp, b.getI64Type()));
    tops = memref::AllocOp::create(b, MemRefType::get(threads / kWarp, b.getF32Type()));
    return thread;
  }

  Value sum(ImplicitLocOpBuilder &b, Value own) override {
    ThreadCode t(b);
    auto add = [&](Value x, Value y) { return t.add(x, y); };
    Value bits = t.i64(32);
    for (int64_t distance = kWarp / 2; distance; distance /= 2) {
      auto other = [&](Value half) -> Value {
        Value word = arith::TruncIOp::create(b, b.getI32Type(), half);
        return arith::ExtUIOp::create(b, b.getI64Type(), t.shuffle(word, distance));
      };
      Value high = other(arith::ShRUIOp::create(b, own, bits));
      own = add(own, arith::OrIOp::create(b, arith::ShLIOp::create(b, high, bits), other(own)));
    }
    if (hasSummed)
      t.barrier(); // the sum before has been read
    hasSummed = true;
    return overWarps(b, own, sums, add);
  }

  Value largest(ImplicitLocOpBuilder &b, Value own) override {
    ThreadCode t(b);
    auto larger = [&](Value x, Value y) { return t.select(t.greater(x, y), x, y); };
    for (int64_t distance = kWarp / 2; distance; distance /= 2)
      own = larger(own, t.shuffle(own, distance));
    return overWarps(b, own, tops, larger);
  }

  void once(ImplicitLocOpBuilder &b, llvm::function_ref<void()> body) override { first(b, thread, body); }

private:
  static Value index(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  static void first(ImplicitLocOpBuilder &b, Value number, llvm::function_ref<void()> body) {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, index(b, 0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  /// Each warp's number by way of `shared`, put together by every thread in the order of the warps.
  Value overWarps(ImplicitLocOpBuilder &b, Value own, Value shared,
                  llvm::function_ref<Value(Value, Value)> join) {
    first(b, arith::RemUIOp::create(b, thread, index(b, kWarp)), [&] {
      Value warp = arith::DivUIOp::create(b, thread, index(b, kWarp));
      memref::StoreOp::create(b, own, shared, ValueRange{warp});
    });
    ThreadCode(b).barrier();
    Value all;
    for (int64_t warp = 0; warp < threads / kWarp; ++warp) {
      Value one = memref::LoadOp::create(b, shared, ValueRange{index(b, warp)});
      all = all ? join(all, one) : one;
    }
    return all;
  }

  int64_t threads;
  Value thread, sums, tops;
  bool hasSummed = false;
};

struct CUDADrawForm : DrawForm {
  func::FuncOp build(Location loc, StringRef name, const DrawShape &shape) const override {
    return buildCUDADrawKernel(loc, name, shape);
  }
};

} // namespace

func::FuncOp buildCUDADrawKernel(Location loc, StringRef name, const DrawShape &shape) {
  BlockThreads threads(shape.vocab);
  func::FuncOp kernel = buildDrawKernel(loc, name, shape, threads);
  kernel->setAttr(kThreadsAttr, Builder(loc.getContext()).getI64IntegerAttr(threads.count()));
  return kernel;
}

void addCUDADrawForm(LibraryForms &forms) { forms.add<graph::DrawOp>(std::make_unique<CUDADrawForm>()); }

} // namespace tessera
