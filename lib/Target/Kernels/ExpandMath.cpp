//===- ExpandMath.cpp - transcendentals as straight-line vector code --------===//

#include "tessera/Target/Kernels/Passes.h"
#include "tessera/Target/Kernels/ToLLVM.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

#include "llvm/ADT/StringSet.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDMATH
#include "tessera/Target/Kernels/Passes.h.inc"

using namespace mlir;

namespace {

/// Arithmetic on values of one shape, scalar or vector.
struct Emitter {
  PatternRewriter &b;
  Location loc;
  Type shape; // of the value computed on

  Type withElement(Type element) const {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Type type, double value) {
    Type element = getElementTypeOrSelf(type);
    TypedAttr attr = isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, value))
                                             : TypedAttr(b.getIntegerAttr(element, int64_t(value)));
    if (auto shaped = dyn_cast<ShapedType>(type))
      attr = DenseElementsAttr::get(shaped, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value fma(Value x, Value y, double z) { return fma(x, y, constant(x.getType(), z)); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
};

/// sin and cos of float32. The argument is reduced by multiples of pi/2 in float64, where the product n *
/// pi/2 keeps 2^-53 of |x|: at 1e5 radians the remainder is right to 1e-11. The polynomials on [-pi/4, pi/4]
/// are those of Cephes (sinf.c), absolute error 6e-8.
template <typename OpTy> struct ReduceInFloat64 : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not float32");
    Emitter e{rewriter, op.getLoc(), type};
    Location loc = op.getLoc();
    Type f64 = e.withElement(rewriter.getF64Type()), i32 = e.withElement(rewriter.getI32Type());

    Value x = arith::ExtFOp::create(rewriter, loc, f64, op.getOperand());
    Value n =
        math::RoundEvenOp::create(rewriter, loc, e.mul(x, e.constant(f64, 0x1.45f306dc9c883p-1))); // 2/pi
    Value r = e.fma(n, e.constant(f64, -0x1.921fb54442d18p0), x); // pi/2, high part
    r = e.fma(n, e.constant(f64, -0x1.1a62633145c07p-54), r);     // and low part
    Value r32 = arith::TruncFOp::create(rewriter, loc, type, r);
    // An infinite or huge n must not leave the range of the conversion; its remainder is no number anyway.
    n = arith::MinNumFOp::create(rewriter, loc, n, e.constant(f64, 0x1p30));
    n = arith::MaxNumFOp::create(rewriter, loc, n, e.constant(f64, -0x1p30));
    Value quadrant = arith::FPToSIOp::create(rewriter, loc, i32, n);
    if (std::is_same_v<OpTy, math::CosOp>) // cos x = sin(x + pi/2)
      quadrant = arith::AddIOp::create(rewriter, loc, quadrant, e.constant(i32, 1));

    Value r2 = e.mul(r32, r32);
    Value sine = e.fma(r2, e.constant(type, -1.9515295891e-4), 8.3321608736e-3);
    sine = e.fma(r2, sine, -1.6666654611e-1);
    sine = e.fma(e.mul(sine, r2), r32, r32);
    Value cosine = e.fma(r2, e.constant(type, 2.443315711809948e-5), -1.388731625493765e-3);
    cosine = e.fma(r2, cosine, 4.166664568298827e-2);
    cosine = e.fma(cosine, r2, -0.5);
    cosine = e.fma(cosine, r2, 1.0);

    auto bit = [&](int64_t mask) -> Value {
      Value masked = arith::AndIOp::create(rewriter, loc, quadrant, e.constant(i32, mask));
      return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, masked, e.constant(i32, 0));
    };
    Value value = arith::SelectOp::create(rewriter, loc, bit(1), cosine, sine);
    Value negated = arith::NegFOp::create(rewriter, loc, value);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, bit(2), negated, value);
    return success();
  }
};

/// log of float32 below the normal numbers, where the polynomial takes all for the smallest normal one: such
/// a number is n / 2^149 with an integer n, and its logarithm log n - 149 log 2.
struct ScaleSubnormalLog : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::LogOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(type).isF32() || op->hasAttr(kScaled))
      return rewriter.notifyMatchFailure(op, "not float32, or scaled already");
    Location loc = op.getLoc();
    Emitter e{rewriter, loc, type};
    auto choose = [&](Value below, Value a, Value b) -> Value {
      return arith::SelectOp::create(rewriter, loc, below, a, b);
    };
    // In its bits, for arithmetic may take what is subnormal for zero. Zero itself is not scaled.
    Type i32 = e.withElement(rewriter.getI32Type());
    Value bits = arith::BitcastOp::create(rewriter, loc, i32, x);
    Value below = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                        arith::SubIOp::create(rewriter, loc, bits, e.constant(i32, 1)),
                                        e.constant(i32, 0x7FFFFF));
    Value scaled = arith::SIToFPOp::create(rewriter, loc, type, choose(below, bits, e.constant(i32, 1)));
    auto log = math::LogOp::create(rewriter, loc, choose(below, scaled, x));
    log->setAttr(kScaled, rewriter.getUnitAttr());
    Value shifted =
        arith::AddFOp::create(rewriter, loc, log, e.constant(type, -149 * 0.69314718055994530942));
    rewriter.replaceOp(op, choose(below, shifted, log));
    return success();
  }
  static constexpr StringLiteral kScaled = "tessera.scaled";
};

/// float64 to 16 bits by way of float32, rounded once: what float32 cannot hold becomes odd there, so that
/// the second rounding sees which side it was on. LLVM would call a function that compiler libraries have or
/// not.
struct NarrowFloat64 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Value x = op.getIn();
    if (!getElementTypeOrSelf(x.getType()).isF64() ||
        getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth() > 16)
      return rewriter.notifyMatchFailure(op, "not from float64 to 16 bits");
    Location loc = op.getLoc();
    Emitter e{rewriter, loc, op.getType()};
    Type f32 = e.withElement(rewriter.getF32Type()), i32 = e.withElement(rewriter.getI32Type());
    Value near = arith::TruncFOp::create(rewriter, loc, f32, x);
    Value back = arith::ExtFOp::create(rewriter, loc, x.getType(), near);
    Value bits = arith::BitcastOp::create(rewriter, loc, i32, near);
    auto compare = [&](arith::CmpFPredicate how, Value a, Value b) -> Value {
      return arith::CmpFOp::create(rewriter, loc, how, a, b);
    };
    auto absolute = [&](Value value) -> Value { return math::AbsFOp::create(rewriter, loc, value); };
    Value one = e.constant(i32, 1);
    Value below = arith::SelectOp::create(rewriter, loc,
                                          compare(arith::CmpFPredicate::OGT, absolute(back), absolute(x)),
                                          arith::SubIOp::create(rewriter, loc, bits, one), bits);
    Value odd = arith::OrIOp::create(rewriter, loc, below, one);
    bits = arith::SelectOp::create(rewriter, loc, compare(arith::CmpFPredicate::ONE, back, x), odd, bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(),
                                                 arith::BitcastOp::create(rewriter, loc, f32, bits));
    return success();
  }
};

/// bf16 to float64 by way of the float32 with the same upper half; upstream's expansion knows float32 only.
struct WidenBFloat16 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Value x = op.getIn();
    if (!getElementTypeOrSelf(x.getType()).isBF16() || !getElementTypeOrSelf(op.getType()).isF64())
      return rewriter.notifyMatchFailure(op, "not from bfloat16 to float64");
    Location loc = op.getLoc();
    Emitter e{rewriter, loc, op.getType()};
    Type i32 = e.withElement(rewriter.getI32Type());
    Value bits = arith::BitcastOp::create(rewriter, loc, e.withElement(rewriter.getI16Type()), x);
    bits = arith::ExtUIOp::create(rewriter, loc, i32, bits);
    bits = arith::ShLIOp::create(rewriter, loc, bits, e.constant(i32, 16));
    Value wide = arith::BitcastOp::create(rewriter, loc, e.withElement(rewriter.getF32Type()), bits);
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), wide);
    return success();
  }
};

struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  using Base::Base;

  /// Computes sums and products of bf16 in float32 and rounds each. LLVM would do the same, but by a function
  /// that compiler libraries have only since GCC 13.
  LogicalResult widenBFloat16(func::FuncOp func) {
    TypeConverter converter;
    arith::populateEmulateUnsupportedFloatsConversions(converter, {BFloat16Type::get(&getContext())},
                                                       Float32Type::get(&getContext()));
    RewritePatternSet patterns(&getContext());
    arith::populateEmulateUnsupportedFloatsPatterns(patterns, converter);
    ConversionTarget target(getContext());
    arith::populateEmulateUnsupportedFloatsLegality(target, converter);
    return applyPartialConversion(func, target, std::move(patterns));
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func->hasAttr(kKernelAttr) || func.isExternal())
      return;
    RewritePatternSet patterns(&getContext());
    patterns
        .add<ReduceInFloat64<math::SinOp>, ReduceInFloat64<math::CosOp>, ScaleSubnormalLog, NarrowFloat64>(
            &getContext(), /*benefit=*/2);
    // What the CPU does in one instruction is left alone, and so are sin and cos.
    auto expands = [](StringRef name) {
      static const llvm::StringSet<llvm::MallocAllocator> kept = {
          "math.sin",   "math.cos",   "math.sqrt", "math.absf",  "math.floor",     "math.ceil",
          "math.trunc", "math.round", "math.fma",  "math.rsqrt", "math.roundeven", "math.copysign"};
      return !kept.contains(name);
    };
    populateMathF32ExpansionPatterns(patterns, [](StringRef name) { return true; });
    populateMathPolynomialApproximationPatterns(patterns, llvm::function_ref<bool(StringRef)>(expands));
    // In terms of the above.
    math::populateExpansionPatterns(patterns, {"exp2", "sinh", "cosh", "tan", "powf", "fpowi"});
    if (failed(applyPatternsGreedily(func, std::move(patterns))))
      return signalPassFailure();
    if (nativeBF16 || func->hasAttr(kNativeBF16Attr))
      return;
    RewritePatternSet rounding(&getContext());
    arith::populateExpandBFloat16Patterns(rounding);
    rounding.add<WidenBFloat16>(&getContext());
    if (failed(widenBFloat16(func)) || failed(applyPatternsGreedily(func, std::move(rounding))))
      signalPassFailure();
  }
};

} // namespace
} // namespace tessera
