//===- ThreadCodeProducts.cpp - products of warpgroups (wgmma) --------------===//
//
// wgmma.mma_async has no intrinsic: it is a text of PTX, one a product, whose sums come in where they go out.
// Descriptors: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"; docs/StandIn.md has the
// formulas.
//
//===----------------------------------------------------------------------===//

#include "ThreadCode.h"

#include "llvm/ADT/StringExtras.h"

namespace tessera {

using namespace mlir;

/// A text that changes something beside what it gives; results are a struct unless there is one.
static Values runText(ImplicitLocOpBuilder &b, StringRef text, StringRef constraints,
                      ArrayRef<Type> resultTypes, ValueRange operands) {
  Type result = resultTypes.size() == 1 ? resultTypes[0]
                                        : LLVM::LLVMStructType::getLiteral(b.getContext(), resultTypes);
  Value all = LLVM::InlineAsmOp::create(b, result, operands, text, constraints, /*has_side_effects=*/true,
                                        /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                        LLVM::AsmDialectAttr(), ArrayAttr())
                  .getResult(0);
  if (resultTypes.size() == 1)
    return {all};
  Values results;
  for (size_t i = 0; i < resultTypes.size(); ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, all, int64_t(i)));
  return results;
}

/// "$3, $4, $5"
static std::string operandNames(size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text;
}

void ThreadCode::fenceProducts() { call("llvm.nvvm.fence.proxy.async.shared_cta", {}, {}); }

void ThreadCode::awaitProducts(int64_t mayBeLeft) {
  call("llvm.nvvm.wgmma.wait_group.sync.aligned", {}, i64(mayBeLeft));
}

Values ThreadCode::hold(ArrayRef<Value> values) {
  std::string outputs, inputs;
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(values)) {
    types.push_back(value.getType());
    outputs += value.getType().isF32() ? "=f," : "=r,";
    inputs += std::to_string(i) + ",";
  }
  return runText(b, "", outputs + inputs + "~{memory}", types, values);
}

Values ThreadCode::startProduct(Type element, int64_t n, ArrayRef<Value> sums, ArrayRef<Value> a, Value right,
                                bool across) {
  size_t count = size_t(n / 2);
  bool first = sums.empty();
  Values operands(a);
  operands.push_back(right);
  std::string constraints, adds = "1", text;
  for (size_t i = 0; i < count; ++i)
    constraints += "=f,";
  for (Value value : operands)
    constraints += value.getType().isInteger(64) ? "l," : "r,";
  if (first) {
    adds = "p";
    text = ".reg .pred p; setp.ne.b32 p, " + operandNames(count + operands.size(), 1) + ", 0; ";
    operands.push_back(i32(0));
    constraints += "r,";
  }
  Value zero = first ? f32(0) : Value();
  for (size_t i = 0; i < count; ++i) {
    operands.push_back(first ? zero : sums[i]);
    constraints += std::to_string(i) + ",";
  }
  std::string type = element.isBF16() ? "bf16" : "f16";
  text = "{ " + text + "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32." + type + "." +
         type + " {" + operandNames(0, count) + "}, ";
  // Signs of a and b, then of each that has a descriptor whether its neighbours lie across.
  text += a.size() == 1 ? operandNames(count, 1) : "{" + operandNames(count, a.size()) + "}";
  text += ", " + operandNames(count + a.size(), 1) + ", " + adds + ", 1, 1, ";
  text += (a.size() == 1 ? "0, " : "") + std::string(across ? "1" : "0") + "; }";
  return runText(b, text, constraints + "~{memory}", SmallVector<Type>(count, b.getF32Type()), operands);
}

void ThreadCode::waitBehind(Value condition) {
  when(condition, [&] { call("llvm.trap", {}, {}); });
}

ThreadCode::SharedMatrix ThreadCode::describeMatrix(Value pointer, int64_t line, int64_t leading) {
  // The swizzle's number: 1, 2, 3 for lines of 128, 64, 32 bytes. Eight lines are a pattern: the stride.
  uint64_t swizzle = line == 128 ? 1 : line == 64 ? 2 : 3, stride = uint64_t(8 * line);
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
  Value start = div(both(address, i32(0x3ffff)), 16);
  Value low = b.createOrFold<arith::OrIOp>(start, i32(leading / 16 << 16));
  return {low, stride / 16 << 32 | swizzle << 62};
}

Value ThreadCode::descriptor(const SharedMatrix &matrix, int64_t bytes) {
  Value low = b.createOrFold<arith::ExtUIOp>(b.getI64Type(), add(matrix.low, bytes / 16));
  return b.createOrFold<arith::OrIOp>(low, i64(int64_t(matrix.high)));
}

} // namespace tessera
